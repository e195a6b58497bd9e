"""The weights of a GGUF file under Hugging Face's names, decoded when asked for.

Lives here: undoing what llama.cpp's converter does to a tensor, and how many bits each matrix gets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lacli.models.gguf.blocks import Bits, blocks_of, is_four_bits, kind_of
from lacli.models.gguf.config import Planned, plan
from lacli.models.gguf.read import GgufFile, load_rows, load_tensor
from lacli.models.prepare.weights import Blocked, Weight

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lacli.kernels.packing import Blocks
    from lacli.models.prepare.weights import Blocks32


def gguf_weights(file: GgufFile, config: Mapping[str, Any]) -> list[Weight]:
    """All tensors of a llama, qwen2 or qwen3 file."""
    four_bit = mostly_four_bits(file)
    return [
        Weight(
            item.name,
            item.shape,
            _loader(file, item),
            _blocked(file, item, four_bit) if item.matrix else None,
            _rows(file, item) if item.matrix else None,
            item.matrix == "vocabulary",
        )
        for item in plan(file, config)
    ]


def mostly_four_bits(file: GgufFile) -> bool:
    """Whether more than half of the weights in the layers' matrices are in 4-bit blocks that are ours as they are."""
    matrices = [tensor for tensor in file.tensors.values() if tensor.name.startswith("blk.") and len(tensor.shape) == 2]
    four = sum(math.prod(tensor.shape) for tensor in matrices if is_four_bits(tensor.type_name))
    return 2 * four > sum(math.prod(tensor.shape) for tensor in matrices)


def _blocked(file: GgufFile, item: Planned, four_bit: bool) -> Blocked:
    tensor = file.tensors[item.source]
    # What a 4-bit file keeps finer is what suffers most from 4 bits; so do embeddings and the head of any file.
    kept = (four_bit or item.matrix == "vocabulary") and not is_four_bits(tensor.type_name)
    bits: dict[Blocks32, Bits] = {"int4": 8 if kept else 4, "int8": 8}

    def rows(quant: Blocks32, first: int, last: int) -> Blocks:
        return blocks_of(tensor, bits[quant], _order(item)[first:last])

    return Blocked({quant: kind_of(tensor.type_name, wanted) for quant, wanted in bits.items()}, rows)


def _loader(file: GgufFile, item: Planned) -> Callable[[], NDArray[np.float32]]:
    def load() -> NDArray[np.float32]:
        tensor = load_tensor(file.tensors[item.source])
        return tensor[_order(item)] if item.permuted_heads else tensor

    return load


def _rows(file: GgufFile, item: Planned) -> Callable[[int, int], NDArray[np.float32]]:
    return lambda first, last: load_rows(file.tensors[item.source], _order(item)[first:last])


def _order(item: Planned) -> NDArray[np.intp]:
    """Where each row of the Hugging Face tensor lies in the file.

    llama.cpp interleaves the rotary pairs of a head; Hugging Face has two halves.
    """
    import numpy as np

    rows = np.arange(item.shape[0])
    return rows.reshape(item.permuted_heads, -1, 2).transpose(0, 2, 1).reshape(-1) if item.permuted_heads else rows
