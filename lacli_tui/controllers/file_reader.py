"""Reads the files that go with a question, one after the other in the order in which they were asked for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual.screen import Screen

from lacli.chat import slash
from lacli.errors import LacliError
from lacli_tui.controllers.prompt_controller import PromptController
from lacli_tui.controllers.prompt_queue import QueuedQuestion
from lacli_tui.controllers.slow_work import SlowWork
from lacli_tui.engine_session import EngineSession
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.prompt import Prompt


@dataclass(eq=False)
class FileReader:
    """Attaches files, and reads those that a question names before it is sent."""

    _screen: Screen[Any]
    _engine: EngineSession
    _folder: Path
    _prompt: Prompt
    _prompts: PromptController
    _slow_work: SlowWork
    _notifications: Notifications
    _turn: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _expected: int = field(init=False, default=0)
    """Files and questions that are being read or wait for their turn."""

    @property
    def is_reading(self) -> bool:
        """Whether files for a question are still being read."""
        return self._expected > 0

    def attach(self, typed: str = "") -> None:
        """Attach the file that was typed; without one, choose it from a list (`@`: and insert its name, too)."""
        if typed and typed != "@":
            self.attach_path(str(slash.path_of(typed)))
        else:
            self._screen.run_worker(self._pick(insert=typed == "@"), group="picker", exclusive=True)

    def attach_path(self, path: str) -> None:
        """Read this file and attach it to the next question."""
        self._expected += 1
        self._screen.run_worker(self._read_file(path), group="reading")

    def read_question(self, text: str, send: Callable[[QueuedQuestion], Awaitable[None]]) -> None:
        """Read all files the question names, then send it; the prompt stays empty meanwhile."""
        self._expected += 1
        self._screen.run_worker(self._read_question(text, send), group="reading")

    async def _pick(self, insert: bool) -> None:
        from lacli_tui.screens.files import FilesScreen

        found = await self._screen.app.push_screen_wait(FilesScreen(self._folder))
        if found is None:
            return
        if insert:
            self._prompt.insert(f'"{found}" ' if " " in found else f"{found} ")
        self.attach_path(found)

    @contextlib.asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """Wait until everything asked for before has been read."""
        try:
            async with self._turn:
                yield
        finally:
            self._expected -= 1

    async def _read_file(self, path: str) -> None:
        try:
            async with self._in_turn():
                read = await self._slow_work.run(lambda: self._engine.chat.read_file(f'"{path}"'), f"reading {path}")
                await self._notifications.show_lines(read.notes)
                self._engine.chat.attach(read)
                self._prompts.show_chips()
                self._engine.read_ahead()
        except (LacliError, OSError) as error:
            await self._notifications.report(error)

    async def _read_question(self, text: str, send: Callable[[QueuedQuestion], Awaitable[None]]) -> None:
        question = None
        try:
            async with self._in_turn():
                read = await self._slow_work.run(lambda: self._engine.chat.read_question(text), "reading its files")
                await self._notifications.show_lines(read.notes)
                question = QueuedQuestion(text, read.words, read.files)
                await send(question)
        except (LacliError, OSError) as error:
            await self._notifications.report(error)
        finally:
            if question is None:
                self._prompt.give_back(text)
