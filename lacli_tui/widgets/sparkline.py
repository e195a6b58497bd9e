"""A row of columns, one for each step, the newest at the right. Pure: numbers in, lines out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lacli_tui.glyphs import Glyphs

_TOP = 4


def columns(values: Sequence[float], top: float, rows: int, glyphs: Glyphs) -> list[str]:
    """Each value as a column, `rows` high if it is `top`; the lines from top to bottom.

    A value above 0 is always visible; 0 is an empty column.
    """
    levels = glyphs.levels
    fine = len(levels) - 1
    most = rows * fine
    heights = [min(most, max(1, round(value / top * most))) if value > 0 and top > 0 else 0 for value in values]
    return [
        "".join(levels[min(fine, max(0, height - row * fine))] for height in heights) for row in range(rows - 1, -1, -1)
    ]


def sparkline(values: Iterable[int], width: int, glyphs: Glyphs, rows: int = 1) -> list[str]:
    """The last `width` values, right-aligned, scaled to `_TOP` or the highest of them.

    A step that kept nothing has a speck on the ground, as it was a step all the same.
    """
    shown = list(values)[-width:] if width > 0 else []
    lines = columns(shown, max([_TOP, *shown]), rows, glyphs)
    if lines:
        lines[-1] = "".join(glyphs.speck if not value else sign for value, sign in zip(shown, lines[-1], strict=True))
    return [line.rjust(width) for line in lines]
