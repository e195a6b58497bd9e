"""Choose a file of the project to attach. Names are listed and searched in the background, secrets left out.

`FilesScreen(folder, query)` -> a path relative to the folder, or None.
"""

from __future__ import annotations

from pathlib import Path

from lacli.chat.fuzzy import Fit, Lines
from lacli_tui.background import BackgroundResult, error_line
from lacli_tui.screens.picker import Picker
from lacli_tui.widgets.choices import Choice


class FilesScreen(Picker):
    TITLE = "Attach a file"
    PLACEHOLDER = "letters of its path"

    def __init__(self, folder: Path, query: str = "") -> None:
        super().__init__(query)
        self._folder = folder
        self._lines: Lines | None = None
        self._found = 0

    def search(self, query: str) -> None:
        self.search_in_background(lambda: self._search(query))

    def _search(self, query: str) -> tuple[list[Fit], int]:
        from lacli.project.offered import offered_names

        if self._lines is None:
            self._lines = Lines(offered_names(self._folder))
        return self._lines.search(query)

    def on_background_result(self, result: BackgroundResult) -> None:
        if result.error is not None:
            self.show_notice(error_line(result.error))
            self.choices.show([], "the files cannot be listed")
            return
        found: tuple[list[Fit], int] = result.value  # type: ignore[assignment]  # what `_search` returns
        fits, self._found = found
        nothing = "no file fits" if self.query_text else "no file here"
        self.choices.show([Choice(each.text, each.text, marks=each.marks, keeps_end=True) for each in fits], nothing)
        self.found()

    def marked(self, choice: Choice | None) -> None:
        """Show how many files fit, of which the best are listed."""
        place = self.choices.place
        shown = len(self.choices.choices)
        self.show_in_frame(f"{place}, best of {self._found:,}" if place and self._found > shown else place)
