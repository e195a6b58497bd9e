"""Histograms as columns with their numbers below, and shares as bars.

Pure: numbers in, lines out.
"""

from __future__ import annotations

from collections.abc import Sequence

from lacli_tui.glyphs import Glyphs
from lacli_tui.widgets.sparkline import columns


def buckets(width: int) -> int:
    """How many columns fit into a width; the last stands for all higher numbers."""
    return max(2, min(11, width // 2))


def histogram(counts: Sequence[int], width: int, rows: int, glyphs: Glyphs) -> list[str]:
    """Columns for 0, 1, 2 … as many as fit, scaled to the highest, then the line of numbers."""
    count = buckets(width)
    held = [*counts[: count - 1], sum(counts[count - 1 :])]
    held += [0] * (count - len(held))
    each = min(4, width // count)
    bars = columns(held, max(held), rows, glyphs)
    if not any(held):
        bars[-1] = glyphs.speck * count
    labels = [str(number % 10) for number in range(count - 1)] + ["+"]
    lines = ["".join(sign * (each - 1) + " " for sign in line) for line in bars]
    lines.append("".join(label.ljust(each) for label in labels))
    return [line[:width].ljust(width) for line in lines]


def bar(share: float, width: int, glyphs: Glyphs) -> str:
    """A share of 1 as a bar in `width` cells; any share above 0 is visible."""
    parts = glyphs.parts
    fine = len(parts) - 1
    length = min(width * fine, max(1, round(share * width * fine))) if share > 0 else 0
    full, rest = divmod(length, fine)
    return (parts[-1] * full + (parts[rest] if rest else "")).ljust(width)
