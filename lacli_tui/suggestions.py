"""What has been begun at the cursor of a draft, and what would fit there: files behind @, commands behind a slash at
the start, and behind a command what belongs there. `begun` is pure; `Suggestions` reads folders and asks git: for a thread.

Which commands there are, and what stands behind each, is told by the registry of actions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lacli.chat.fuzzy import Fit, Lines, fit
from lacli_tui.actions import slash_actions
from lacli_tui.sanitize import visible

MENTION, COMMAND = "mention", "command"
MOST = 50
_MOST_FOLDERS = 3
_FRESH_S = 10.0
"""How long a list of the project's files is good for."""
_AT = re.compile(r"""(?:^|(?<=[\s(\[{<"'`,;]))@(?:"(?P<quoted>[^"]*)|(?P<bare>[^\s"'@]*))$""")
_WORD = re.compile(r"/([^\W\d_]*|\?)")
_BEHIND = re.compile(r"/(\w+)\s+(\S*)")
_BEHIND_A_NUMBER = re.compile(r"/(\w+)\s+\d+\s+(\S*)")
_PATHS = ("/", "~", "./", "../")
"""What begins a path that the project's names are not asked for."""
_FOLLOWS_ON = "\"')]}>,.;:"
"""What may stand behind the cursor at the end of a word."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A word that may go on."""

    kind: str
    """`MENTION`, `COMMAND` or an action's `values`."""
    typed: str
    """Of it, without what introduces it."""
    row: int
    column: int
    """Where it begins, with its @ or slash: from there to the cursor stands what an offer takes the place of."""

    @property
    def source(self) -> str:
        """What is asked for what fits: one that hangs, as a folder may, holds up no other."""
        if self.kind not in (MENTION, "file", "n file"):
            return self.kind
        return self.typed[: self.typed.rfind("/") + 1] if self.typed.startswith(_PATHS) else "names"

    @property
    def place(self) -> tuple[str, int, int]:
        """Which word it is, however far it has gone."""
        return self.kind, self.row, self.column


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something that fits."""

    text: str
    """What takes the place of what was begun."""
    title: str
    note: str = ""
    marks: tuple[int, ...] = ()
    """Places in the title that fit what was typed."""
    goes_on: bool = False
    """Whether there is more to choose behind it."""
    begun: bool = False
    """Whether its beginning was typed, and only that: enter then means it."""


def partial_at(lines: Sequence[str], row: int, column: int) -> Partial | None:
    """What the word at the cursor begins, if anything."""
    line = lines[row]
    before, after = line[:column], line[column : column + 1]
    if after and not after.isspace() and after not in _FOLLOWS_ON:
        return None
    if line.startswith("/") and len(lines) == 1:
        return None if after else _behind_slash(before)
    found = _AT.search(before)
    if found is None:
        return None
    quoted = found["quoted"]
    return Partial(MENTION, found["bare"] if quoted is None else quoted, row, found.start())


def _behind_slash(before: str) -> Partial | None:
    found = _WORD.fullmatch(before)
    if found is not None:
        return Partial(COMMAND, found[1].lower(), 0, 0)
    for pattern, numbered in ((_BEHIND, False), (_BEHIND_A_NUMBER, True)):
        found = pattern.fullmatch(before)
        action = slash_actions().get(found[1].lower()) if found is not None else None
        if found is not None and action is not None and action.values and (not numbered or action.values == "n file"):
            return Partial(action.values, found[2], 0, found.start(2))
    return None


@dataclass(slots=True)
class Suggestions:
    """What fits, in a project."""

    folder: Path
    themes: Sequence[str] = ()
    _names: Lines = field(default_factory=lambda: Lines([]))
    _known: frozenset[str] = frozenset()
    _read_at: float | None = None

    def of(self, begun: Partial) -> list[Suggestion]:
        """The best first; none where nothing would be added to what is typed."""
        if begun.kind == COMMAND:
            found = _commands(begun.typed)
        elif begun.kind in (MENTION, "file", "n file"):
            found = self._files(begun)
        else:
            found = self._values(begun)
        return [] if [each.text.rstrip() for each in found] == [_whole(begun)] else found[:MOST]

    def _files(self, begun: Partial) -> list[Suggestion]:
        typed = begun.typed
        if typed.startswith(_PATHS):
            return [_file(begun, name) for name in _entries(typed)]
        self._read()
        fits = self._names.search(typed, MOST)[0] if typed else []
        level = typed.rpartition("/")[0] + "/" if "/" in typed else ""
        near = [each for each in self._level(level) if _starts(each, typed)]
        if not typed[len(level) :]:
            return [_file(begun, name) for name in near[:MOST]]
        first = [each for each in fits if _starts(each.text, typed) and "/" not in each.text[len(level) :]]
        folders = [Fit(name, 0.0, tuple(range(len(typed)))) for name in near if name.endswith("/")]
        rest = [each for each in fits if each not in first]
        rest.sort(key=lambda each: not _starts(each.text.rpartition("/")[2], typed))
        known = typed in self._known
        return [_file(begun, each.text, each.marks, known) for each in (*first, *folders[:_MOST_FOLDERS], *rest)]

    def _read(self) -> None:
        from lacli.project.offered import offered_names

        now = time.monotonic()
        if self._read_at is None or now - self._read_at > _FRESH_S:
            names = offered_names(self.folder)
            self._names, self._known = Lines(names), frozenset(names)
            self._read_at = time.monotonic()

    def _level(self, folder: str) -> list[str]:
        """What is in a folder of the project, hidden ones last."""
        found: dict[str, None] = {}
        for name in self._names.lines:
            if name.startswith(folder) and (folder or not name.startswith("../")):
                head, slash, _ = name[len(folder) :].partition("/")
                found[folder + head + slash] = None
        return sorted(found, key=lambda name: (name[len(folder) :].startswith("."), not name.endswith("/")))

    def _values(self, begun: Partial) -> list[Suggestion]:
        from lacli.chat import values

        names = [(name, "") for name in self.themes] if begun.kind == "theme" else values.names(begun.kind)
        typed = begun.typed.lower()
        first = [each for each in names if each[0].lower().startswith(typed)]
        rest = [each for each in names if each not in first and typed in f"{each[0]} {each[1]}".lower()]
        whole = any(name == begun.typed for name, _ in names)
        more = " " if begun.kind in ("option", "template") else ""
        return [
            Suggestion(
                name + more,
                name,
                " ".join(visible(note).split()),
                _marks(name, typed),
                begun=bool(typed) and not whole and (name, note) in first,
            )
            for name, note in (*first, *rest)
        ]


def _commands(typed: str) -> list[Suggestion]:
    """Those that begin so; where none does, those that have its letters."""
    known = slash_actions()
    found = [word for word in known if word.startswith(typed)]
    begins = bool(found) and bool(typed) and typed not in known
    if not found:
        fits = Lines(list(known)).search(typed, MOST)[0]
        found = [each.text for each in fits]
    offers = []
    for word in found:
        action = known[word]
        marks = tuple(at + 1 for at in fit([typed], word).marks) if typed else ()
        more = " " if action.takes else ""
        shown = f"/{word} {action.takes}".rstrip()
        offers.append(Suggestion(f"/{word}{more}", shown, action.title, marks, bool(action.values), begins))
    return offers


def _file(begun: Partial, name: str, marks: tuple[int, ...] = (), known: bool = False) -> Suggestion:
    """Enter means it only behind /file: in a question `@property` is a word as well, and what is written may be new."""
    folder = name.endswith("/")
    text = name
    if begun.kind == MENTION:
        quote = '"' if any(letter.isspace() for letter in name) else ""
        text = f"@{quote}{name}" if folder else f"@{quote}{name}{quote} "
    begins = begun.kind == "file" and bool(begun.typed) and not known and not begun.typed.endswith("/")
    begins = begins and (_starts(name, begun.typed) or _starts(name.rpartition("/")[2], begun.typed))
    return Suggestion(text, name, "", marks, folder, begins)


def _entries(typed: str) -> list[str]:
    from lacli.chat import values

    folder = typed[: typed.rfind("/") + 1]
    return [folder + name for name in values.entries(typed)]


def _starts(name: str, typed: str) -> bool:
    """Capital letters are only themselves."""
    return (name.lower() if typed == typed.lower() else name).startswith(typed)


def _marks(name: str, typed: str) -> tuple[int, ...]:
    at = name.lower().find(typed)
    return tuple(range(at, at + len(typed))) if at >= 0 else ()


def _whole(begun: Partial) -> str:
    return {MENTION: "@", COMMAND: "/"}.get(begun.kind, "") + begun.typed
