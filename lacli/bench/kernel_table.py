"""What the Triton kernels can reach at most, computed from their machine code: `python -m lacli.bench.kernel_table`.

Lives here: every kernel and tiling compiled for every target, the clocks its loop takes at least, and the table of
docs/gpu-kernels.md. May not: claim a time. No device is used; the compile gate of the tests reads the same numbers.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from lacli.kernels.triton import listing
from lacli.kernels.triton.targets import SHARED_BYTES, Tiling, tilings
from lacli.kernels.triton.weights import TILE

BEGIN, END = "<!-- computed -->", "<!-- /computed -->"
_WARP = 32
_ROWS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Card:
    """What NVIDIA publishes of a device."""

    name: str
    processors: int
    gigahertz: float
    """Boost clock."""
    gigabytes: float
    """Of memory bandwidth, a second."""
    integer_lanes: int
    """32-bit logic and shifts a clock and processor (CUDA C Programming Guide, "Arithmetic Instructions")."""
    float_lanes: int
    products: int
    """bfloat16 multiplications summed in float32, dense, a clock and processor."""


CARDS = {
    80: Card("A100 80 GB", 108, 1.41, 2039, 64, 64, 1024),
    86: Card("RTX 3060", 28, 1.777, 360, 64, 128, 256),
    89: Card("RTX 4090", 128, 2.52, 1008, 64, 128, 256),
    90: Card("H200", 132, 1.83, 4800, 64, 128, 2048),
    120: Card("RTX 5090", 170, 2.407, 1792, 128, 128, 256),
}
_INTEGER = ("LOP3", "SHF", "PRMT", "IADD3", "LEA", "SGXT", "SEL", "ISETP", "VIADD", "IMNMX")
_FLOAT = ("FFMA", "FADD", "FMUL", "F2FP", "HADD2")
_MEMORY = ("LDS", "STS", "LDG")


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel in one tiling for one target."""

    variant: str
    bytes_per_weight: float
    capability: int
    tiling: Tiling
    registers: int
    stack_bytes: int
    shared_bytes: int
    order: tuple[str, ...]
    """See `MachineCode.order`."""
    loop: Counter[str]
    """Instructions of a warp for a tile."""
    whole: Counter[str]

    @property
    def instructions_per_weight(self) -> float:
        """Of a thread."""
        return self.loop.total() * _WARP * self.tiling.warps / (self.tiling.outputs * TILE)

    @property
    def bound(self) -> float:
        """The part of a card's bandwidth that is used at most, were nothing ever waited for."""
        card = CARDS[self.capability]
        read = self.bytes_per_weight * self.tiling.outputs * TILE
        arriving = read * card.processors * card.gigahertz / card.gigabytes
        return min(1.0, arriving / (self.tiling.warps * _clocks(self.loop, card)))


def _clocks(loop: Counter[str], card: Card) -> float:
    """Least clocks of a processor for a warp's loop: the busiest of its four schedulers and its units."""
    return max(
        loop.total() / 4,
        listing.count(loop, *_INTEGER) * _WARP / card.integer_lanes,
        listing.count(loop, *_FLOAT) * _WARP / card.float_lanes,
        float(listing.count(loop, *_MEMORY)),
        sum(times * _products(name) for name, times in loop.items()) / card.products,
    )


def _products(name: str) -> int:
    """Multiplications of a tensor-core instruction; of Hopper's, which four warps share, the part of one."""
    if name.startswith("HMMA.16816"):
        return 16 * 8 * 16
    if name.startswith("HGMMA"):
        rows, columns, depth = (int(size) for size in name.split(".")[1].split("x"))
        return rows * columns * depth // 4
    return 0


def compiled(capabilities: Iterable[int] = SHARED_BYTES) -> list[Kernel]:
    """All products for these targets, compiled in as many processes as there are processors."""
    jobs = list(_jobs(capabilities))
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        return list(pool.map(_compile, jobs, chunksize=4))


def _jobs(capabilities: Iterable[int]) -> Iterator[tuple[int, int, Tiling]]:
    from lacli.kernels.triton.compile import VARIANTS

    for capability in capabilities:
        for number, variant in enumerate(VARIANTS):
            for tiling in tilings(variant.format, capability):
                yield number, capability, tiling


def _compile(job: tuple[int, int, Tiling]) -> Kernel:
    from lacli.kernels.triton.compile import VARIANTS, product

    number, capability, tiling = job
    variant = VARIANTS[number]
    code = product(variant, tiling, capability)
    return Kernel(
        variant.name,
        variant.bytes_per_weight,
        capability,
        tiling,
        code.registers,
        code.stack_bytes,
        code.shared_bytes,
        code.order,
        listing.loop(code.listing),
        listing.instructions(code.listing),
    )


def table(kernels: Iterable[Kernel]) -> str:
    """Markdown: of each target, format and number of rows the tiling with the highest bound."""
    import triton

    found = list(kernels)
    lines = [
        f"Computed from machine code by Triton {triton.__version__}, not measured; the best tiling for so many rows.",
        "",
        "| target | card | weights | bytes/weight | " + " | ".join(f"to {rows} rows" for rows in _ROWS) + " |",
        "|---|---|---|---|" + "---|" * len(_ROWS),
    ]
    for capability, variant in dict.fromkeys((each.capability, each.variant) for each in found):
        group = [each for each in found if (each.capability, each.variant) == (capability, variant)]
        cells = (_cell([each for each in group if each.tiling.rows == rows]) for rows in _ROWS)
        head = f"| sm_{capability} | {CARDS[capability].name} | {variant} | {group[0].bytes_per_weight:.4g} | "
        lines.append(head + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(offered: list[Kernel]) -> str:
    if not offered:
        return "as 16"
    best = max(offered, key=lambda each: (each.bound, -each.instructions_per_weight))
    return f"{best.instructions_per_weight:.1f}, {100 * best.bound:.0f} %"


def documented(text: str) -> str:
    """The table in a text between its two marks."""
    return text.partition(BEGIN)[2].partition(END)[0].strip()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.kernel_table", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table between the marks of this file")
    options = parser.parse_args(arguments)
    try:
        made = table(compiled())
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing: install the extra `lacli[triton]` (Linux)", file=sys.stderr)
        return 2
    if options.write is None:
        print(made)
        return 0
    text = options.write.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        print(f"{options.write} has no marks {BEGIN} and {END}", file=sys.stderr)
        return 2
    options.write.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
