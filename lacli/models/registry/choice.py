"""Which quantisation a model runs in: what a name means on a device, and the default if none is given.

May not: look at weights. Imports nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacli.models.registry.limits import free_memory

if TYPE_CHECKING:
    from lacli.models.base import Quant

ON_CUDA: dict[str, Quant] = {"int4": "nf4", "int8": "bnb-int8"}
"""What the quantisations of CPUs are there."""


def on_device(asked: Quant | None, device: str) -> tuple[Quant | None, str]:
    """The quantisation for `device`, and a line for the user where it is another than asked for.

    None is left for `prepare` to choose, which knows how a model is stored; on CUDA it is nf4.
    """
    if device != "cuda":
        return asked, ""
    if asked is None:
        return "nf4", ""
    runs = ON_CUDA.get(asked, asked)
    return runs, f"{asked} is for CPUs; on CUDA the model runs as {runs}" if runs != asked else ""


def int8_size(parameters: int) -> int:
    """Bytes of so many weights in int8, each block with its scale: before they are known one by one."""
    return parameters * 17 // 16


def for_cpu(four_bit: bool, int8_bytes: int) -> tuple[Quant, str]:
    """int4 where the source's linears are in 4 bits or int8 does not fit into the free memory, else int8.

    Also a line for the user where the free memory decided.
    """
    if four_bit:
        return "int4", ""
    free = free_memory()
    if int8_bytes + int8_bytes // 8 <= free:
        return "int8", ""
    return (
        "int4",
        f"int8 would take {int8_bytes / 1e9:.1f} GB of {free / 1e9:.1f} GB free memory; the model runs as int4",
    )
