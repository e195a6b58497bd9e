"""The protocol between a front end and its worker: calls and events as JSON lines. Pure: no streams, no processes.

`server` and `client` speak it over a pair of pipes; any other two byte streams would do.

**Lines.** Each message is one JSON object on one line: ASCII (everything else escaped as \\uXXXX), ended by \\n, of at
most 256 MiB. `type` names the message; its other members are given below. A reader ignores members it does not know,
and a missing member has its default, so members can be added without a new version. A line that cannot be parsed, an
unknown type or a member of the wrong type has no effect except an `error`, with the `id` if the line had one. A number
that is not finite is the string "NaN", "Infinity" or "-Infinity".

**Greeting.** Both sides greet first, without waiting for each other, and name the version of the protocol they speak.
A side that reads another version than its own tells its user and ends the connection.

    front end   {"type": "hello", "protocol": 2, "settings": {…}}            `config.Settings`: which model, and how
    worker      {"type": "greeting", "protocol": 2, "version": "0.1.0", "pid": 4711}

**Calls.** The front end gives each call a number of its own choice, never used before on this connection. Calls run
one after the other, in the order in which they arrived.

    {"type": "call", "id": 1, "what": "open"}                                 load the model; a reply does so by itself
    {"type": "call", "id": 2, "what": "reply", "request": {…}}                `events.Request`
    {"type": "call", "id": 3, "what": "preview", "request": {…}}              the prompt as the model would see it
    {"type": "call", "id": 4, "what": "warm", "request": {…}}                 prefill the KV cache ahead of time

A call may have `settings` of its own: another project, other permissions, for this call and those after it. They must
name the model of the greeting.

The worker answers with any number of `event` messages, each holding one event of `events.py` (`notice`, `loading`,
`prefill`, `piece`: one per decoding step, `finished`), then one `done` or one `error`, after which the number is not
used again.

    {"type": "event", "id": 2, "event": {"type": "piece", "text": " a", "sources": ["project"], "stats": {…}}}
    {"type": "done", "id": 2}                                                 that of a preview holds `preview`
    {"type": "error", "id": 2, "kind": "PromptTooLong", "message": "…", "hint": "…"}

The last event of a reply is `finished`, unless an `error` ends it. `kind` is a class of `errors.py`; an unknown one is
read as LacliError. After an error the worker goes on and takes the next call.

**Cancel.** `{"type": "cancel", "id": 2}` can be sent at any time. A reply ends after its current step, with `finished`
of reason `cancelled`; other calls end as soon as they can, with `done`. A number that is not running or waiting is
ignored. The worker keeps reading while it works, so sending never has to wait for a reply.

**End.** `{"type": "close"}` or the end of the stream, which is also what the death of a front end looks like: the
worker finishes its current step, saves what it learned, answers nothing more and exits. If the worker's stream ends
without that, the worker has died and the running call is lost.
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

PROTOCOL = 2
"""Raised when an older reader would misunderstand a message."""
MOST_BYTES = 1 << 28
"""The longest line that is read."""
CALLS = ("open", "reply", "preview", "warm")

_Message = TypeVar("_Message")


@dataclass(frozen=True, slots=True)
class Hello:
    """A front end's first line."""

    protocol: int
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Greeting:
    """The worker's first line."""

    protocol: int
    version: str = ""
    """The version of lacli."""
    pid: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the worker."""

    id: int
    what: str
    """One of `CALLS`"""
    request: Request = field(default_factory=Request)
    settings: Settings | None = None
    """None leaves those of the call before, at first those of the greeting."""


@dataclass(frozen=True, slots=True)
class CancelCall:
    """A call is no longer wanted."""

    id: int


@dataclass(frozen=True, slots=True)
class Close:
    """Finish the current step, save, exit."""


@dataclass(frozen=True, slots=True)
class EventMessage:
    """An event of a running call."""

    id: int
    event: Event


@dataclass(frozen=True, slots=True)
class Done:
    """A call has ended."""

    id: int
    preview: Preview | None = None


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """A call has failed; without an id, a line could not be parsed at all."""

    id: int | None = None
    kind: str = "LacliError"
    message: str = ""
    hint: str = ""

    @staticmethod
    def from_error(error: LacliError, call: int | None = None) -> ErrorMessage:
        """The message that reports this error. An error class outside `errors.py` is sent as its nearest base there."""
        kind = next(each.__name__ for each in type(error).__mro__ if each.__name__ in _ERRORS)
        return ErrorMessage(call, kind, error.message, error.hint)

    def to_error(self) -> LacliError:
        """The error to raise."""
        return _ERRORS.get(self.kind, LacliError)(self.message, self.hint)


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line that could not be parsed; never sent."""

    reason: str
    """What is wrong with it, as half a sentence."""
    id: int | None = None

    def to_message(self) -> ErrorMessage:
        """The error to send to the other side."""
        return ErrorMessage(self.id, "UsageError", f"a line of the protocol could not be read: {self.reason}")


ClientMessage = Hello | Call | CancelCall | Close
WorkerMessage = Greeting | EventMessage | Done | ErrorMessage

_ERRORS: dict[str, type[LacliError]] = {
    name: found for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, LacliError)
}


def encode(message: ClientMessage | WorkerMessage) -> bytes:
    """The message as a line, newline included."""
    return _dumps(_tagged(message)).encode("ascii") + b"\n"


def parse_call(line: bytes) -> ClientMessage | InvalidLine:
    """Parse a line from a front end."""
    return typing.cast("ClientMessage | InvalidLine", _parse(line, ClientMessage))


def parse_event(line: bytes) -> WorkerMessage | InvalidLine:
    """Parse a line from the worker."""
    return typing.cast("WorkerMessage | InvalidLine", _parse(line, WorkerMessage))


def read_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream up to its end. A line longer than `MOST_BYTES` is truncated, so that parsing rejects it."""
    while line := stream.readline(MOST_BYTES):
        rest = line
        while len(rest) == MOST_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MOST_BYTES)
        yield line


def to_json(message: object) -> dict[str, Any]:
    """A dataclass of `events`, `config` or this module as a JSON object."""
    if not dataclasses.is_dataclass(message):
        raise TypeError(f"{type(message).__name__} is not a dataclass")
    kind: Any = type(message)
    return {name: _json_value(getattr(message, name)) for name in _field_names(kind)}


def from_json(kind: type[_Message], value: object) -> _Message:
    """The dataclass that `to_json` was given. Raises ValueError naming the wrong member."""
    hint: Any = kind
    return typing.cast(_Message, _reader(hint)(value, ""))


def _parse(line: bytes, kinds: Any) -> Any:
    if not line.endswith(b"\n"):
        return InvalidLine("it has no end")
    try:
        value = json.loads(line)
    except RecursionError:
        return InvalidLine("it is nested too deeply")
    except json.JSONDecodeError as error:
        return InvalidLine(f"it is not JSON: {error.msg} at column {error.colno}")
    except ValueError:  # bytes that are not text, a number of thousands of digits
        return InvalidLine("it is not JSON")
    try:
        return _reader(kinds)(value, "")
    except ValueError as error:
        number = value.get("id") if isinstance(value, dict) else None
        return InvalidLine(str(error), number if type(number) is int else None)


def _tag(kind: type) -> str:
    return _TAGS.get(kind) or kind.__name__.lower()


def _tagged(message: object) -> dict[str, Any]:
    return {"type": _tag(type(message)), **to_json(message)}


def _json_value(value: Any) -> Any:
    kind = type(value)
    if kind in _JSON_TYPES:
        return value
    if kind is float:
        return value if math.isfinite(value) else _NOT_FINITE[str(value)]
    if kind is tuple:
        return [_json_value(each) for each in value]
    if kind is dict:
        return {str(key): _json_value(each) for key, each in value.items()}
    for base in (str, int, float):  # subclasses of them, as NumPy's numbers
        if isinstance(value, base):
            return _json_value(base(value))
    if isinstance(value, Path):
        return str(value)
    return _tagged(value) if kind in _EVENTS else to_json(value)


_TAGS: dict[type, str] = {CancelCall: "cancel", EventMessage: "event", ErrorMessage: "error"}
"""Messages whose `type` is not the name of their class."""
_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_JSON_TYPES = frozenset((str, int, bool, type(None)))
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_EVENTS = frozenset((Notice, Loading, Prefill, Piece, Finished))

_Reader = Callable[[object, str], Any]
"""Turns a JSON value into a Python one; the second argument is its place, for the ValueError."""


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(kind))


@functools.cache
def _reader(hint: Any) -> _Reader:
    """The function that reads a value of this type from JSON."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _read_optional(arguments) if type(None) in arguments else _read_union(arguments)
    if origin is typing.Literal:
        return _read_literal(arguments)
    if origin is tuple:
        return _read_list(_reader(arguments[0]))
    if origin is dict:
        return _read_mapping(_reader(arguments[1]))
    if dataclasses.is_dataclass(hint):
        return _read_object(hint)
    return _SCALARS[hint]


def _read_object(kind: Any) -> _Reader:
    hints = typing.get_type_hints(kind)
    readers = {each.name: _reader(hints[each.name]) for each in dataclasses.fields(kind)}
    missing = dataclasses.MISSING
    required = [
        each.name for each in dataclasses.fields(kind) if each.default is missing and each.default_factory is missing
    ]

    def read(value: object, where: str) -> Any:
        if not isinstance(value, dict):
            raise _type_error(where, "an object")
        for name in required:
            if name not in value:
                raise ValueError(f"{_join(where, name)} is missing")
        return kind(**{name: readers[name](value[name], _join(where, name)) for name in readers if name in value})

    return read


def _read_union(kinds: tuple[Any, ...]) -> _Reader:
    readers = {_tag(kind): _reader(kind) for kind in kinds}

    def read(value: object, where: str) -> Any:
        if not isinstance(value, dict):
            raise _type_error(where, "an object")
        name = value.get("type")
        if not isinstance(name, str) or name not in readers:
            raise ValueError(f"{_join(where, 'type')} is none of {', '.join(readers)}")
        return readers[name](value, where)

    return read


def _read_optional(kinds: tuple[Any, ...]) -> _Reader:
    (kind,) = (each for each in kinds if each is not type(None))
    inner = _reader(kind)
    return lambda value, where: None if value is None else inner(value, where)


def _read_literal(values: tuple[Any, ...]) -> _Reader:
    def read(value: object, where: str) -> Any:
        if value not in values:
            raise ValueError(f"{where} is none of {', '.join(map(repr, values))}")
        return value

    return read


def _read_list(inner: _Reader) -> _Reader:
    def read(value: object, where: str) -> Any:
        if not isinstance(value, list):
            raise _type_error(where, "a list")
        return tuple(inner(each, where) for each in value)

    return read


def _read_mapping(inner: _Reader) -> _Reader:
    def read(value: object, where: str) -> Any:
        if not isinstance(value, dict):
            raise _type_error(where, "an object")
        return {key: inner(each, _join(where, key)) for key, each in value.items()}

    return read


def _read_int(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _type_error(where, "a whole number")
    return value


def _read_float(value: object, where: str) -> float:
    if isinstance(value, str) and value in _NOT_FINITE.values():
        return float(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _type_error(where, "a number")
    try:
        return float(value)
    except OverflowError:
        raise _type_error(where, "a number") from None


def _read_str(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _type_error(where, "a string")
    return value


def _read_bool(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _type_error(where, "true or false")
    return value


_SCALARS: dict[Any, _Reader] = {
    int: _read_int,
    float: _read_float,
    str: _read_str,
    bool: _read_bool,
    Path: lambda value, where: Path(_read_str(value, where)),
}


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _type_error(where: str, wanted: str) -> ValueError:
    return ValueError(f"{where or 'it'} is not {wanted}")
