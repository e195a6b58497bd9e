"""One HTTP request and its answer, read by a thread of its own so that the caller can stop waiting at any moment.

Uses the standard library's client, which is imported in a tenth of the time of any other and does all that is needed.
Redirects are not followed and proxies not used: a request goes to the host that the user configured, or nowhere.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from lacli.assistant.base import Cancel
from lacli.assistant.cancel import CancelToken

_POLL_S = 0.05
"""How often a cancel that is a plain function is asked while nothing arrives."""
_MOST_BYTES = 1 << 28
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Limits:
    """How long is waited, in seconds, and how often is tried."""

    connect_s: float = 10.0
    idle_s: float = 120.0
    """From one token to the next, and for all of a short answer."""
    first_s: float = 900.0
    """From the request to the first token: a long prompt takes minutes on a small machine."""
    tries: int = 3
    """Of a request that was answered by nothing, or by a server that is busy."""
    pause_s: float = 0.5
    """Before the second try; twice as long before the third."""
    patience_s: float = 20.0
    """A server that wants to be asked again later than that is not waited for."""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in lower case."""


class Broken(Exception):
    """There is no answer, or no more of it."""

    def __init__(self, cause: BaseException | str, begun: bool = False) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.begun = begun
        """Whether a part of the answer had arrived."""


class Cancelled(Exception):
    """Whoever asked wants no answer any more."""


_Item = Head | bytes | Broken | None
"""What the thread hands over: the head, parts of the body, what went wrong; None at the end, or to wake the reader."""


class Exchange:
    """A request under way, as a context manager: leaving it closes the connection."""

    def __init__(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], limits: Limits, cancel: Cancel
    ) -> None:
        self._url, self._method, self._body, self._headers = url, method, body, headers
        self._limits, self._cancel = limits, cancel
        self._items: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._socket: socket.socket | None = None
        self._closed = False
        self._over = threading.Event()
        threading.Thread(target=self._run, name="remote", daemon=True).start()

    def head(self, within_s: float) -> Head:
        """Wait for the beginning of the answer. Raises Broken or Cancelled."""
        item = self._next(time.monotonic() + within_s)
        if not isinstance(item, Head):
            raise Broken("it ended without an answer")
        return item

    def parts(self, until: Callable[[], float]) -> Iterator[bytes]:
        """The parts of the body as they arrive. Raises Broken or Cancelled.

        `until` is asked before each: by when one must have come. Only the reader knows, as servers keep a connection
        alive with parts that say nothing.
        """
        while isinstance(item := self._next(until()), bytes):
            yield item

    def whole(self, most: int) -> bytes:
        """The body, cut to `most` bytes."""
        data = b""
        end = time.monotonic() + self._limits.idle_s
        for part in self.parts(lambda: end):
            data += part
            if len(data) >= most:
                break
        return data[:most]

    def close(self) -> None:
        """Leave; the server sees the connection end."""
        self._closed = True
        connected = self._socket
        if connected is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connected, socket.SHUT_RDWR)  # not TLS's own, which would answer first

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self, until: float) -> _Item:
        subscribable = isinstance(self._cancel, CancelToken)
        with self._cancel.subscribed(self._wake) if isinstance(self._cancel, CancelToken) else contextlib.nullcontext():
            while True:
                if self._cancel():
                    raise Cancelled
                left = until - time.monotonic()
                try:
                    item = self._items.get(timeout=max(0.0, left if subscribable else min(left, _POLL_S)))
                except queue.Empty:
                    if time.monotonic() >= until:
                        raise Broken(TimeoutError("nothing came for too long")) from None
                    continue
                if item is None and (self._cancel() or not self._over.is_set()):  # woken
                    continue
                if isinstance(item, Broken):
                    raise item
                return item

    def _wake(self) -> None:
        self._items.put(None)

    def _run(self) -> None:
        begun = False
        try:
            connection = self._connected()
            try:
                connection.request(self._method, self._path(), self._body, dict(self._headers))
                with contextlib.closing(connection.getresponse()) as response:
                    begun = True
                    headers = {name.lower(): value for name, value in response.getheaders()}
                    self._items.put(Head(response.status, headers))
                    self._pass_on(response)
            finally:
                connection.close()
        except (OSError, HTTPException, ValueError) as error:
            self._items.put(Broken(error, begun))
        self._over.set()
        self._items.put(None)

    def _pass_on(self, response: HTTPResponse) -> None:
        read = 0
        while not self._closed and (part := response.read1(_CHUNK)):
            read += len(part)
            if read > _MOST_BYTES:
                raise HTTPException("the answer is far too long")
            self._items.put(part)

    def _connected(self) -> HTTPConnection:
        parts = urlsplit(self._url)
        host = parts.hostname or ""
        connection: HTTPConnection
        if parts.scheme == "https":
            import ssl

            context = ssl.create_default_context()
            connection = HTTPSConnection(host, parts.port, timeout=self._limits.connect_s, context=context)
        else:
            connection = HTTPConnection(host, parts.port, timeout=self._limits.connect_s)
        connection.connect()
        connected: socket.socket = connection.sock
        self._socket = connected
        connected.settimeout(None)
        if self._closed:
            self.close()
        return connection

    def _path(self) -> str:
        return urlsplit(self._url).path or "/"
