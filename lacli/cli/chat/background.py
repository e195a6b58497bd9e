"""An assistant that loads, and reads ahead, in the background while the user types.

An assistant is for one thread at a time: whoever calls `reply`, `preview` or `close` here gets it only when the
background has let go of it, which takes one chunk of a prefill at most. Nothing is printed here: what loading has to
say is kept until `open` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lacli.assistant.base import Cancel, Replier, Report, ignore, never
from lacli.events import Event, Loading, Notice, Preview, Request
from lacli.shared.background import Call, CallThread, Ended

_CHECK_S = 0.05
"""How often a wait returns to Python: Ctrl-C is heard in between on every platform."""


class Abandoned(BaseException):
    """What waits for a loading gets where it was closed meanwhile."""


class Background:
    """A `Replier` whose loading and reading ahead happen in the background."""

    def __init__(self, assistant: Replier, on_change: Callable[[], None] = lambda: None) -> None:
        """on_change is called in another thread, with every stage of loading and at its end."""
        self._assistant = assistant
        self._on_change = on_change
        self._calls = CallThread(assistant, self._receive)
        self._stage: Loading | None = None
        self._notices: list[Notice] = []
        self._failure: BaseException | None = None
        self._loading: Call | None = None
        self._ahead: Request | None = None
        """What to read ahead once loading has started."""
        self._closed = False

    @property
    def stage(self) -> Loading | None:
        """What loading is at; None before it began and once it has ended."""
        return self._stage

    @property
    def failure(self) -> BaseException | None:
        """What loading ended with, if it failed."""
        return self._failure

    def start(self) -> None:
        """Start loading, unless that was done."""
        if self._loading is None:
            self._loading = self._calls.call("open")
            if self._ahead is not None:
                self.warm(self._ahead)

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`: waits for the loading, reports where it is and what it had to say, raises its failure.

        Where it was not started, it happens here and now.
        """
        if self._loading is None:
            self._assistant.open(report)
            return
        reported: Loading | None = None
        while not self._loading.wait(_CHECK_S):
            stage = self._stage
            if stage is not None and stage is not reported:
                reported = stage
                report(stage)
        notices, self._notices = self._notices, []
        for notice in notices:
            report(notice)
        if self._failure is not None:
            raise self._failure

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`."""
        self.open()
        self._stop_warming()
        yield from self._assistant.reply(request, cancel)

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`."""
        self.open()
        self._stop_warming()
        return self._assistant.preview(request, report)

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """As `Replier.warm`, but in the background, after the loading, once that is started; returns at once."""
        self._ahead = request
        if self._loading is not None and self._failure is None:
            self._calls.call("warm", request)

    def close(self) -> None:
        """Let go of the model, if it is loaded. A loading ends at its next report, or with the process."""
        loading = self._loading is not None and not self._loading.wait(0)
        self._closed = True
        self._stop_warming()
        self._calls.stop()
        if not loading:
            self._calls.join()
            self._assistant.close()

    def _stop_warming(self) -> None:
        """Wait until the background does not read ahead any more."""
        self._ahead = None
        warming = self._calls.stop_warming()
        while warming is not None and not warming.wait(_CHECK_S):
            pass

    def _receive(self, call: Call, event: Event | Ended) -> None:
        if call.what != "open":  # reading ahead: what goes wrong, the reply will meet, too, and say
            return
        if isinstance(event, Ended):
            self._stage = None
            self._failure = Abandoned() if self._closed and event.error is None else event.error
            if self._failure is not None:
                self._calls.stop_warming()
        elif isinstance(event, Notice):
            self._notices.append(event)
        elif isinstance(event, Loading):
            self._stage = event
        else:
            return
        self._on_change()
