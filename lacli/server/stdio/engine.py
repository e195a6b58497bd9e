"""The engines behind a door on stdin and stdout: one for each model in use, each asked by one call at a time.

What the door's projects and conversations see is a `Replier` of their own. Knows no protocol of editors.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing

from lacli.assistant.base import Cancel, ProjectReplier, Report, ignore, never
from lacli.assistant.cancel import CancelToken
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Finished, Preview, ReplyStats, Request
from lacli.shared.background import Call, CallThread, Ended, What

_STOP_S = 0.3
"""How long an engine may take to end its step before its process is asked to end."""

Make = Callable[[Settings], ProjectReplier]


def where(attach: bool, start: bool, note: Callable[[str], None]) -> Make:
    """What makes a replier: one of the engine of `lacli serve`, where `attach` and one runs or is to `start`, else a
    worker of our own. Why an engine that runs is not used is told to `note`."""

    def make(settings: Settings) -> ProjectReplier:
        if attach:
            from lacli.server.background import reach_or_start

            return reach_or_start(settings, start, note)
        from lacli.worker.client import WorkerAssistant

        return WorkerAssistant(settings)

    return make


class Engines:
    """All engines of a door. Every method may be called from any thread."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._engines: dict[Settings, _Engine] = {}
        self._lock = threading.Lock()

    def of(self, settings: Settings) -> ProjectEngine:
        """What answers with these settings; its model is loaded by the first call."""
        key = settings.of_model
        with self._lock:
            if key not in self._engines:
                self._engines[key] = _Engine(self._make(settings))
            return ProjectEngine(self._engines[key], settings)

    def keep_only(self, wanted: Collection[Settings]) -> None:
        """End the engines of models that none of these settings name."""
        keys = {each.of_model for each in wanted}
        with self._lock:
            unwanted = [self._engines.pop(key) for key in list(self._engines) if key not in keys]
        for each in unwanted:
            each.close()

    def close(self) -> None:
        """Cancel every call and end all engines."""
        self.keep_only(())


class _Engine:
    """One replier, the thread that calls it, and who waits for which call."""

    def __init__(self, replier: ProjectReplier) -> None:
        self._replier = replier
        self._answers: dict[Call, queue.SimpleQueue[Event | Ended]] = {}
        self._thread = CallThread(replier, self._deliver)

    def events(self, call: Call, cancel: Cancel) -> Generator[Event, None, Ended]:
        """The events of a call as it is made; closing the generator cancels it. Raises what the call raises."""
        answers = self._answers[call] = queue.SimpleQueue()
        linked = cancel.subscribed(lambda: self._thread.cancel(call)) if isinstance(cancel, CancelToken) else None
        try:
            self._thread.put(call)
            with linked or contextlib.nullcontext():
                while not isinstance(answer := answers.get(), Ended):
                    yield answer
            if answer.error is not None:
                raise answer.error
            return answer
        finally:
            del self._answers[call]
            self._thread.cancel(call)

    def start(self, call: Call) -> None:
        """Have a call made of which nobody waits to hear."""
        self._thread.put(call)

    def close(self) -> None:
        self._thread.stop()
        self._thread.join(_STOP_S)
        self._replier.close()

    def _deliver(self, call: Call, answer: Event | Ended) -> None:
        answers = self._answers.get(call)
        if answers is not None:
            answers.put(answer)


class ProjectEngine:
    """A `Replier` for one project."""

    def __init__(self, engine: _Engine, settings: Settings, cancel: Cancel = never) -> None:
        self.settings = settings
        self._engine = engine
        self._cancel = cancel

    def until(self, cancel: CancelToken) -> ProjectEngine:
        """The same, each of whose calls ends with this, also before its turn and while the model is loaded."""
        return ProjectEngine(self._engine, self.settings, cancel)

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`."""
        with closing(self._call("open", Request())) as events:
            for event in events:
                report(event)

    def load(self) -> None:
        """Load the model in the background; what goes wrong, the first reply meets again."""
        self._engine.start(Call("open", settings=self.settings))

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`."""
        ended = False
        with closing(self._call("reply", request, cancel)) as events:
            for event in events:
                ended = isinstance(event, Finished)
                yield event
        if not ended:  # it was cancelled before its turn
            yield Finished("", (), "cancelled", ReplyStats(replies=0, finish_reason="cancelled"))

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`. Raises LacliError where it was cancelled."""
        events = self._call("preview", request)
        with closing(events):
            while True:
                try:
                    report(next(events))
                except StopIteration as stop:
                    if stop.value.preview is None:
                        raise LacliError("the prompt was not counted: that was cancelled") from None
                    return stop.value.preview

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """As `Replier.warm`, but in the background, until the next call of anybody."""
        self._engine.start(Call("warm", request, self.settings))

    def close(self) -> None:
        """Nothing: the engine is everybody's."""

    def _call(self, what: What, request: Request, cancel: Cancel = never) -> Generator[Event, None, Ended]:
        return self._engine.events(Call(what, request, self.settings), self._cancel if cancel is never else cancel)
