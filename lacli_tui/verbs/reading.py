"""Files that are read, written or looked at for the main screen: behind, one line about it once it takes long, escape
to give it up. What is attached or named in a question is read in the order in which it was asked for.

A mixin of `screens.main`. `aside` is called in workers only.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from textual import work
from textual.worker import Worker, get_current_worker

from lacli.chat import slash
from lacli.errors import LacliError
from lacli.events import Attachment
from lacli_tui.background import done
from lacli_tui.verbs import Verbs
from lacli_tui.verbs.waiting import Ready
from lacli_tui.widgets.chips import Chips

_LONG_S = 0.4
Value = TypeVar("Value")


class Reading(Verbs):
    """Of the main screen."""

    _expected = 0
    """Files and questions that are being read, or wait for their turn."""

    @cached_property
    def _turn(self) -> asyncio.Lock:
        return asyncio.Lock()

    @cached_property
    def _under_way(self) -> dict[Worker[object], str]:
        """What is waited for, by who waits."""
        return {}

    @property
    def is_reading(self) -> bool:
        """Whether a file is being read that goes with a question."""
        return self._expected > 0

    async def aside(self, work: Callable[[], Value], words: str) -> Value:
        """What comes of this work, which may wait for a disk."""
        worker = get_current_worker()
        self._under_way[worker] = words
        seen = self.set_timer(_LONG_S, self._show_under_way)
        try:
            return await done(work)
        finally:
            seen.stop()
            del self._under_way[worker]
            self._show_under_way()

    async def give_up_aside(self) -> bool:
        """Wait no longer for what takes long; False where nothing does."""
        waited = list(self._under_way.items())
        for worker, words in waited:
            worker.cancel()
            await self.tell(f"{words}: given up")
        return bool(waited)

    def _show_under_way(self) -> None:
        words = ", ".join(self._under_way.values())
        self.query_one(Chips).work(f"{words}; escape gives it up" if words else "")

    @contextlib.asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """What is read came to its turn."""
        try:
            async with self._turn:
                yield
        finally:
            self._expected -= 1

    def attach_soon(self, path: str) -> None:
        """This file goes with the next question."""
        self._expected += 1
        self._read_file(path)

    @work(group="reading")
    async def _read_file(self, path: str) -> None:
        from lacli.prompts.attach import attachment

        try:
            async with self._in_turn():
                notes: list[str] = []
                found = await self.aside(lambda: attachment(path, notes.append, self._most_tokens()), f"reading {path}")
                for note in notes:
                    await self.tell(note)
                self.talk.conversation.attach(await self._as_named(found))
                self.show_chips()
                self.talk.read_ahead()
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def _as_named(self, found: Attachment) -> Attachment:
        """The file by the name by which it waits already, if it does: then it is sent once, as it is now."""
        from lacli.prompts.attach import same_file

        pending = [each.label for each in self.talk.conversation.pending]
        if not pending or found.label in pending:
            return found
        name = await self.aside(lambda: same_file(found.label, pending), f"looking at {found.label}")
        return replace(found, label=name or found.label)

    def read_question(self, text: str) -> None:
        """Ask this question once all files that go with it are read; the prompt is empty meanwhile."""
        self._expected += 1
        self._read_question(text)

    @work(group="reading")
    async def _read_question(self, text: str) -> None:
        from lacli.prompts.attach import attached

        asked = slash.question(text)
        ready = None
        try:
            async with self._in_turn():
                notes: list[str] = []
                words, files = await self.aside(
                    lambda: attached(asked, note=notes.append, context=self._most_tokens()), "reading its files"
                )
                for note in notes:
                    await self.tell(note)
                ready = Ready(text, words, tuple([await self._as_named(each) for each in files]))
                await self.send(ready)
        except (LacliError, OSError) as error:
            await self.blame(error)
        finally:
            if ready is None:
                self.prompt.give_back(text)

    async def send(self, ready: Ready) -> None:
        """Ask it, now or when its turn comes."""
        raise NotImplementedError

    def _most_tokens(self) -> int:
        """Most tokens that the model can be shown. Called in a thread."""
        from lacli.chat.attaching import context_of

        return context_of(self.talk.settings.model, self.talk.settings.context, self.talk.request.truncate)
