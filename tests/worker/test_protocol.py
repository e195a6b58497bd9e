"""Records as JSON lines and back, and lines that are no record."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import random
import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest

from lacli import errors, events
from lacli.config import Settings
from lacli.errors import LacliError, PromptTooLong
from lacli.events import Attachment, Finished, Message, Notice, Piece, ReplyStats, Request
from lacli.sessions.records import StoreUnavailable
from lacli.worker import protocol, wire
from lacli.worker.protocol import (
    Call,
    CancelCall,
    Close,
    Done,
    ErrorMessage,
    EventMessage,
    Greeting,
    Hello,
    InvalidLine,
)

RECORDS = [
    *(each for each in vars(events).values() if isinstance(each, type) and dataclasses.is_dataclass(each)),
    Settings,
    *(Hello, Greeting, Call, CancelCall, Close, EventMessage, Done, ErrorMessage),
]
_DOC = protocol.__doc__ or ""
SCALARS: dict[Any, list[Any]] = {
    int: [0, -3, 1 << 80],
    float: [0.1, -2.5e-300, 1e300],
    str: ["", 'a "b"\\\n\r\t\0\x1b\u2028', "漢字 👩‍💻 é", "name\udcff"],
    bool: [True, False],
    Path: [Path("/some where/né"), Path("rel")],
}


def some(hint: Any, rng: random.Random) -> Any:
    """A value of this type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        kind = rng.choice(arguments)
        return None if kind is type(None) else some(kind, rng)
    if origin is typing.Literal:
        return rng.choice(arguments)
    if origin is tuple:
        return tuple(some(arguments[0], rng) for _ in range(rng.randrange(4)))
    if origin is dict:
        return {some(str, rng): some(arguments[1], rng) for _ in range(rng.randrange(4))}
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        made: Any = hint
        return made(**{each.name: some(hints[each.name], rng) for each in dataclasses.fields(hint)})
    return rng.choice(SCALARS[hint])


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_every_record_is_the_same_after_the_journey(kind: Any) -> None:
    rng = random.Random(kind.__name__)
    for _ in range(50):
        before = some(kind, rng)
        assert wire.from_json(kind, json.loads(json.dumps(wire.to_json(before)))) == before


@pytest.mark.parametrize("kind", [Hello, Call, CancelCall, Close])
def test_what_a_front_end_says_is_one_line_of_ascii(kind: Any) -> None:
    for seed in range(50):
        before = some(kind, random.Random(seed))
        line = protocol.encode(before)
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert line.isascii()
        assert protocol.parse_call(line) == before


@pytest.mark.parametrize("kind", [Greeting, EventMessage, Done, ErrorMessage])
def test_what_the_engine_says_is_read_as_it_was_meant(kind: Any) -> None:
    for seed in range(50):
        before = some(kind, random.Random(seed))
        assert protocol.parse_event(protocol.encode(before)) == before


def test_a_number_that_is_not_finite_is_json_that_others_read_too() -> None:
    line = protocol.encode(
        EventMessage(1, Piece("", (), ReplyStats(step_ms=math.inf, draft_ms=-math.inf, saved_ms=math.nan)))
    )
    json.loads(line, parse_constant=lambda name: pytest.fail(name))
    found = protocol.parse_event(line)
    assert isinstance(found, EventMessage)
    assert isinstance(found.event, Piece)
    stats = found.event.stats
    assert (stats.step_ms, stats.draft_ms) == (math.inf, -math.inf)
    assert stats.saved_ms is not None
    assert math.isnan(stats.saved_ms)


def test_numbers_of_other_libraries_travel_as_numbers() -> None:
    import numpy as np

    stats = ReplyStats(step_ms=np.float64(1.5))
    assert wire.from_json(ReplyStats, json.loads(json.dumps(wire.to_json(stats)))) == stats


def test_a_subclass_of_stats_keeps_what_counts_lack() -> None:
    found = protocol.parse_event(
        protocol.encode(EventMessage(1, Finished("x", (1,), "stop", ReplyStats(model="m", ctx_used=3))))
    )
    assert isinstance(found, EventMessage)
    assert isinstance(found.event, Finished)
    assert found.event.stats == ReplyStats(model="m", ctx_used=3)


def test_the_examples_of_the_specification_are_messages() -> None:
    examples = re.findall(r'{"type": "(\w+)".*}', _DOC)
    found = [json.loads(each[0].replace("{…}", "{}")) for each in re.finditer(r'{"type".*?}(?=`|\s{2,}|$)', _DOC, re.M)]
    assert [each["type"] for each in found] == examples
    assert {"hello", "greeting", "places", "call", "cancel", "close", "event", "done", "error"} == set(examples)
    for each in found:
        line = json.dumps(each).encode() + b"\n"
        read = [protocol.parse_call(line), protocol.parse_event(line)]
        (one,) = [record for record in read if not isinstance(record, InvalidLine)]
        assert set(each) - {"type"} <= set(wire.to_json(one))


class TestOtherVersions:
    def test_a_member_that_is_not_known_is_passed_over(self) -> None:
        line = b'{"type":"event","id":1,"event":{"type":"notice","text":"a","colour":"red"},"more":[]}\n'
        assert protocol.parse_event(line) == EventMessage(1, Notice("a"))

    def test_a_member_that_is_missing_has_its_default(self) -> None:
        line = b'{"type":"call","id":1,"what":"reply","request":{"messages":[{"role":"user","text":"hi"}]}}\n'
        assert protocol.parse_call(line) == Call(1, "reply", Request((Message("user", "hi"),)))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "no end"),
        (b'{"type":"close"}', "no end"),
        (b"\n", "not JSON"),
        (b"\x00\xff\xfe\n", "not JSON"),
        (b"null\n", "not an object"),
        (b"[" * 100_000 + b"\n", "nested"),
        (b"1" * 5_000 + b"\n", "not JSON"),
        (b"{}\n", "type is none of"),
        (b'{"type":["close"]}\n', "type is none of"),
        (b'{"type":"event","id":1}\n', "type is none of"),
        (b'{"type":"cancel"}\n', "id is missing"),
        (b'{"type":"cancel","id":true}\n', "id is not a whole number"),
        (b'{"type":"cancel","id":1.0}\n', "id is not a whole number"),
        (b'{"type":"hello","protocol":3,"settings":{"pool_mb":"1"}}\n', "settings.pool_mb is not a number"),
        (b'{"type":"hello","protocol":3,"settings":{"pool_mb":1' + b"0" * 400 + b"}}\n", "settings.pool_mb is not"),
        (b'{"type":"call","id":1,"what":"reply","request":{"messages":{}}}\n', "request.messages is not a list"),
        (b'{"type":"call","id":1,"what":"reply","request":{"stops":"x"}}\n', "request.stops is not a list"),
    ],
)
def test_a_line_that_cannot_be_read_says_why(line: bytes, why: str) -> None:
    found = protocol.parse_call(line)
    assert isinstance(found, InvalidLine)
    assert why in found.reason
    assert why in found.to_message().message


def test_the_call_that_was_wrong_is_named_where_it_can_be() -> None:
    found = protocol.parse_call(b'{"type":"call","id":7,"what":3}\n')
    assert isinstance(found, InvalidLine)
    assert found.to_message().id == 7


def test_no_damage_is_an_exception() -> None:
    rng = random.Random(6)
    request = Request((Message("user", "hi", (1, 2), (Attachment("a.py", "x = [1]"),)),), seed=3)
    whole = protocol.encode(Call(1, "reply", request))
    for _ in range(3_000):
        damaged = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged) - 1)] = rng.choice(b'"{}[]:,\\0a\xff\x00 ')
        protocol.parse_call(bytes(damaged))
        protocol.parse_event(bytes(damaged))
    for end in range(len(whole) - 1):
        assert isinstance(protocol.parse_call(whole[:end] + b"\n"), InvalidLine)


class TestLines:
    def test_of_a_stream_come_one_by_one(self) -> None:
        assert list(protocol.read_lines(io.BytesIO(b"a\nbc\n\nd"))) == [b"a\n", b"bc\n", b"\n", b"d"]

    def test_one_without_end_is_damaged_and_the_next_one_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(protocol, "MOST_BYTES", 20)
        close = protocol.encode(Close())
        for size in (20, 21, 39, 40, 41, 100):
            found = [protocol.parse_call(each) for each in protocol.read_lines(io.BytesIO(b"x" * size + b"\n" + close))]
            assert isinstance(found[0], InvalidLine), size
            assert found[1:] == [Close()], size


class TestErrors:
    def test_each_arrives_as_what_it_was(self) -> None:
        kinds = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, LacliError)]
        assert len(kinds) > 5
        for kind in kinds:
            found = protocol.parse_event(
                protocol.encode(ErrorMessage.from_error(kind("what was found", "what to do"), 3))
            )
            assert isinstance(found, ErrorMessage)
            error = found.to_error()
            assert type(error) is kind
            assert (found.id, error.message, error.hint) == (3, "what was found", "what to do")
            assert error.exit_code == kind.exit_code

    def test_one_of_a_floor_arrives_as_what_it_is_a_kind_of(self) -> None:
        assert type(ErrorMessage.from_error(StoreUnavailable("no log")).to_error()) is LacliError

    def test_one_of_a_later_version_is_an_error_still(self) -> None:
        assert type(ErrorMessage(1, "FireAndWater", "it burns").to_error()) is LacliError
        assert type(ErrorMessage(1, "PromptTooLong", "too long").to_error()) is PromptTooLong
