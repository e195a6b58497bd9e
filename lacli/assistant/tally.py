"""The counts of one text while it is written: its tokens, who guessed each, and what the steps took. No text."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from lacli.events import Counts

if TYPE_CHECKING:
    from lacli.engine.step import Step


class Tally:
    """Counts of one text, from its first step to its last.

    A reply that writes several texts and delivers one has a tally for each, so that its statistics are those of the
    text that was delivered.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._sources: list[str] = []
        """For each of the ids who guessed it, "" where nobody did."""
        self.written = 0
        """Tokens written, cut or not."""
        self.plain_steps = 0
        """Forward passes plain decoding takes for this text; set by the reply, which knows where the text ended."""
        self.first_at = self.last_at = 0.0
        """When the first and the last step with tokens ended, by `time.perf_counter`; 0 before."""
        self._steps = self._rows = self._draft_n = 0
        self._drafted: Counter[str] = Counter()
        self._accepted: Counter[str] = Counter()
        self._draft_ms = self._step_ms = 0.0
        self._plain_ms: float | None = None

    def count(self, step: Step) -> None:
        """Add a step."""
        if step.token_ids:
            self.last_at = time.perf_counter()
            self.first_at = self.first_at or self.last_at
        self.ids.extend(step.token_ids)
        self._sources.extend(step.sources)
        self._accepted.update(source for source in step.sources if source)
        self.written += len(step.token_ids)
        self._steps += step.rows > 0
        self._rows += step.rows
        self._draft_n += step.drafted
        self._drafted.update(step.drafted_by_source)
        self._draft_ms += step.draft_ms
        self._step_ms += step.draft_ms + step.forward_ms
        if step.plain_ms is not None:
            self._plain_ms = (self._plain_ms or 0.0) + step.plain_ms

    def cut(self, delivered: int) -> None:
        """Drop the tokens from here on, whose text was not delivered."""
        self._accepted.subtract(source for source in self._sources[delivered:] if source)
        del self.ids[delivered:], self._sources[delivered:]

    @property
    def plain_step_ms(self) -> float | None:
        """`ReplyStats.plain_step_ms`: over the very steps that were taken, so that what disturbed these speaks neither
        for guessing nor against it."""
        return None if self._plain_ms is None else self._plain_ms / self._steps

    @property
    def counts(self) -> Counts:
        """The counts so far. A text of which nothing is delivered saved nothing."""
        accepted = +self._accepted
        plain_step_ms = self.plain_step_ms if self.ids else None
        plain_steps = self.plain_steps if self.ids else self._steps
        return Counts(
            replies=min(1, len(self.ids)),
            predicted_n=len(self.ids),
            steps=self._steps,
            plain_steps=plain_steps,
            draft_n=self._draft_n,
            draft_n_accepted=accepted.total(),
            drafted_by_source=dict(self._drafted),
            accepted_by_source=dict(accepted),
            rows=self._rows,
            draft_ms=self._draft_ms,
            step_ms=self._step_ms,
            saved_ms=None if plain_step_ms is None else plain_steps * plain_step_ms - self._step_ms,
        )
