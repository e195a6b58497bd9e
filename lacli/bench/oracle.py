"""A runner that is made to write a given reply. Every forward is the real one and costs what it costs.

Where the rows so far spell the reference, the reference's next token is raised above all others; elsewhere the model's
own logits stand. So the quality of drafts is measured on real edits, not on what a small demonstration model makes of
them. `recording` has its own runner around the model.
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
            _raise(scores, [0], self._reference[:1])
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
        slots = [(slot, places[row]) for slot, row in enumerate(rows.wanted)]
        forced = {slot: self._reference[here + 1] for slot, here in slots if here is not None}
        if forced:
            _raise(scores, list(forced), list(forced.values()))
        return scores


@torch.inference_mode()
def _raise(scores: Scores, slots: Sequence[int], token_ids: Sequence[int]) -> None:
    """Make each of these tokens win its row. In place: scores are made anew by every forward, and to copy them would
    take as long as a step."""
    rows, raised = list(slots), np.array(token_ids, dtype=scores.top_ids.dtype)
    logits = scores.top_logits[rows, 0] + np.float32(_RAISED)
    all_logits = torch.as_tensor(scores.logits)  # the same memory, where they are an array of numpy
    all_logits[rows, list(token_ids)] = torch.from_numpy(logits).to(all_logits)
    # The token goes to the front, from its place among the best or from below them; those before it move back by one.
    best = scores.top_ids[rows]
    among = best == raised[:, None]
    places = np.where(among.any(axis=1), among.argmax(axis=1), best.shape[1] - 1)
    columns = np.arange(best.shape[1])
    origin = np.maximum(columns - (columns <= places[:, None]), 0)
    scores.top_ids[rows] = np.take_along_axis(best, origin, axis=1)
    scores.top_logits[rows] = np.take_along_axis(scores.top_logits[rows], origin, axis=1)
    scores.top_ids[rows, 0], scores.top_logits[rows, 0] = raised, logits
