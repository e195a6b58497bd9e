"""What is said and what is asked of the engine: the conversation, its keeping and the bridge, without a widget.

The main screen calls it with what the user wants and gets, by `take`, what came of it since the last time. One reply at
a time. `wake` is called from other threads when there is something to take. What the engine is at is never noted but
read off the calls that have not ended (`phase`), so that nothing an engine does, or fails to do, leaves it behind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from lacli.assistant.base import Replier
from lacli.chat.conversation import Conversation
from lacli.errors import LacliError, WorkerDied
from lacli.events import (
    Attachment,
    Counts,
    Finished,
    Loading,
    Message,
    Notice,
    Piece,
    Prefill,
    Preview,
    ReplyStats,
    Request,
)
from lacli.sessions.records import Session, Turn
from lacli.shared.background import Call, Ended
from lacli_tui.bridge import Bridge
from lacli_tui.messages import Decoded, Phase
from lacli_tui.recorder import Keeper

if TYPE_CHECKING:
    from lacli_tui.app import Start

Purpose = Literal["answer", "again", "summary"]
_STOP_S = 2.0


@dataclass(slots=True)
class Took:
    """What came since the last time."""

    text: str = ""
    """More of the reply."""
    thought: str = ""
    """More of what the model thinks before it."""
    steps: list[Decoded] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    finished: Finished | None = None
    """The reply has ended."""
    turn: Turn | None = None
    """What it became; None where nothing came of it."""
    compacted: int | None = None
    """The reply was a summary: how many turns it stands for now."""
    error: BaseException | None = None
    failed: str = ""
    """What failed: open, reply or preview."""
    preview: Preview | None = None


class Talk:
    """A chat with one engine at a time."""

    def __init__(self, start: Start, wake: Callable[[], None]) -> None:
        # An engine that is started later works for the same folder, whatever has become of the current one.
        self.settings = replace(start.settings, folder=start.settings.folder or start.folder.absolute())
        self.request = start.request
        self.conversation = Conversation(start.system)
        self.loading: Loading | None = None
        self.prefill: Prefill | None = None
        self.stats: ReplyStats | None = None
        """Of the reply that is written, or of the last one of the chat where that is known; a summary is none."""
        self.most_tokens = start.request.max_tokens
        """Of the same reply; `request` may say another number for the next."""
        self.purpose: Purpose = "answer"
        self.model = start.model
        self._start = start
        self._wake = wake
        self._took = Took()
        self._keeper = Keeper(self._say, start.keep, start.system)
        self._bridge = Bridge(start.replier or self._engine(), wake)
        self._reply: Call | None = None
        self._opening: Call | None = None
        self._written: list[Piece] = []
        self._known: dict[int, tuple[Turn, ReplyStats]] = {}
        """Numbers of replies, by their turns' id."""
        self._opened = False
        """Whether the engine has its model, as far as is known."""
        self._own = threading.RLock()
        """Of whoever takes: the program's end may come from another thread than the one of the screen."""
        self._closing = threading.Lock()
        if start.session is not None:
            self._go_on(start.session)

    @property
    def session_id(self) -> str:
        """Of the session that is being kept; empty until there is one."""
        return self._keeper.session_id

    @property
    def is_replying(self) -> bool:
        """Whether a reply is being written, or waits for the model."""
        return self._reply is not None

    @property
    def phase(self) -> Phase:
        """What the engine is at."""
        if self._reply is None:
            return "loading" if self._opening is not None else "idle" if self._opened else "dead"
        if not self._opened:
            return "loading"
        if self._reply.cancelled():
            return "stopping"
        return "decoding" if self._written else "prefill"

    @property
    def unfinished(self) -> Turn | None:
        """The turn that is being written, as far as it is; None where nothing of an answer is there."""
        question, text = self.conversation.question, "".join(each.text for each in self._written)
        if self._reply is None or self.purpose == "summary" or question is None or not text:
            return None
        return Turn(question, Message("assistant", text), "cancelled", ReplyStats(), 0.0)

    @property
    def engine_pid(self) -> int | None:
        """The process that decodes, where it is one of its own."""
        return getattr(self._bridge.replier, "pid", None)

    @property
    def counts(self) -> Counts:
        """Of the chat, the reply being written included."""
        written = self.stats if self._reply is not None and self.purpose != "summary" else None
        return self.conversation.counts + (written or Counts())

    def begin(self) -> None:
        """Load the model, behind."""
        self._opening = self._bridge.call("open")
        self.read_ahead()

    def ask(self, text: str, attachments: Sequence[Attachment] = ()) -> Message:
        """Ask a question; returns it as it is asked."""
        messages = self.conversation.ask(text, attachments)
        self._call(messages, "answer")
        return messages[-1]

    def retry(self) -> bool:
        """Ask the last question again; False where there is none."""
        messages = self.conversation.retry()
        if messages:
            self._call(messages, "again")
        return bool(messages)

    def resend(self, number: int, text: str, attachments: Sequence[Attachment] = ()) -> Message:
        """Ask this in the place of the question of a turn; what came behind that is gone, but for `undo`."""
        if number == len(self.conversation.turns) - 1:
            self.conversation.go_back(number)
            self._keeper.undo()
        else:
            self.conversation.go_back(number)
            self._keeper.leave(self.conversation.turns, self.model)
        return self.ask(text, attachments)

    def summarise(self) -> None:
        """Have the older turns summed up."""
        self._call(self.conversation.summary_request(), "summary")

    def count_tokens(self) -> None:
        """Have the prompt so far counted: a preview comes of it."""
        messages = self.conversation.ahead() or (Message("user", ""),)
        self._bridge.call("preview", replace(self._request(messages), drop_oldest=False, max_tokens=0))

    def stop(self) -> Literal["", "stopping", "given up"]:
        """Stop the reply. Where the model is still loading, it is given up: nothing of it will be told, and the model
        is loaded for the next one."""
        came = self._stop()
        if came == "given up" and self._opening is None:
            self._opening = self._bridge.call("open")
        return came

    def undo(self) -> str:
        """Take back what was done last; returns what it was."""
        before = len(self.conversation.turns)
        change = self.conversation.undo()
        self._keeper.follow(change, self.conversation.turns, before, self.model)
        self.stats = self._last_stats()
        self.read_ahead()
        return change

    def clear(self) -> None:
        """Forget the conversation; `undo` brings it back."""
        if self.conversation.turns:
            self._keeper.leave()
        self.conversation.clear()
        self.stats = None

    def new(self) -> None:
        """Begin another chat as the first began."""
        self.conversation = Conversation(self._start.system)
        self._keeper.new()
        self._keeper.describe(self._start.system)
        self.stats = None
        self._known.clear()

    def resume(self, session: Session) -> None:
        """Go on with a saved chat."""
        self._go_on(session)
        self.read_ahead()

    def describe(self, system: str) -> None:
        """Tell the model this before everything else, from now on."""
        self.conversation.system = system
        self._keeper.describe(system)

    def change_model(self, name: str | None, alias: str) -> None:
        """Go on with another model."""
        self.settings = replace(self.settings, model=name)
        self.model = alias
        self.conversation.forget_ids()
        self.restart()

    def restart(self) -> None:
        """Start another engine; the one there is ends behind."""
        self.give_up()
        self.begin()

    def give_up(self) -> None:
        """Let go of the engine, and of a reply it does not come to an end with; the next question, or `restart`, starts
        another one."""
        with self._own:
            if self._reply is not None:
                self._broken(self._took)
            threading.Thread(target=self._bridge.close, name="closing", daemon=True).start()
            self._bridge = Bridge(self._start.replier or self._engine(), self._wake)
            self._lost()
        self._wake()

    def history(self) -> list[str]:
        """What was typed in chats before, the oldest first."""
        return self._keeper.history(self._start.keep)

    def typed(self, text: str) -> None:
        """This was typed, for chats to come."""
        self._keeper.type(text)

    def read_ahead(self) -> None:
        """Let the engine read what the next question will begin with."""
        ahead = self.conversation.ahead()
        if ahead and self.request.max_tokens and self._reply is None:
            self._bridge.call("warm", self._request(ahead))

    def take(self) -> Took:
        """All that came since the last time."""
        with self._own:
            for call, came in self._bridge.take():
                if isinstance(came, Ended):
                    self._ended(call, came, self._took)
                elif isinstance(came, Loading):
                    self.loading = came
                elif isinstance(came, Notice):
                    self._took.notices.append(came)
                elif call is self._reply:
                    self._told(came, self._took)
            took, self._took = self._took, Took()
        return took

    def close(self) -> None:
        """Stop, keep what was written, let go of the engine. From any thread; who calls while it is done waits."""
        with self._closing:
            with self._own:
                came = self._stop()
            if came == "stopping":
                until = time.monotonic() + _STOP_S
                while self._reply is not None and time.monotonic() < until:
                    time.sleep(0.01)
                    self.take()
            with self._own:
                if self._reply is not None:
                    self._broken(self._took)
            ending = threading.Thread(target=self._bridge.close, name="closing", daemon=True)
            ending.start()
            self._keeper.close()
            ending.join()

    def _engine(self) -> Replier:
        from lacli.worker.client import WorkerAssistant

        return WorkerAssistant(self.settings)

    def _stop(self) -> Literal["", "stopping", "given up"]:
        if self._reply is None:
            return ""
        self._bridge.cancel(self._reply)
        if self._opened:
            return "stopping"
        self._reply = None
        if self.purpose != "summary":
            self.conversation.failed()
        return "given up"

    def _go_on(self, session: Session) -> None:
        self.conversation = Conversation.of(session, self._start.system, self.model)
        self._keeper.resume(session)
        self.stats = None
        self._known.clear()

    def _request(self, messages: tuple[Message, ...]) -> Request:
        return replace(self.request, messages=messages, drop_oldest=True)

    def _call(self, messages: tuple[Message, ...], purpose: Purpose) -> None:
        self.purpose = purpose
        self.prefill = None
        if purpose != "summary":
            self.stats = None
        self._written.clear()
        self.most_tokens = self.request.max_tokens
        self._reply = self._bridge.call("reply", self._request(messages))

    def _told(self, event: Prefill | Piece | Finished, took: Took) -> None:
        """An event of the reply."""
        self._opened = True
        self.loading = None
        if isinstance(event, Prefill):
            self.prefill = event
        elif isinstance(event, Piece):
            if self.purpose != "summary":
                self.stats = event.stats
            self._written.append(event)
            took.text += event.text
            took.thought += event.thought
            took.steps.append(Decoded(event.text, event.sources, event.lengths))
        else:
            self._finished(event, took)

    def _finished(self, finished: Finished, took: Took) -> None:
        self._reply = None
        self.model = finished.stats.model or self.model
        took.finished = finished
        if self.purpose == "summary":
            if finished.reason == "stop" and finished.text.strip():
                took.compacted = self.conversation.compact(finished)
                self.stats = None  # how full the context is now, the next reply tells
                self._keeper.leave(self.conversation.turns, self.model)
            return
        self.stats = finished.stats
        took.turn = self._answered(finished)
        self.read_ahead()

    def _ended(self, call: Call, ended: Ended, took: Took) -> None:
        """A call is over."""
        error = ended.error
        if call is self._opening:
            self._opening = None
            self.loading = None
            self._opened |= error is None and not call.cancelled()
        if isinstance(error, WorkerDied):
            self._lost()
        if call is self._reply:
            if error is None and not call.cancelled():
                error = LacliError("the engine ended the reply without telling its end", "F5 starts a new one")
            if error is not None and not isinstance(error, LacliError):
                self._lost()
            self._broken(took)
        if call.what != "warm":
            took.preview = ended.preview or took.preview
            if error is not None:
                took.error, took.failed = error, call.what

    def _lost(self) -> None:
        """There is no engine."""
        self._opened = False
        self._opening = self.loading = None

    def _broken(self, took: Took) -> None:
        """The reply will have no end: what was seen of it is kept."""
        self._reply = None
        text, thought = ("".join(getattr(each, part) for each in self._written) for part in ("text", "thought"))
        stats = replace(self.stats or ReplyStats(model=self.model), finish_reason="cancelled")
        took.finished = Finished(text, (), "cancelled", stats, thought=thought.strip())
        if self.purpose != "summary":
            took.turn = self._answered(took.finished)

    def _answered(self, finished: Finished) -> Turn | None:
        turn = self.conversation.answered(finished)
        if turn is not None:
            self._keeper.keep(turn, self.model, replaces=self.purpose == "again")
            self._known[id(turn)] = turn, finished.stats
        self.stats = self._last_stats()
        return turn

    def _last_stats(self) -> ReplyStats | None:
        """Of the last reply that is part of the chat."""
        return next((self._known.get(id(turn), (turn, None))[1] for turn in self.conversation.turns[-1:]), None)

    def _say(self, notice: Notice) -> None:
        with self._own:
            self._took.notices.append(notice)
        self._wake()
