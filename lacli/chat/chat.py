"""A chat, without a front end: what is said, kept and asked of a model, and the words about it.

Every wish of the user is a method that returns an `Outcome`, or raises LacliError in words for the user. Nothing is
printed and no engine is called: whoever shows the chat has `Outcome.send` answered, may tell each piece of the reply
by `wrote`, and gives its end to `answered` or `failed`. One reply at a time. Methods that say so read or write a disk:
a front end that must not wait calls them in a thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lacli.chat import options, slash
from lacli.chat.conversation import Conversation
from lacli.chat.outcome import Line, Outcome, note, plain
from lacli.config import Settings
from lacli.errors import UsageError
from lacli.events import Attachment, Counts, Finished, Message, Piece, ReplyStats, Request
from lacli.sessions.records import Session, Turn
from lacli.shared.wording import counted, described, number_of, unvarying

if TYPE_CHECKING:
    from lacli.chat.recording import Recording
    from lacli.prompts.saved import Named

Purpose = Literal["answer", "again", "summary"]
_AS_IT_WAS = "the conversation is as it was"


@dataclass(frozen=True, slots=True)
class Material:
    """Files that were read, and the words of the question that named them, if one did."""

    words: str
    files: tuple[Attachment, ...]
    notes: tuple[Line, ...]
    """What is to be known of them."""


class ChatSession:
    """One chat, with one model at a time."""

    def __init__(
        self,
        settings: Settings,
        request: Request,
        recorder: Recording,
        *,
        system: str = "",
        session: Session | None = None,
        model: str | None = None,
        check: Callable[[str, str], Any] = lambda flag, value: value,
    ) -> None:
        """`session` is gone on with; `system` replaces its own, and that of sessions opened later. `model` is the name
        of the one in `settings`, which is looked up without it. `check` is told an option and what was typed for it,
        and returns its value or raises UsageError."""
        self.settings = settings
        """Of the engine that is wanted now."""
        self.request = request
        """How replies are to be written; its messages do not count."""
        self.conversation = Conversation(system)
        self.recorder = recorder
        self.purpose: Purpose = "answer"
        """Of the reply that is being written, or was last."""
        self.stats: ReplyStats | None = None
        """Of the reply being written, or of the last one of the chat where that is known; a summary is none."""
        self.most_tokens = request.max_tokens
        """Of the same reply; `request` may say another number for the next."""
        self.is_answering = False
        """Whether an outcome said `send` and neither `answered` nor `failed` was called."""
        self._system = system
        self._model = model
        self._check = check
        self._written: list[Piece] = []
        self._known: dict[int, tuple[Turn, ReplyStats]] = {}
        """Numbers of replies, by their turns' id."""
        self._before: tuple[str | None, str] | None = None
        """The model that served last, as the settings and as people name it, while another one is loading."""
        self._is_without_model = False
        if session is not None:
            self._go_on(session)

    # What it is at

    @property
    def model(self) -> str:
        """The name of the model. The first time the registry may be read for it."""
        if self._model is None:
            self._model = self.find_model(self.settings.model)
        return self._model

    @property
    def folder(self) -> Path:
        """The project's, or one in it."""
        return self.settings.folder or Path()

    @property
    def model_before(self) -> str:
        """The name of the model that serves again where the one that is loading cannot be had; empty for none."""
        return self._before[1] if self._before is not None else ""

    @property
    def has_text(self) -> bool:
        """Whether anything of the reply is there."""
        return bool(self._written)

    @property
    def unfinished(self) -> Turn | None:
        """The turn that is being written, as far as it is; None where nothing of an answer is there."""
        question, text = self.conversation.question, "".join(each.text for each in self._written)
        if not self.is_answering or self.purpose == "summary" or question is None or not text:
            return None
        return Turn(question, Message("assistant", text), "cancelled", ReplyStats(), 0.0)

    @property
    def counts(self) -> Counts:
        """Of the chat, the reply being written included."""
        written = self.stats if self.is_answering and self.purpose != "summary" else None
        return self.conversation.counts + (written or Counts())

    # Questions and replies

    def read_file(self, typed: str, stream_too: bool = False) -> Material:
        """Read a file that is to go with the next question; `attach` takes it. A pipe only with `stream_too`."""
        from lacli.prompts.attach import attachment

        if not typed:
            raise UsageError("/file needs a path", "Tab completes one")
        notes: list[str] = []
        found = attachment(str(slash.path_of(typed)), notes.append, self._context(), stream_too)
        return Material("", (self._as_pending(found),), tuple(map(Line, notes)))

    def attach(self, read: Material) -> Outcome:
        """These files go with the next question."""
        for each in read.files:
            self.conversation.attach(each)
        went = tuple(Line(f"{described(each)} goes with the next question") for each in read.files)
        return Outcome(lines=read.notes + went)

    def read_question(self, typed: str, verbatim: bool = False) -> Material:
        """Read the files that a question names as @path; `ask` takes its words and files. `verbatim`: a blank before a
        slash is part of it."""
        from lacli.prompts.attach import attached

        notes: list[str] = []
        asked = typed if verbatim else slash.question(typed)
        words, files = attached(asked, note=notes.append, context=self._context())
        return Material(words, tuple(map(self._as_pending, files)), tuple(map(Line, notes)))

    def ask(self, words: str, files: Sequence[Attachment] = ()) -> Outcome:
        """Ask a question."""
        return self._send(self.conversation.ask(words, files), "answer")

    def resend(self, number: int, words: str, files: Sequence[Attachment] = ()) -> Outcome:
        """Ask this in the place of the question of a turn; what came behind that is gone, but for `undo`."""
        is_last = number == len(self.conversation.turns) - 1
        self.conversation.go_back(number)
        if is_last:
            self.recorder.undo()
        else:
            self.recorder.leave(self.conversation.turns, self.model)
        return self.ask(words, files)

    def retry(self) -> Outcome:
        """Ask the last question again."""
        turns = self.conversation.turns
        if not turns:
            return note("there is no question to ask again")
        why = unvarying(self.request.temperature, self.request.seed)
        lines: tuple[Line, ...] = ()
        if why and not self.conversation.changed and not turns[-1].interrupted:
            remedy = "/set temperature 0.7" if self.request.temperature == 0 else "/set seed none"
            lines = (Line(f"the same answer is to be expected, as {why}; {remedy} makes it vary"),)
        return dataclasses.replace(self._send(self.conversation.retry(), "again"), lines=lines)

    def compact(self) -> Outcome:
        """Have the older turns summed up."""
        if len(self.conversation.turns) < 2:
            return note("there are no older turns to sum up")
        return self._send(self.conversation.summary_request(), "summary")

    def wrote(self, piece: Piece) -> None:
        """More of the reply has come."""
        if self.purpose != "summary":
            self.stats = piece.stats
        self._written.append(piece)

    def answered(self, finished: Finished) -> Outcome:
        """The reply has ended, also where it was interrupted. No `turn` in the outcome: nothing came of it."""
        self.is_answering = False
        self._model = finished.stats.model or self.model
        if self.purpose == "summary":
            return self._summed_up(finished)
        turn = self.conversation.answered(finished)
        if turn is not None:
            self.recorder.keep(turn, self._model, replaces=self.purpose == "again")
            self._known[id(turn)] = turn, finished.stats
        self.stats = self._last_stats()
        return Outcome(turn=turn)

    def broken_off(self) -> tuple[Finished, Outcome]:
        """The reply will have no end: what was seen of it counts as an interrupted one."""
        text, thought = ("".join(getattr(each, part) for each in self._written) for part in ("text", "thought"))
        stats = dataclasses.replace(self.stats or ReplyStats(model=self.model), finish_reason="cancelled")
        finished = Finished(text, (), "cancelled", stats, thought=thought.strip())
        return finished, self.answered(finished)

    def failed(self) -> Outcome:
        """There is no reply, as it failed or nobody waits for it any more."""
        self.is_answering = False
        if self.purpose == "summary":
            return note(_AS_IT_WAS)
        self.conversation.failed()
        self.stats = self._last_stats()
        return Outcome()

    def ahead(self) -> Request | None:
        """What the next question will begin with, to be read ahead of it; None for nothing."""
        messages = self.conversation.ahead()
        return self._request(messages) if messages and self.request.max_tokens and not self.is_answering else None

    # The conversation

    def undo(self) -> Outcome:
        """Take back what was done last."""
        before = self.conversation.turns
        change = self.conversation.undo()
        now = self.conversation.turns
        self.recorder.follow(change, now, len(before), self.model)
        self.stats = self._last_stats()
        turns = f"{counted(len(now), 'turn is', 'turns are')} back"
        said = {
            "": "there is nothing to take back",
            "question": f"taken back: {_short(before[-1].question.text)}" if before else "",
            "retry": "the answer before is back",
            "drop": "the file is back",
            "compact": f"{turns}, the summary is gone",
        }
        return Outcome(changed=bool(change), lines=(Line(said.get(change, turns)),))

    def clear(self) -> Outcome:
        """Forget the conversation; `undo` brings it back."""
        if self.conversation.turns:
            self.recorder.leave()
        self.conversation.clear()
        self.stats = None
        return Outcome(changed=True, lines=(Line("the conversation is forgotten; /undo brings it back"),))

    def new(self) -> Outcome:
        """Begin another chat as the first began."""
        self.conversation = Conversation(self._system)
        self.recorder.new()
        self.recorder.describe(self._system)
        self.stats = None
        self._known.clear()
        return Outcome(changed=True)

    def resume(self, session: Session) -> Outcome:
        """Go on with a saved chat."""
        self._go_on(session)
        return Outcome(changed=True, lines=self.resumed())

    def resumed(self) -> tuple[Line, ...]:
        """Where a chat that is gone on with stands."""
        turns = self.conversation.turns
        said = Line(f"going on with session {self.recorder.id[:8]}, {counted(len(turns), 'turn', 'turns')}")
        if not turns:
            return (said,)
        mark = " (interrupted)" if turns[-1].interrupted else ""
        question, answer = _short(turns[-1].question.text), _short(turns[-1].answer.text, 300)
        return said, Line(f"> {question}", "words"), Line(answer + mark, "words")

    def drop(self, number: str) -> Outcome:
        """Take away an attached file, the n-th of those that are sent."""
        attachments = self.conversation.attachments
        if not attachments:
            return note("no file is attached")
        chosen = number_of(number, len(attachments))
        if chosen is None:
            raise UsageError(f"there is no attached file {number}", "/drop lists them")
        return note(f"{self.conversation.drop(chosen).label} is not shown any more")

    # What the model is told

    def system(self, text: str) -> Outcome:
        """Tell the model this first from now on, `none` for nothing."""
        gone = text.strip() == "none"
        self.conversation.system = "" if gone else text
        self.recorder.describe(self.conversation.system)
        done = "gone" if gone else "set"
        return note(f"the system message is {done}; the conversation is read again with the next question")

    def template(self, named: Named, given: dict[str, str] | None = None) -> Outcome:
        """Put a saved prompt, filled in, at the prompt. `prompts.saved.named` reads it."""
        told, question = named.filled(given)
        lines = self.system(told).lines if told.strip() else ()
        return Outcome(lines=lines, draft=slash.as_typed(question))

    def set_option(self, typed: str) -> Outcome:
        """Set an option of the replies to come, `K V`; show it without a value."""
        flag, value = options.wish(typed)
        if not value:
            return Outcome(lines=plain(options.line(self.request, flag)))
        self.request = options.changed(self.request, flag, self._check(flag, value))
        self.conversation.changed = True
        return note(f"{flag} is {options.shown(self.request, flag)}")

    # The model

    @staticmethod
    def find_model(name: str | None) -> str:
        """What people call a model, a folder or a file. Reads the registry. Raises LacliError where there is none."""
        from lacli.models.registry.registry import load_registry

        return load_registry().resolve(name).alias

    def change_model(self, name: str, alias: str) -> Outcome:
        """Go on with another model, which `find_model` calls so. The one that served last is not forgotten until
        `model_loaded`: `fall_back` goes on with it."""
        if not self._is_without_model:
            self._before = self._before or (self.settings.model, self.model)
        self._take_model(name, alias)
        return Outcome(restart=True, lines=(Line(f"going on with {alias}, which reads the conversation anew"),))

    def model_loaded(self) -> None:
        """The model serves."""
        self._before = None
        self._is_without_model = False

    def fall_back(self) -> Outcome | None:
        """The model cannot be had, or is not waited for: go on with the one that served last; None where none did."""
        before, self._before = self._before, None
        self._is_without_model = before is None
        if before is None:
            return None
        self._take_model(*before)
        return Outcome(restart=True, lines=(Line(f"going on with {before[1]}, the model before"),))

    # Below

    def _request(self, messages: tuple[Message, ...]) -> Request:
        return dataclasses.replace(self.request, messages=messages, drop_oldest=True)

    def _send(self, messages: tuple[Message, ...], purpose: Purpose) -> Outcome:
        self.purpose = purpose
        if purpose != "summary":
            self.stats = None
        self._written.clear()
        self.most_tokens = self.request.max_tokens
        self.is_answering = True
        return Outcome(send=self._request(messages))

    def _summed_up(self, finished: Finished) -> Outcome:
        if finished.reason != "stop" or not finished.text.strip():
            if finished.reason not in ("length", "context"):
                return note(_AS_IT_WAS)
            why = f"{_AS_IT_WAS}: max-tokens was reached ({self.most_tokens:,})"
            return Outcome(lines=(Line(why, "warning", "/set max-tokens N makes room for the summary"),))
        unread = self.conversation.left_out > 0 or finished.dropped > 0
        went = counted(self.conversation.compact(finished), "older turn is", "older turns are")
        self.recorder.leave(self.conversation.turns, self.model)
        self.stats = None  # how full the context is now, the next reply tells
        partly = "; what no longer fitted into the context is not in it" if unread else ""
        said = f"{went} replaced by the summary{partly}; /undo brings back what was there"
        return Outcome(changed=True, lines=(Line(said),))

    def _go_on(self, session: Session) -> None:
        self.conversation = Conversation.of(session, self._system, self.model)
        self.recorder.resume(session)
        self.stats = None
        self._known.clear()

    def _take_model(self, name: str | None, alias: str) -> None:
        self.settings = dataclasses.replace(self.settings, model=name)
        self._model = alias
        self.conversation.forget_ids()

    def _last_stats(self) -> ReplyStats | None:
        """Of the last reply that is part of the chat."""
        return next((self._known.get(id(turn), (turn, None))[1] for turn in self.conversation.turns[-1:]), None)

    def _context(self) -> int:
        """Most tokens that the model can be shown."""
        from lacli.chat.attaching import context_of

        return context_of(self.settings.model, self.settings.context, self.request.truncate)

    def _as_pending(self, found: Attachment) -> Attachment:
        """The file by the name by which it waits already, if it does: then it is sent once, as it is now."""
        from lacli.prompts.attach import same_file

        pending = [each.label for each in self.conversation.pending]
        if not pending or found.label in pending:
            return found
        return dataclasses.replace(found, label=same_file(found.label, pending) or found.label)


def _short(text: str, most: int = 60) -> str:
    words = " ".join(text[: 8 * most].split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
