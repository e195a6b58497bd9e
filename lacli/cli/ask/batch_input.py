"""The prompts of a batch: JSON Lines, all checked before a model loads, then read again one by one as they are needed.

A line is a string, the prompt, or an object: `prompt` or `messages`, and options of its own. A long file is
not kept in memory; standard input goes through a temporary file.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO

from lacli.cli.framework.options import NUMBERS, Common
from lacli.cli.terminal.interrupt import WaitingInterrupt
from lacli.cli.terminal.stdin import dash_for_stdin
from lacli.errors import UsageError
from lacli.events import Message, Request
from lacli.prompts.content import MOST_BYTES

_ROLES = ("system", "user", "assistant")
_WHOLE = ("max_tokens", "top_k", "seed")
_OF_REPLY = (
    *("messages", "place", "max_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "seed", "stops"),
    *("drop_oldest", "truncate", "rewrites", "one_block", "begun", "begins_again", "beginning"),
)
"""What of a request its key is made from. What a batch cannot ask for has no part in it: else each new field of
requests would have every batch that was half done begin again."""
_KEYS = ("prompt", "messages", "system", "id", "stop", *NUMBERS)


@dataclass(frozen=True, slots=True)
class BatchPrompt:
    """One prompt of the file."""

    index: int
    """Its position among the prompts, from 0."""
    id: Any
    """The `id` of the line; None if it has none."""
    request: Request
    key: str
    """A hash of everything that its reply depends on: prompt, options, model and quantisation."""


class PromptFile:
    """The file of prompts, open for the duration of a with block."""

    def __init__(self, path: str, common: Common) -> None:
        self._path = dash_for_stdin(path)
        self.name = "stdin" if self._path == "-" else path
        self._common = common
        self._files = contextlib.ExitStack()

    def __enter__(self) -> PromptFile:
        """Raises UsageError where it cannot be read."""
        try:
            with WaitingInterrupt(f"before {self.name} was read"):
                self._file = self._opened()
        except OSError as error:
            raise UsageError(f"{self.name} cannot be read: {error.strerror}", "give a file of JSON lines") from None
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def _opened(self) -> BinaryIO:
        if self._path == "-":
            if sys.stdin is None:
                raise UsageError("there is no stdin", "give a file of JSON lines")
            source: BinaryIO = sys.stdin.buffer
        else:
            source = self._files.enter_context(open(self._path, "rb"))  # noqa: SIM115
            if source.seekable():
                return source
        copy = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        shutil.copyfileobj(source, copy)
        return copy

    def lines(self) -> Iterator[BatchPrompt]:
        """All prompts from the first on. Raises UsageError with the number of the first invalid line."""
        self._file.seek(0)
        index = 0
        for number in range(1, sys.maxsize):
            data = self._file.readline(MOST_BYTES)
            if not data:
                return
            try:
                line = self._line(index, data, first=number == 1)
            except _InvalidLine as wrong:
                raise UsageError(f"{self.name} line {number}: {wrong}", wrong.hint) from None
            if line is not None:
                yield line
                index += 1

    def _line(self, index: int, data: bytes, first: bool) -> BatchPrompt | None:
        if len(data) == MOST_BYTES:
            raise _InvalidLine(f"it has {MOST_BYTES:,} bytes or more", "no model reads that much")
        try:
            text = data.decode("utf-8-sig" if first else "utf-8").strip()
            given = json.loads(text, parse_constant=_refuse, parse_float=_finite) if text else None
        except UnicodeDecodeError:
            raise _InvalidLine("it is not UTF-8", "save the file as UTF-8") from None
        except RecursionError:
            raise _InvalidLine("it is nested too deep") from None
        except ValueError as error:
            raise _InvalidLine(f"it is not JSON ({error})") from None
        if not text:
            return None
        if isinstance(given, str):
            given = {"prompt": given}
        if not isinstance(given, dict):
            raise _InvalidLine("it is neither a string nor an object")
        request = _request(given, self._common)
        return BatchPrompt(index, given.get("id"), request, _key(request, self._common))


class _InvalidLine(Exception):
    """A line that is not a prompt: what is wrong, and the remedy."""

    def __init__(self, message: str, hint: str = 'a line is a string or {"prompt": …}') -> None:
        super().__init__(message)
        self.hint = hint


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):  # could not be written again as JSON
        raise ValueError(f"{number[:40]} is out of range")
    return value


def _request(given: dict[str, Any], common: Common) -> Request:
    for key in given:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1, 0.0)[0]
            raise _InvalidLine(f"the key {key!r} is unknown", f"did you mean {near!r}? There are {', '.join(_KEYS)}")
    values = {key: _number(key, given[key]) for key in NUMBERS if given.get(key) is not None}
    if given.get("stop") is not None:
        values["stops"] = _stops(given["stop"])
    return replace(common.request(_messages(given, common)), **values)


def _messages(given: dict[str, Any], common: Common) -> tuple[Message, ...]:
    if ("prompt" in given) == ("messages" in given):
        raise _InvalidLine(
            'it has neither "prompt" nor "messages"'
            if "prompt" not in given
            else 'it has both, "prompt" and "messages"'
        )
    if "prompt" in given:
        messages = [Message("user", _text(given["prompt"], "prompt"))]
    elif not isinstance(given["messages"], list) or not given["messages"]:
        raise _InvalidLine('"messages" is not a list of messages')
    else:
        messages = [_message(each) for each in given["messages"]]
    if messages[-1].role != "user":
        raise _InvalidLine("its last message is not the user's", "end with what is asked")
    if any(message.role == "system" for message in messages[1:]):
        raise _InvalidLine("a system message comes after others", "put it first")
    if not messages[-1].text.strip():
        raise _InvalidLine("it asks nothing")
    system = given.get("system")
    if messages[0].role == "system":
        if system is not None:
            raise _InvalidLine('it has a system message and "system"', "leave one out")
        return tuple(messages)
    text = common.system or "" if system is None else _text(system, "system")
    return (*([Message("system", text)] if text else []), *messages)


def _message(given: Any) -> Message:
    if not isinstance(given, dict) or set(given) != {"role", "content"}:
        raise _InvalidLine(
            "a message is not an object with role and content", '"messages": [{"role": "user", "content": "…"}]'
        )
    if given["role"] not in _ROLES:
        raise _InvalidLine(f"the role {given['role']!r} is unknown", f"use one of {', '.join(_ROLES)}")
    return Message(given["role"], _text(given["content"], "content"))


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _InvalidLine(f'"{name}" is not a string')
    return value.encode("utf-8", "replace").decode("utf-8")  # halves of characters can be written in JSON


def _stops(value: Any) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise _InvalidLine('"stop" is neither a text nor a list of texts')
    return tuple(_text(stop, "stop") for stop in stops)


def _number(key: str, value: Any) -> Any:
    whole = key in _WHOLE
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise _InvalidLine(f'"{key}" is not a {"whole " * whole}number')
    try:
        NUMBERS[key](f'"{key}"', value)
    except UsageError as error:
        raise _InvalidLine(error.message, error.hint) from None
    return value if whole else float(value)


def _key(request: Request, common: Common) -> str:
    known = asdict(request)
    parts = [{name: known[name] for name in _OF_REPLY}, common.model, common.quant]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
