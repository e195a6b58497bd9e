"""What is sent: questions, slash commands, what keys on messages ask for; and taking it back.

A mixin of `screens.main`, which shows what comes of it.
"""

from __future__ import annotations

from lacli.chat import slash
from lacli.errors import LacliError
from lacli_tui.actions import slash_command
from lacli_tui.messages import Decoded, Sent, Wanted
from lacli_tui.verbs.answers import Answers
from lacli_tui.verbs.chats import Chats
from lacli_tui.verbs.completing import Completing
from lacli_tui.verbs.drafts import Drafts
from lacli_tui.verbs.preparing import Preparing
from lacli_tui.verbs.views import Views
from lacli_tui.verbs.waiting import Ready, Waiting
from lacli_tui.verbs.watch import Watch
from lacli_tui.widgets.message import Answer
from lacli_tui.widgets.welcome import Welcome


class Sending(Answers, Chats, Completing, Drafts, Preparing, Views, Waiting, Watch):
    """Of the main screen, with all that can be wanted."""

    _answer_now: Answer | None = None
    """The one that is being written."""
    _editing: int | None = None
    """The turn whose question stands at the prompt."""
    _steps: list[Decoded]
    """Those no `Stats` has told of yet."""
    _next_flush = 0.0

    async def _nothing_came(self, answer: Answer) -> None:
        raise NotImplementedError

    async def on_sent(self, event: Sent) -> None:
        """A question or a slash command."""
        try:
            if self._obey(event.text):
                return
            if self._editing is not None and self.is_busy():
                self.prompt.give_back(event.text)
                return
            if self.is_reading or "@" in event.text:
                self.read_question(event.text)
            else:
                await self.send(Ready(event.text, slash.question(event.text)))
        except (LacliError, OSError) as error:
            self.prompt.give_back(event.text)
            await self.blame(error)

    async def send(self, ready: Ready) -> None:
        """See `Reading`."""
        self.talk.typed(ready.text)
        number, self._editing = self._editing, None
        if self.talk.is_replying:
            self.wait(ready)
        else:
            await self.ask(ready, number)

    async def ask(self, ready: Ready, instead: int | None = None) -> None:
        """See `Waiting`."""
        self._asked = ready.text
        if instead is not None:
            question = self.talk.resend(instead, ready.words, ready.named)
            await self.transcript.take_back(instead)
        else:
            question = self.talk.ask(ready.words, ready.named)
        self.show_chips()
        await self.query(Welcome).remove()
        turn = len(self.talk.conversation.turns)
        self._answer_now = await self.transcript.ask(question.text, question.attachments, turn)
        self._begin_answer()

    async def answer_comes(self, again: bool = False) -> None:
        """Make room for the answer that was asked for without a new question."""
        turn = len(self.talk.conversation.turns) - again
        if again:
            self._answer_now = await self.transcript.answer_again(turn)
        else:
            self._answer_now = await self.transcript.ask_aside(turn)
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._steps.clear()
        self._begins = self.talk.purpose != "summary"
        self._stopped = False
        self._next_flush = 0.0
        self.changed()

    def _obey(self, text: str) -> bool:
        """Do what a slash command says; False where it is a question."""
        found = slash_command(text)
        if found is None:
            return False
        self.talk.typed(text)
        if found[0].id == "attach" and found[1]:  # here and now: the question may stand behind it in the queue
            self.attach_soon(str(slash.path_of(found[1])))
        else:
            self.program.perform(found[0].id, found[1])
        return True

    async def on_wanted(self, event: Wanted) -> None:
        """A widget wants something done."""
        turn = event.turn
        if event.action == "message-copy":
            self.copy(event.rest)
        elif event.action == "message-block":
            await self.action_message_block(turn, event.block)
        elif event.action == "message-save":
            await self.action_message_save(turn, event.block)
        elif event.action == "message-apply":
            await self.action_message_apply(turn, event.block)
        elif event.action == "message-edit":
            self._edit(turn)
        elif event.action == "message-retry":
            await self._ask_again(turn)
        elif event.action == "sources":
            answer = self.answer_of(turn)
            if answer is not None:
                await self.show_sources(answer)
        elif event.action == "to-messages":
            self.go_to_messages()
        elif event.action == "take-back":
            self.take_back()
        elif event.action in ("message-up", "message-down"):
            await self.move(-1 if event.action == "message-up" else 1)
        else:
            self.program.perform(event.action, event.rest)

    def _edit(self, turn: int | None) -> None:
        """Put the question of this turn at the prompt; what is sent then takes its place."""
        turns = self.talk.conversation.turns
        if turn is None or turn >= len(turns) or self.is_busy():
            return
        self._editing = turn
        question = turns[turn].question
        self.talk.conversation.pending[:] = question.attachments
        self.prompt.put(slash.as_typed(question.text))
        self.show_chips()
        self.prompt.focus()

    async def _ask_again(self, turn: int | None) -> None:
        turns = self.talk.conversation.turns
        if turn is None or turn >= len(turns) - 1:
            await self.action_retry()
        elif not self.is_busy():
            question = turns[turn].question
            self._asked = slash.as_typed(question.text)
            self._return(question.attachments)  # its words name them no more
            self.talk.resend(turn, question.text)
            await self.transcript.take_back(turn)
            self._answer_now = await self.transcript.ask(question.text, question.attachments, turn)
            self._begin_answer()

    def on_prompt_emptied(self) -> None:
        """Backspace in an empty prompt takes away the last chip."""
        if self.talk.conversation.pending:
            self.talk.conversation.pending.pop()
            self.show_chips()

    async def action_stop(self) -> None:
        """Stop the reply; before it, what is waited for of a disk."""
        if await self.give_up_aside():
            return
        if self.talk.phase == "stopping":
            self.is_busy()
        await self.give_up()
        self.changed(ended=True)

    async def give_up(self) -> None:
        """See `Preparing`; a reply that has begun ends with the text so far."""
        came = self.talk.stop()
        self._stopped = came == "stopping"
        answer = self._answer_now
        if came == "given up" and answer is not None:
            self._answer_now = None
            await self._nothing_came(answer)

    async def action_back(self) -> None:
        """Leave what is edited, go back to the prompt; before it, give up what is waited for of a disk."""
        if await self.give_up_aside():
            return
        if self._editing is None and self.is_preparing and not self.prompt.text:
            await self.action_not_now()
            return
        if self._editing is not None:
            self._editing = None
            self.talk.conversation.pending.clear()
            self.prompt.put("")
            self.show_chips()
        self.prompt.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Escape stops a reply while there is one, and else goes back to the prompt."""
        if action == "stop":
            return self.talk.is_replying
        if action == "back":
            return not self.talk.is_replying
        if action == "not_now":
            return self.is_preparing
        return True
