"""Where the lines of a draft are wrapped, found fast: Textual takes a second for a long paste, word by word.

The places are Textual's own, and all but plain lines are left to it. Pure.
"""

from __future__ import annotations

from textual.expand_tabs import get_tab_widths

from lacli_tui.textual_private import compute_wrap_offsets


def tab_widths(line: str, tab_size: int = 4) -> list[tuple[str, int]]:
    """The parts of a line before its tabs, with the width of each tab."""
    return get_tab_widths(line, tab_size) if "\t" in line else [(line, 0)] if line else []


def wrap_offsets(
    text: str,
    width: int,
    tab_size: int,
    fold: bool = True,
    precomputed_tab_sections: list[tuple[str, int]] | None = None,
) -> list[int]:
    """Where the rows of a wrapped line begin, but for the first."""
    if text.isascii() and len(text.expandtabs(max(1, tab_size))) <= width:
        return []
    if not (fold and width > 0 and text.isascii() and text.isprintable()):
        return compute_wrap_offsets(text, width, tab_size, fold, precomputed_tab_sections)
    offsets = []
    row = 0
    while len(text) - row > width:
        row = _last_word(text, row, row + width) or row + width
        offsets.append(row)
    return offsets


def _last_word(text: str, start: int, end: int) -> int:
    """Where the last word between start and end begins; 0 if none does."""
    while end > start:
        blank = text.rfind(" ", start, end)
        if blank < 0:
            return 0
        if text[blank + 1] != " ":
            return blank + 1
        end = start + len(text[start : blank + 1].rstrip(" "))
    return 0
