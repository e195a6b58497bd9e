"""The sources that look up the context's suffix in earlier text: this request and its predicted reply, this session,
the pool, the project's files.

They differ in what they index and in their priors; `chains.drafts_from` does the lookup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from lacli.drafts.base import Draft
from lacli.drafts.calibration import Calibrated
from lacli.drafts.chains import drafts_from, new_calibration
from lacli.drafts.index import LiveIndex, StoredIndex, SuffixIndex

_LEAD = 16
"""Tokens of the prompt's end that are put before the predicted text: as many as match lengths are distinguished by."""


class _Lookup(Calibrated):
    """Base of the sources below."""

    name = ""

    def __init__(self, trust: float) -> None:
        super().__init__(new_calibration(trust))

    def _propose(self, index: SuffixIndex, context: Sequence[int], room: int) -> Sequence[Draft]:
        return drafts_from(index, context, room, self._calibration, self.name) if room > 0 else ()


class PromptSource(_Lookup):
    """The prompt and the reply so far (prompt lookup decoding)."""

    name = "prompt"

    def __init__(self) -> None:
        super().__init__(trust=1.0)
        self._index = LiveIndex()

    def start(self, context: Sequence[int]) -> None:
        """See `GuessSource.start`."""
        self._index = LiveIndex()
        self._index.extend(context)

    def fork(self) -> Self:
        """See `GuessSource.fork`; the calibration is shared."""
        fork = type(self)()
        fork._calibration = self._calibration
        return fork

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """See `DraftSource.propose`."""
        return self._propose(self._index, context, room)

    def observe(self, token_ids: Sequence[int]) -> None:
        """See `GuessSource.observe`."""
        self._index.extend(token_ids)


class PredictionSource(_Lookup):
    """The text that the caller predicts for this reply (`Request.prediction`). Guesses nothing without one."""

    name = "prediction"

    def __init__(self) -> None:
        super().__init__(trust=1.0)
        self._index = LiveIndex()
        self._expected: Sequence[int] = ()

    def expect(self, token_ids: Sequence[int]) -> None:
        """Set the prediction before the reply starts; empty for none."""
        self._expected = token_ids

    def start(self, context: Sequence[int]) -> None:
        """See `GuessSource.start`. The prompt's end is indexed in front of the prediction, so that it matches first."""
        self._index = LiveIndex()
        if self._expected:
            self._index.extend([*context[-_LEAD - 1 : -1], *self._expected])

    def fork(self) -> Self:
        """See `GuessSource.fork`; the calibration is shared."""
        fork = type(self)()
        fork._calibration = self._calibration
        return fork

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """See `DraftSource.propose`."""
        return self._propose(self._index, context, room) if self._expected else ()


class SessionSource(_Lookup):
    """Earlier replies of this process. The current reply is indexed by `PromptSource`."""

    name = "session"

    def __init__(self) -> None:
        super().__init__(trust=0.9)
        self._index = LiveIndex()
        self._current: list[int] = []

    def start(self, context: Sequence[int]) -> None:
        """See `GuessSource.start`."""
        self._close()
        # The first token was sampled after prefill, before the first `observe`.
        self._current = list(context[-1:])

    def fork(self) -> Self:
        """See `GuessSource.fork`; the index of earlier replies is shared."""
        fork = type(self)()
        fork._calibration, fork._index = self._calibration, self._index
        return fork

    def merge(self, fork: Self) -> None:
        """See `GuessSource.merge`."""
        self._close()
        self._current = fork._current

    def _close(self) -> None:
        self._index.extend(self._current)
        self._index.close_segment()

    def forget(self) -> None:
        """Drop the last reply, from which nothing may be learned."""
        self._current = []

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """See `DraftSource.propose`."""
        return self._propose(self._index, context, room)

    def observe(self, token_ids: Sequence[int]) -> None:
        """See `GuessSource.observe`."""
        self._current.extend(token_ids)


class ProjectSource(_Lookup):
    """Earlier replies in this project: the pool's segments as of when it was opened."""

    name = "project"

    def __init__(self, segments: Iterable[Sequence[int] | np.ndarray]) -> None:
        super().__init__(trust=0.85)
        self._index = StoredIndex(segments)
        self._credits: Counter[int] = Counter()

    def credit(self, draft: Draft, accepted: int) -> None:
        """See `DraftSource.credit`; also counts the accepted tokens of the segment."""
        super().credit(draft, accepted)
        if accepted and draft.position >= 0:
            self._credits[self._index.segment_of(draft.position)] += accepted

    def credits(self) -> dict[int, int]:
        """Accepted tokens by segment since the last call; keys are indices into the segments given."""
        earned = dict(self._credits)
        self._credits.clear()
        return earned

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """See `DraftSource.propose`."""
        return self._propose(self._index, context, room)


class FilesSource(_Lookup):
    """The project's own files, once a background thread has built their index."""

    name = "files"

    def __init__(self) -> None:
        super().__init__(trust=0.8)
        self._index: SuffixIndex | None = None

    def replace(self, index: SuffixIndex | None) -> None:
        """Use this index from the next step on. Thread-safe."""
        self._index = index

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """See `DraftSource.propose`."""
        index = self._index
        return self._propose(index, context, room) if index is not None else ()
