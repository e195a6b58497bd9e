"""Calls of the engine: each ends once, and from whatever comes of them F5 and a new chat lead out."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from lacli.assistant.base import Cancel, Report, ignore, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.errors import LacliError, WorkerDied
from lacli.events import Event, Finished, Loading, Preview, Request
from lacli.project.instructions import Instructions
from lacli.shared.background import Call, Ended, What
from lacli_tui.bridge import Bridge
from lacli_tui.engine_session import EngineSession
from lacli_tui.start import Start
from tests.server.running import serving
from tests.slow import TEN
from tests.worker.worker_child import TEXT

pytestmark = pytest.mark.usefixtures("impatient")
ENDS = (None, None, LacliError("no"), WorkerDied("killed"), ValueError("a mistake"), SystemExit(3))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacli_tui.bridge._CANCEL_S", 0.05)


class Unsteady(ScriptedAssistant):
    """Does with each call what dice say: all of it, a part, no end told, a failure, nothing until it is closed."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(())
        self._dice = dice
        self._gone = threading.Event()

    def open(self, report: Report = ignore) -> None:
        report(Loading("load", 1, 2))
        self._fate(never)

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        self._fate(cancel)

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        self._fate(never)
        return Preview((1, 2), "", 100)

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        events = self.reply_events("one two three four five six")
        told = events[: self._dice.choice((0, 1, 3, len(events) - 1, len(events), len(events)))]
        for event in told:
            if cancel():
                if self._dice.random() < 0.5:
                    yield Finished("", (), "cancelled", events[-1].stats)  # type: ignore[union-attr]
                return
            yield event
        self._fate(cancel)

    def close(self) -> None:
        self._gone.set()

    def _fate(self, cancel: Cancel) -> None:
        if self._dice.random() < 0.2:  # it hears nothing any more
            self._gone.wait(10)
            raise WorkerDied("the engine was closed")
        time.sleep(self._dice.choice((0, 0, 0.002)))
        error = self._dice.choice(ENDS)
        if error is not None and not cancel():
            raise error


@pytest.mark.default_cases(TEN)
@pytest.mark.parametrize("seed", range(20))
def test_every_call_ends_exactly_once_however_it_is_cancelled_and_closed(seed: int) -> None:
    dice = random.Random(seed)
    bridge = Bridge(Unsteady(dice), lambda: None)
    calls: list[Call] = []
    kinds: tuple[What, ...] = ("open", "reply", "preview", "warm")
    for _ in range(12):
        if calls and dice.random() < 0.4:
            bridge.cancel(dice.choice(calls))
        else:
            calls.append(bridge.call(dice.choice(kinds)))
        time.sleep(dice.choice((0, 0, 0.002)))
    closing = threading.Thread(target=bridge.close)
    closing.start()
    calls.append(bridge.call("reply"))
    closing.join(10)
    assert not closing.is_alive()
    assert all(call.wait(10) for call in calls)  # on a busy machine the thread may be later than `close` waits for it
    told = bridge.take()
    ends = Counter(id(call) for call, came in told if isinstance(came, Ended))
    assert [ends[id(call)] for call in calls] == [1] * len(calls)
    for call in calls:
        (*_, last) = (came for found, came in told if found is call)
        assert isinstance(last, Ended)


@pytest.mark.default_cases(TEN)
@pytest.mark.parametrize("seed", range(40))
def test_f5_and_a_new_chat_lead_out_of_every_state(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    well = False
    monkeypatch.setattr(
        EngineSession, "_new_engine", lambda self: ScriptedAssistant(["well"]) if well else Unsteady(dice)
    )
    engine = EngineSession(Start(keep=False), lambda: None)
    engine.begin()
    asked = 0
    for _ in range(15):
        does = dice.choice(("ask", "ask", "stop", "retry", "undo", "tokens", "summary", "restart", "clear", "ahead"))
        if does == "stop":
            engine.stop()
        elif does == "ahead":
            engine.read_ahead()
        elif does == "restart" and (engine.phase == "stopping" or not engine.is_replying):
            engine.restart()
        elif not engine.is_replying:
            if does == "ask":
                asked += 1
                engine.carry_out(engine.chat.ask(f"question {asked}"))
            elif does == "summary" and len(engine.chat.conversation.turns) > 1:
                engine.carry_out(engine.chat.compact())
            elif does in ("retry", "undo", "clear"):
                engine.carry_out(getattr(engine.chat, does)())
            elif does == "tokens":
                engine.count_tokens()
        time.sleep(dice.choice((0, 0.001, 0.004)))
        engine.take()
    engine.stop()
    assert engine.phase in ("stopping", "idle", "dead", "loading")
    well = True
    engine.restart()
    assert not engine.is_replying
    engine.carry_out(engine.chat.new())
    engine.carry_out(engine.chat.ask("are you well?"))
    updates = engine.take()
    until = time.monotonic() + 5
    while engine.is_replying and time.monotonic() < until:
        updates = engine.take()
        time.sleep(0.001)
    assert updates.error is None
    assert [turn.answer.text for turn in engine.chat.conversation.turns] == ["well"]
    assert engine.phase == "idle"
    engine.close()


def test_a_reply_that_is_stopped_before_it_began_ends_at_once() -> None:
    held = threading.Event()

    class Held(ScriptedAssistant):
        def preview(self, request: Request, report: Report = ignore) -> Preview:
            held.wait(10)
            return Preview((), "", 100)

    engine = EngineSession(Start(replier=Held(["never"]), keep=False), lambda: None)
    engine.begin()
    while engine.phase != "idle":
        engine.take()
    engine.count_tokens()
    engine.carry_out(engine.chat.ask("a question"))
    assert engine.stop() == "stopping"
    updates = engine.take()
    assert updates.finished is not None
    assert updates.finished.reason == "cancelled"
    assert updates.outcome.turn is None
    assert updates.error is None
    assert engine.phase == "idle"
    held.set()
    engine.close()


def test_a_reply_without_an_end_is_a_failure_and_what_was_written_of_it_is_kept() -> None:
    events = ScriptedAssistant(()).reply_events("one two three")[:-1]
    engine = EngineSession(Start(replier=ScriptedAssistant([events]), keep=False), lambda: None)
    engine.begin()
    engine.carry_out(engine.chat.ask("a question"))
    updates = engine.take()
    while engine.is_replying:
        time.sleep(0.001)
        updates = engine.take()
    assert "without telling its end" in str(updates.error)
    assert updates.outcome.turn is not None
    assert updates.outcome.turn.interrupted
    assert updates.outcome.turn.answer.text == "one two three"
    assert engine.phase == "idle"
    engine.close()


def test_a_reply_given_up_while_the_model_loads_has_it_loaded_for_the_next_one() -> None:
    go = threading.Event()
    opened = []

    class Loads(ScriptedAssistant):
        def open(self, report: Report = ignore) -> None:
            opened.append(1)
            if len(opened) == 1:
                raise LacliError("no network")

        def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
            go.wait(10)
            return iter(())

    engine = EngineSession(Start(replier=Loads(()), keep=False), lambda: None)
    engine.begin()
    while engine.take().error is None:
        pass
    engine.carry_out(engine.chat.ask("a question"))
    assert (engine.stop(), engine.is_replying) == ("given up", False)
    go.set()
    until = time.monotonic() + 5
    while engine.phase != "idle":
        assert time.monotonic() < until, engine.phase
        engine.take()
    engine.close()


def test_what_the_project_says_is_told_the_model_and_said_once() -> None:
    project = Instructions("AGENTS.md", "Use tabs.", 9)
    session = EngineSession(Start(replier=ScriptedAssistant(["a"]), instructions=project, keep=False), lambda: None)
    assert [each.text for each in session.take().notices] == ["using AGENTS.md (9 characters)"]
    asked = session.chat.ask("hi").send
    assert asked is not None
    assert "Use tabs." in asked.messages[0].text
    assert not session.take().notices
    session.close()


@pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")
def test_a_chat_uses_the_engine_of_lacli_serve_where_one_runs_and_is_wanted() -> None:
    with serving("quick") as running:
        session = EngineSession(Start(attach=True), lambda: None)
        session.begin()
        session.carry_out(session.chat.ask("hi"))
        text, end = "", time.monotonic() + 20
        while session.is_replying or session.phase == "loading":
            assert time.monotonic() < end
            text += session.take().text
            time.sleep(0.01)
        text += session.take().text
        assert text == TEXT
        assert session.engine_pid is None
        (worker,) = running.workers()
        session.close()
        assert worker.is_running()
