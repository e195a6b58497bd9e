"""The engine's half of the protocol, in this process: what is asked over a pipe, and what a front end may do to it."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from lacli.assistant.base import Cancel as Cancel
from lacli.assistant.base import Report, ignore, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.errors import LacliError, OutOfMemory, PromptTooLong
from lacli.events import Attachment, Event, Finished, Loading, Message, Notice, Piece, Prefill, ReplyStats, Request
from lacli.worker import protocol
from lacli.worker import server as worker
from lacli.worker.protocol import (
    Call,
    CancelCall,
    ClientMessage,
    Close,
    Done,
    ErrorMessage,
    EventMessage,
    Greeting,
    Hello,
    Places,
    WorkerMessage,
)

QUESTION = Request((Message("user", "hi"),))
ENOUGH_S = 20.0


class FrontEnd:
    """One end of two pipes; at the other end the engine serves in a thread."""

    def __init__(self, assistant: Any) -> None:
        from_us, self._out = os.pipe()
        self._in, to_us = os.pipe()
        self.reader = os.fdopen(self._in, "rb")
        self.settings: list[Settings] = []
        self.ended: list[float] = []

        def made(settings: Settings) -> Any:
            self.settings.append(settings)
            return assistant

        self.theirs = os.fdopen(from_us, "rb")

        def serve() -> None:
            with contextlib.suppress(BrokenPipeError), os.fdopen(to_us, "wb") as writer:
                worker.serve(made, self.theirs, writer, self.ended.append)

        self.thread = threading.Thread(target=serve, daemon=True)
        self.thread.start()

    def say(self, *records: ClientMessage | bytes) -> None:
        rest = memoryview(b"".join(each if isinstance(each, bytes) else protocol.encode(each) for each in records))
        while rest:
            rest = rest[os.write(self._out, rest) :]

    def greet(self, settings: Settings | None = None) -> None:
        self.say(Hello(protocol.PROTOCOL, settings or Settings()))
        assert isinstance(self.heard(), Greeting)

    def heard(self) -> WorkerMessage:
        found = protocol.parse_event(self.reader.readline())
        assert not isinstance(found, protocol.InvalidLine)
        return found

    def all_of(self, call: int) -> list[Event | Done | ErrorMessage]:
        """What comes of a call, to its end."""
        found: list[Event | Done | ErrorMessage] = []
        while True:
            told = self.heard()
            assert not isinstance(told, Greeting)
            assert told.id == call
            if not isinstance(told, EventMessage):
                return [*found, told]
            found.append(told.event)

    def until_done(self, *calls: int) -> list[WorkerMessage]:
        """What comes until all of these calls have ended."""
        told: list[WorkerMessage] = []
        left = set(calls)
        while left:
            told.append(self.heard())
            if isinstance(told[-1], Done | ErrorMessage):
                left.discard(told[-1].id or 0)
        return told

    def hang_up(self) -> None:
        if self._out >= 0:
            os.close(self._out)
            self._out = -1

    def left(self) -> bool:
        """Whether the engine has ended."""
        self.thread.join(ENOUGH_S)
        return not self.thread.is_alive()


@pytest.fixture
def front_end() -> Iterator[Callable[[Any], FrontEnd]]:
    made: list[FrontEnd] = []

    def make(assistant: Any) -> FrontEnd:
        made.append(FrontEnd(assistant))
        return made[-1]

    yield make
    for each in made:
        each.hang_up()
        each.reader.close()
        assert each.left()
        each.theirs.close()


class Stepping(ScriptedAssistant):
    """Takes a step when it may; remembers how its reply ended."""

    def __init__(self, steps: int = 100) -> None:
        super().__init__([])
        self.may = threading.Semaphore(0)
        self.cancel: Cancel = never
        self.steps = steps
        self.begun = self.taken = 0
        self.saved: list[int] = []

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        self.cancel = cancel
        self.begun = self.taken = 0
        try:
            while self.taken < self.steps and not cancel():
                self.begun += 1
                assert self.may.acquire(timeout=ENOUGH_S)
                self.taken += 1
                yield Piece("x", ("",), ReplyStats(predicted_n=self.taken))
        finally:
            self.saved.append(self.taken)
        reason = "stop" if self.taken == self.steps else "cancelled"
        yield Finished("x" * self.taken, tuple(range(self.taken)), reason, ReplyStats(predicted_n=self.taken))


class SteppingBeside(Stepping):
    """The same for three replies at once; the counts are those of all of them."""

    def __init__(self, steps: int = 100) -> None:
        super().__init__(steps)
        self._places = 3

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        self.cancel, taken = cancel, 0
        try:
            while taken < self.steps and not cancel():
                self.begun += 1
                assert self.may.acquire(timeout=ENOUGH_S)
                taken += 1
                yield Piece("x", ("",), ReplyStats(predicted_n=taken))
        finally:
            self.saved.append(taken)
        reason = "stop" if taken == self.steps else "cancelled"
        yield Finished("x" * taken, tuple(range(taken)), reason, ReplyStats(predicted_n=taken))


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + ENOUGH_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


class TestACall:
    def test_brings_the_events_of_a_reply_one_by_one(self, front_end: Callable[[Any], FrontEnd]) -> None:
        script = ScriptedAssistant([]).reply_events("some words\nand more")
        there = front_end(ScriptedAssistant([script]))
        there.greet(Settings(model="that one", window=3))
        there.say(Call(5, "reply", QUESTION))
        assert there.all_of(5) == [*script, Done(5)]
        assert there.settings == [Settings(model="that one", window=3)]

    def test_gets_the_request_as_it_was_made(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = ScriptedAssistant(["a", "b"])
        there = front_end(assistant)
        there.greet()
        request = Request((Message("user", "é\udcff", (), (Attachment("a", "x" * 10_000_000),)),), seed=1 << 70)
        there.say(Call(1, "reply", request))
        there.all_of(1)
        assert assistant.requests == [request]

    def test_opens_the_model_once_and_tells_of_it(self, front_end: Callable[[Any], FrontEnd]) -> None:
        opening = [Loading("load"), Notice("it is small")]
        there = front_end(ScriptedAssistant(["a", "b"], opening))
        there.greet()
        there.say(Call(1, "open"), Call(2, "reply", QUESTION), Call(3, "reply", QUESTION))
        assert there.all_of(1) == [*opening, Done(1)]
        assert isinstance(there.all_of(2)[0], Prefill)
        assert isinstance(there.all_of(3)[0], Prefill)

    def test_settings_of_a_call_are_entered_before_it(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = ScriptedAssistant(["a", "b"])
        there = front_end(assistant)
        there.greet()
        elsewhere = Settings(folder=Path("/elsewhere"), learn=False)
        there.say(Call(1, "reply", QUESTION), Call(2, "reply", QUESTION, elsewhere))
        there.all_of(1)
        assert isinstance(there.all_of(2)[-1], Done)
        assert assistant.entered == [elsewhere]

    def test_a_preview_during_a_reply_is_answered_between_two_steps(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = Stepping(steps=2)
        there = front_end(assistant)
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        until(lambda: assistant.begun == 1)
        there.say(Call(2, "open"), Call(3, "preview", QUESTION), Call(4, "preview", QUESTION, Settings(learn=False)))
        time.sleep(0.1)  # until all have arrived
        assistant.may.release()
        assert isinstance(there.heard(), EventMessage)
        (done,) = there.all_of(3)
        assert isinstance(done, Done)
        assert done.preview is not None
        assert assistant.taken == 1
        assistant.may.release()
        assert there.all_of(1)[-1] == Done(1)
        assert there.all_of(2) == [Done(2)]
        assert isinstance(there.all_of(4)[-1], Done)  # one for another project waits for its turn

    def test_a_reply_that_comes_first_tells_of_the_loading_while_it_goes_on(
        self, front_end: Callable[[Any], FrontEnd]
    ) -> None:
        there = front_end(ScriptedAssistant(["a"], [Loading("load")]))
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        assert there.all_of(1)[:2] == [Loading("load"), Prefill(7, 7, 0)]

    def test_a_reply_of_no_tokens_loads_nothing(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(ScriptedAssistant(["a"], [Loading("load")]))
        there.greet()
        there.say(Call(1, "reply", Request(max_tokens=0)))
        assert Loading("load") not in there.all_of(1)

    def test_previews_and_warms(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = ScriptedAssistant([])
        there = front_end(assistant)
        there.greet()
        there.say(Call(1, "preview", QUESTION), Call(2, "warm", QUESTION))
        assert there.all_of(1) == [Done(1, assistant.preview(QUESTION))]
        assert there.all_of(2) == [Done(2)]
        assert assistant.warmed == [QUESTION]

    def test_that_is_not_known_is_a_problem(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(ScriptedAssistant(["a"]))
        there.greet()
        there.say(Call(1, "sing"), Call(2, "reply", QUESTION))
        (problem,) = there.all_of(1)
        assert isinstance(problem, ErrorMessage)
        assert "'sing'" in problem.message
        assert there.all_of(2)[-1] == Done(2)


def beside(*texts: str) -> ScriptedAssistant:
    """One that writes three replies at once."""
    return ScriptedAssistant(texts, [Loading("load")], places=3)


class TestSideBySide:
    def test_is_offered_once_the_model_is_loaded_and_not_again(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(beside("a", "b"))
        there.greet()
        there.say(Call(1, "open"), Call(2, "open", settings=Settings(folder=Path("/x"))))
        assert there.heard() == EventMessage(1, Loading("load"))
        assert there.heard() == Places(3)
        assert there.all_of(1) == [Done(1)]
        assert there.all_of(2) == [Loading("load"), Done(2)]

    def test_replies_alternate_and_each_has_its_own_events(self, front_end: Callable[[Any], FrontEnd]) -> None:
        texts = {2: "some words and more", 3: "other words\nof another", 4: "a third"}
        there = front_end(beside(*texts.values()))
        there.greet()
        there.say(Call(1, "open"), *(Call(number, "reply", QUESTION) for number in texts))
        told = there.until_done(*texts)
        found = {number: [each for each in told if getattr(each, "id", 0) == number] for number in texts}
        for number, text in texts.items():
            script: list[Any] = [EventMessage(number, each) for each in ScriptedAssistant([]).reply_events(text)]
            assert found[number] == [*script, Done(number)]
        order = [each.id for each in told if isinstance(each, EventMessage) and each.id in texts]
        assert order[:9] != sorted(order[:9])

    def test_one_that_comes_later_joins(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(assistant := SteppingBeside())
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        assistant.may.release()
        assert there.heard() == Places(3)
        assert there.heard().id == 1  # type: ignore[union-attr]
        until(lambda: assistant.begun == 2)
        there.say(Call(2, "reply", QUESTION))
        time.sleep(0.1)  # until it has arrived
        assistant.may.release(3)
        assert [there.heard().id for _ in range(3)] == [1, 1, 2]  # type: ignore[union-attr]
        there.say(CancelCall(1), CancelCall(2))
        assistant.may.release(1000)
        there.until_done(1, 2)

    def test_a_cancel_ends_one_and_no_other(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(assistant := SteppingBeside())
        there.greet()
        there.say(Call(1, "reply", QUESTION), Call(2, "reply", QUESTION), CancelCall(1))
        assistant.may.release(1000)
        ended = {
            each.id: each.event.reason
            for each in there.until_done(1, 2)
            if isinstance(each, EventMessage) and isinstance(each.event, Finished)
        }
        assert ended == {1: "cancelled", 2: "stop"}

    def test_another_project_is_opened_between_two_steps(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(assistant := SteppingBeside())
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        until(lambda: assistant.begun == 1)
        elsewhere = Settings(folder=Path("/elsewhere"))
        there.say(Call(2, "open", settings=elsewhere), Call(3, "preview", QUESTION), Call(4, "reply", QUESTION))
        time.sleep(0.1)  # until all have arrived
        assistant.may.release()
        told = there.until_done(2, 3)
        assert Done(1) not in told
        assert assistant.entered == [elsewhere]
        there.say(CancelCall(1), CancelCall(4))
        assistant.may.release(1000)
        there.until_done(1, 4)

    def test_reading_ahead_waits_and_so_does_what_comes_after_it(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(assistant := SteppingBeside(steps=2))
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        until(lambda: assistant.begun == 1)
        there.say(Call(2, "warm", QUESTION), Call(3, "reply", QUESTION, Settings(learn=False)))
        assistant.may.release(9)
        ends = [each for each in there.until_done(1, 2, 3) if isinstance(each, Done)]
        assert ends == [Done(1), Done(2), Done(3)]
        assert assistant.warmed == [QUESTION]

    def test_what_fails_in_one_ends_that_one_alone(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(ScriptedAssistant([PromptTooLong("9 tokens", "less"), "b"], places=3))
        there.greet()
        there.say(Call(1, "reply", QUESTION), Call(2, "reply", QUESTION))
        told = there.until_done(1, 2)
        (problem,) = (each for each in told if isinstance(each, ErrorMessage))
        assert (problem.id, problem.kind) == (1, "PromptTooLong")
        assert told[-1] == Done(2)

    def test_what_fails_in_a_step_ends_all_and_not_the_engine(self, front_end: Callable[[Any], FrontEnd]) -> None:
        class Breaks(ScriptedAssistant):
            breaks = True

            def together(self) -> Iterator[tuple[int, Event | LacliError]]:
                events = super().together()
                yield next(events)
                if self.breaks:
                    self.breaks = False
                    self._added.clear()
                    raise MemoryError
                yield from events

        there = front_end(Breaks(["a", "b", "c"], places=3))
        there.greet()
        there.say(Call(1, "open"), Call(2, "reply", QUESTION), Call(3, "reply", QUESTION))
        problems = [each for each in there.until_done(2, 3) if isinstance(each, ErrorMessage)]
        assert {each.id for each in problems} <= {2, 3}
        assert all(each.kind == "OutOfMemory" for each in problems)
        assert problems
        there.say(Call(4, "reply", QUESTION))
        assert there.all_of(4)[-1] == Done(4)

    def test_the_end_of_the_front_end_saves_all(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(assistant := SteppingBeside())
        there.greet()
        there.say(Call(1, "reply", QUESTION), Call(2, "reply", QUESTION))
        assistant.may.release(3)
        for _ in range(3):
            there.heard()
        there.hang_up()
        until(assistant.cancel)
        assistant.may.release(9)
        assert there.left()
        assert len(assistant.saved) == 2
        assert assistant.closed


class Fails(ScriptedAssistant):
    """Fails with whatever it is given, then works."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(["a"])
        self.error: BaseException | None = error

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        error, self.error = self.error, None
        if error is not None:
            yield Prefill(1, 1, 0)
            raise error
        yield from super().reply(request, cancel)


class TestAFailure:
    @pytest.mark.parametrize(
        ("error", "kind", "message"),
        [
            (PromptTooLong("9 tokens", "less"), PromptTooLong, "9 tokens"),
            (MemoryError(), OutOfMemory, "out of memory"),
            (TypeError("no\nsuch"), LacliError, "TypeError: no"),
            (RecursionError(), LacliError, "RecursionError"),
        ],
        ids=lambda each: getattr(each, "__name__", ""),
    )
    def test_ends_the_call_and_not_the_engine(
        self, front_end: Callable[[Any], FrontEnd], error: BaseException, kind: type[LacliError], message: str
    ) -> None:
        there = front_end(Fails(error))
        there.greet()
        there.say(Call(1, "reply", QUESTION), Call(2, "reply", QUESTION))
        *_, problem = there.all_of(1)
        assert isinstance(problem, ErrorMessage)
        assert type(problem.to_error()) is kind
        assert message in problem.message
        assert "\n" not in problem.message
        assert there.all_of(2)[-1] == Done(2)

    def test_damaged_lines_are_answered_and_have_no_effect(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(ScriptedAssistant(["a"]))
        there.say(b"GET / HTTP/1.1\n")
        there.say(Hello(protocol.PROTOCOL))
        assert isinstance(there.heard(), Greeting)
        there.say(b"\xff\xfe\n", b'{"type":"call","id":8,"what":[]}\n', Call(9, "reply", QUESTION))
        told = [there.heard() for _ in range(3)]
        assert [(type(each), getattr(each, "id", 0)) for each in told] == [
            (ErrorMessage, None),
            (ErrorMessage, None),
            (ErrorMessage, 8),
        ]
        assert there.all_of(9)[-1] == Done(9)


class TestCancel:
    def test_ends_a_reply_after_the_step_it_is_in(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = Stepping()
        there = front_end(assistant)
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        assistant.may.release(3)
        for number in (1, 2, 3):
            assert there.heard() == EventMessage(1, Piece("x", ("",), ReplyStats(predicted_n=number)))
        until(lambda: assistant.begun == 4)
        there.say(CancelCall(1))
        until(assistant.cancel)
        assistant.may.release(90)
        piece, finished, done = there.all_of(1)
        assert isinstance(piece, Piece)
        assert isinstance(finished, Finished)
        assert (finished.text, finished.reason) == ("xxxx", "cancelled")
        assert done == Done(1)
        assert assistant.saved == [4]

    def test_before_a_call_has_begun_ends_it_when_it_does(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = Stepping(2)
        there = front_end(assistant)
        there.greet()
        there.say(Call(1, "reply", QUESTION), Call(2, "reply", QUESTION), CancelCall(2))
        assistant.may.release(2)
        assert len(there.all_of(1)) == 4
        finished, _ = there.all_of(2)
        assert isinstance(finished, Finished)
        assert finished.reason == "cancelled"

    def test_of_what_is_not_at_work_is_ignored(self, front_end: Callable[[Any], FrontEnd]) -> None:
        there = front_end(ScriptedAssistant(["a", "b"]))
        there.greet()
        there.say(CancelCall(2), Call(1, "reply", QUESTION))
        assert there.all_of(1)[-1] == Done(1)
        there.say(CancelCall(1), CancelCall(2), Call(2, "reply", QUESTION))
        *_, finished, _done = there.all_of(2)
        assert isinstance(finished, Finished)
        assert finished.reason == "stop"

    def test_leaves_the_loading(self, front_end: Callable[[Any], FrontEnd]) -> None:
        class Loads(ScriptedAssistant):
            told = threading.Event()
            left = False

            def open(self, report: Report = ignore) -> None:
                try:
                    report(Loading("prepare", 1, 9))
                    assert self.told.wait(ENOUGH_S)
                    for _ in range(10_000):
                        report(Loading("prepare", 2, 9))
                        time.sleep(0.001)
                except Exception:  # as libraries do
                    pytest.fail("taken for a failure of its own")
                except BaseException:
                    self.left = True
                    raise

        assistant = Loads(["a"])
        there = front_end(assistant)
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        there.heard()
        there.say(CancelCall(1))
        assistant.told.set()
        *_, finished, done = there.all_of(1)
        assert isinstance(finished, Finished)
        assert (finished.text, finished.reason, done) == ("", "cancelled", Done(1))
        assert assistant.left

    def test_comes_through_while_nobody_reads_what_the_engine_says(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = Stepping(1_000_000)
        assistant.may.release(1_000_000)
        there = front_end(assistant)
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        until(lambda: assistant.taken > 50)
        before = -1
        while assistant.taken != before:  # until the pipe is full
            before = assistant.taken
            time.sleep(0.1)
        big = Request((Message("user", "y" * 10_000_000),))
        there.say(CancelCall(1), Call(2, "reply", big), CancelCall(2))  # would wait for ever if the engine did not read
        *_, finished, _done = there.all_of(1)
        assert isinstance(finished, Finished)
        assert finished.reason == "cancelled"
        assert finished.stats.predicted_n < 1_000_000
        assert there.all_of(2)[-1] == Done(2)


class Reads(ScriptedAssistant):
    """Reads ahead until something else is wanted, and notes each time that it began and ended."""

    def __init__(self) -> None:
        super().__init__(["yes", "no"])
        self.begun: SimpleQueue[bool] = SimpleQueue()
        self.ended = 0

    def read_ahead(self, cancel: Cancel) -> None:
        self.begun.put(True)
        until(cancel)
        self.ended += 1


class TestReadingAhead:
    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker, "_IDLE_S", 0.01)

    def test_begins_when_nobody_asks_and_makes_way_for_each_call(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = Reads()
        there = front_end(assistant)
        there.greet()
        for number, what in enumerate(("reply", "preview", "warm", "reply"), start=1):
            assert assistant.begun.get(timeout=ENOUGH_S)
            there.say(Call(number, what, QUESTION))
            assert isinstance(there.all_of(number)[-1], Done)
            assert assistant.ended == number

    def test_ends_with_the_front_end(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = Reads()
        there = front_end(assistant)
        there.greet()
        assert assistant.begun.get(timeout=ENOUGH_S)
        there.hang_up()
        assert there.left()
        assert assistant.ended == 1
        assert assistant.closed

    def test_does_not_begin_while_calls_wait(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = Reads()
        there = front_end(assistant)
        there.say(Hello(protocol.PROTOCOL, Settings()), Call(1, "reply", QUESTION), Call(2, "reply", QUESTION))
        assert isinstance(there.heard(), Greeting)
        assert isinstance(there.all_of(1)[-1], Done)
        assert isinstance(there.all_of(2)[-1], Done)
        assert assistant.ended <= 1, "before the first, if that took its time to come"


class TestTheEnd:
    @pytest.mark.parametrize("how", ["close", "end of stream"])
    def test_finishes_the_step_and_saves(self, front_end: Callable[[Any], FrontEnd], how: str) -> None:
        assistant = Stepping()
        there = front_end(assistant)
        there.greet()
        there.say(Call(1, "reply", QUESTION), Call(2, "reply", QUESTION))
        assistant.may.release()
        there.heard()
        until(lambda: assistant.begun == 2)
        if how == "close":
            there.say(Close())
        else:
            there.hang_up()
        until(assistant.cancel)
        assistant.may.release()
        assert there.left()
        assert assistant.saved == [2]  # the second call was not begun
        assert assistant.closed
        assert there.ended == [worker._SAVING_S]

    def test_leaves_the_loading(self, front_end: Callable[[Any], FrontEnd]) -> None:
        class Loads(ScriptedAssistant):
            def open(self, report: Report = ignore) -> None:
                for done in range(10_000):
                    report(Loading("prepare", done, 10_000))
                    time.sleep(0.001)
                pytest.fail("went on")

        there = front_end(Loads([]))
        there.greet()
        there.say(Call(1, "open"))
        there.heard()
        there.hang_up()
        assert there.left()
        assert there.ended == [worker._LEAVING_S]

    def test_of_the_reader_is_found_out_and_saves(self, front_end: Callable[[Any], FrontEnd]) -> None:
        assistant = Stepping()
        there = front_end(assistant)
        there.greet()
        there.say(Call(1, "reply", QUESTION))
        assistant.may.release()
        there.heard()
        until(lambda: assistant.begun == 2)
        there.reader.close()
        assistant.may.release()
        assert there.left()
        assert assistant.saved == [2]
        assert assistant.closed

    @pytest.mark.parametrize("first", [Hello(protocol.PROTOCOL + 1), Call(1, "open")])
    def test_comes_at_once_for_who_speaks_otherwise(
        self, front_end: Callable[[Any], FrontEnd], first: ClientMessage
    ) -> None:
        there = front_end(ScriptedAssistant([]))
        there.say(first)
        assert isinstance(there.heard(), Greeting)
        assert there.left()
        assert there.settings == []
