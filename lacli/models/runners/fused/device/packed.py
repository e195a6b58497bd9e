"""Linear layers of the forward for devices from matrices stored in bitsandbytes' layout, without quantising again.

Lives here: joining matrices that are multiplied in one product. May not: read files, choose kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lacli.models.runners.bnb_file import BnbFile, Int8Matrix, Nf4Matrix
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.fused.device.linears import NF4_BLOCK, Dense, Int8, Linear, Nf4, Tuner
from lacli.models.runners.fused.device.weights import Stored


def stored_in(file: BnbFile, sizes: FusedConfig, tuner: Tuner) -> Stored:
    """What gives the packed matrices of a file, and None for those that it holds as floats."""
    device = tuner.device

    def linear(names: Sequence[str], bias: Tensor | None) -> Linear | None:
        parts = [file.matrix(name, *sizes.shape_of(name)) for name in names]
        columns = sizes.shape_of(names[0])[1]
        nf4 = [part for part in parts if isinstance(part, Nf4Matrix)]
        int8 = [part for part in parts if isinstance(part, Int8Matrix)]
        made: Nf4 | Int8
        if len(nf4) == len(parts):
            if columns % NF4_BLOCK or any(part.block != NF4_BLOCK for part in nf4):
                # a block would reach over the end of a row, which no kernel here takes
                weight = torch.cat([part.dequantised() for part in nf4])
                return Dense(weight.to(device, tuner.dtype), bias)
            whole = [(part.packed.to(device), part.scales().to(device), part.rows) for part in nf4]
            made = Nf4.joined(whole, nf4[0].quant_map.to(device), columns, bias)
        elif len(int8) == len(parts):
            packed, scales = torch.cat([part.packed for part in int8]), torch.cat([part.scales for part in int8])
            made = Int8(packed.to(device), scales.to(device), bias)
        else:
            return None
        return tuner.chosen(made.ways(), sum(sizes.shape_of(name)[0] for name in names), columns)

    return linear
