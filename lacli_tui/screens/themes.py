"""Choose a theme: the marked one is shown at once, escape restores the old one.

`ThemesScreen(current, names, preview)` -> the name of one, or None; `preview` is called with each that is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lacli.chat.fuzzy import Lines
from lacli_tui.screens.picker import Picker
from lacli_tui.themes import OURS
from lacli_tui.widgets.choices import Choice


class ThemesScreen(Picker):
    """The themes there are, ours first."""

    TITLE = "Themes"
    DEFAULT_CSS = """
    ThemesScreen { align: right bottom; background: transparent; }
    ThemesScreen > #frame { width: 58; height: 16; margin: 0 2 1 0; }
    ThemesScreen.-low > #frame { height: 12; max-height: 100%; }
    """

    def __init__(self, current: str, names: Iterable[str], preview: Callable[[str], None]) -> None:
        super().__init__()
        self._current = current
        self._names = [*OURS, *sorted(set(names) - set(OURS))]
        self._preview = preview

    def search(self, query: str) -> None:
        fits, _ = Lines(self._names).search(query)
        marked = self.choices.current
        choices = [self._choice(each.text, each.marks) for each in fits]
        self.choices.show(choices, "no theme fits", self._current if marked is None else marked.key)

    def _choice(self, name: str, marks: tuple[int, ...]) -> Choice:
        ours = OURS.get(name, "")
        return Choice(name, name, ((ours, "dim"), ("in use" if name == self._current else "", "$accent")), marks=marks)

    def marked(self, choice: Choice | None) -> None:
        self._preview(choice.key if choice is not None else self._current)

    def action_close(self) -> None:
        self._preview(self._current)
        super().action_close()
