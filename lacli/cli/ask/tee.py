"""An assistant whose events go to a listener, too. The text so far of a reply is known if it is interrupted."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.assistant.base import Cancel, Replier, Report, ignore, never
from lacli.events import Event, Finished, Loading, Piece, Preview, Request


class TeeAssistant:
    """Passes every event of an assistant to a listener and collects the text of the reply under way."""

    def __init__(self, assistant: Replier, listener: Report = ignore) -> None:
        self._assistant = assistant
        self._listener = listener
        self._last: Piece | None = None
        self._text: list[str] = []
        self._thought: list[str] = []
        self._stage: Loading | None = None

    @property
    def partial(self) -> Finished | None:
        """The reply so far, while it is being written; its ids are not known."""
        if self._last is None:
            return None
        thought = "".join(self._thought).strip()
        return Finished("".join(self._text), (), "cancelled", self._last.stats, thought=thought)

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`."""

        def both(event: Event) -> None:
            self._notify(event)
            report(event)

        self._assistant.open(both)

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`."""
        for event in self._assistant.reply(request, cancel):
            if isinstance(event, Piece):
                self._text.append(event.text)
                self._thought.append(event.thought)
                self._last = event
            self._notify(event)
            yield event
        self._last = None

    def _notify(self, event: Event) -> None:
        """Call the listener, unless a stage of loading is only repeated."""
        if event != self._stage:
            self._listener(event)
        if isinstance(event, Loading):
            self._stage = event

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`."""
        return self._assistant.preview(request, report)

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """See `Replier.warm`."""
        self._assistant.warm(request, cancel)

    def close(self) -> None:
        """See `Replier.close`."""
        self._assistant.close()
