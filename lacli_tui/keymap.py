"""The table [keymap] of the configuration: which action has which keys, where they work, and whether two collide.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lacli.errors import UsageError
from lacli_tui import actions
from lacli_tui.actions import ACTIONS, Action, action_of, checked_keymap

PLACES = {
    actions.APP: "everywhere",
    actions.MAIN: "in the chat",
    actions.PROMPT: "at the prompt",
    actions.OFFERS: "in the list above the prompt",
    actions.MESSAGE: "on a message",
    actions.DIALOG: "in every dialog",
    actions.PICKER: "in lists",
    actions.SESSIONS: "in the list of chats",
    actions.POOL: "in the pool's dialog",
    actions.CONFIRM: "in a question",
    actions.DIFF: "in the diff before a change",
    actions.LINE: "where a line is asked for",
    actions.SETTINGS: "in the settings",
    actions.HELP: "in the help",
}
"""Where the keys of an action work."""
_CHAT = (actions.MAIN, actions.PROMPT, actions.OFFERS, actions.MESSAGE)
_APART = ({actions.PROMPT, actions.MESSAGE}, {actions.OFFERS, actions.MESSAGE})
"""Places in the chat that never have the focus together."""
_WITH_LISTS = (actions.PICKER, actions.SESSIONS)
_TYPED = (actions.PROMPT, actions.OFFERS, actions.PICKER, actions.SESSIONS, actions.LINE)
"""Where letters are typed."""
_SAME = {
    "ctrl+m": "enter",
    "ctrl+i": "tab",
    "ctrl+[": "escape",
    "ctrl+h": "backspace",
    "return": "enter",
    "esc": "escape",
}
"""Keys for which a terminal sends the same."""
_DIGITS = "message-block"


def checked(keymap: Mapping[str, object]) -> dict[str, str]:
    """The table as Textual takes it. Raises UsageError for unknown actions and keys, for a key that two actions share
    in one place, and for one that types a letter there."""
    found = checked_keymap(keymap)
    for id_ in found:
        if (problem := collision(found, id_)) is not None:
            raise problem
    return found


def collision(keymap: Mapping[str, str], id_: str) -> UsageError | None:
    """What is wrong with the keys of this action, beside all others."""
    action = action_of(id_)
    if id_ == _DIGITS:
        return UsageError(f"[keymap] the keys of {_DIGITS} are the numbers of the blocks", "leave it away")
    for written in keymap[id_].split(","):
        key = _SAME.get(written.strip(), written.strip())
        if len(key) == 1 and (action.where in _TYPED or action.priority):
            return UsageError(f"[keymap] {id_} = {key!r} could no longer be typed", f"a key like 'f12' or 'ctrl+{key}'")
        for other in ACTIONS:
            same = key in _keys(keymap.get(other.id, other.keys))
            if same and other.id != id_ and _work_together(action, other) and not _share_by_default(action, other, key):
                where = PLACES[other.where]
                return UsageError(
                    f"[keymap] {id_} = {written.strip()!r} is the key of {other.id} ({other.title}) {where}, too",
                    f"take another, or give {other.id} one",
                )
    return None


def rows(keymap: Mapping[str, str] | None = None) -> Iterator[tuple[str, str, str, str]]:
    """For each action that may have keys: its name in the table, its keys, what it does, where they work."""
    for action in ACTIONS:
        if action.id != _DIGITS:
            keys = (keymap or {}).get(action.id, action.keys)
            yield action.id, keys, action.title, PLACES[action.where]


def _keys(keys: str) -> list[str]:
    return [_SAME.get(key.strip(), key.strip()) for key in keys.split(",") if key.strip()]


def _share_by_default(one: Action, other: Action, key: str) -> bool:
    """Whether both have this key by default: then they take turns."""
    return key in _keys(one.keys) and key in _keys(other.keys)


def _work_together(one: Action, other: Action) -> bool:
    """Whether the keys of both work in one place."""
    places = {one.where, other.where}
    if len(places) == 1:
        return True
    if actions.APP in places:
        app, there = (one, other) if one.where == actions.APP else (other, one)
        return app.priority or there.where in _CHAT
    if places <= set(_CHAT):
        return places not in _APART
    return (actions.DIALOG in places and not places & set(_CHAT)) or places == set(_WITH_LISTS)
