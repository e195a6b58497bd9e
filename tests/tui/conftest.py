"""The terminal UI run without a terminal: keys in, text out. Tests may be `async def`.

async def test_an_answer_is_shown(pilot: Play) -> None:
    async with pilot("hello world", size=(80, 24)) as it:
        await it.ask("hi")
        assert "hello world" in it.text()
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from textual._context import active_app
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from lacli.assistant.scripted import ScriptedAssistant
from lacli.edits.write.choosing import Choosing
from lacli.edits.write.textfile import TextFile
from lacli_tui.app import LacliApp
from lacli_tui.screens.main import MainScreen
from lacli_tui.start import Start
from lacli_tui.widgets.prompt import Prompt

NOW = 1_700_000_000.0
_MOMENT_S = 0.004


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@dataclass
class Playing:
    """A terminal UI at work."""

    pilot: Pilot[str]
    app: LacliApp
    assistant: ScriptedAssistant

    @property
    def main(self) -> MainScreen:
        return self.app.main

    async def press(self, *keys: str) -> None:
        """Press keys, and let the screen settle."""
        await self.pilot.press(*keys)
        await self.until(lambda: not self.main.prompt.is_waiting)
        await self.pilot.pause()
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Put this at the prompt."""
        self.main.query_one(Prompt).insert(text)
        await self.pilot.pause()

    async def ask(self, text: str) -> None:
        """Send a question and wait for its answer."""
        await self.type(text)
        await self.press("enter")
        await self.idle()

    async def until(self, holds: Any, seconds: float = 20.0) -> None:
        """Wait until a condition holds."""
        async with asyncio.timeout(seconds):
            while not holds():
                await self.pilot.pause(0.01)

    async def attach(self, path: str) -> None:
        """Have this file go with the next question."""
        self.main.files.attach_path(path)
        await self.until(lambda: not self.main.files.is_reading)

    async def idle(self) -> None:
        """Wait until no reply is being written."""
        await self.until(lambda: self.main.is_idle)
        await self.pilot.pause()

    def text(self) -> str:
        """The screen as it is seen, a line a row."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())


def changes(old: str, new: str) -> Choosing:
    """What a diff shows."""
    return Choosing(TextFile.of_bytes(old.encode(), "a.py"), new.encode())


class Play(Protocol):
    """`pilot(*scripts, size=(100, 30), **start)`; `start` are fields of `Start`."""

    def __call__(
        self, *scripts: Any, size: tuple[int, int] = (100, 30), opening: Sequence[Any] = (), **start: Any
    ) -> AbstractAsyncContextManager[Playing]: ...


@pytest.fixture(autouse=True)
def no_search_for_garbage() -> Iterator[None]:
    """A program of widgets is made and left in each test: looking for garbage among them is a fifth of the time."""
    gc.disable()
    yield
    gc.enable()


async def settle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until the program has nothing to do, in place of Textual's wait, whose every look takes 20 ms.

    Nothing is ready in the event loop, nothing is to be drawn, and no thread was at work for a moment.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + max_sleep
    while loop.time() < end:
        before = time.process_time()
        await asyncio.sleep(_MOMENT_S)
        worked = time.process_time() - before > _MOMENT_S / 20
        while loop._ready and loop.time() < end:  # type: ignore[attr-defined]
            worked = True
            await asyncio.sleep(0)
        worked |= _draw() or active_app.get()._resize_timer is not None
        if not worked:
            return


def _draw() -> bool:
    """Draw what the next beat of Textual's clock would draw; whether there was anything."""
    screen = active_app.get().screen
    due = (screen._layout_required, screen._scroll_required, screen._repaint_required, screen._recompose_required)
    if not (any(due) or screen._dirty_widgets or screen._callbacks) or not screen.is_current or screen.app._batch_count:
        return False
    screen._on_timer_update()
    return True


@pytest.fixture(scope="session", autouse=True)
def styles_read_once() -> Iterator[None]:
    """Every program in this process has the same style sheets: they are parsed once, and their rules found quickly."""
    parsed: dict[Any, list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def parse_once(self: Stylesheet, *arguments: Any, **options: Any) -> list[RuleSet]:
        key = (arguments, tuple(options.items()), tuple(self._variables.items()))
        if key not in parsed:
            parsed[key] = parse(self, *arguments, **options)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        patch.setattr(RuleSet, "__hash__", object.__hash__)  # what its own gives, without a call of Python
        yield


@pytest.fixture
def pilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """A scripted terminal UI in an empty folder, with a frozen clock and nothing that moves by itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("textual.app.wait_for_idle", settle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", settle)

    @asynccontextmanager
    async def play(
        *scripts: Any, size: tuple[int, int] = (100, 30), opening: Sequence[Any] = (), **start: Any
    ) -> AsyncIterator[Playing]:
        assistant = start.pop("replier", None) or ScriptedAssistant(scripts, opening)
        given = {"animation": False, "now": lambda: NOW, "folder": tmp_path} | start
        app = LacliApp(Start(replier=assistant, **given))
        async with app.run_test(size=size) as ran:
            app.main.query_one(Prompt).cursor_blink = False
            await ran.pause()
            yield Playing(ran, app, assistant)

    return play
