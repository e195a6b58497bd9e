"""Shows what is said: the question that was asked, the answer while it is written, what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from textual.screen import Screen
from textual.widgets import Static

from lacli.chat import slash
from lacli.chat.outcome import Outcome
from lacli.events import Finished
from lacli.shared.wording import cut_note, live_line
from lacli_tui.controllers.decode_panel_controller import DecodePanelController
from lacli_tui.controllers.prompt_controller import PromptController
from lacli_tui.controllers.prompt_queue import QueuedQuestion
from lacli_tui.engine_session import EngineSession, Updates
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.message import Answer, ChatMessage
from lacli_tui.widgets.prompt import Prompt
from lacli_tui.widgets.transcript import Transcript
from lacli_tui.widgets.welcome import Welcome

_WRITING = "a reply is being written; escape stops it"
_SUMMARISING = "the older turns are being summed up; escape leaves them as they are"


@dataclass(eq=False)
class TranscriptController:
    """Knows the answer that is being written.

    `_refresh` updates what shows the state of the chat; its argument says whether a reply has ended.
    """

    _screen: Screen[Any]
    _engine: EngineSession
    _transcript: Transcript
    _new_text: Static
    _prompt: Prompt
    _prompts: PromptController
    _panel: DecodePanelController
    _notifications: Notifications
    _reply_started: Callable[[], None]
    _refresh: Callable[[bool], None]
    _answer: Answer | None = field(init=False, default=None)
    """The one being written."""
    was_stopped: bool = field(init=False, default=False)
    """Whether the user stopped the reply: then what is queued behind it is not asked, however it ends."""

    @property
    def is_mounting(self) -> bool:
        """Whether a reply is being written whose widget is not there yet."""
        return self._engine.is_replying and self._answer is None

    def is_busy(self) -> bool:
        """Whether a reply is being written; tells the user so."""
        if not self._engine.is_replying:
            return False
        stopping = self._engine.phase == "stopping"
        self._notifications.notify("the reply is being stopped; F5 does not wait for that" if stopping else _WRITING)
        return True

    # Asking

    async def ask(self, question: QueuedQuestion, replaces: int | None = None) -> None:
        """Ask a question, replacing that of a turn and all behind it where one is given."""
        self._prompts.last_sent = question.text
        if replaces is not None:
            await self._send(self._engine.chat.resend(replaces, question.words, question.named))
            await self._transcript.take_back(replaces)
        else:
            await self._send(self._engine.chat.ask(question.words, question.named))
        self._prompts.show_chips()
        await self._transcript.query(Welcome).remove()
        await self._show_question()

    async def retry(self) -> None:
        """Ask the last question again."""
        if self.is_busy():
            return
        if await self._send(self._engine.chat.retry()):
            self._answer = await self._transcript.replace_answer(len(self._engine.chat.conversation.turns) - 1)
            self._start_reply()

    async def ask_again(self, turn: int | None) -> None:
        """Ask the question of this turn again; what came after it is gone."""
        turns = self._engine.chat.conversation.turns
        if turn is None or turn >= len(turns) - 1:
            await self.retry()
        elif not self.is_busy():
            question = turns[turn].question
            self._prompts.last_sent = slash.as_typed(question.text)
            self._prompts.reattach(question.attachments)  # its words no longer name them
            await self._send(self._engine.chat.resend(turn, question.text))
            await self._transcript.take_back(turn)
            await self._show_question()

    async def summarise(self) -> None:
        """Have older turns replaced by a summary."""
        if self.is_busy():
            return
        if await self._send(self._engine.chat.compact()):
            self._answer = await self._transcript.add_answer(len(self._engine.chat.conversation.turns))
            self._start_reply()
            self._notifications.show(_SUMMARISING)

    async def _send(self, outcome: Outcome) -> bool:
        """Have the engine answer; False if there is nothing to answer."""
        self._engine.carry_out(outcome)
        await self._notifications.show_lines(outcome.lines)
        return outcome.send is not None

    async def _show_question(self) -> None:
        """Show the question being asked, and make room for its answer."""
        asked = self._engine.chat.conversation.question
        assert asked is not None
        self._answer = await self._transcript.add_question(
            asked.text, asked.attachments, len(self._engine.chat.conversation.turns)
        )
        self._start_reply()

    def _start_reply(self) -> None:
        self._panel.start_reply(is_summary=self._engine.chat.purpose == "summary")
        self.was_stopped = False
        self._reply_started()
        self._refresh(False)

    # The reply

    async def show_progress(self, updates: Updates) -> None:
        """Append what was written and thought."""
        answer = self._answer
        if answer is not None and (updates.steps or updates.text or updates.thought):
            answer.trace.add(updates.steps)
            if self._engine.chat.purpose != "summary":
                self._panel.add_steps(updates.steps)
            await answer.think(updates.thought)
            await answer.append(updates.text)
            self.mark_new_text()

    async def finish(self, updates: Updates) -> None:
        """Show how the reply ended."""
        finished, answer, self._answer = updates.finished, self._answer, None
        assert finished is not None
        if self._engine.chat.purpose == "summary":
            await self.show_all()
            self._notifications.withdraw(_SUMMARISING)
            await self._notifications.show_lines(updates.outcome.lines, in_chat=updates.outcome.changed)
        elif answer is not None and updates.outcome.turn is None and finished.reason != "stop":
            await self._remove(answer)
        elif answer is not None:
            await answer.finish(finished.text, _footnote(finished, self._engine.chat.most_tokens), finished.thought)
            self._prompts.last_sent = ""

    async def stop(self) -> None:
        """Stop the reply; one that has begun ends with the text so far."""
        outcome = self._engine.stop()
        self.was_stopped = outcome == "stopping"
        answer = self._answer
        if outcome == "given up" and answer is not None:
            self._answer = None
            await self._remove(answer)

    async def _remove(self, answer: Answer) -> None:
        """Nothing came of the question: put it back at the prompt."""
        if self._engine.chat.purpose == "again":
            await self.show_all()
        elif answer.turn is not None:
            await self._transcript.take_back(answer.turn)
        self._prompts.put_back()

    async def show_all(self) -> None:
        """Show the whole conversation anew."""
        self._prompts.editing = None
        self._answer = None
        await self._transcript.show(self._engine.chat.conversation.turns, Welcome())
        self._prompts.show_chips()
        self._refresh(True)

    # Moving about

    def mark_new_text(self) -> None:
        """Point out that there is text below what is in view."""
        self._new_text.set_class(not self._transcript.follows, "-shown")

    def followed(self, follows: bool) -> None:
        """The end of the text came into view, or left it."""
        if follows:
            self._new_text.remove_class("-shown")

    def answer_of(self, turn: int | None) -> Answer | None:
        """The answer of this turn, if it is on the screen; without a turn the last one."""
        if turn is None:
            return self._transcript.last_answer
        found = (each for each in self._transcript.messages if isinstance(each, Answer) and each.turn == turn)
        return next(found, None)

    async def page_up(self) -> None:
        """Scroll up; at the top, load earlier turns."""
        if self._transcript.scroll_y <= 0:
            await self._transcript.earlier()
        self._transcript.release_anchor()
        self._transcript.scroll_page_up(animate=False)

    async def page_down(self) -> None:
        """Scroll down; at the end, load later turns."""
        if self._transcript.scroll_y >= self._transcript.max_scroll_y:
            await self._transcript.later()
        self._transcript.scroll_page_down(animate=False)

    def focus_last(self) -> None:
        """Put the focus on the last message that is shown."""
        messages = self._transcript.messages
        if messages:
            messages[-1].focus()

    async def move_focus(self, step: int) -> None:
        """Put the focus on the message before or after; behind the last one is the prompt."""
        focused = self._screen.focused
        messages = self._transcript.messages
        if messages and focused is messages[0 if step < 0 else -1]:
            await (self._transcript.earlier() if step < 0 else self._transcript.later())
            messages = self._transcript.messages
        at = messages.index(focused) if isinstance(focused, ChatMessage) and focused in messages else len(messages)
        if at + step >= len(messages):
            self._prompt.focus()
        elif at + step >= 0:
            messages[at + step].focus()


def _footnote(finished: Finished, max_tokens: int) -> str:
    """The line below an answer: why it is incomplete, and how it was decoded."""
    parts = ["interrupted"] if finished.reason == "cancelled" else []
    parts += filter(None, [cut_note(finished, max_tokens, "/set max-tokens N for more")])
    if finished.stats.predicted_n:
        parts.append(live_line(finished.stats))
    return " · ".join(parts)
