"""One chat and one engine at a time: calls the engine for what the chat wants to have answered, and never waits.

The screen gets what has come by `take`; `wake` is called from other threads when there is something to take. What the
engine is doing is not recorded but derived from the calls that have not ended (`phase`), so that nothing an engine
does, or fails to do, can leave it wrong.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from lacli.assistant.base import Replier
from lacli.chat import listings
from lacli.chat.chat import ChatSession
from lacli.chat.outcome import Outcome
from lacli.configuration.remotes import Remote, is_remote
from lacli.errors import LacliError, WorkerDied
from lacli.events import Finished, Loading, Notice, Piece, Prefill, Preview
from lacli.shared.background import Call, Ended
from lacli_tui.bridge import Bridge
from lacli_tui.messages import Decoded, Phase
from lacli_tui.recorder import AsyncRecorder
from lacli_tui.start import Start

_STOP_S = 2.0


@dataclass(slots=True)
class Updates:
    """What has come since the last time."""

    text: str = ""
    """More of the reply."""
    thought: str = ""
    """More of what the model thinks before it."""
    steps: list[Decoded] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    finished: Finished | None = None
    """The end of the reply."""
    outcome: Outcome = field(default_factory=Outcome)
    """What the chat made of it."""
    error: BaseException | None = None
    failed: str = ""
    """Which call failed: open, reply or preview."""
    preview: Preview | None = None


class EngineSession:
    """Owns the chat, the thread that saves it and the bridge to the engine."""

    def __init__(self, start: Start, wake: Callable[[], None]) -> None:
        # An engine started later works for the same folder, whatever the current one is by then.
        settings = replace(start.settings, folder=start.settings.folder or start.folder.absolute())
        self._own = threading.RLock()
        """Held by whoever takes: the end of the program may come from another thread than the screen's."""
        self._closing = threading.Lock()
        self._wake = wake
        self._start = start
        self._updates = Updates()
        self.recorder = AsyncRecorder(self._add_notice, start.keep, start.system)
        self.chat = ChatSession(
            settings,
            start.request,
            self.recorder,
            system=start.system,
            session=start.session,
            model=start.model,
            instructions=start.instructions,
            check=start.checked,
        )
        if start.instructions is not None:
            self._updates.notices.append(Notice(start.instructions.note))
        self.loading: Loading | None = None
        self.prefill: Prefill | None = None
        self._bridge = Bridge(start.replier or self._new_engine(), wake)
        self._reply: Call | None = None
        self._opening: Call | None = None
        self._opened = False
        """Whether the engine has its model, as far as is known."""

    @property
    def is_replying(self) -> bool:
        """Whether a reply is being written, or waits for the model."""
        return self._reply is not None

    @property
    def phase(self) -> Phase:
        """What the engine is doing."""
        if self._reply is None:
            return "loading" if self._opening is not None else "idle" if self._opened else "dead"
        if not self._opened:
            return "loading"
        if self._reply.cancelled():
            return "stopping"
        return "decoding" if self.chat.has_text else "prefill"

    @property
    def engine_pid(self) -> int | None:
        """The process id of the engine, if it has a process of its own."""
        return getattr(self._bridge.replier, "pid", None)

    def begin(self) -> None:
        """Start loading the model in the background."""
        self._opening = self._bridge.call("open")
        self.read_ahead()

    def carry_out(self, outcome: Outcome) -> None:
        """Do what the outcome asks of the engine: restart, answer a request, read ahead in a changed chat."""
        if outcome.restart:
            self.restart()
        if outcome.send is not None:
            self.prefill = None
            self._reply = self._bridge.call("reply", outcome.send)
        elif outcome.changed:
            self.read_ahead()

    def count_tokens(self) -> None:
        """Have the prompt so far counted: a preview will come."""
        self._bridge.call("preview", listings.size_request(self.chat))

    def stop(self) -> Literal["", "stopping", "given up"]:
        """Stop the reply. While the model is still loading, give it up: nothing more of it will come, and the model is
        loaded for the next one."""
        state = self._stop()
        if state == "given up" and self._opening is None:
            self._opening = self._bridge.call("open")
        return state

    def restart(self) -> None:
        """Start another engine; the current one ends in the background."""
        self.give_up()
        self.begin()

    def give_up(self) -> None:
        """Abandon the engine, and a reply it does not finish; the next question, or `restart`, starts another one."""
        with self._own:
            if self._reply is not None:
                self._break_off()
            threading.Thread(target=self._bridge.close, name="closing", daemon=True).start()
            self._bridge = Bridge(self._start.replier or self._new_engine(), self._wake)
            self._lost()
        self._wake()

    def remotes(self) -> Mapping[str, Remote]:
        """The remotes of the user's configuration. Reads files. Raises LacliError."""
        return self._start.remotes()

    def history(self) -> list[str]:
        """What was typed in earlier chats, the oldest first."""
        return self.recorder.history(self._start.keep and self.chat.settings.pool)

    def read_ahead(self) -> None:
        """Have the engine read what the next question will begin with."""
        ahead = self.chat.ahead()
        if ahead is not None:
            self._bridge.call("warm", ahead)

    def take(self) -> Updates:
        """All that has come since the last time."""
        with self._own:
            for call, event in self._bridge.take():
                if isinstance(event, Ended):
                    self._call_ended(call, event)
                elif isinstance(event, Loading):
                    self.loading = event
                elif isinstance(event, Notice):
                    self._updates.notices.append(event)
                elif call is self._reply:
                    self._reply_event(event)
            updates, self._updates = self._updates, Updates()
        return updates

    def close(self) -> None:
        """Stop, save what was written, end the engine. From any thread; whoever calls meanwhile waits."""
        with self._closing:
            with self._own:
                state = self._stop()
            if state == "stopping":
                until = time.monotonic() + _STOP_S
                while self._reply is not None and time.monotonic() < until:
                    time.sleep(0.01)
                    self.take()
            with self._own:
                if self._reply is not None:
                    self._break_off()
            ending = threading.Thread(target=self._bridge.close, name="closing", daemon=True)
            ending.start()
            self.recorder.close()
            ending.join()

    def _new_engine(self) -> Replier:
        """The remote that was named; else the engine of `lacli serve`, where one runs that fits, or a worker."""
        if is_remote(self.chat.settings.model):
            return self._start.remote(self.chat.settings)
        if self._start.attach:
            from lacli.server.background import reach_or_start

            return reach_or_start(
                self.chat.settings, self._start.auto_serve, lambda text: self._add_notice(Notice(text))
            )
        from lacli.worker.client import WorkerAssistant

        return WorkerAssistant(self.chat.settings)

    def _stop(self) -> Literal["", "stopping", "given up"]:
        if self._reply is None:
            return ""
        self._bridge.cancel(self._reply)
        if self._opened:
            return "stopping"
        self._reply = None
        self.chat.failed()
        return "given up"

    def _reply_event(self, event: Prefill | Piece | Finished) -> None:
        self._opened = True
        self.loading = None
        if isinstance(event, Prefill):
            self.prefill = event
        elif isinstance(event, Piece):
            self.chat.wrote(event)
            self._updates.text += event.text
            self._updates.thought += event.thought
            if not is_remote(self.chat.settings.model):  # whose pieces are no steps
                self._updates.steps.append(Decoded(event.text, event.sources, event.lengths))
        else:
            self._reply = None
            self._updates.finished, self._updates.outcome = event, self.chat.answered(event)
            if self.chat.purpose != "summary":
                self.read_ahead()

    def _call_ended(self, call: Call, ended: Ended) -> None:
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
            self._break_off()
        if call.what != "warm":
            self._updates.preview = ended.preview or self._updates.preview
            if error is not None:
                self._updates.error, self._updates.failed = error, call.what

    def _lost(self) -> None:
        """There is no engine."""
        self._opened = False
        self._opening = self.loading = None

    def _break_off(self) -> None:
        """The reply will never end: save what was seen of it."""
        self._reply = None
        self._updates.finished, self._updates.outcome = self.chat.broken_off()

    def _add_notice(self, notice: Notice) -> None:
        with self._own:
            self._updates.notices.append(notice)
        self._wake()
