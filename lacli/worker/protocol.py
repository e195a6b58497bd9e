"""The protocol between a front end and its worker: calls and events as JSON lines. Pure: no streams, no processes.

`server` and `client` speak it over a pair of pipes; any other two byte streams would do.

**Lines.** Each message is one JSON object on one line: ASCII (everything else escaped as \\uXXXX), ended by \\n, of at
most 256 MiB. `type` names the message; its other members are given below. A reader ignores members it does not know,
and a missing member has its default, so members can be added without a new version. A line that cannot be parsed, an
unknown type or a member of the wrong type has no effect except an `error`, with the `id` if the line had one. A number
that is not finite is the string "NaN", "Infinity" or "-Infinity".

**Greeting.** Both sides greet first, without waiting for each other, and name the version of the protocol they speak.
A side that reads another version than its own tells its user and ends the connection.

    front end   {"type": "hello", "protocol": 3, "settings": {…}}            `config.Settings`: which model, and how
    worker      {"type": "greeting", "protocol": 3, "version": "0.1.0", "pid": 4711}

**Calls.** The front end gives each call a number of its own choice, never used before on this connection. Calls run
one after the other, in the order in which they arrived, but for a preview without settings: during a reply it is
answered between two steps.

A worker whose model writes several replies faster side by side than one after the other says so once it is loaded:

    {"type": "places", "count": 9}

From then on replies that arrive during others join them, so that the events of several calls alternate, and `open` and
`preview` are answered between two steps. At most `count` are written at once; those beyond wait. That is two more than
is fastest: whoever serves many clients can keep them for what is urgent and for who comes late. `warm` still waits
until all before it have ended, and so does what arrives after it.

    {"type": "call", "id": 1, "what": "open"}                                 load the model; a reply does so by itself
    {"type": "call", "id": 2, "what": "reply", "request": {…}}                `events.Request`
    {"type": "call", "id": 3, "what": "preview", "request": {…}}              the prompt as the model would see it
    {"type": "call", "id": 4, "what": "warm", "request": {…}}                 prefill the KV cache ahead of time
    {"type": "call", "id": 5, "what": "status"}                               what it is doing; of `lacli serve` only

A call may have `settings` of its own: another project, other permissions, for this call and those after it. They must
name the model of the greeting. `lacli serve`, which speaks the same over its socket, ignores them: its clients have the
settings they greet with.

The worker answers a call with any number of `event` messages, each holding one event of `events.py` (`notice`,
`loading`, `prefill`, `piece`: one per decoding step, `finished`), then one `done` or one `error`, after which the
number is not used again.

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

import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

from lacli import errors
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Preview, Request
from lacli.worker.wire import reader, tagged

PROTOCOL = 3
"""Raised when an older reader would misunderstand a message."""
MOST_BYTES = 1 << 28
"""The longest line that is read."""
CALLS = ("open", "reply", "preview", "warm")


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
    environment: dict[str, str] = field(default_factory=dict)
    """Of an engine that serves many commands: fingerprints of the variables that matter, by name."""


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

    TAG: ClassVar = "cancel"
    id: int


@dataclass(frozen=True, slots=True)
class Close:
    """Finish the current step, save, exit."""


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model in the memory of an engine that serves many commands."""

    model: str
    pid: int
    """Its worker."""
    busy: bool
    idle_s: float
    """Seconds since its last call; 0 while it is busy."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """What an engine that serves many commands is doing."""

    models: tuple[ModelStatus, ...]
    running: int
    waiting: int
    uptime_s: float
    keep_alive_s: float
    http: str = ""
    """The URL at which it also serves HTTP; empty where it does not."""


@dataclass(frozen=True, slots=True)
class Places:
    """How many replies the worker writes side by side; 1 until it says otherwise."""

    count: int


@dataclass(frozen=True, slots=True)
class EventMessage:
    """An event of a running call."""

    TAG: ClassVar = "event"
    id: int
    event: Event


@dataclass(frozen=True, slots=True)
class Done:
    """A call has ended."""

    id: int
    preview: Preview | None = None
    status: EngineStatus | None = None


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """A call has failed; without an id, a line could not be parsed at all."""

    TAG: ClassVar = "error"
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
WorkerMessage = Greeting | Places | EventMessage | Done | ErrorMessage

_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_ERRORS: dict[str, type[LacliError]] = {
    name: found for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, LacliError)
}


def encode(message: ClientMessage | WorkerMessage) -> bytes:
    """The message as a line, newline included."""
    return _dumps(tagged(message)).encode("ascii") + b"\n"


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
        return reader(kinds)(value, "")
    except ValueError as error:
        number = value.get("id") if isinstance(value, dict) else None
        return InvalidLine(str(error), number if type(number) is int else None)
