"""A chat without a front end: the conversation, what is kept of it, what the model is asked, and what the user is told.

Everything a user can do is a method that returns an `Outcome`, or raises LacliError with a message for the user.
Nothing is printed and no engine is called: the front end has `Outcome.send` answered, may report each piece of the
reply to `wrote`, and hands its end to `answered` or `failed`. There is one reply at a time. Methods that read a disk
say so; a front end that must not block calls them in a thread.
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
from lacli.configuration.remotes import is_remote
from lacli.errors import UsageError
from lacli.events import Attachment, Counts, Finished, Message, Piece, ReplyStats, Request
from lacli.prompts.instructions import framed
from lacli.sessions.records import Session, Turn
from lacli.shared.wording import attachment_label, counted, parse_choice, why_deterministic

if TYPE_CHECKING:
    from lacli.chat.recording import Recording
    from lacli.project.instructions import Instructions
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
        instructions: Instructions | None = None,
        check: Callable[[str, str], Any] = lambda flag, value: value,
    ) -> None:
        """Continue `session`, if there is one; `system` replaces its system message, and that of sessions opened later.
        `model` is what people call the model in `settings`; without it the registry is asked. `instructions` are the
        project's. `check` turns the text typed for an option into its value, or raises UsageError."""
        self.settings = settings
        """What the current engine is started with."""
        self.request = request
        """Options of future replies; its messages are ignored."""
        self.instructions = instructions
        """What the project says of itself, which the model is told, too."""
        self.conversation = Conversation(system, instructions=framed(instructions))
        self.recorder = recorder
        self.purpose: Purpose = "answer"
        """What the current or last reply is for."""
        self.stats: ReplyStats | None = None
        """Of the current reply, else of the last one of the chat if known. Summaries do not count."""
        self.most_tokens = request.max_tokens
        """The limit of the same reply; `request` has that of the next."""
        self.is_answering = False
        """Whether a reply was asked for that neither `answered` nor `failed` has ended."""
        self._system = system
        self._model = model
        self._check = check
        self._written: list[Piece] = []
        self._known: dict[int, tuple[Turn, ReplyStats]] = {}
        """Statistics of replies by the `id` of their turns."""
        self._before: tuple[str | None, str] | None = None
        """The last model that worked, as named in the settings and by people, while another one is loading."""
        self._is_without_model = False
        if session is not None:
            self._go_on(session)

    @property
    def model(self) -> str:
        """The name of the model. The first call may read the registry."""
        if self._model is None:
            self._model = self.find_model(self.settings.model)
        return self._model

    @property
    def folder(self) -> Path:
        """The project's, or one in it."""
        return self.settings.folder or Path()

    @property
    def model_before(self) -> str:
        """The name of the model to fall back to if the one being loaded fails; empty if there is none."""
        return self._before[1] if self._before is not None else ""

    @property
    def has_text(self) -> bool:
        """Whether anything of the reply is there."""
        return bool(self._written)

    @property
    def unfinished(self) -> Turn | None:
        """The turn being written, with the text so far; None if there is no text yet."""
        question, text = self.conversation.question, "".join(each.text for each in self._written)
        if not self.is_answering or self.purpose == "summary" or question is None or not text:
            return None
        return Turn(question, Message("assistant", text), "cancelled", ReplyStats(), 0.0)

    @property
    def counts(self) -> Counts:
        """Totals of the chat, including the reply being written."""
        written = self.stats if self.is_answering and self.purpose != "summary" else None
        return self.conversation.counts + (written or Counts())

    def read_file(self, typed: str, stream_too: bool = False) -> Material:
        """Read a file from disk, for `attach`. Only `stream_too` accepts a pipe."""
        from lacli.prompts.attach import attachment

        if not typed:
            raise UsageError("/file needs a path", "Tab completes one")
        notes: list[str] = []
        found = attachment(str(slash.path_of(typed)), notes.append, self._context(), stream_too)
        return Material("", (self._as_pending(found),), tuple(map(Line, notes)))

    def attach(self, read: Material) -> Outcome:
        """Send these files with the next question."""
        for each in read.files:
            self.conversation.attach(each)
        went = tuple(Line(f"{attachment_label(each)} goes with the next question") for each in read.files)
        return Outcome(lines=read.notes + went)

    def read_question(self, typed: str, verbatim: bool = False) -> Material:
        """Read the files that a question names as @path, for `ask`. `verbatim` keeps a blank before a slash."""
        from lacli.prompts.attach import attached

        notes: list[str] = []
        asked = typed if verbatim else slash.question(typed)
        words, files = attached(asked, note=notes.append, context=self._context())
        return Material(words, tuple(map(self._as_pending, files)), tuple(map(Line, notes)))

    def ask(self, words: str, files: Sequence[Attachment] = ()) -> Outcome:
        """Ask a question."""
        return self._send(self.conversation.ask(words, files), "answer")

    def resend(self, number: int, words: str, files: Sequence[Attachment] = ()) -> Outcome:
        """Replace the question of a turn and drop everything after it; `undo` brings both back."""
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
        why = why_deterministic(self.request.temperature, self.request.seed)
        lines: tuple[Line, ...] = ()
        if why and not self.conversation.changed and not turns[-1].interrupted:
            remedy = "/set temperature 0.7" if self.request.temperature == 0 else "/set seed none"
            lines = (Line(f"the same answer is to be expected, as {why}; {remedy} makes it vary"),)
        return dataclasses.replace(self._send(self.conversation.retry(), "again"), lines=lines)

    def compact(self) -> Outcome:
        """Ask for a summary of the older turns."""
        if len(self.conversation.turns) < 2:
            return note("there are no older turns to sum up")
        return self._send(self.conversation.summary_request(), "summary")

    def wrote(self, piece: Piece) -> None:
        """Take a piece of the reply."""
        if self.purpose != "summary":
            self.stats = piece.stats
        self._written.append(piece)

    def answered(self, finished: Finished) -> Outcome:
        """Take the end of a reply, complete or interrupted. Without a `turn` in the outcome, nothing came of it."""
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
        """End a reply whose engine is gone: what arrived of it is kept as an interrupted one."""
        text, thought = ("".join(getattr(each, part) for each in self._written) for part in ("text", "thought"))
        stats = dataclasses.replace(self.stats or ReplyStats(model=self.model), finish_reason="cancelled")
        finished = Finished(text, (), "cancelled", stats, thought=thought.strip())
        return finished, self.answered(finished)

    def failed(self) -> Outcome:
        """Give up the reply: it failed, or nobody waits for it any more."""
        self.is_answering = False
        if self.purpose == "summary":
            return note(_AS_IT_WAS)
        self.conversation.failed()
        self.stats = self._last_stats()
        return Outcome()

    def ahead(self) -> Request | None:
        """The known beginning of the next request, for reading ahead; None if there is nothing to read."""
        messages = self.conversation.ahead()
        return self._request(messages) if messages and self.request.max_tokens and not self.is_answering else None

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
        """Start a new chat, with the system message of the start."""
        self.conversation = Conversation(self._system, instructions=framed(self.instructions))
        self.recorder.new()
        self.recorder.describe(self._system)
        self.stats = None
        self._known.clear()
        return Outcome(changed=True)

    def resume(self, session: Session) -> Outcome:
        """Continue a saved chat."""
        self._go_on(session)
        return Outcome(changed=True, lines=self.resumed())

    def resumed(self) -> tuple[Line, ...]:
        """Where a continued chat stands: its size and last turns."""
        from lacli.chat.recap import recap

        return recap(self.conversation.turns, self.recorder.id[:8])

    def drop(self, number: str) -> Outcome:
        """Stop sending an attached file, counted from 1."""
        attachments = self.conversation.attachments
        if not attachments:
            return note("no file is attached")
        chosen = parse_choice(number, len(attachments))
        if chosen is None:
            raise UsageError(f"there is no attached file {number}", "/drop lists them")
        return note(f"{self.conversation.drop(chosen).label} is not shown any more")

    def system(self, text: str) -> Outcome:
        """Set the system message; `none` removes it."""
        gone = text.strip() == "none"
        self.conversation.system = "" if gone else text
        self.recorder.describe(self.conversation.system)
        done = "gone" if gone else "set"
        return note(f"the system message is {done}; the conversation is read again with the next question")

    def template(self, named: Named, given: dict[str, str] | None = None) -> Outcome:
        """Fill in a saved prompt that `prompts.saved.named` has read, and put it at the prompt."""
        told, question = named.filled(given)
        lines = self.system(told).lines if told.strip() else ()
        return Outcome(lines=lines, draft=slash.as_typed(question))

    def set_option(self, typed: str) -> Outcome:
        """Set an option of future replies, `K V`; without a value, show it."""
        flag, value = options.parse(typed)
        if not value:
            return Outcome(lines=plain(options.line(self.request, flag)))
        self.request = options.changed(self.request, flag, self._check(flag, value))
        self.conversation.changed = True
        return note(f"{flag} is {options.shown(self.request, flag)}")

    @staticmethod
    def find_model(name: str | None) -> str:
        """What people call a model, folder or file. Reads the registry. Raises LacliError if there is none; whether
        there is such a remote is found out when it is asked."""
        if is_remote(name):
            return str(name)
        from lacli.models.registry.registry import load_registry

        return load_registry().resolve(name).alias

    def change_model(self, name: str, alias: str) -> Outcome:
        """Switch to another model; `alias` is what `find_model` calls it. Until `model_loaded` is called, `fall_back`
        returns to the last one that worked."""
        if not self._is_without_model:
            self._before = self._before or (self.settings.model, self.model)
        self._take_model(name, alias)
        return Outcome(restart=True, lines=(Line(f"going on with {alias}, which reads the conversation anew"),))

    def model_loaded(self) -> None:
        """Note that the model works."""
        self._before = None
        self._is_without_model = False

    def fall_back(self) -> Outcome | None:
        """Return to the last model that worked, as this one failed or is not wanted; None if there is none."""
        before, self._before = self._before, None
        self._is_without_model = before is None
        if before is None:
            return None
        self._take_model(*before)
        return Outcome(restart=True, lines=(Line(f"going on with {before[1]}, the model before"),))

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
        self.conversation = Conversation.of(session, self._system, self.model, framed(self.instructions))
        self.recorder.resume(session)
        self.stats = None
        self._known.clear()

    def _take_model(self, name: str | None, alias: str) -> None:
        self.settings = dataclasses.replace(self.settings, model=name)
        self._model = alias
        self.conversation.forget_ids()

    def _last_stats(self) -> ReplyStats | None:
        """Statistics of the last reply that is still part of the chat, if known."""
        return next((self._known.get(id(turn), (turn, None))[1] for turn in self.conversation.turns[-1:]), None)

    def _context(self) -> int:
        """The most tokens the model can read, 0 if unknown."""
        from lacli.chat.attaching import context_of

        return context_of(self.settings.model, self.settings.context, self.request.truncate)

    def _as_pending(self, found: Attachment) -> Attachment:
        """Give a file the label under which it is attached already, so that it is sent once, as it is now."""
        from lacli.prompts.attach import same_file

        pending = [each.label for each in self.conversation.pending]
        if not pending or found.label in pending:
            return found
        return dataclasses.replace(found, label=same_file(found.label, pending) or found.label)


def _short(text: str, most: int = 60) -> str:
    words = " ".join(text[: 8 * most].split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
