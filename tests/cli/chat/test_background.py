"""An assistant behind the prompt: who has it when, and what becomes of a loading that fails or is not wanted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.cli.chat.background import Abandoned, Background
from lacli.errors import ModelUnavailable
from lacli.events import Event, Finished, Loading, Message, Notice, Request

QUESTION = Request((Message("user", "hi"),))


class Held(ScriptedAssistant):
    """Loads, and reads ahead, until it is let go; says from which thread it was used."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__(["hello"])
        self.may_load = threading.Event()
        self.reads = threading.Event()
        self.stopped = threading.Event()
        self.used: list[str] = []
        self._failure = failure

    def open(self, report: Any = lambda event: None) -> None:
        report(Loading("load"))
        report(Notice("by the way"))
        assert self.may_load.wait(10)
        if self._failure is not None:
            raise self._failure
        report(Loading("load"))

    def warm(self, request: Request, cancel: Any = lambda: False) -> None:
        super().warm(request)
        self.reads.set()
        while not cancel():
            self.stopped.wait(0.01)
        self.used.append("warm")

    def reply(self, request: Request, cancel: Any = lambda: False) -> Iterator[Event]:
        self.used.append("reply")
        yield from super().reply(request, cancel)


def test_loading_goes_on_behind_and_who_waits_for_it_is_told_where_it_is() -> None:
    assistant = Held()
    changed = threading.Event()
    background = Background(assistant, changed.set)
    background.start()
    assert changed.wait(10)
    assert background.stage == Loading("load")
    seen: list[Event] = []

    def report(event: Event) -> None:
        seen.append(event)
        assistant.may_load.set()

    background.open(report)
    assert seen[0] == Loading("load")
    assert seen[-1] == Notice("by the way")
    assert background.stage is None
    background.open(seen.clear)  # type: ignore[arg-type]  # nothing is said twice
    assert seen


def test_where_loading_was_not_begun_it_happens_in_front() -> None:
    seen: list[Event] = []
    background = Background(ScriptedAssistant(["x"], opening=[Loading("load")]))
    background.open(seen.append)
    assert seen == [Loading("load")]
    assert [event for event in background.reply(QUESTION) if isinstance(event, Finished)]


def test_reading_ahead_begins_with_the_end_of_loading_and_stops_before_the_reply() -> None:
    assistant = Held()
    background = Background(assistant)
    background.start()
    background.warm(QUESTION)
    assert not assistant.reads.is_set()
    assistant.may_load.set()
    assert assistant.reads.wait(10)
    assert list(background.reply(QUESTION))
    assert assistant.used == ["warm", "reply"]
    for _ in range(2):  # the one before stops first
        assistant.reads.clear()
        background.warm(QUESTION)
        assert assistant.reads.wait(10)
    background.close()
    assert assistant.closed
    assert len(assistant.warmed) == 3


def test_reading_ahead_may_be_asked_for_before_loading_starts() -> None:
    assistant = Held()
    assistant.may_load.set()
    background = Background(assistant)
    background.warm(QUESTION)
    assert not assistant.reads.wait(0.05)
    background.start()
    assert assistant.reads.wait(10)
    background.close()


def test_a_wish_to_read_ahead_does_not_outlive_the_question() -> None:
    assistant = Held()
    background = Background(assistant)
    background.start()
    background.warm(QUESTION)
    assistant.may_load.set()
    list(background.reply(QUESTION))
    assert assistant.used[-1] == "reply"


def test_a_failure_is_kept_for_whoever_waits_and_told_to_who_watches() -> None:
    assistant = Held(ModelUnavailable("no such model", "take another"))
    told = threading.Event()
    background = Background(assistant, lambda: told.set() if background.failure is not None else None)
    background.start()
    background.warm(QUESTION)
    assistant.may_load.set()
    assert told.wait(10)
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            background.open()
    with pytest.raises(ModelUnavailable):
        next(background.reply(QUESTION))
    assert not assistant.reads.is_set()


def test_a_loading_that_nobody_wants_any_more_ends_at_its_next_report() -> None:
    assistant = Held()
    background = Background(assistant)
    background.start()
    background.close()
    assert not assistant.closed
    assistant.may_load.set()
    with pytest.raises(Abandoned):
        background.open()
