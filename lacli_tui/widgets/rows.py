"""Lines of a fixed width, made of text and styles: what header, panel and status line are made of. Pure.

Widths are in cells, so that wide and combining characters never move what is beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from lacli_tui.sanitize import visible

MUTED = "dim"
STRONG = "bold"
HEAD = "bold $secondary"

Part = tuple[str, str]
"""Text and its style, in Textual's words, including theme variables."""


def width_of(parts: Sequence[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)


def cut(text: str, width: int) -> str:
    """The text on one line of at most so many cells, with dots if something had to go."""
    line = " ".join(visible(text).split())
    if cell_len(line) <= width:
        return line
    return set_cell_size(line, width - 1).rstrip() + "…" if width > 0 else ""


def line(parts: Sequence[Part], width: int) -> Content:
    """These parts from the left, in exactly so many cells."""
    left = width
    fitted: list[Part] = []
    for text, style in parts:
        used = cell_len(text)
        if used > left:
            text, used = set_cell_size(text, left), left
        fitted.append((text, style))
        left -= used
    return Content.assemble(*fitted, " " * left)


def apart(left: Sequence[Part], right: Sequence[Part], width: int) -> Content:
    """Parts at both ends of a line; the left ones are cut if both do not fit."""
    space = width - width_of(left) - width_of(right)
    return line([*left, (" " * max(1, space), ""), *right], width)


def joined(groups: Sequence[Sequence[Part]], between: Part, width: int) -> list[Part]:
    """As many groups as fit, the first ones first, with something between them."""
    found: list[Part] = []
    for group in groups:
        more = [between, *group] if found else list(group)
        if width_of(found) + width_of(more) <= width:
            found += more
    return found


def flowed(groups: Sequence[Sequence[Part]], gap: int, width: int) -> list[list[Part]]:
    """All groups on as many lines as they need; none is broken unless it is wider than a line."""
    lines: list[list[Part]] = []
    for group in groups:
        if lines and width_of(lines[-1]) + gap + width_of(group) <= width:
            lines[-1] += [(" " * gap, ""), *group]
        else:
            lines.append(list(group))
    return lines
