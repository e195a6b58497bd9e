"""Reads the files that go with a question, one after the other in the order in which they were asked for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.screen import Screen

from lacli.chat import slash
from lacli.errors import LacliError
from lacli.events import Attachment
from lacli_tui.chat_session import ChatSession
from lacli_tui.controllers.prompt_controller import PromptController
from lacli_tui.controllers.prompt_queue import QueuedQuestion
from lacli_tui.controllers.slow_work import SlowWork
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.prompt import Prompt


class FileReader:
    """Attaches files, and reads those that a question names before it is sent."""

    def __init__(
        self,
        screen: Screen[Any],
        chat: ChatSession,
        folder: Path,
        prompt: Prompt,
        prompts: PromptController,
        slow_work: SlowWork,
        notifications: Notifications,
    ) -> None:
        self._screen = screen
        self._chat = chat
        self._folder = folder
        self._prompt = prompt
        self._prompts = prompts
        self._slow_work = slow_work
        self._notifications = notifications
        self._turn = asyncio.Lock()
        self._expected = 0
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
        from lacli.prompts.attach import attachment

        try:
            async with self._in_turn():
                notes: list[str] = []
                found = await self._slow_work.run(
                    lambda: attachment(path, notes.append, self._most_tokens()), f"reading {path}"
                )
                for note in notes:
                    self._notifications.show(note)
                self._chat.conversation.attach(await self._with_pending_name(found))
                self._prompts.show_chips()
                self._chat.read_ahead()
        except (LacliError, OSError) as error:
            await self._notifications.report(error)

    async def _read_question(self, text: str, send: Callable[[QueuedQuestion], Awaitable[None]]) -> None:
        from lacli.prompts.attach import attached

        asked = slash.question(text)
        question = None
        try:
            async with self._in_turn():
                notes: list[str] = []
                words, files = await self._slow_work.run(
                    lambda: attached(asked, note=notes.append, context=self._most_tokens()), "reading its files"
                )
                for note in notes:
                    self._notifications.show(note)
                question = QueuedQuestion(text, words, tuple([await self._with_pending_name(each) for each in files]))
                await send(question)
        except (LacliError, OSError) as error:
            await self._notifications.report(error)
        finally:
            if question is None:
                self._prompt.give_back(text)

    async def _with_pending_name(self, found: Attachment) -> Attachment:
        """The file under the name it is already pending by, if it is: then it is sent once, as it is now."""
        from lacli.prompts.attach import same_file

        pending = [each.label for each in self._chat.conversation.pending]
        if not pending or found.label in pending:
            return found
        name = await self._slow_work.run(lambda: same_file(found.label, pending), f"looking at {found.label}")
        return replace(found, label=name or found.label)

    def _most_tokens(self) -> int:
        """How many tokens the model can be shown at most. Called in a thread."""
        from lacli.chat.attaching import context_of

        settings = self._chat.settings
        return context_of(settings.model, settings.context, self._chat.request.truncate)
