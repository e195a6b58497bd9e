"""Completion at the cursor of a draft: files after @, commands after a slash at the start, arguments after a command.

`partial`, which is pure, finds the word that is being typed; `Suggester` finds what completes it. It reads folders and
asks git, so where keys must not wait it belongs into a thread.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lacli.chat import values
from lacli.chat.commands import Command
from lacli.chat.fuzzy import Fit, Lines, fit

MENTION, COMMAND = "mention", "command"
MOST = 50
_MOST_FOLDERS = 3
_FRESH_S = 10.0
"""How long a list of the project's files is used."""
_AT = re.compile(r"""(?:^|(?<=[\s(\[{<"'`,;]))@(?:"(?P<quoted>[^"]*)|(?P<bare>(?:\\ |[^\s"'@])*))$""")
_WORD = re.compile(r"/([^\W\d_]*|\?)")
_BEHIND = re.compile(r"/(\w+)\s+(.*)", re.DOTALL)
_NUMBER = re.compile(r"\d+\s+")
_FILES = ("file", "n file")
_PATHS = ("/", "~", "./", "../")
"""Beginnings of paths that are completed from the file system, not from the names in the project."""
_FOLLOWS_ON = "\"')]}>,.;:"
"""Characters that may follow the cursor at the end of a word."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A word being typed that may be completed."""

    kind: str
    """`MENTION`, `COMMAND` or a command's `values`."""
    typed: str
    """The word so far, without its @ or slash."""
    row: int
    column: int
    """Where it begins, with its @ or slash; a suggestion replaces the text from there to the cursor."""

    @property
    def is_path(self) -> bool:
        """Whether it names a file."""
        return self.kind in (MENTION, *_FILES)

    @property
    def source(self) -> str:
        """Where completions come from. One that hangs, as a folder on a network may, must not hold up others."""
        if not self.is_path:
            return self.kind
        return self.typed[: self.typed.rfind("/") + 1] if self.typed.startswith(_PATHS) else "names"

    @property
    def place(self) -> tuple[str, int, int]:
        """Identifies the word, however much of it is typed."""
        return self.kind, self.row, self.column


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A completion."""

    text: str
    """The text that replaces the word."""
    title: str
    note: str = ""
    marks: tuple[int, ...] = ()
    """Positions in the title that match what was typed."""
    goes_on: bool = False
    """Whether another completion follows it: a folder, a command with arguments."""
    begun: bool = False
    """Whether exactly its beginning was typed: Enter then takes it."""


def partial(lines: Sequence[str], row: int, column: int, words: Mapping[str, Command]) -> Partial | None:
    """The word at the cursor, if it can be completed; `words` are the commands."""
    line = lines[row]
    before, after = line[:column], line[column : column + 1]
    if after and not after.isspace() and after not in _FOLLOWS_ON:
        return None
    if line.startswith("/") and len(lines) == 1:
        return None if after else _behind_slash(before, words)
    found = _AT.search(before)
    if found is None:
        return None
    quoted = found["quoted"]
    return Partial(MENTION, found["bare"].replace("\\ ", " ") if quoted is None else quoted, row, found.start())


def _behind_slash(before: str, words: Mapping[str, Command]) -> Partial | None:
    found = _WORD.fullmatch(before)
    if found is not None:
        return Partial(COMMAND, found[1].lower(), 0, 0)
    found = _BEHIND.fullmatch(before)
    command = words.get(found[1].lower()) if found is not None else None
    if found is None or command is None or not command.values:
        return None
    start = found.start(2)
    if command.values == "n file" and (number := _NUMBER.match(found[2])):
        start += number.end()
    typed = before[start:]
    if command.values not in _FILES and any(map(str.isspace, typed)):
        return None
    return Partial(command.values, typed, 0, start)


@dataclass(slots=True)
class Suggester:
    """Finds completions in a project."""

    folder: Path
    words: Mapping[str, Command]
    themes: Sequence[str] = ()
    by_folder: bool = False
    """Complete paths as a shell does: folder by folder, with backslashes before blanks."""
    _names: Lines = field(default_factory=lambda: Lines([]))
    _known: frozenset[str] = frozenset()
    _read_at: float | None = None

    def of(self, partial: Partial) -> list[Suggestion]:
        """The best first; none if the word is complete."""
        if partial.kind == COMMAND:
            found = self._commands(partial.typed)
        elif partial.is_path:
            found = self._files(partial)
        else:
            found = self._values(partial)
        return [] if [each.text.rstrip() for each in found] == [_whole(partial)] else found[:MOST]

    def _commands(self, typed: str) -> list[Suggestion]:
        """Those that begin so, else those that have its letters."""
        found = [word for word in self.words if word.startswith(typed)]
        begins = bool(found) and bool(typed) and typed not in self.words
        found = found or [each.text for each in Lines(list(self.words)).search(typed, MOST)[0]]
        offered = []
        for word in found:
            command = self.words[word]
            marks = tuple(at + 1 for at in fit([typed], word).marks) if typed else ()
            more = " " if command.arguments else ""
            shown = f"/{word} {command.arguments}".rstrip()
            offered.append(Suggestion(f"/{word}{more}", shown, command.help, marks, bool(command.values), begins))
        return offered

    def _files(self, partial: Partial) -> list[Suggestion]:
        typed = partial.typed
        level = typed[: typed.rfind("/") + 1]
        if self.by_folder or typed.startswith(_PATHS):
            return [self._file(partial, level + name) for name in values.entries(typed)]
        self._read()
        fits = self._names.search(typed, MOST)[0] if typed else []
        near = [each for each in self._level(level) if _starts(each, typed)]
        if not typed[len(level) :]:
            return [self._file(partial, name) for name in near[:MOST]]
        first = [each for each in fits if _starts(each.text, typed) and "/" not in each.text[len(level) :]]
        folders = [Fit(name, 0.0, tuple(range(len(typed)))) for name in near if name.endswith("/")]
        rest = [each for each in fits if each not in first]
        rest.sort(key=lambda each: not _starts(each.text.rpartition("/")[2], typed))
        known = typed in self._known
        return [self._file(partial, each.text, each.marks, known) for each in (*first, *folders[:_MOST_FOLDERS], *rest)]

    def _file(self, partial: Partial, name: str, marks: tuple[int, ...] = (), known: bool = False) -> Suggestion:
        """Enter takes it only after /file: in a question `@property` may be a word, and /save may name a new file."""
        folder = name.endswith("/")
        text = name
        if partial.kind == MENTION and self.by_folder:
            text = "@" + name.replace(" ", "\\ ")
        elif partial.kind == MENTION:
            quote = '"' if any(letter.isspace() for letter in name) else ""
            text = f"@{quote}{name}" if folder else f"@{quote}{name}{quote} "
        begins = partial.kind == "file" and bool(partial.typed) and not known and not partial.typed.endswith("/")
        begins = begins and (_starts(name, partial.typed) or _starts(name.rpartition("/")[2], partial.typed))
        return Suggestion(text, name, "", marks, folder, begins)

    def _read(self) -> None:
        from lacli.project.offered import offered_names

        now = time.monotonic()
        if self._read_at is None or now - self._read_at > _FRESH_S:
            names = offered_names(self.folder)
            self._names, self._known = Lines(names), frozenset(names)
            self._read_at = time.monotonic()

    def _level(self, folder: str) -> list[str]:
        """The entries of a folder of the project, hidden ones last."""
        found: dict[str, None] = {}
        for name in self._names.lines:
            if name.startswith(folder) and (folder or not name.startswith("../")):
                head, slash, _ = name[len(folder) :].partition("/")
                found[folder + head + slash] = None
        return sorted(found, key=lambda name: (name[len(folder) :].startswith("."), not name.endswith("/")))

    def _values(self, partial: Partial) -> list[Suggestion]:
        names = [(name, "") for name in self.themes] if partial.kind == "theme" else values.names(partial.kind)
        typed = partial.typed.lower()
        first = [each for each in names if each[0].lower().startswith(typed)]
        rest = [each for each in names if each not in first and typed in f"{each[0]} {each[1]}".lower()]
        whole = any(name == partial.typed for name, _ in names)
        more = " " if partial.kind in ("option", "template") else ""
        return [
            Suggestion(
                name + more,
                name,
                note,
                _marks(name, typed),
                begun=bool(typed) and not whole and (name, note) in first,
            )
            for name, note in (*first, *rest)
        ]


def _starts(name: str, typed: str) -> bool:
    """Whether a name begins so; only capital letters are matched exactly."""
    return (name.lower() if typed == typed.lower() else name).startswith(typed)


def _marks(name: str, typed: str) -> tuple[int, ...]:
    at = name.lower().find(typed)
    return tuple(range(at, at + len(typed))) if at >= 0 else ()


def _whole(partial: Partial) -> str:
    return {MENTION: "@", COMMAND: "/"}.get(partial.kind, "") + partial.typed
