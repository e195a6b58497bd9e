"""Calls made in a thread of their own: their order, their one end, and what a cancel or a stop does to them."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.assistant.base import Cancel, Report, ignore, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Finished, Loading, Message, Preview, Request
from lacli.shared.background import Call, CallThread, Ended, What

QUESTION = Request((Message("user", "hi"),))
ENOUGH_S = 10.0


class Collected:
    """What was delivered, by call."""

    def __init__(self) -> None:
        self.events: dict[Call, list[Event | Ended]] = defaultdict(list)
        self.threads: set[str] = set()

    def __call__(self, call: Call, event: Event | Ended) -> None:
        self.events[call].append(event)
        self.threads.add(threading.current_thread().name)


class Held(ScriptedAssistant):
    """Opens, replies and reads ahead for as long as it is held."""

    def __init__(self) -> None:
        super().__init__(["hello"] * 100)
        self.working = threading.Event()
        self.may_go_on = threading.Event()

    def open(self, report: Report = ignore) -> None:
        report(Loading("load"))
        self.working.set()
        assert self.may_go_on.wait(ENOUGH_S)
        report(Loading("load", 1, 1))

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        self.working.set()
        while not cancel() and not self.may_go_on.is_set():
            time.sleep(0.001)
        yield from super().reply(request, cancel)

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        super().warm(request)
        self.working.set()
        while not cancel():
            time.sleep(0.001)


def test_calls_run_one_after_the_other_in_a_thread_of_their_own() -> None:
    collected, assistant = Collected(), ScriptedAssistant(["a", "b"], [Loading("load")])
    thread = CallThread(assistant, collected)
    calls = [thread.call("open"), thread.call("reply", QUESTION), thread.call("preview", QUESTION)]
    assert all(call.wait(ENOUGH_S) for call in calls)
    opened, replied, previewed = (collected.events[call] for call in calls)
    assert opened == [Loading("load"), Ended()]
    assert isinstance(replied[-2], Finished)
    assert replied[-1] == Ended()
    assert previewed == [Ended(preview=assistant.preview(QUESTION))]
    assert collected.threads == {"calls"}


def test_a_call_may_be_for_a_project_of_its_own() -> None:
    assistant = ScriptedAssistant(["a"])
    thread = CallThread(assistant, Collected())
    there = Settings(folder=Path("there"))
    assert thread.put(Call("reply", QUESTION, there)).wait(ENOUGH_S)
    assert thread.call("open").wait(ENOUGH_S)
    assert assistant.entered == [there]


@pytest.mark.parametrize("error", [LacliError("no"), ValueError("a bug"), SystemExit(3)])
def test_a_failure_ends_its_call_and_not_the_thread(error: BaseException) -> None:
    class Fails(ScriptedAssistant):
        def open(self, report: Report = ignore) -> None:
            raise error

    collected = Collected()
    thread = CallThread(Fails(["a"]), collected)
    failing, replying = thread.call("open"), thread.call("reply", QUESTION)
    assert replying.wait(ENOUGH_S)
    assert collected.events[failing] == [Ended(error)]
    assert isinstance(collected.events[replying][-2], Finished)


class TestACancel:
    def test_ends_a_waiting_call_at_once(self) -> None:
        collected, assistant = Collected(), Held()
        thread = CallThread(assistant, collected)
        thread.call("open")
        assert assistant.working.wait(ENOUGH_S)
        waiting = thread.call("reply", QUESTION)
        thread.cancel(waiting)
        assert waiting.wait(0)
        assert collected.events[waiting] == [Ended()]
        assistant.may_go_on.set()

    def test_leaves_a_loading_at_its_next_report_and_the_next_call_is_made(self) -> None:
        class Loads(ScriptedAssistant):
            def open(self, report: Report = ignore) -> None:
                while True:
                    report(Loading("load"))
                    time.sleep(0.001)

        collected = Collected()
        thread = CallThread(Loads(["a"]), collected)
        loading = thread.call("open")
        replying = thread.call("reply", QUESTION)
        thread.cancel(loading)
        assert replying.wait(ENOUGH_S)
        assert collected.events[loading][-1] == Ended()

    def test_reaches_a_reply_that_runs(self) -> None:
        collected, assistant = Collected(), Held()
        thread = CallThread(assistant, collected)
        call = thread.call("reply", QUESTION)
        assert assistant.working.wait(ENOUGH_S)
        thread.cancel(call)
        assert call.wait(ENOUGH_S)
        *_, finished, ended = collected.events[call]
        assert isinstance(finished, Finished)
        assert finished.reason == "cancelled"
        assert ended == Ended()

    @pytest.mark.parametrize("what", ["reply", "preview", "warm"])
    def test_of_reading_ahead_comes_with_every_other_call(self, what: What) -> None:
        assistant = Held()
        assistant.may_go_on.set()
        thread = CallThread(assistant, Collected())
        warming = thread.call("warm", QUESTION)
        assert assistant.working.wait(ENOUGH_S)
        other = thread.call(what, QUESTION)
        assert warming.wait(ENOUGH_S)
        thread.stop_warming()
        assert other.wait(ENOUGH_S)


class TestStopping:
    def test_leaves_a_loading_at_its_next_report(self) -> None:
        collected, assistant = Collected(), Held()
        thread = CallThread(assistant, collected)
        call = thread.call("open")
        assert assistant.working.wait(ENOUGH_S)
        thread.stop()
        assistant.may_go_on.set()
        thread.join(ENOUGH_S)
        assert collected.events[call] == [Loading("load"), Ended()]

    def test_cancels_what_runs_and_what_waits_and_ends_the_thread(self) -> None:
        collected, assistant = Collected(), Held()
        thread = CallThread(assistant, collected)
        running = thread.call("reply", QUESTION)
        assert assistant.working.wait(ENOUGH_S)
        waiting = thread.call("reply", QUESTION)
        thread.stop()
        thread.join(ENOUGH_S)
        late = thread.call("reply", QUESTION)
        assert collected.events[running][-1] == collected.events[waiting][-1] == Ended()
        assert collected.events[late] == [Ended()]
        assert not any(each.name == "calls" and each is thread._thread for each in threading.enumerate())


class Unsteady(ScriptedAssistant):
    """Does with each call what dice say."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(())
        self._dice = dice

    def open(self, report: Report = ignore) -> None:
        report(Loading("load", 1, 2))
        self._end()

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        self._end()

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        self._end()
        return Preview((1, 2), "", 100)

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        for event in self.reply_events("one two three four five six")[: self._dice.choice((0, 1, 3, 9))]:
            if cancel():
                return
            yield event
        self._end()

    def _end(self) -> None:
        time.sleep(self._dice.choice((0, 0, 0.002)))
        if self._dice.random() < 0.5:
            raise self._dice.choice((LacliError("no"), ValueError("a bug"), SystemExit(3)))


@pytest.mark.parametrize("seed", range(10))
def test_every_call_ends_exactly_once_and_last(seed: int) -> None:
    dice, collected = random.Random(seed), Collected()
    thread = CallThread(Unsteady(random.Random(seed)), collected)
    calls: list[Call] = []
    kinds: tuple[What, ...] = ("open", "reply", "preview", "warm")
    for _ in range(15):
        if calls and dice.random() < 0.4:
            thread.cancel(dice.choice(calls))
        else:
            calls.append(thread.call(dice.choice(kinds)))
        time.sleep(dice.choice((0, 0, 0.002)))
    thread.stop()
    calls.append(thread.call("reply"))
    for call in calls:
        assert call.wait(ENOUGH_S)
        assert [isinstance(each, Ended) for each in collected.events[call]].count(True) == 1
        assert isinstance(collected.events[call][-1], Ended)
