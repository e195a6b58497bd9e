"""What goes over the connection: a body that is read within bounds, an answer that is whole or comes in parts.

Nobody can hold a connection by sending or reading slowly, or have more than a bounded body kept. No engine, no JSON of
any API.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import Message, Receive, Send

from lacli.server.http.refusals import Refusal, Shape, llama_shape, ollama_shape, openai_shape, refusal_of

MOST_BYTES = 8_000_000
"""Of a body."""
BODY_S = 30.0
"""For all of a body."""
MOST_DISCARDED = 64_000_000
"""Of a body that is too long."""
DISCARD_S = 1.0
"""For each part of that to come."""
SEND_S = 30.0
"""For a client to take one part of an answer."""
PING_S = 15.0
"""Between two signs of life while nothing else is to be said."""

_LLAMA = ("/infill", "/completion", "/health", "/props", "/tokenize", "/detokenize", "/apply-template", "/metrics")

Parts = AsyncGenerator[bytes, None]


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that is known at once: a JSON value, or a text where a type is given."""

    value: Any
    media_type: str = "application/json"
    status: int = 200


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer that is told as it comes."""

    parts: Parts
    media_type: str
    failure: Callable[[Refusal], bytes]
    """What to say of a failure once the answer has begun."""
    ping: bytes = b""
    """A part that says nothing, to be sent while there is nothing to say; empty where the format has none."""


class Gone(Exception):
    """The client has left, or does not read."""


def shape_of(path: str) -> Shape:
    """How the API that a path belongs to tells of refusals."""
    if path.startswith("/api/"):
        return ollama_shape
    return llama_shape if path in _LLAMA else openai_shape


async def read_body(receive: Receive, declared: bytes) -> bytes:
    """The whole body. `declared` is what its header says of its length."""
    if declared.isdigit() and int(declared) > MOST_BYTES:
        raise _too_large()
    try:
        async with asyncio.timeout(BODY_S):
            return await _collected(receive)
    except TimeoutError:
        raise Refusal(408, f"the body did not come within {BODY_S:g} s", headers=_CLOSE) from None


_CLOSE = {"connection": "close"}


def _too_large() -> Refusal:
    return Refusal(413, f"the body has more than {MOST_BYTES:,} bytes", headers=_CLOSE)


async def _collected(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            raise _too_large()
        if not message.get("more_body", False):
            return bytes(body)


async def left(receive: Receive) -> None:
    """Sleep until the client is gone; what it sends behind its body is nothing to us."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def refused(refusal: Refusal, shape: Shape, send: Send, rest: Receive | None = None) -> None:
    """Answer with a refusal. rest: a body that is still being sent. Some of it is thrown away before the connection is
    closed: a client that is cut off in the middle of sending never reads why."""
    await _whole(shape(refusal), "application/json", refusal.status, refusal.headers, send, rest)


async def _discarded(receive: Receive) -> None:
    left = MOST_DISCARDED
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BODY_S):
            while left > 0:
                async with asyncio.timeout(DISCARD_S):
                    message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))


async def answered(answer: Whole | Streamed, shape: Shape, send: Send) -> None:
    """Send an answer. Raises Gone where the client does not take it."""
    if isinstance(answer, Whole):
        await _whole(answer.value, answer.media_type, answer.status, {}, send)
    else:
        await _stream(answer, shape, send)


async def _whole(
    value: Any, media_type: str, status: int, headers: Mapping[str, str], send: Send, rest: Receive | None = None
) -> None:
    body = value.encode() if isinstance(value, str) else json.dumps(value, separators=(",", ":")).encode()
    await _sent(_start(status, media_type, {**headers, "content-length": str(len(body))}), send)
    await _sent({"type": "http.response.body", "body": body, "more_body": rest is not None}, send)
    if rest is not None:
        await _discarded(rest)
        await _sent({"type": "http.response.body", "body": b""}, send)


async def _stream(answer: Streamed, shape: Shape, send: Send) -> None:
    """Nothing is sent before there is a first part, so that a failure up to then still has a status of its own."""
    begun = False
    parts = _with_pings(answer.parts, answer.ping)
    try:
        async for part in parts:
            if not begun:
                begun = True
                await _sent(_start(200, answer.media_type, {"cache-control": "no-store"}), send)
            await _sent({"type": "http.response.body", "body": part, "more_body": True}, send)
    except (Gone, asyncio.CancelledError):
        raise
    except Exception as error:
        refusal = refusal_of(error)
        if not begun:
            await refused(refusal, shape, send)
            return
        await _sent({"type": "http.response.body", "body": answer.failure(refusal), "more_body": True}, send)
    finally:
        await parts.aclose()
    await _sent({"type": "http.response.body", "body": b""}, send)


async def _with_pings(parts: Parts, ping: bytes) -> Parts:
    """The parts, with a ping wherever none has come for a while."""
    coming: asyncio.Task[bytes] | None = None
    try:
        while True:
            coming = coming or asyncio.create_task(_next(parts))
            done, _ = await asyncio.wait({coming}, timeout=PING_S if ping else None)
            if not done:
                yield ping
                continue
            part = coming.result()
            coming = None
            if not part:
                return
            yield part
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await parts.aclose()


async def _next(parts: Parts) -> bytes:
    """The next part; an empty one is the end."""
    return await anext(parts, b"")


def _start(status: int, media_type: str, headers: Mapping[str, str]) -> Message:
    told = {"content-type": media_type, "x-content-type-options": "nosniff", **headers}
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in told.items()]
    return {"type": "http.response.start", "status": status, "headers": pairs}


async def _sent(message: Message, send: Send) -> None:
    try:
        async with asyncio.timeout(SEND_S):
            await send(message)
    except (TimeoutError, OSError):
        raise Gone from None
