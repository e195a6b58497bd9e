"""Times the steps of a `Decoder` and counts the guesses verified. Makes no decisions."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lacli.engine.decoder import Decoder
from lacli.engine.step import Committed, Finish, ForwardRequest, ForwardResult, Step
from lacli.models.base import Rows, Scores


class MeteredDecoder:
    """A decoder whose steps are timed and counted. All time spent inside it counts as drafting time."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._draft_ms = 0.0
        """Of the step in progress."""

    def start(self, scores: Scores) -> Step:
        """See `Decoder.start`."""
        return _step(self._decoder.start(scores), None, 0.0)

    def rows(self) -> ForwardRequest:
        """See `Decoder.rows`."""
        started = time.perf_counter()
        request = self._decoder.rows()
        self._draft_ms = since_ms(started)
        return request

    def answer(self, result: ForwardResult) -> Step:
        """See `Decoder.answer`."""
        started = time.perf_counter()
        committed = self._decoder.answer(result.scores)
        drafted = _drafted(committed.rows, committed.row_sources)
        self._draft_ms += since_ms(started)
        return _step(committed, result, self._draft_ms, drafted)


def ended(finish: Finish) -> Step:
    """A last step that delivers nothing."""
    return _step(Committed((), (), finish), None, 0.0)


def since_ms(started: float) -> float:
    """Milliseconds since this value of `time.perf_counter`."""
    return 1000 * (time.perf_counter() - started)


def _step(
    committed: Committed, result: ForwardResult | None, draft_ms: float, drafted: dict[str, int] | None = None
) -> Step:
    by_source = drafted or {}
    return Step(
        token_ids=committed.token_ids,
        sources=committed.sources,
        rows=len(committed.rows.token_ids) if committed.rows is not None else 0,
        drafted=sum(by_source.values()),
        forward_ms=result.ms if result is not None else 0.0,
        draft_ms=draft_ms,
        finish=committed.finish,
        drafted_by_source=by_source,
        plain_ms=result.plain_ms if result is not None else None,
    )


def _drafted(rows: Rows | None, row_sources: Sequence[str]) -> dict[str, int]:
    """Guessed rows by source, as far as a draw could have accepted them. The window's newest level is not among them:
    it is run only for its argmax, and no wanted row leads to it."""
    drafted: dict[str, int] = {}
    if rows is None:
        return drafted
    reached = {0}
    for row in rows.wanted[1:]:
        if rows.parents[row] in reached:
            reached.add(row)
            source = row_sources[row]
            drafted[source] = drafted.get(source, 0) + 1
    return drafted
