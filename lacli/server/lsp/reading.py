"""The messages of an editor from its stream to the protocol: every request is answered, whatever it is.

pygls has a loop of its own, which answers none that it cannot make sense of, so that an editor waits for ever.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest, JsonRpcParseError

from lacli.server.lsp.server import LacliServer
from lacli.server.stdio.streams import MOST_BYTES

_LENGTH = re.compile(rb"content-length:[ \t]*(\d+)\s*", re.IGNORECASE)

_DIGITS = 12
"""Of a length; more say no less that it is too long."""


async def read_messages(reader: asyncio.StreamReader, server: LacliServer) -> None:
    """Hand over messages until the stream ends, also within one, or has one that is longer than any may be."""
    while True:
        length = await _length(reader)
        if length is None:
            return
        try:
            body = await reader.readexactly(length)
        except asyncio.IncompleteReadError:
            return
        _take(body, server)


async def _length(reader: asyncio.StreamReader) -> int | None:
    """Bytes of the next message; None where there is none."""
    length = None
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # a line without end
            return None
        if not line:
            return None
        found = _LENGTH.fullmatch(line)
        if found:
            length = int(found[1][:_DIGITS])
            if length > MOST_BYTES:
                return None
        elif not line.strip() and length is not None:
            return length


def _take(body: bytes, server: LacliServer) -> None:
    protocol, answer = server.protocol, server.protocol.refuse
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        answer(None, JsonRpcParseError("the message is not JSON"))
        return
    if not isinstance(message, dict):
        answer(None, JsonRpcInvalidRequest("the message is not an object"))
        return
    number, method = message.get("id"), message.get("method")
    is_response = method is None and ("result" in message or "error" in message)
    if message.get("jsonrpc") != "2.0" or not (is_response or isinstance(method, str)):
        answer(number if _is_id(number) else None, JsonRpcInvalidRequest("the message is no JSON-RPC 2.0"))
        return
    if "id" in message and not _is_id(number):
        answer(None, JsonRpcInvalidRequest("the id is neither a number nor a string"))
        return
    is_request = not is_response and "id" in message
    if not is_response and protocol.get_message_type(method) is None:
        message.setdefault("params", None)  # which may be left out, though not for pygls
    try:
        structured = protocol.structure_message(message)
    except Exception:  # cattrs has many ways to say so
        if is_request:
            answer(number, JsonRpcInvalidParams(f"the parameters of {str(method)[:80]} are wrong"))
        return
    try:
        protocol.handle_message(structured)
    except Exception as error:  # an answer or a notification that pygls trips over; requests it answers itself
        server.report_server_error(error, JsonRpcException)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
