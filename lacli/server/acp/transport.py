"""The messages of the Agent Client Protocol on two streams: JSON-RPC, one object a line, in the form `acp` takes them.

A line that is no message is answered with the error of JSON-RPC and otherwise ignored.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from lacli.server.stdio.streams import Standard

_PARSE_ERROR, _INVALID = -32700, -32600


class LineTransport:
    """See `acp._transport.Transport`."""

    def __init__(self, streams: Standard) -> None:
        self._streams = streams

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message; it has been written when this returns."""
        self._streams.write(json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end, which a line beyond all bounds is, too."""
        while True:
            try:
                line = await self._streams.reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
                if not line:
                    return None
            except asyncio.LimitOverrunError:
                await self._refuse(_INVALID, "the message is too long")
                return None
            if line.strip():
                message = await self._parsed(line)
                if message is not None:
                    return message

    async def close(self) -> None:
        """Nothing: the streams end with the process."""

    async def _parsed(self, line: bytes) -> dict[str, Any] | None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            await self._refuse(_PARSE_ERROR, "the line is not JSON")
            return None
        method = message.get("method") if isinstance(message, dict) else None
        is_response = isinstance(message, dict) and "id" in message and "method" not in message
        if not is_response and not isinstance(method, str):
            await self._refuse(_INVALID, "the line is no JSON-RPC message")
            return None
        return message

    async def _refuse(self, code: int, why: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}})
