"""An assistant that asks the engine of `lacli serve`, where one runs that does just what this process would do.

Imports nothing heavy: a command that is attached needs neither numpy nor a tokenizer. Where no engine fits, `connect`
says why, and whoever asked does without.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

import lacli
from lacli.config import Settings
from lacli.errors import LacliError, WorkerDied
from lacli.worker import endpoint, protocol
from lacli.worker.channel import JOIN_S, Channel
from lacli.worker.client import WorkerAssistant
from lacli.worker.death import misunderstood
from lacli.worker.process import WorkerProcess, own_command
from lacli.worker.protocol import Call, Done, EngineStatus, Greeting, Hello

_GREETING_S = 2.0
"""How long an engine may take to greet; it never computes, so that it answers in a millisecond."""
_MOST_GREETING = 1 << 16


class NotAttached(Exception):
    """No engine will serve this process."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        """Why; empty where none runs, which is nothing to tell of."""


class SocketChannel(Channel):
    """A connection to an engine that serves many commands."""

    def __init__(self, connection: socket.socket, settings: Settings) -> None:
        super().__init__(settings)
        self._connection = connection
        self.send(Hello(protocol.PROTOCOL, settings))
        self._threads = [
            threading.Thread(target=work, name="engine", daemon=True)
            for work in (self._read_answers, self._write_requests)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Leave; what was asked and not answered is cancelled there."""
        self._closing = True
        self._outbox.put(None)
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(JOIN_S)

    def _write_requests(self) -> None:
        self._write(cast(io.RawIOBase, self._connection.makefile("wb", 0)))

    def _read_answers(self) -> None:
        try:
            with cast(BinaryIO, self._connection.makefile("rb", 1 << 16)) as stream:
                self._read(stream)
        except Exception as error:  # whatever it is, no call may wait for ever
            if not isinstance(error, OSError):
                self._protocol_error = f"{type(error).__name__}: {error}"
        self._outbox.put(None)
        if self._closing:
            self._died(WorkerDied("the engine was closed"))
        elif self._protocol_error:
            self._died(misunderstood(self._protocol_error))
        else:
            self._died(WorkerDied("the engine of `lacli serve` ended", "nothing but the rest of that reply is lost"))
        self._connection.close()


def attached(settings: Settings) -> WorkerAssistant:
    """An assistant of the engine that runs. Raises NotAttached, or LacliError for settings that name no model.

    Where that engine ends, the next call goes to another one, or to a worker of our own.
    """
    return WorkerAssistant(settings, connect=connect_or_start, channel=connect(settings))


def connect_or_start(settings: Settings, report: Callable[[str], None] = lambda reason: None) -> Channel:
    """A connection to the engine that runs, else to a worker of our own; why it is that is reported."""
    try:
        return connect(settings)
    except NotAttached as why:
        if why.reason:
            report(why.reason)
        return WorkerProcess(own_command(), settings)


def connect(settings: Settings) -> SocketChannel:
    """A connection to the engine that runs. Raises NotAttached, or LacliError for settings that name no model."""
    settings = _from_anywhere(settings)
    connection, greeting = greeted()
    reason = _why_not(greeting)
    if reason:
        connection.close()
        raise NotAttached(reason)
    return SocketChannel(connection, settings)


def greeted() -> tuple[socket.socket, Greeting]:
    """A connection to the engine that runs, whichever lacli it is of, and how it greeted. Raises NotAttached."""
    if not endpoint.supported():
        raise NotAttached
    try:
        path = os.fspath(endpoint.socket_path())
    except LacliError:  # no folders: whoever needs them says so
        raise NotAttached from None
    if not os.path.exists(path):
        raise NotAttached
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_GREETING_S)
        connection.connect(path)
        if not endpoint.is_ours(connection):
            raise NotAttached(f"{path} belongs to another user")
        greeting = _greeting(connection)
        connection.settimeout(None)
    except (ConnectionRefusedError, FileNotFoundError):
        connection.close()
        raise NotAttached("the engine of `lacli serve` has died") from None
    except OSError as error:
        connection.close()
        raise NotAttached(f"the engine of `lacli serve` does not answer: {error.strerror or error}") from None
    except BaseException:
        connection.close()
        raise
    return connection, greeting


def status() -> tuple[Greeting, EngineStatus | None]:
    """How the engine that runs greets, and what it is doing; None where it is of another lacli. Raises NotAttached."""
    connection, greeting = greeted()
    if greeting.protocol != protocol.PROTOCOL:
        connection.close()
        return greeting, None
    channel = SocketChannel(connection, Settings())
    try:
        with channel.call(Call(1, "status")) as call:
            for answer in call.answers(lambda: False):
                if isinstance(answer, Done):
                    return greeting, answer.status
    finally:
        channel.close()
    return greeting, None


def _greeting(connection: socket.socket) -> Greeting:
    """The first line; nothing follows it before something is asked."""
    line = b""
    while not line.endswith(b"\n") and len(line) < _MOST_GREETING:
        chunk = connection.recv(_MOST_GREETING)
        if not chunk:
            break
        line += chunk
    greeting = protocol.parse_event(line)
    if not isinstance(greeting, Greeting):
        raise NotAttached("the engine of `lacli serve` cannot be understood")
    return greeting


def _why_not(greeting: Greeting) -> str:
    """What keeps an engine that greets so from doing what this process would do; empty where nothing does."""
    if greeting.version != lacli.__version__ or greeting.protocol != protocol.PROTOCOL:
        return f"the engine that runs is of lacli {greeting.version or '?'}; `lacli serve --stop` ends it"
    here = endpoint.environment()
    other = [name for name in {**here, **greeting.environment} if here.get(name) != greeting.environment.get(name)]
    if other:
        return f"the engine that runs was started with another {', '.join(sorted(other)[:3])}"
    return ""


def _from_anywhere(settings: Settings) -> Settings:
    """The project's folder and a model that is a file or folder get their full paths: the engine stands elsewhere."""
    settings = replace(settings, folder=(settings.folder or Path()).absolute())
    name = settings.model
    if name is None or not (os.sep in name or name.startswith(("~", ".")) or os.path.exists(name)):
        return settings
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(name)
    return settings if spec.path is None else replace(settings, model=str(spec.path))
