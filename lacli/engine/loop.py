"""The decoding loop for one reply: each step is one forward over all guesses, then one decision on what is kept.

Token ids in, token ids out: no text, no files. Everything yielded has been committed, so the generator may be closed
between steps. `engine.batch` does the same for many replies at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from lacli.drafts.base import Sources
from lacli.engine.controller import Controller
from lacli.engine.decoder import Decoder
from lacli.engine.metrics import MeteredDecoder, ended, since_ms
from lacli.engine.sampler import Sampler
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Finish, ForwardRequest, ForwardResult, Step
from lacli.engine.stop import Stops
from lacli.errors import OutOfMemory


def decode(
    prompt: Sequence[int],
    cached: CachedSequence,
    sources: Sources,
    sampler: Sampler,
    stops: Stops,
    controller: Controller,
    cancel: Callable[[], bool] = lambda: False,
) -> Iterator[Step]:
    """Yield the steps of one reply to `prompt`; the last has `finish` set.

    The first step delivers the token sampled after prefill (its `rows` is 0). `cancel` is polled between steps and
    between prefill chunks. To report the progress of a long prompt, prefill it into `cached` chunk by chunk beforehand.
    Plain decoding is the same loop with `controller.limits.lookahead` off.
    """
    if stops.room <= 0:
        yield ended(Finish.LENGTH)
        return
    scores = cached.start(prompt, lambda done: not cancel())
    if scores is None:
        yield ended(Finish.CANCELLED)
        return
    decoder = MeteredDecoder(Decoder(prompt, cached, sources, sampler, stops, controller))
    step = decoder.start(scores)
    yield step
    while step.finish is None:
        if cancel():
            yield ended(Finish.CANCELLED)
            return
        request = decoder.rows()  # plan, propose, build
        try:
            result = _forward(request, cached, controller)
        except OutOfMemory:
            if not controller.shrink(len(request.rows.token_ids)):
                raise
            continue  # nothing was committed: the same step again, with fewer guesses
        step = decoder.answer(result)  # accept, cut, commit
        yield step


def _forward(request: ForwardRequest, cached: CachedSequence, controller: Controller) -> ForwardResult:
    """Run the rows, and update the cost curve with the time taken."""
    started = time.perf_counter()
    scores = cached.runner.forward(request.rows)
    ms, count = since_ms(started), len(request.rows.token_ids)
    controller.cost.learn(count, ms)
    return ForwardResult(scores, ms, controller.cost.plain_ms(count, ms))
