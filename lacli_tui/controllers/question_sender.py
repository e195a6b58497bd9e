"""Sends what the user typed: a slash command is carried out, a question is asked now or queued."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lacli.chat import slash
from lacli.errors import LacliError
from lacli_tui.actions import slash_command
from lacli_tui.controllers.file_reader import FileReader
from lacli_tui.controllers.prompt_controller import PromptController
from lacli_tui.controllers.prompt_queue import QueuedQuestion
from lacli_tui.controllers.transcript_controller import TranscriptController
from lacli_tui.engine_session import EngineSession, Updates
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.prompt import Prompt


@dataclass(eq=False)
class QuestionSender:
    """Decides what becomes of a draft.

    `_perform` carries out the action with this id and argument.
    """

    _engine: EngineSession
    _prompt: Prompt
    _prompts: PromptController
    _replies: TranscriptController
    _files: FileReader
    _notifications: Notifications
    _perform: Callable[[str, str], object]

    async def submit(self, text: str) -> None:
        """Do what was typed."""
        try:
            if self._perform_command(text):
                return
            if self._prompts.editing is not None and self._replies.is_busy():
                self._prompt.give_back(text)
                return
            if self._files.is_reading or "@" in text:
                self._files.read_question(text, self.send)
            else:
                await self.send(QueuedQuestion(text, slash.question(text)))
        except (LacliError, OSError) as error:
            self._prompt.give_back(text)
            await self._notifications.report(error)

    async def send(self, question: QueuedQuestion) -> None:
        """Ask the question, or queue it while a reply is being written."""
        self._engine.recorder.remember_typed(question.text)
        replaces, self._prompts.editing = self._prompts.editing, None
        if self._engine.is_replying:
            self._prompts.enqueue(question)
        else:
            await self._replies.ask(question, replaces)

    async def settle(self, updates: Updates) -> None:
        """If the reply has ended, ask the next question in the queue; if it failed, put all back at the prompt."""
        if not self._prompts.queue or self._engine.is_replying:
            return
        finished = updates.finished
        failed = updates.error is not None or finished is None or finished.reason == "cancelled"
        if self._replies.was_stopped or failed:
            self._prompts.put_back()
            return
        question = self._prompts.queue.next()
        conversation = self._engine.chat.conversation
        later, conversation.pending = conversation.pending, list(question.attached)
        await self._replies.ask(question)
        conversation.pending[:0] = later
        self._prompts.show_chips()

    def _perform_command(self, text: str) -> bool:
        """Carry out a slash command; False if this is a question. Raises UsageError."""
        found = slash_command(text)
        if found is None:
            return False
        action, rest = found
        self._engine.recorder.remember_typed(text)
        if action.id == "attach" and rest:  # at once: the question may be queued behind it
            self._files.attach(rest)
        else:
            self._perform(action.id, rest)
        return True
