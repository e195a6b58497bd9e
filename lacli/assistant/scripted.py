"""The test double of an assistant: replies from a queue, no model, no clock but its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lacli.assistant.base import Cancel, Report, ignore, never
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Failed, Finished, Piece, Prefill, Preview, ReplyStats, Request


class ScriptedAssistant:
    """Answers each request with the next script: a text, told word by word, the events themselves, or an error."""

    def __init__(
        self,
        scripts: Iterable[str | Sequence[Event] | LacliError],
        opening: Sequence[Event] = (),
        step_ms: float = 10.0,
        places: int = 1,
    ) -> None:
        self.requests: list[Request] = []
        """Everything asked so far."""
        self.warmed: list[Request] = []
        self.entered: list[Settings] = []
        self.closed = False
        self._scripts = iter(scripts)
        self._opening = opening
        self._step_ms = step_ms
        self._places = places
        self._added: dict[int, Iterator[Event]] = {}

    def open(self, report: Report = ignore) -> None:
        """Report the opening events."""
        for event in self._opening:
            report(event)

    def enter(self, settings: Settings) -> None:
        """Note the settings."""
        self.entered.append(settings)

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """Play the next script; a cancel between two events ends it as the real assistant would."""
        self.requests.append(request)
        script = next(self._scripts)
        if isinstance(script, LacliError):
            raise script
        events = self.reply_events(script) if isinstance(script, str) else script
        text, stats = "", ReplyStats()
        for event in events:
            if cancel() and not isinstance(event, Finished):
                yield Finished(text, tuple(range(stats.predicted_n)), "cancelled", stats)
                return
            if isinstance(event, Piece):
                text, stats = text + event.text, event.stats
            yield event

    def replies(self, requests: Iterable[Request], cancel: Cancel = never) -> Iterator[tuple[int, Event | Failed]]:
        """Play scripts two by two, event by event in turns."""
        waiting = enumerate(requests)
        playing: list[tuple[int, Iterator[Event]]] = []
        while True:
            while len(playing) < 2 and not cancel() and (taken := next(waiting, None)) is not None:
                playing.append((taken[0], self.reply(taken[1], cancel)))
            if not playing:
                return
            for index, events in list(playing):
                try:
                    event = next(events, None)
                except LacliError as error:
                    event = None
                    yield index, Failed(error.message, error.hint, error.exit_code)
                if event is None:
                    playing.remove((index, events))
                else:
                    yield index, event

    @property
    def places(self) -> int:
        """As it was made."""
        return self._places

    def add(self, key: int, request: Request, cancel: Cancel = never) -> None:
        """Begin the next script."""
        self._added[key] = self.reply(request, cancel)

    def together(self) -> Iterator[tuple[int, Event | LacliError]]:
        """Play what was added, an event of each in turns."""
        while self._added:
            for key, events in list(self._added.items()):
                came: Event | LacliError | None
                try:
                    came = next(events, None)
                except LacliError as error:
                    came = error
                if came is None or isinstance(came, LacliError):
                    del self._added[key]
                if came is not None:
                    yield key, came

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """A token for each word of what was asked."""
        from lacli.prompts.content import composed

        place = request.place
        shown = [composed(message.text, message.attachments) for message in request.messages]
        asked = request.raw or ("\n".join(shown) if place is None else place.prefix)
        count = len(asked.split())
        bounded = 0 if place is None or not place.read_ms else count
        return Preview(tuple(range(count)), asked, 2048, shown_n=bounded, window_n=2 * bounded)

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """Remember what was to be read ahead."""
        self.warmed.append(request)

    def read_ahead(self, cancel: Cancel) -> None:
        """There is nothing to read."""

    def close(self) -> None:
        """Remember that it was called."""
        self.closed = True

    def reply_events(self, text: str, thought: str = "") -> list[Event]:
        """The events of a reply of this text: a token a word, two words a step after the first, behind a step for what
        was thought."""
        words = text.replace(" ", "\0 ").replace("\n", "\n\0").split("\0")
        steps = [words[:1], *(words[start : start + 2] for start in range(1, len(words), 2))]
        events: list[Event] = [Prefill(7, 7, 0)]
        stats = ReplyStats()
        if thought:
            events.append(Piece("", ("",), stats, (0,), thought))
        delivered = guessed = 0
        for index, step in enumerate(steps):
            delivered += len(step)
            guessed += len(step) - 1 if index else 0
            stats = ReplyStats(
                model="scripted",
                prompt_n=7,
                prompt_ms=self._step_ms,
                predicted_n=delivered,
                predicted_ms=index * self._step_ms,
                steps=index,
                plain_steps=delivered - 1,
                draft_n=index * 3,
                draft_n_accepted=guessed,
                drafted_by_source={"project": index * 3} if index else {},
                accepted_by_source={"project": guessed} if guessed else {},
                rows=index * 4,
                draft_ms=index * self._step_ms / 10,
                step_ms=index * self._step_ms,
                saved_ms=(delivered - 1 - index) * self._step_ms,
                plain_step_ms=self._step_ms,
                ttft_ms=self._step_ms,
                pool_size=1000,
                ctx_used=7 + delivered,
                ctx_size=2048,
                finish_reason="stop" if index == len(steps) - 1 else "",
            )
            events.append(Piece("".join(step), ("", "project")[: len(step)], stats, tuple(map(len, step))))
        events.append(Finished(text, tuple(range(delivered)), "stop", stats, thought=thought))
        return events
