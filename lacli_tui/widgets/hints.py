"""Keys and what they do, as many on a line as fit. Never markup."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from lacli_tui.widgets.auto_height import AutoHeightWidget
from lacli_tui.widgets.rows import flowed

_BETWEEN = 3


class Hints(AutoHeightWidget):
    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._hints: Sequence[tuple[str, str]] = ()

    def show(self, hints: Sequence[tuple[str, str]]) -> None:
        self._hints = tuple(hints)
        self.refresh(layout=True)

    def lines(self, width: int) -> list[Content]:
        groups = [[(key, "$accent bold"), (f" {word}", "")] for key, word in self._hints]
        return [Content.assemble(*line) for line in flowed(groups, _BETWEEN, width)] or [Content("")]
