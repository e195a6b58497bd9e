"""Names and texts in two columns; both wrap. One below the other if there is no room. Never markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from lacli_tui.glyphs import to_terminal
from lacli_tui.sanitize import visible
from lacli_tui.widgets.auto_height import AutoHeightWidget
from lacli_tui.widgets.rows import cut, width_of

_MOST_NAME = 18
_LEAST_TEXT = 24


@dataclass(frozen=True, slots=True)
class Pair:
    """A line; without a text it is a heading, without both a blank line."""

    name: str = ""
    text: str = ""
    style: str = ""
    """Of the name."""
    more: str = ""
    """After the text, dimmed."""


class Pairs(AutoHeightWidget):
    def __init__(self, pairs: Sequence[Pair] = (), id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._pairs = tuple(pairs)
        self._lines: tuple[int, list[Content]] = (-1, [])

    def show(self, pairs: Sequence[Pair]) -> None:
        self._pairs = tuple(pairs)
        self._lines = (-1, [])
        self.refresh(layout=True)

    def lines(self, width: int) -> list[Content]:
        """All lines; made once for a width."""
        if self._lines[0] != width:
            names = [width_of([(each.name, "")]) for each in self._pairs if each.text]
            column = min(max(names, default=0), _MOST_NAME, max(4, width - _LEAST_TEXT - 2))
            self._lines = (width, [line for each in self._pairs for line in _lines_of(each, column, width)])
        return self._lines[1]


def _lines_of(pair: Pair, column: int, width: int) -> list[Content]:
    if not pair.text:
        return [Content.styled(cut(pair.name, width), "$primary bold" if pair.name else "")]
    text = Content(to_terminal(visible(pair.text)))
    if pair.more:
        text = Content.assemble(text, ("  " + to_terminal(visible(pair.more)), "dim"))
    name = Content.styled(to_terminal(visible(pair.name)), pair.style or "dim").truncate(width, ellipsis=True)
    indent = column + 2
    below = width_of([(pair.name, "")]) > column
    if below and width < 60:
        indent = 2
    lines = text.wrap(max(1, width - indent))
    lines = [Content(" " * indent) + line.rstrip() for line in lines] or [Content("")]
    if below:
        return [name, *lines]
    return [name.pad_right(indent - name.cell_length) + lines[0][indent:], *lines[1:]]
