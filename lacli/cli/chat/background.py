"""An assistant that loads, and reads ahead, in a thread of its own while the user types.

An assistant is for one thread at a time: whoever calls `reply`, `preview` or `close` here gets it only when the thread
behind has let go of it, which takes one chunk of a prefill at most. Nothing is printed here: what loading has to say is
kept until `open` is asked for it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from lacli.assistant.base import Cancel, Replier, Report, ignore, never
from lacli.events import Event, Loading, Notice, Preview, Request

_LOOK_S = 0.05
"""How often a wait looks up: Ctrl-C is heard between two looks on every platform."""


class Abandoned(BaseException):
    """Ends a loading that nobody waits for any more, at its next report."""


class Background:
    """A `Replier` whose loading and reading ahead happen behind."""

    def __init__(self, assistant: Replier, on_change: Callable[[], None] = lambda: None) -> None:
        """on_change is called from the thread behind, with every stage of loading and at its end."""
        self._assistant = assistant
        self._on_change = on_change
        self._stage: Loading | None = None
        self._notices: list[Notice] = []
        self._failure: BaseException | None = None
        self._started = False
        self._loaded = threading.Event()
        """Set when loading has ended, well or not."""
        self._reading: threading.Thread | None = None
        self._lock = threading.Lock()
        """Between the end of loading and a wish to read ahead: one of them begins it, not both."""
        self._abandoned = False
        self._wanted = threading.Event()
        """Set while someone in front wants the assistant: reading ahead stops."""
        self._ahead: Request | None = None

    @property
    def stage(self) -> Loading | None:
        """What loading is at; None before it began and once it has ended."""
        return None if self._loaded.is_set() else self._stage

    @property
    def failure(self) -> BaseException | None:
        """What loading ended with, if it failed."""
        return self._failure

    def start(self) -> None:
        """Begin to load, unless that was done."""
        if not self._started:
            self._started = True
            self._thread(self._load)

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`: waits for the loading, reports where it is and what it had to say, raises its failure.

        Where it was not begun, it happens here and now.
        """
        if not self._started:
            self._assistant.open(report)
            return
        told: Loading | None = None
        while not self._loaded.wait(_LOOK_S):
            stage = self._stage
            if stage is not None and stage is not told:
                told = stage
                report(stage)
        notices, self._notices = self._notices, []
        for notice in notices:
            report(notice)
        if self._failure is not None:
            raise self._failure

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`."""
        self.open()
        self._take()
        yield from self._assistant.reply(request, cancel)

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`."""
        self.open()
        self._take()
        return self._assistant.preview(request, report)

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """As `Replier.warm`, but behind, as soon as the model is loaded; returns at once."""
        self._take()
        self._wanted.clear()
        with self._lock:
            self._ahead = request
            if self._loaded.is_set():
                self._begin_reading()

    def close(self) -> None:
        """Let go of the model, if it is loaded. A loading ends at its next report, or with the process."""
        self._abandoned = True
        self._take()
        if not self._started or self._loaded.is_set():
            self._assistant.close()

    def _take(self) -> None:
        """Wait until the thread behind does not read ahead any more, and see to it that it does not begin."""
        with self._lock:
            self._ahead = None
            self._wanted.set()
        while self._reading is not None and self._reading.is_alive():
            self._reading.join(_LOOK_S)

    def _load(self) -> None:
        try:
            self._assistant.open(self._heard)
        except BaseException as failure:  # raised again for whoever waits for the model
            self._failure = failure
        with self._lock:
            self._loaded.set()
            self._begin_reading()
        self._on_change()

    def _heard(self, event: Event) -> None:
        if self._abandoned:
            raise Abandoned
        if isinstance(event, Notice):
            self._notices.append(event)
        elif isinstance(event, Loading):
            self._stage = event
            self._on_change()

    def _begin_reading(self) -> None:
        request = self._ahead
        if request is not None and self._failure is None:
            self._reading = self._thread(lambda: self._read_ahead(request))

    def _read_ahead(self, request: Request) -> None:
        with contextlib.suppress(Exception):  # the reply will meet it, too, and say it
            self._assistant.warm(request, self._wanted.is_set)

    @staticmethod
    def _thread(work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread
