"""Every command that applies now, found by a few letters.

`PaletteScreen(actions, keymap)` -> the id of one, or None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lacli.chat.fuzzy import Lines
from lacli_tui.actions import Action
from lacli_tui.keys import key_name
from lacli_tui.screens.picker import Picker
from lacli_tui.widgets.choices import Choice


class PaletteScreen(Picker):
    TITLE = "Commands"
    PLACEHOLDER = "what you want to do"

    def __init__(self, actions: Sequence[Action], keymap: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._actions = {_words(action): action for action in actions}
        self._lines = Lines(list(self._actions))
        self._keymap = dict(keymap or {})

    def search(self, query: str) -> None:
        fits, _ = self._lines.search(query)
        self.choices.show([self._choice(each.text, each.marks) for each in fits], "no command fits")

    def _choice(self, words: str, marks: Sequence[int]) -> Choice:
        action = self._actions[words]
        keys = [key for key in self._keymap.get(action.id, action.keys).split(",") if key]
        key = key_name(keys[0]) if keys else ""
        slash = f"/{action.slash}" if action.slash else ""
        in_title = tuple(mark for mark in marks if mark < len(action.title))
        return Choice(action.id, action.title, ((key, "$accent"), (slash, "dim")), marks=in_title)


def _words(action: Action) -> str:
    """What is searched: the title, then its other names."""
    return f"{action.title}  {action.slash} {action.id}"
