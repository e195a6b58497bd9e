"""The turns of a chat, and what of them is sent to the model. Knows no front end, no model and no file.

Answers keep the token ids the model wrote, so that only what is new is ever prefilled: after the next question, after
going back, and after a session was opened again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.events import Attachment, Counts, Finished, Message
from lacli.prompts.instructions import joined
from lacli.sessions.records import SUMMARISED, Session, Turn

_SUMMARISE = (
    "Summarise our conversation so far in at most 200 words, for yourself to go on from. "
    "Keep names, paths, decisions and open questions."
)


@dataclass(frozen=True, slots=True)
class _State:
    """A state that `undo` returns to."""

    turns: tuple[Turn, ...]
    left_out: int
    change: str
    """The change that followed it."""


class Conversation:
    """The turns of one chat, in order, and the question that waits for its answer."""

    def __init__(self, system: str = "", turns: Sequence[Turn] = (), instructions: str = "") -> None:
        """`instructions` are the project's, which the model is told behind the system message and which no log keeps:
        with the next question they are as they are then."""
        self._system = system
        self._instructions = instructions
        self.changed = False
        """Whether the last question would now be sent with other messages before it than when it was answered."""
        self.pending: list[Attachment] = []
        """Files that go with the next question."""
        self._turns = tuple(turns)
        self._left_out = 0
        """How many of the oldest turns no longer fit and are not sent."""
        self._question: Message | None = None
        self._waited: list[Attachment] = []
        """The files that were pending when it was asked."""
        self._again = False
        self._before: list[_State] = []

    @staticmethod
    def of(session: Session, system: str = "", model: str | None = None, instructions: str = "") -> Conversation:
        """A saved conversation to continue. `system`, if given, replaces its system message; `model`, if given and not
        the one of the session, continues it."""
        found = Conversation(session.system, session.turns, instructions)
        found.system = system or session.system
        if model is not None and model != session.model:
            found.forget_ids()
        return found

    @property
    def system(self) -> str:
        """The system message."""
        return self._system

    @system.setter
    def system(self, text: str) -> None:
        self.changed |= text != self._system
        self._system = text

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns that were not taken back, including those no longer sent."""
        return self._turns

    @property
    def left_out(self) -> int:
        """How many of the oldest turns are no longer sent."""
        return self._left_out

    @property
    def question(self) -> Message | None:
        """The question being answered."""
        return self._question

    @property
    def counts(self) -> Counts:
        """Totals of all answers."""
        return sum((turn.counts for turn in self._turns), Counts())

    @property
    def attachments(self) -> list[Attachment]:
        """Files of past questions that are still sent, in order, then those pending."""
        sent = [each for turn in self._turns[self._left_out :] for each in turn.question.attachments]
        return sent + self.pending

    def attach(self, attachment: Attachment) -> None:
        """Send this with the next question; it replaces a pending file of the same label."""
        self.pending[:] = _with(self.pending, attachment)

    def ask(self, text: str, attachments: Sequence[Attachment] = ()) -> tuple[Message, ...]:
        """Begin a turn and return its messages; `answered` or `failed` ends it.

        `attachments` are the files that the words name. If there is no answer, they are not kept: whoever sends the
        words again names them again. Files attached before are pending again.
        """
        files = self._waited = list(self.pending)
        for each in attachments:
            files = _with(files, each)
        self._question = Message("user", text, attachments=tuple(files))
        self._again = False
        self.pending.clear()
        return (*self._messages(), self._question)

    def retry(self) -> tuple[Message, ...]:
        """The same for the question of the last turn, whose answer a new one replaces; empty without a turn."""
        if not self._turns:
            return ()
        self._question = self._turns[-1].question
        self._again = True
        return (*self._messages(without_last=True), self._question)

    def ahead(self) -> tuple[Message, ...]:
        """The messages before the next question, with its files, for reading ahead; empty if there are none."""
        before = self._messages()
        if not before and not self.pending:
            return ()
        return (*before, Message("user", "", attachments=tuple(self.pending)))

    def answered(self, finished: Finished) -> Turn | None:
        """Add the answer to the question asked last, also an interrupted one. None if it has no token: such a turn
        never happened, or templates that require alternating roles would break. Text without ids is what arrived of an
        answer whose engine died."""
        question = self._asked()
        self._leave_out(finished.dropped)
        if not finished.token_ids and not finished.text:
            self.failed()
            return None
        self._question = None
        self.changed = False
        turn = Turn.of(finished.shown or question, finished)
        before = self._turns[:-1] if self._again else self._turns
        self._change("retry" if self._again else "question", (*before, turn))
        return turn

    def failed(self) -> None:
        """End the turn without an answer; files attached before it are pending again."""
        self._asked()
        self._question = None
        if not self._again:
            self.pending[:0] = self._waited

    def undo(self) -> str:
        """Undo the last change and return its kind: question, retry, back, clear, drop, compact or empty for none."""
        if self._before:
            state = self._before.pop()
            self._turns = state.turns
            if state.change in ("back", "clear", "compact"):
                self._left_out = state.left_out
        elif self._turns:  # of a session that was opened again
            state = _State((), 0, "question")
            self._turns = self._turns[:-1]
        else:
            return ""
        if self._left_out >= len(self._turns):
            self._left_out = 0
        return state.change

    def go_back(self, number: int) -> None:
        """Remove this turn, counted from 0, and all after it; `undo` brings them back."""
        self._change("back", self._turns[:number])
        self._left_out = min(self._left_out, number)

    def clear(self) -> None:
        """Remove everything but the system message."""
        self.pending.clear()
        if self._turns:
            self._change("clear", ())
            self._left_out = 0

    def drop(self, number: int) -> Attachment:
        """Remove one of `attachments`, counted from 1. Raises IndexError."""
        if not 1 <= number <= len(self.attachments):
            raise IndexError(number)
        dropped = self.attachments[number - 1]
        before = len(self.attachments) - len(self.pending)
        if number > before:
            del self.pending[number - 1 - before]
            return dropped
        turns = list(self._turns)
        for index in range(self._left_out, len(turns)):
            question = turns[index].question
            if number <= len(question.attachments):
                kept = (*question.attachments[: number - 1], *question.attachments[number:])
                turns[index] = replace(turns[index], question=replace(question, attachments=kept))
                break
            number -= len(question.attachments)
        self.changed = True
        self._change("drop", tuple(turns))
        return dropped

    def summary_request(self) -> tuple[Message, ...]:
        """Messages that ask for a summary of all that is sent; they extend what is in the KV cache already."""
        return (*self._messages(), Message("user", _SUMMARISE))

    def compact(self, finished: Finished) -> int:
        """Replace all turns but the last by the summary; returns how many were replaced."""
        *old, last = self._turns
        turn = Turn.of(Message("user", SUMMARISED), finished)
        self.changed = True
        self._change("compact", (turn, last))
        self._left_out = 0
        return len(old)

    def forget_ids(self) -> None:
        """Drop token ids, which mean nothing to another model."""
        self.changed = True
        self._turns = tuple(turn.without_ids() for turn in self._turns)
        self._before = [
            replace(state, turns=tuple(turn.without_ids() for turn in state.turns)) for state in self._before
        ]

    def _messages(self, without_last: bool = False) -> list[Message]:
        told = joined(self.system, self._instructions)
        said = [Message("system", told)] if told else []
        for turn in self._turns[self._left_out : len(self._turns) - without_last]:
            said.append(turn.question)
            if turn.answer.text or turn.answer.token_ids:
                said.append(turn.answer)
        return said

    def _leave_out(self, messages: int) -> None:
        """Note that the oldest messages, of whole turns, were left out of a request; they stay out."""
        while messages > 0 and self._left_out < len(self._turns):
            answer = self._turns[self._left_out].answer
            messages -= 2 if answer.text or answer.token_ids else 1
            self._left_out += 1

    def _asked(self) -> Message:
        if self._question is None:
            raise RuntimeError("an answer without a question")
        return self._question

    def _change(self, change: str, turns: tuple[Turn, ...]) -> None:
        self._before.append(_State(self._turns, self._left_out, change))
        self._turns = turns


def _with(files: Sequence[Attachment], more: Attachment) -> list[Attachment]:
    """Add a file; it replaces one of the same label, as it was read anew."""
    labels = [each.label for each in files]
    if more.label not in labels:
        return [*files, more]
    return [more if each.label == more.label else each for each in files]
