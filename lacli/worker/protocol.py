"""The protocol of the engine as a process of its own: requests and events as JSON lines. Pure.

Spoken by `worker` (the engine) and `worker_client` (a front end), over a pair of pipes or any other two streams.

**Lines.** Each message is one JSON object on one line: ASCII (everything else escaped as \\uXXXX), ended by \\n, of at
most 256 MiB. `type` names it; its other members are given below. A reader ignores members it does not know, and a
missing member has its default, so that members may be added without a new version. A line that cannot be read, a type
that is not known or a member of the wrong kind has no effect but a `problem`, with the `id` where the line had one. A
number that is not finite is the string "NaN", "Infinity" or "-Infinity".

**Greeting.** Both sides greet first, without waiting for each other, and say which version of this text they speak.
Whoever reads another version than its own says so to its user, and ends.

    front end   {"type": "hello", "protocol": 1, "settings": {…}}            `config.Settings`: which model, and how
    engine      {"type": "greeting", "protocol": 1, "version": "0.1.0", "pid": 4711}

**Calls.** The front end gives each call a number of its own choice, never used before on these streams. Calls are done
one after the other, in the order in which they came.

    {"type": "call", "id": 1, "what": "open"}                                 load the model; a reply does so by itself
    {"type": "call", "id": 2, "what": "reply", "request": {…}}                `events.Request`
    {"type": "call", "id": 3, "what": "preview", "request": {…}}              the prompt as the model would see it
    {"type": "call", "id": 4, "what": "warm", "request": {…}}                 read ahead into the KV cache

The engine answers with any number of `said`, of which each holds one event of `events.py` (`notice`, `loading`,
`prefill`, `piece`: one for each decoding step, `finished`), then one `done` or one `problem`, after which the number is
not heard of again.

    {"type": "said", "id": 2, "event": {"type": "piece", "text": " a", "sources": ["project"], "stats": {…}}}
    {"type": "done", "id": 2}                                                 a preview's holds `preview`
    {"type": "problem", "id": 2, "kind": "PromptTooLong", "message": "…", "hint": "…"}

The last event of a reply is `finished`, unless a `problem` ends it. `kind` is a class of `errors.py`; one that is not
known is a LacliError. After a problem the engine goes on and takes the next call.

**Cancel.** `{"type": "cancel", "id": 2}` may be sent at any time. A reply ends after the step it is in, with `finished`
of reason `cancelled`; other calls end as soon as they can, with `done`. A number that is not, or no longer, at work is
ignored. The engine reads on while it works, so that sending never has to wait for a reply.

**End.** `{"type": "close"}`, or the end of the stream, which is also what the death of a front end looks like: the
engine finishes the step it is in, saves what it learned, answers nothing more and ends. The end of the engine's stream
without having been asked for is its death: whatever call is at work was lost.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from lacli import errors
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Finished, Loading, Notice, Piece, Prefill, Preview, Request

PROTOCOL = 1
"""The version of this text; raised when an older reader would misunderstand."""
MOST_BYTES = 1 << 28
"""Of one line."""
CALLS = ("open", "reply", "preview", "warm")

_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class Hello:
    """A front end's first line."""

    protocol: int
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Greeting:
    """An engine's first line."""

    protocol: int
    version: str = ""
    """Of lacli."""
    pid: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """Something to do."""

    id: int
    what: str
    """One of `CALLS`"""
    request: Request = field(default_factory=Request)


@dataclass(frozen=True, slots=True)
class Cancel:
    """A call that is no longer wanted."""

    id: int


@dataclass(frozen=True, slots=True)
class Close:
    """Finish the step, save, end."""


@dataclass(frozen=True, slots=True)
class Said:
    """An event of a call."""

    id: int
    event: Event


@dataclass(frozen=True, slots=True)
class Done:
    """A call has come to its end."""

    id: int
    preview: Preview | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A call has failed; without an id a line could not be read at all."""

    id: int | None = None
    kind: str = "LacliError"
    message: str = ""
    hint: str = ""

    @staticmethod
    def of(error: LacliError, call: int | None = None) -> Problem:
        """An error, to be sent; one that only a part of lacli knows goes as what it is a kind of."""
        kind = next(each.__name__ for each in type(error).__mro__ if each.__name__ in _ERRORS)
        return Problem(call, kind, error.message, error.hint)

    def error(self) -> LacliError:
        """The error, to be raised."""
        return _ERRORS.get(self.kind, LacliError)(self.message, self.hint)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A line that says nothing; never sent."""

    why: str
    """Half a sentence that names what was found."""
    id: int | None = None

    def problem(self) -> Problem:
        """What the other side is told."""
        return Problem(self.id, "UsageError", f"a line of the protocol could not be read: {self.why}")


Asked = Hello | Call | Cancel | Close
Told = Greeting | Said | Done | Problem

_ERRORS: dict[str, type[LacliError]] = {
    name: found for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, LacliError)
}


def line(record: Asked | Told) -> bytes:
    """The record as a line, its end included."""
    return _spelled(_tagged(record)).encode("ascii") + b"\n"


def asked(found: bytes) -> Asked | Damaged:
    """What a front end's line says."""
    return typing.cast("Asked | Damaged", _read_line(found, Asked))


def told(found: bytes) -> Told | Damaged:
    """What an engine's line says."""
    return typing.cast("Told | Damaged", _read_line(found, Told))


def lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream to its end; one beyond `MOST_BYTES` is cut, which makes it one that cannot be read."""
    while found := stream.readline(MOST_BYTES):
        rest = found
        while len(rest) == MOST_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MOST_BYTES)
        yield found


def plain(record: object) -> dict[str, Any]:
    """A record of `events`, `config` or of this module as objects that JSON has."""
    if not dataclasses.is_dataclass(record):
        raise TypeError(f"{type(record).__name__} is no record")
    kind: Any = type(record)
    return {name: _plain(getattr(record, name)) for name in _names(kind)}


def record(kind: type[_Record], found: object) -> _Record:
    """The record that `plain` made this of. Raises ValueError, which names the member that is wrong."""
    hint: Any = kind
    return typing.cast(_Record, _reader(hint)(found, ""))


def _read_line(found: bytes, kinds: Any) -> Any:
    if not found.endswith(b"\n"):
        return Damaged("it has no end")
    try:
        value = json.loads(found)
    except RecursionError:
        return Damaged("it is nested too deeply")
    except json.JSONDecodeError as error:
        return Damaged(f"it is no JSON: {error.msg} at column {error.colno}")
    except ValueError:  # bytes that are no text, a number of thousands of digits
        return Damaged("it is no JSON")
    try:
        return _reader(kinds)(value, "")
    except ValueError as error:
        number = value.get("id") if isinstance(value, dict) else None
        return Damaged(str(error), number if type(number) is int else None)


def _tagged(record: object) -> dict[str, Any]:
    return {"type": type(record).__name__.lower(), **plain(record)}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is float:
        return value if math.isfinite(value) else _NOT_FINITE[str(value)]
    if kind is tuple:
        return [_plain(each) for each in value]
    if kind is dict:
        return {str(key): _plain(each) for key, each in value.items()}
    for base in (str, int, float):
        if isinstance(value, base):
            return _plain(base(value))
    if isinstance(value, Path):
        return str(value)
    return _tagged(value) if kind in _EVENTS else plain(value)


_spelled = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_AS_IT_IS = frozenset((str, int, bool, type(None)))
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_EVENTS = frozenset((Notice, Loading, Prefill, Piece, Finished))

_Reader = Callable[[object, str], Any]
"""Takes what JSON had and where, for errors; raises ValueError."""


@functools.cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(kind))


@functools.cache
def _reader(hint: Any) -> _Reader:
    """What makes a value of this type of what JSON had."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _optional(arguments) if type(None) in arguments else _union(arguments)
    if origin is typing.Literal:
        return _choice(arguments)
    if origin is tuple:
        return _list(_reader(arguments[0]))
    if origin is dict:
        return _table(_reader(arguments[1]))
    if dataclasses.is_dataclass(hint):
        return _fields(hint)
    return _SCALARS[hint]


def _fields(kind: Any) -> _Reader:
    hints = typing.get_type_hints(kind)
    readers = {each.name: _reader(hints[each.name]) for each in dataclasses.fields(kind)}
    missing = dataclasses.MISSING
    needed = [
        each.name for each in dataclasses.fields(kind) if each.default is missing and each.default_factory is missing
    ]

    def read(found: object, where: str) -> Any:
        if not isinstance(found, dict):
            raise _wrong(where, "an object")
        for name in needed:
            if name not in found:
                raise ValueError(f"{_below(where, name)} is missing")
        return kind(**{name: readers[name](found[name], _below(where, name)) for name in readers if name in found})

    return read


def _union(kinds: tuple[Any, ...]) -> _Reader:
    readers = {kind.__name__.lower(): _reader(kind) for kind in kinds}

    def read(found: object, where: str) -> Any:
        if not isinstance(found, dict):
            raise _wrong(where, "an object")
        name = found.get("type")
        if not isinstance(name, str) or name not in readers:
            raise ValueError(f"{_below(where, 'type')} is none of {', '.join(readers)}")
        return readers[name](found, where)

    return read


def _optional(kinds: tuple[Any, ...]) -> _Reader:
    (kind,) = (each for each in kinds if each is not type(None))
    inner = _reader(kind)
    return lambda found, where: None if found is None else inner(found, where)


def _choice(values: tuple[Any, ...]) -> _Reader:
    def read(found: object, where: str) -> Any:
        if found not in values:
            raise ValueError(f"{where} is none of {', '.join(map(repr, values))}")
        return found

    return read


def _list(inner: _Reader) -> _Reader:
    def read(found: object, where: str) -> Any:
        if not isinstance(found, list):
            raise _wrong(where, "a list")
        return tuple(inner(each, where) for each in found)

    return read


def _table(inner: _Reader) -> _Reader:
    def read(found: object, where: str) -> Any:
        if not isinstance(found, dict):
            raise _wrong(where, "an object")
        return {key: inner(each, _below(where, key)) for key, each in found.items()}

    return read


def _whole(found: object, where: str) -> int:
    if not isinstance(found, int) or isinstance(found, bool):
        raise _wrong(where, "a whole number")
    return found


def _number(found: object, where: str) -> float:
    if isinstance(found, str) and found in _NOT_FINITE.values():
        return float(found)
    if not isinstance(found, int | float) or isinstance(found, bool):
        raise _wrong(where, "a number")
    try:
        return float(found)
    except OverflowError:
        raise _wrong(where, "a number") from None


def _text(found: object, where: str) -> str:
    if not isinstance(found, str):
        raise _wrong(where, "a string")
    return found


def _truth(found: object, where: str) -> bool:
    if not isinstance(found, bool):
        raise _wrong(where, "true or false")
    return found


_SCALARS: dict[Any, _Reader] = {
    int: _whole,
    float: _number,
    str: _text,
    bool: _truth,
    Path: lambda found, where: Path(_text(found, where)),
}


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, wanted: str) -> ValueError:
    return ValueError(f"{where or 'it'} is not {wanted}")
