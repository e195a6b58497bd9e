"""What every key and command does, made from the one registry of actions. `HelpScreen(keymap)` -> None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.containers import VerticalScroll
from textual.widget import Widget

from lacli_tui import actions
from lacli_tui.actions import ACTIONS, Action
from lacli_tui.screens.dialog import Dialog, key_name, scrolling
from lacli_tui.widgets.pairs import Pair, Pairs

_SECTIONS = (
    ("At the prompt", (actions.PROMPT,)),
    ("Everywhere in the chat", (actions.MAIN, actions.APP)),
    ("On a message (shift+tab goes to them)", (actions.MESSAGE,)),
    ("In lists and questions", (actions.DIALOG, actions.PICKER, actions.SESSIONS, actions.POOL)),
    ("", (actions.CONFIRM, actions.DIFF, actions.LINE, actions.SETTINGS)),
)


def help_pairs(keymap: Mapping[str, str]) -> list[Pair]:
    """All actions that have a key, then all slash commands."""
    found: list[Pair] = []
    for title, wheres in _SECTIONS:
        if title:
            found += [Pair(), Pair(title)]
        for action in ACTIONS:
            keys = keymap.get(action.id, action.keys)
            if action.where in wheres and keys:
                found.append(Pair(_keys(keys), action.title, "$accent", action.help))
    found += [Pair(), Pair("Commands, typed at the prompt")]
    for action in ACTIONS:
        if action.slash:
            name = f"/{action.slash} {action.takes}".strip()
            found.append(Pair(name, action.title, "$accent", action.help))
    found.append(Pair("PATH", "counts from the project's folder: DIR of `lacli tui DIR`, else where it was started"))
    found.append(Pair("(blank)/word", "A question, sent without the blank", "$accent"))
    rest = [action for action in ACTIONS if _only_in_palette(action, keymap)]
    if rest:
        found += [Pair(), Pair("Without a key: ctrl+p finds them")]
        found += [Pair("·", action.title, "$accent", action.help) for action in rest]
    return found[1:]


def _only_in_palette(action: Action, keymap: Mapping[str, str]) -> bool:
    return action.palette and not action.slash and not keymap.get(action.id, action.keys)


def _keys(keys: str) -> str:
    names = [key_name(key.strip()) for key in keys.split(",")]
    digits = [name for name in names if name.isdecimal()]
    if len(digits) > 2:
        names = [f"{digits[0]}–{digits[-1]}"]
    return " ".join(names)


class HelpScreen(Dialog[None]):
    """All keys and commands."""

    TITLE = "Help"

    def __init__(self, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._keymap = dict(keymap or {})

    def body(self) -> Iterable[Widget]:
        """All of it."""
        yield VerticalScroll(Pairs(help_pairs(self._keymap)), id="page")

    def on_mount(self) -> None:
        """Arrow keys scroll."""
        self.query_one("#page").focus()
        self.frame_note(scrolling())
