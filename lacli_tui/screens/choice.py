"""Choose one of a few lines. `ChoiceScreen(title, rows)` -> the name in the row, or None; rows are a name and a
remark.
"""

from __future__ import annotations

from collections.abc import Sequence

from lacli.chat.fuzzy import Lines
from lacli_tui.screens.picker import Picker
from lacli_tui.widgets.choices import Choice


class ChoiceScreen(Picker):
    def __init__(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.title = title
        self._beside = dict(rows)
        self._lines = Lines(list(self._beside))

    def search(self, query: str) -> None:
        fits, _ = self._lines.search(query)
        rows = [Choice(fit.text, fit.text, ((self._beside[fit.text], "dim"),), marks=fit.marks) for fit in fits]
        self.choices.show(rows, "none fits")
