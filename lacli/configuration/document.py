"""A TOML file with the place of every key, so that a mistake has a line and one value can be changed in the text.

`tomllib` decides what the file says; the scanner here only finds again where it says it.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import stat
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacli.errors import UsageError

KeyPath = tuple[str, ...]
"""The tables that contain a key, then the key."""
_MOST_BYTES = 1 << 20
_PLACE = re.compile(r" \(at line (\d+), column \d+\)$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_REST = re.compile(r"[^#\r\n]*")
_BOMS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


@dataclass(frozen=True, slots=True)
class ValueSpan:
    """The position of the value of one `key = value`."""

    line: int
    start: int
    """Of the value; `end` is one past it."""
    end: int


@dataclass(slots=True)
class Positions:
    """The positions of all keys and tables in a text."""

    entries: dict[KeyPath, ValueSpan] = field(default_factory=dict)
    headers: dict[KeyPath, int] = field(default_factory=dict)
    """The position after the line of each [table]."""
    last: dict[KeyPath, int] = field(default_factory=dict)
    """The position after the last key below each header; () is the part before all of them."""
    first_header: int | None = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    """The line of each header."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file as it was read."""

    path: Path
    text: str
    """As in the file, line ends included, without the byte order mark."""
    data: dict[str, Any]
    bom: bool = False

    @property
    def positions(self) -> Positions:
        """The positions, found on first use: most files that are read never need them."""
        return find_positions(self.text)

    def below(self, root: KeyPath) -> Any:
        """The contents of this table; {} if it is missing, and a value that is not a table as it is."""
        found: Any = self.data
        for name in root:
            found = found.get(name, {}) if isinstance(found, dict) else found
        return found

    def line(self, path: KeyPath) -> int:
        """The line of a key or table, or of the value that contains it."""
        for length in range(len(path), 0, -1):
            entry = self.positions.entries.get(path[:length])
            if entry is not None:
                return entry.line
            if path[:length] in self.positions.lines:
                return self.positions.lines[path[:length]]
        return next((entry.line for key, entry in self.positions.entries.items() if key[: len(path)] == path), 1)

    def changed(self, path: KeyPath, value: Any) -> str:
        """The text with this key set to this value and nothing else changed."""
        wanted = _deep_copy(self.data)
        table = wanted
        for name in path[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise UsageError(f"{self.path}:{self.line(path)}: {name} is not a table", "correct it first")
        table[path[-1]] = value
        text = self._replaced(path, literal(value))
        try:
            if tomllib.loads(text) == wanted:
                return text
        except tomllib.TOMLDecodeError:
            pass
        where = ".".join(path[:-1])
        raise UsageError(f"{self.path} writes {where} in one line", "change it there with `lacli config edit`")

    def _replaced(self, path: KeyPath, value: str) -> str:
        text, positions = self.text, self.positions
        entry = positions.entries.get(path)
        if entry is not None:
            return text[: entry.start] + value + text[entry.end :]
        end = "\r\n" if "\r\n" in text else "\n"
        *table, key = path
        line = f"{_key(key)} = {value}{end}"
        at = positions.last.get(tuple(table), positions.headers.get(tuple(table)))
        if at is None and not table and positions.first_header is not None:
            at = _before_comments(text, positions.first_header)
        if at is not None:
            newline = "" if at == 0 or text[at - 1] == "\n" else end
            return text[:at] + newline + line + text[at:]
        gap = (end if text and not text.endswith("\n") else "") + (end if text and table else "")
        header = f"[{'.'.join(_key(name) for name in table)}]{end}" if table else ""
        return text + gap + header + line


class Unreadable(UsageError):
    """A file that cannot be read or parsed."""

    def __init__(self, path: Path, text: str, hint: str, line: int = 0) -> None:
        """`text` says what is wrong; `line` is 0 if it is about the whole file."""
        super().__init__(f"{path}:{line}: {text}" if line else f"the configuration {path} {text}", hint)
        self.text, self.line = text, line


def read(path: Path) -> Document:
    """Read a file. Raises Unreadable."""
    try:
        data = _bytes(path)
    except OSError as error:
        what = "is a folder" if error.errno == errno.EISDIR else f"cannot be read: {error.strerror}"
        raise Unreadable(path, what, "give a TOML file, or check its permissions") from None
    return parse(path, data)


def parse(path: Path, data: bytes) -> Document:
    """Parse the bytes of a file. Raises Unreadable."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            raise Unreadable(path, f"the file is {name}, not UTF-8", "save it as UTF-8", 1)
    bom = data.startswith(b"\xef\xbb\xbf")
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Unreadable(path, "the file is not UTF-8", "save it as UTF-8", line) from None
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place else _unclosed_line(text, str(error))
        words = _PLACE.sub("", str(error)).removesuffix(" (at end of document)")
        hint = (
            "a text stands between two quotes" if "'\\n'" in words or "Invalid value" in words else "correct that line"
        )
        raise Unreadable(path, f"not valid TOML: {words[:1].lower()}{words[1:]}", hint, line) from None
    return Document(path, text, found, bom)


def _unclosed_line(text: str, message: str) -> int:
    """The line of the quote that is never closed: the last line with an odd number of them."""
    lines = text.splitlines() or [""]
    for quote in ("'''", '"""', "'"):
        odd = [number for number, line in enumerate(lines, 1) if line.count(quote) % 2]
        if odd and (quote in message or (quote == '"""' and "nterminated string" in message)):
            return odd[-1]
    return len(lines)


def _bytes(path: Path) -> bytes:
    if str(path) == os.devnull:
        return b""
    # A FIFO in the file's place must not block the program before it has been looked at.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL, "it is not a regular file")
        if found.st_size > _MOST_BYTES:
            raise OSError(errno.EFBIG, "it is larger than a megabyte")
        return stream.read(_MOST_BYTES)


def literal(value: Any) -> str:
    """A value as a TOML literal."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(each) for each in value) + "]"
    return '"' + re.sub(r'[\x00-\x1f\x7f"\\]', _escaped, str(value)) + '"'


def _escaped(found: re.Match[str]) -> str:
    return {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(found[0], f"\\u{ord(found[0]):04x}")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else literal(name)


def _deep_copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _deep_copy(each) for key, each in value.items()}
    return [_deep_copy(each) for each in value] if isinstance(value, list) else value


def _before_comments(text: str, at: int) -> int:
    """The start of the comment lines directly above this position."""
    while at > 0:
        above = text.rfind("\n", 0, at - 1) + 1
        if not text[above:at].lstrip().startswith("#"):
            break
        at = above
    return at


@functools.lru_cache(maxsize=8)
def find_positions(text: str) -> Positions:
    """The positions of the keys of a valid TOML text."""
    positions, at, line, counted = Positions(), 0, 1, 0
    table: KeyPath = ()
    while True:
        at = _skip_blank(text, at)
        if at >= len(text):
            return positions
        line, counted = line + text.count("\n", counted, at), at
        if text[at] == "[":
            opening = 2 if text.startswith("[[", at) else 1
            if positions.first_header is None:
                positions.first_header = at
            table, at = _key_path(text, at + opening)
            at = _line_end(text, at)
            positions.headers[table] = at
            positions.lines.setdefault(table, line)
            positions.last.pop(table, None)  # of an array of tables, only the last one can be added to
            continue
        key, at = _key_path(text, at)
        start = at + 1
        while text[start] in " \t":
            start += 1
        end = _value_end(text, start)
        positions.entries[table + key] = ValueSpan(line, start, end)
        at = positions.last[table] = _line_end(text, end)


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _line_end(text: str, at: int) -> int:
    """The position after the newline of this line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _key_path(text: str, at: int) -> tuple[KeyPath, int]:
    """A dotted key, and the position of what follows it: = or ]."""
    names: list[str] = []
    while at < len(text) and text[at] not in "=]":
        if text[at] in "\"'":
            end = _string_end(text, at)
            names.append(str(tomllib.loads(f"k = {text[at:end]}")["k"]))
            at = end
        elif (bare := _BARE.match(text, at)) is not None:
            names.append(bare[0])
            at = bare.end()
        else:
            at += 1  # a dot or a blank
    return tuple(names), at


def _string_end(text: str, at: int) -> int:
    quote = text[at]
    long = text.startswith(quote * 3, at)
    close = quote * 3 if long else quote
    at += len(close)
    while not text.startswith(close, at):
        at += 2 if quote == '"' and text[at] == "\\" else 1
    at += len(close)
    while long and at < len(text) and text[at] == quote:  # quotes right before the closing ones
        at += 1
    return at


def _value_end(text: str, at: int) -> int:
    if text[at] in "\"'":
        return _string_end(text, at)
    if text[at] not in "[{":
        found = _REST.match(text, at)
        return at + len(found[0].rstrip()) if found else at
    depth = 0
    while True:
        if text[at] in "\"'":
            at = _string_end(text, at)
            continue
        if text[at] == "#":
            at = _line_end(text, at)
            continue
        depth += (text[at] in "[{") - (text[at] in "]}")
        at += 1
        if not depth:
            return at
