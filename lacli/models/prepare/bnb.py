"""Writes weights in bitsandbytes' own layout, so that its kernels, ours and stock transformers run on the same file.

For a matrix `x.weight` [N, K] with B = ceil(N K / 64) blocks, in this order:

  nf4       x.weight uint8 [ceil(N K / 2), 1]     two codes a byte, in flat order, the earlier one in the high half
            x.weight.nested_quant_map f32 [256]   what a byte of absmax stands for
            x.weight.quant_map f32 [16]           what a code stands for
            x.weight.nested_absmax f32 [ceil(B / 256)]
            x.weight.quant_state.bitsandbytes__nf4 uint8 [256]   JSON, blanks behind it: shape, dtype, nested_offset …
            x.weight.absmax uint8 [B]
            so that weight = quant_map[code] * (nested_quant_map[absmax] * nested_absmax + nested_offset)
  bnb-int8  x.weight int8 [N, K]
            x.SCB f32 [N]                         weight = x.weight * SCB / 127
            x.weight_format uint8 []              0: by rows

Embeddings, head and vectors are bfloat16 under their own names, before all of these. As transformers stores them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lacli.errors import LacliError
from lacli.models.prepare.file import Slot, Writer, laid_out
from lacli.models.prepare.weights import Ticker, Weight, pieces, put_float

if TYPE_CHECKING:
    import torch

Bnb = Literal["nf4", "bnb-int8"]
"""bitsandbytes' quantisations."""
BLOCK, NESTED = 64, 256
"""Weights with one scale, and scales with one scale."""
STATE = "weight.quant_state.bitsandbytes__nf4"
_STATE_BYTES = 256


def write_bnb(path: Path, weights: Sequence[Weight], quant: Bnb, tick: Ticker) -> None:
    """Linears packed, all else bfloat16."""
    floats = [weight for weight in weights if not _is_linear(weight)]
    placed = [weight for _, weight in laid_out([(Slot(each.name, "BF16", each.shape), each) for each in floats])]
    linears = [weight for weight in weights if _is_linear(weight)]
    slots = [Slot(weight.name, "BF16", weight.shape) for weight in placed]
    slots += [slot for weight in linears for slot in _slots(weight, quant)]
    with Writer(path, slots) as writer:
        for done, weight in enumerate([*placed, *linears]):
            tick(done, len(weights))
            if not _is_linear(weight):
                put_float(writer, weight, half=True)
            elif quant == "nf4":
                _put_nf4(writer, weight)
            else:
                _put_int8(writer, weight)
        tick(len(weights), len(weights))


def bnb_bytes(weights: Sequence[Weight], quant: Bnb) -> int:
    """Size of what `write_bnb` writes, header apart."""
    floats = sum(2 * math.prod(weight.shape) for weight in weights if not _is_linear(weight))
    return floats + sum(slot.nbytes for weight in weights if _is_linear(weight) for slot in _slots(weight, quant))


def _is_linear(weight: Weight) -> bool:
    return weight.blocked is not None and not weight.is_vocabulary


def _slots(weight: Weight, quant: Bnb) -> list[Slot]:
    stem = weight.name.removesuffix(".weight")
    rows, columns = weight.shape
    if quant == "bnb-int8":
        return [
            Slot(weight.name, "I8", weight.shape),
            Slot(f"{stem}.SCB", "F32", (rows,)),
            Slot(f"{stem}.weight_format", "U8", ()),
        ]
    blocks = -(-rows * columns // BLOCK)
    return [
        Slot(weight.name, "U8", (-(-rows * columns // 2), 1)),
        Slot(f"{weight.name}.nested_quant_map", "F32", (256,)),
        Slot(f"{weight.name}.quant_map", "F32", (16,)),
        Slot(f"{weight.name}.nested_absmax", "F32", (-(-blocks // NESTED),)),
        Slot(f"{stem}.{STATE}", "U8", (_STATE_BYTES,)),
        Slot(f"{weight.name}.absmax", "U8", (blocks,)),
    ]


def _put_nf4(writer: Writer, weight: Weight) -> None:
    import numpy as np
    import torch

    from lacli.models.prepare.nf4 import CODE, nested_scales, nf4_codes, scale_code

    stem, columns = weight.name.removesuffix(".weight"), weight.shape[1]
    found = []
    # No block may reach into the next piece: a piece has as many rows as make whole blocks.
    for values in pieces(weight, BLOCK // math.gcd(BLOCK, columns)):
        packed, scales = nf4_codes(torch.from_numpy(values).reshape(-1))
        found.append(_finite(scales, weight.name))
        writer.put_piece(weight.name, packed.numpy())
    absmax, nested, offset = nested_scales(torch.cat(found))
    state = {
        "quant_type": "nf4",
        "blocksize": BLOCK,
        "dtype": "bfloat16",
        "shape": list(weight.shape),
        "nested_blocksize": NESTED,
        "nested_dtype": "float32",
        "nested_offset": offset,
    }
    text = json.dumps(state).encode().ljust(_STATE_BYTES)
    writer.put(f"{weight.name}.nested_quant_map", scale_code().numpy())
    writer.put(f"{weight.name}.quant_map", CODE.numpy())
    writer.put(f"{weight.name}.nested_absmax", nested.numpy())
    writer.put(f"{stem}.{STATE}", np.frombuffer(text, dtype=np.uint8))
    writer.put(f"{weight.name}.absmax", absmax.numpy())


def _put_int8(writer: Writer, weight: Weight) -> None:
    import numpy as np
    import torch

    from lacli.models.prepare.nf4 import int8_rows

    stem = weight.name.removesuffix(".weight")
    scales = []
    for values in pieces(weight):
        packed, maxima = int8_rows(torch.from_numpy(values))
        scales.append(_finite(maxima, weight.name))
        writer.put_piece(weight.name, packed.numpy())
    writer.put(f"{stem}.SCB", torch.cat(scales).numpy())
    writer.put(f"{stem}.weight_format", np.zeros((), dtype=np.uint8))


def _finite(maxima: torch.Tensor, name: str) -> torch.Tensor:
    """The largest magnitudes of blocks or rows, refused where a weight among them is no number."""
    if not bool(maxima.isfinite().all()):
        raise LacliError(f"{name} cannot be packed: a weight is not a finite number", "fetch the file again")
    return maxima
