"""What every key and command does, made from the registry of actions. `HelpScreen(keymap)` -> None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from textual.widget import Widget

from lacli_tui import actions
from lacli_tui.actions import ACTIONS, Action, bindings_of
from lacli_tui.keymap import rows
from lacli_tui.keys import key_name, scroll_keys
from lacli_tui.screens.dialog import Dialog
from lacli_tui.widgets.pairs import Pair, Pairs
from lacli_tui.widgets.scrolling import Page

_FIRST: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("At the prompt", (actions.PROMPT,)),
    ("While a file or a command is typed", (actions.OFFERS,)),
)
_THEN = (
    ("Everywhere in the chat", (actions.MAIN, actions.APP)),
    ("On a message (shift+tab goes to them)", (actions.MESSAGE,)),
    ("In every screen over the chat", (actions.DIALOG,)),
    ("In lists", (actions.PICKER,)),
    ("In the list of chats", (actions.SESSIONS,)),
    ("In questions", (actions.CONFIRM,)),
    ("Where a line is typed", (actions.LINE,)),
    ("Before a file is changed", (actions.DIFF,)),
    ("In what a project has taught", (actions.POOL,)),
    ("In settings and in this help", (actions.SETTINGS, actions.HELP)),
)
_NUMBERS = (
    ("tok/s", "tokens a second; a token is a word or a piece of one"),
    ("≈ plain", "what the model would do without guesses: one token a step"),
    (
        "tokens per step",
        "what one pass of the model brings; above 1 are guesses that were right. The pass that brings nothing but the "
        "end counts, too: a short reply may be below 1",
    ),
    ("guesses kept", "how many steps kept 0, 1, 2 … guesses"),
    ("who guessed", "the part of the text that each source has guessed; a full bar is all of it"),
    ("paused", "a source that is not asked for now, as its guesses were wrong too often"),
    ("a step", "a pass of the model: how many guesses it checks and keeps, how long it takes, and how long without"),
    ("learned", "tokens of replies that are kept in this project (the pool), and which part of all text they guessed"),
    ("context, memory", "how much of what the model can read at once is used; what the engine takes of memory"),
)


def help_pairs(keymap: Mapping[str, str]) -> list[Pair]:
    """The keys for typing, then all other actions with a key, then what the numbers mean."""
    found: list[Pair] = []
    for title, wheres in _FIRST:
        found += _section(title, wheres, keymap)
    found += [Pair(), Pair("Commands, typed at the prompt")]
    for action in ACTIONS:
        if action.slash:
            name = f"/{action.slash} {action.takes}".strip()
            found.append(Pair(name, action.title, "$accent", action.help))
    found.append(Pair("PATH", "counts from the project's folder: DIR of `lacli tui DIR`, else where it was started"))
    found.append(Pair("(blank)/word", "A question, sent without the blank", "$accent"))
    for title, wheres in _THEN:
        found += _section(title, wheres, keymap)
    rest = [action for action in ACTIONS if _only_in_palette(action, keymap)]
    if rest:
        found += [Pair(), Pair("Without a key: ctrl+p finds them")]
        found += [Pair("·", action.title, "$accent", action.help) for action in rest]
    found += [Pair(), Pair("The numbers (f2)")]
    return [*found[1:], *(Pair(name, text) for name, text in _NUMBERS)]


def name_pairs(keymap: Mapping[str, str]) -> list[Pair]:
    """Every action by its name in [keymap], with its keys now, grouped by where they work."""
    found = [Pair("keymap.NAME", "`lacli config set keymap.stop f12` gives an action other keys")]
    sections: dict[str, list[Pair]] = {}
    for name, keys, title, place in rows(keymap):
        shown = " ".join(key_name(key.strip()) for key in keys.split(",") if key.strip())
        sections.setdefault(place, []).append(Pair(name, shown or "no key", "$accent", title))
    for place, pairs in sections.items():
        found += [Pair(), Pair(place[0].upper() + place[1:]), *pairs]
    return found


def _section(title: str, wheres: Sequence[str], keymap: Mapping[str, str]) -> list[Pair]:
    lines = [
        Pair(_keys(keys), action.title, "$accent", action.help)
        for action in ACTIONS
        if action.where in wheres and (keys := keymap.get(action.id, action.keys))
    ]
    return [Pair(), Pair(title), *lines] if lines else []


def _only_in_palette(action: Action, keymap: Mapping[str, str]) -> bool:
    return action.palette and not action.slash and not keymap.get(action.id, action.keys)


def _keys(keys: str) -> str:
    names = [key_name(key.strip()) for key in keys.split(",")]
    digits = [name for name in names if name.isdecimal()]
    if len(digits) > 2:
        names = [f"{digits[0]}–{digits[-1]}"]
    return " ".join(names)


class HelpScreen(Dialog[None]):
    """All keys and commands, or the names of actions."""

    TITLE = "Help"
    PLACES = (actions.HELP,)
    BINDINGS = bindings_of(actions.HELP)

    def __init__(self, keymap: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._keymap = dict(keymap or {})
        self._names = False

    def body(self) -> Iterable[Widget]:
        yield Page(Pairs(help_pairs(self._keymap)), id="page")

    def on_mount(self) -> None:
        self.query_one("#page").focus()
        self.show_in_frame(scroll_keys())

    def footer_of(self, id_: str, footer: str) -> str:
        return "keys and commands" if id_ == "help-names" and self._names else footer

    def action_help_names(self) -> None:
        self._names = not self._names
        self.query_one(Pairs).show((name_pairs if self._names else help_pairs)(self._keymap))
        self.query_one("#page").scroll_home(animate=False)
        self.show_hints()
