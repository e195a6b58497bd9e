"""The bytes of an answer as JSON objects: server-sent events, an object a line, or one object for all of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

MOST_LINE = 1 << 24
"""Bytes of a line; no server has a reason for a longer one."""


class Garbled(Exception):
    """What came is no such answer."""


class Done:
    """The server says that there is nothing more."""


def objects(parts: Iterable[bytes], content_type: str) -> Iterator[dict[str, Any] | Done]:
    """The objects of an answer in the order in which they arrive. Raises Garbled, after all that came whole before."""
    if content_type.startswith("application/json"):
        yield _parsed(b"".join(_bounded(parts)))
        return
    event: list[bytes] = []
    for line in _lines(parts):
        if line.startswith(b"data:"):
            event.append(line[5:].strip())
        elif line.startswith(b"{"):
            yield _parsed(line)
        elif not line.strip() and event:
            yield _of_event(event)
            event = []
    if event:
        yield _of_event(event)


def _of_event(lines: list[bytes]) -> dict[str, Any] | Done:
    data = b"\n".join(lines)
    return Done() if data == b"[DONE]" else _parsed(data)


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise Garbled("what it sent is not JSON") from None
    if not isinstance(value, dict):
        raise Garbled("what it sent is no JSON object")
    return value


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Every line, without its end; the rest without an end, too."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        first, *more = part.split(b"\n")
        held.append(first)
        size += len(first)
        if size > MOST_LINE:
            raise Garbled("a line of it has no end")
        for line in more:
            yield b"".join(held).rstrip(b"\r")
            held, size = [line], len(line)
    if any(held):
        yield b"".join(held)


def _bounded(parts: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for part in parts:
        size += len(part)
        if size > MOST_LINE:
            raise Garbled("it is far too long")
        yield part
