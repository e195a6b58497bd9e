"""Stand-ins for what controllers get: no terminal, no engine, no thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lacli.chat.chat import ChatSession
from lacli.chat.outcome import Line, Outcome, fault
from lacli.config import Settings
from lacli.events import Attachment, Finished, Loading, Piece, ReplyStats, Request
from lacli.sessions.recorder import Recorder
from lacli_tui.engine_session import Updates
from lacli_tui.messages import Phase


@dataclass
class Timer:
    """A timer that a test lets go off."""

    seconds: float
    callback: Callable[[], Any]
    is_stopped: bool = False

    def stop(self) -> None:
        self.is_stopped = True


@dataclass
class Screen:
    """Keeps timers and workers, and what was shown."""

    timers: list[Timer] = field(default_factory=list)
    workers: list[asyncio.Task[None]] = field(default_factory=list)
    notified: list[str] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    widgets: list[Any] = field(default_factory=list)
    focused: Any = None

    def set_timer(self, seconds: float, callback: Callable[[], Any]) -> Timer:
        self.timers.append(Timer(seconds, callback))
        return self.timers[-1]

    set_interval = set_timer

    def run_worker(self, work: Coroutine[Any, Any, None], **how: Any) -> None:
        self.workers.append(asyncio.get_running_loop().create_task(work))

    async def done(self) -> None:
        """Wait for all workers."""
        while self.workers:
            await self.workers.pop()

    async def go_off(self) -> None:
        """Let the oldest timer go off."""
        result = self.timers.pop(0).callback()
        if isinstance(result, Awaitable):
            await result

    def notify(self, text: str, **how: Any) -> None:
        self.notified.append(text)

    def has_class(self, name: str) -> bool:
        return name in self.classes

    def toggle_class(self, name: str) -> None:
        self.classes ^= {name}

    def query(self, selector: str) -> list[Any]:
        return self.widgets

    def refresh_bindings(self) -> None:
        pass


@dataclass
class Prompt:
    text: str = ""
    has_queued_questions: bool = False

    def put(self, text: str) -> None:
        self.text = text

    def give_back(self, text: str) -> None:
        self.text = text

    def focus(self) -> None:
        pass


@dataclass
class Chips:
    """What the line above the prompt shows."""

    labelled: str = ""
    files: Sequence[Attachment] = ()
    waiting: Sequence[str] = ()
    working: str = ""

    def label(self, text: str) -> None:
        self.labelled = text

    def show(self, files: Sequence[Attachment]) -> None:
        self.files = tuple(files)

    def wait(self, questions: Sequence[str]) -> None:
        self.waiting = tuple(questions)

    def work(self, text: str) -> None:
        self.working = text


@dataclass
class Notifications:
    """What was said above the prompt, and in the transcript."""

    shown: list[str] = field(default_factory=list)
    in_chat: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    def show(self, text: str, level: str = "note", hint: str = "") -> None:
        self.shown.append(text)
        self.hints.append(hint)

    notify = show

    def withdraw(self, text: str) -> None:
        self.shown.remove(text)

    async def add_to_chat(self, text: str, level: str = "note", hint: str = "") -> None:
        self.in_chat.append(text)

    async def show_lines(self, lines: Sequence[Line], in_chat: bool = False) -> None:
        (self.in_chat if in_chat else self.shown).extend(each.text for each in lines)

    async def report(self, error: BaseException, in_chat: bool = False) -> None:
        await self.show_lines([fault(error)], in_chat)


class SilentRecorder(Recorder):
    """Writes nothing down."""

    def __init__(self) -> None:
        super().__init__("chat", lambda notice: None, keep=False)

    def remember_typed(self, text: str) -> None:
        pass


class Engine:
    """Remembers what it was asked for; a test says what comes of it."""

    def __init__(self) -> None:
        self.recorder = SilentRecorder()
        self.chat = ChatSession(Settings(), Request(max_tokens=100), self.recorder, model="small")
        self.phase: Phase = "idle"
        self.loading: Loading | None = None
        self.prefill = None
        self.did: list[str] = []
        self.sent: list[Request] = []

    @property
    def is_replying(self) -> bool:
        return self.chat.is_answering

    def carry_out(self, outcome: Outcome) -> None:
        if outcome.restart:
            self.did.append("restart")
        if outcome.send is not None:
            self.sent.append(outcome.send)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *given: self.did.append(name)

    def answer(self, text: str = "an answer", reason: Any = "stop") -> Updates:
        """The reply to what was sent last."""
        stats = ReplyStats(model="small", predicted_n=3)
        if text:
            self.chat.wrote(Piece(text, ("",), stats, (len(text),)))
        finished = Finished(text, (1, 2, 3) if text else (), reason, stats)
        return Updates(text=text, finished=finished, outcome=self.chat.answered(finished))


@pytest.fixture
def screen() -> Any:
    return Screen()


@pytest.fixture
def prompt() -> Any:
    return Prompt()


@pytest.fixture
def chips() -> Any:
    return Chips()


@pytest.fixture
def notifications() -> Any:
    return Notifications()


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    return Engine()
