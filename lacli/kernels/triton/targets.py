"""The GPUs the kernels are compiled for, and how: tiles, warps and stages by target, format and number of rows.

Lives here: the table of configurations and who gets which. May not: import Triton.

A configuration decides time and never bits, but for `shares`, which depends on the matrix and the device alone. So a
row has the same bits in all configurations that `configurations` offers for a matrix on a device, whatever the number
of rows (docs/gpu-kernels.md says what that rests on).
"""

from __future__ import annotations

from dataclasses import dataclass

from lacli.kernels.triton.weights import Format, PackedWeight

MOST_ROWS = 64
HOPPER = 90
SHARED_BYTES = {80: 166_912, 86: 101_376, 89: 101_376, 90: 232_448, 120: 101_376}
"""Shared memory a block may have, by compute capability: CUDA C Programming Guide, "Technical Specifications"."""
_PROGRAMS_PER_PROCESSOR = 2
_LEAST_TILES = 4
"""Of a share: the first and the last load of a program are not hidden."""


@dataclass(frozen=True, slots=True)
class Target:
    """A device as far as the kernels care."""

    capability: int
    """10 * major + minor"""
    processors: int
    """Streaming multiprocessors."""

    @property
    def supported(self) -> bool:
        """Whether the compile gate covers it."""
        return self.capability in SHARED_BYTES


@dataclass(frozen=True, slots=True)
class Tiling:
    """What is compiled."""

    outputs: int
    rows: int
    warps: int
    stages: int
    registers: int | None = None
    """The most a thread may have, where that is said: left to itself the assembler takes fewer of some tilings, for the
    sake of one more block on a processor, and spills a few."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is launched."""

    tiling: Tiling
    shares: int
    """Parts the columns are split into; their results are added in order."""


_SIXTEEN = (Tiling(64, 16, 4, 3), Tiling(128, 16, 4, 3, 255))
_TILINGS = (
    Tiling(32, 8, 2, 4),  # 2 warps, as 16 columns of 8 rows are 4 bytes for each thread of no more
    *_SIXTEEN,
    Tiling(64, 32, 4, 3, 255),
    Tiling(64, 64, 4, 3),
)
_NF4_TILINGS = (*_TILINGS[:-1], Tiling(32, 64, 4, 3))
"""Its 64 rows by 64 outputs would need more registers than there are."""
_HOPPER_TILINGS = (*_SIXTEEN, Tiling(64, 32, 4, 3, 255), Tiling(64, 64, 4, 3, 255))
"""Its tensor cores take 64 outputs of 4 warps; with fewer the older instruction would be used, and its bits."""


def tilings(stored_as: Format, capability: int) -> tuple[Tiling, ...]:
    """All that are compiled for a target, fewest rows first."""
    if capability == HOPPER:
        return _HOPPER_TILINGS
    return _NF4_TILINGS if stored_as == "nf4" else _TILINGS


def configurations(weight: PackedWeight, rows: int, target: Target) -> tuple[Configuration, ...]:
    """Those worth timing for a product of so many rows, the likeliest first; none beyond `MOST_ROWS`, or where the
    target is not supported."""
    if not target.supported or rows > MOST_ROWS:
        return ()
    table = tilings(weight.format, target.capability)
    bucket = min(tiling.rows for tiling in table if tiling.rows >= rows)
    split = shares(weight.outputs, weight.tiles, target.processors)

    def unlikely(tiling: Tiling) -> tuple[bool, int]:
        """Wide tiles decode with fewer instructions, where there are enough of them to keep the device busy."""
        programs = -(-weight.outputs // tiling.outputs) * split
        too_few = programs < _PROGRAMS_PER_PROCESSOR * target.processors
        return too_few, tiling.outputs if too_few else -tiling.outputs

    fitting = sorted((tiling for tiling in table if tiling.rows == bucket), key=unlikely)
    return tuple(Configuration(tiling, split) for tiling in fitting)


def shares(outputs: int, tiles: int, processors: int) -> int:
    """Into how many parts the columns are split, so that each processor has programs enough to hide its loads."""
    programs = -(-outputs // 64)
    wanted = -(-_PROGRAMS_PER_PROCESSOR * processors // programs)
    return max(1, min(wanted, tiles // _LEAST_TILES))
