"""The prompt and the line above it: the draft, what it replaces, the files that go with it, and the queue behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lacli.chat import listings, slash
from lacli.chat.chat import ChatSession
from lacli.errors import UsageError
from lacli.events import Attachment
from lacli_tui.controllers.prompt_queue import PromptQueue, QueuedQuestion
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.chips import Chips
from lacli_tui.widgets.prompt import Prompt


@dataclass(eq=False)
class PromptController:
    """Knows which turn is being edited and what was sent last."""

    _chat: ChatSession
    _prompt: Prompt
    _chips: Chips
    _notifications: Notifications
    queue: PromptQueue = field(init=False, default_factory=PromptQueue)
    editing: int | None = field(init=False, default=None)
    """The turn whose question is the draft, and will be replaced."""
    last_sent: str = field(init=False, default="")
    """What was asked last, to be put back if nothing comes of it."""

    def show_chips(self) -> None:
        """Update the line above the prompt."""
        editing = self.editing
        self._chips.label("" if editing is None else f"question {editing + 1} again; escape leaves it as it is")
        self._chips.show(self._chat.conversation.pending)
        self._chips.wait(self.queue.texts)
        self._prompt.has_queued_questions = bool(self.queue)

    def edit(self, turn: int) -> None:
        """Make the question of this turn the draft; sending it replaces the turn."""
        self.editing = turn
        question = self._chat.conversation.turns[turn].question
        self._chat.conversation.pending[:] = question.attachments
        self._prompt.put(slash.as_typed(question.text))
        self.show_chips()
        self._prompt.focus()

    def stop_editing(self) -> bool:
        """Forget the draft of an edited question; False if none is being edited."""
        if self.editing is None:
            return False
        self.editing = None
        self._chat.conversation.pending.clear()
        self._prompt.put("")
        self.show_chips()
        return True

    def enqueue(self, question: QueuedQuestion) -> None:
        """Ask it later, with the files that are attached now."""
        conversation = self._chat.conversation
        attached, conversation.pending = tuple(conversation.pending), []
        self.queue.add(question, attached)
        self.show_chips()

    def take_last_back(self) -> None:
        """Make the newest queued question the draft again."""
        last = self.queue.last()
        if last is not None:
            self.reattach(last.attached)
            self._prompt.put(last.text)
            self.show_chips()

    def put_back(self) -> None:
        """Put all queued questions back at the prompt, before the draft; with them the last one sent, if it failed."""
        queued = self.queue.clear()
        sent, self.last_sent = self.last_sent, ""
        texts = [each.text for each in queued]
        if sent and (texts or not self._prompt.text):
            texts.insert(0, sent)
        if texts:
            self.reattach([file for each in queued for file in each.attached])
            self._prompt.put("\n\n".join(filter(str.strip, (*texts, self._prompt.text))))
        self.show_chips()

    def reattach(self, files: Sequence[Attachment]) -> None:
        """Attach these to the next question, before the files it already has."""
        pending = self._chat.conversation.pending
        pending[:0] = [file for file in files if file not in pending]

    def detach_last(self) -> None:
        """Remove the file that was attached last."""
        if self._chat.conversation.pending:
            self._chat.conversation.pending.pop()
            self.show_chips()

    def detach(self, number: str = "") -> None:
        """Remove an attached file: the n-th of those sent, without a number the last one pending."""
        if not number:
            self.detach_last()
            return
        try:
            self._notifications.show(self._chat.drop(number).text)
        except UsageError as error:
            self._notifications.show(error.message, "error", listings.attached_files(self._chat).text)
        self.show_chips()
