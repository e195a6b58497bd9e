"""A runner that is made to write a given reply. Every forward is the real one and costs what it costs.

Where the rows so far spell the reference, the reference's next token is raised above all others; elsewhere the model's
own logits stand. So the quality of drafts is measured on real edits, not on what a small demonstration model makes of
them. Called by `runner`; `recording` has its own runner around the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from lacli.models.base import Rows, Runner, Scores

_RAISED = 100.0  # above the best logit: the whole nucleus of any sampler in use here


class RunnerAround:
    """The part of `Runner` that one around another runner hands on."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.vocab_size = runner.vocab_size
        self.context_size = runner.context_size
        self.can_branch = runner.can_branch
        self.kernel = runner.kernel
        self.notes = runner.notes

    @property
    def length(self) -> int:
        """See `Runner.length`."""
        return self._runner.length

    def keep(self, path: Sequence[int]) -> None:
        """See `Runner.keep`."""
        self._runner.keep(path)

    def truncate(self, length: int) -> None:
        """See `Runner.truncate`."""
        self._runner.truncate(length)


class ReferenceRunner(RunnerAround):
    """Makes a runner write a reply; the cache must begin with `prompt`."""

    def __init__(self, runner: Runner, prompt: Sequence[int], reply: Sequence[int], end: int) -> None:
        """end: the end-of-sequence id that follows the reply."""
        super().__init__(runner)
        self._prompt_length = len(prompt)
        self._reference = (*reply, end)

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """See `Runner.prefill`."""
        scores = self._runner.prefill(token_ids, on_chunk)
        if scores is not None and self.length == self._prompt_length:
            _raise(scores, 0, self._reference[0])
        return scores

    def forward(self, rows: Rows) -> Scores:
        """See `Runner.forward`."""
        scores = self._runner.forward(rows)
        place = self.length - self._prompt_length  # of row 0 in the reference
        places: list[int | None] = []
        for token_id, parent in zip(rows.token_ids, rows.parents, strict=True):
            above = place - 1 if parent < 0 else places[parent]
            here = None if above is None else above + 1
            right = here is not None and here < len(self._reference) - 1 and self._reference[here] == token_id
            places.append(here if right else None)
        for slot, row in enumerate(rows.wanted):
            here = places[row]
            if here is not None:
                _raise(scores, slot, self._reference[here + 1])
        return scores


@torch.inference_mode()
def _raise(scores: Scores, slot: int, token_id: int) -> None:
    """Make this token win. In place: scores are made anew by every forward, and a copy would take as long as a step."""
    ids, logits = scores.top_ids[slot], scores.top_logits[slot]
    raised = float(logits[0]) + _RAISED
    others = ids != token_id
    scores.logits[slot, token_id] = raised
    ids[:], logits[:] = (
        np.concatenate([[first], rest[others]])[: len(rest)] for first, rest in ((token_id, ids), (raised, logits))
    )
