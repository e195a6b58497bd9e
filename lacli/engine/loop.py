"""The decoding loop: one forward a step over everything guessed, then one decision that all else follows.

`steps` is all of it, top to bottom: it asks for rows and is sent their scores, so that whoever drives it runs the
forward, for one reply (`decode`, here) or for many at once (`engine.batch`).
Ids in, ids out: no text, no files. What is yielded has been committed, so closing the generator between steps always
finds a whole state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence

from lacli.drafts.base import DraftSource
from lacli.engine.accept import accept
from lacli.engine.controller import Controller
from lacli.engine.guesses import Guesses
from lacli.engine.sampler import Sampler
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Accepted, Asked, Finish, Ran, Step
from lacli.engine.stop import Stops
from lacli.models.base import Rows, Scores

Steps = Generator[Step | Asked, Ran | None, None]
"""A step is yielded, then rows are asked for and answered, in turns until a step has `finish` set."""


def decode(
    prompt: Sequence[int],
    cached: CachedSequence,
    sources: Sequence[DraftSource],
    sampler: Sampler,
    stops: Stops,
    controller: Controller,
    cancel: Callable[[], bool] = lambda: False,
) -> Iterator[Step]:
    """Yield the steps of one reply to `prompt`; the last has `finish` set.

    The first step delivers the token that prefill gives (rows 0). `cancel` is read between steps and prefill chunks.
    Who shows the progress of a long prompt puts its beginning into `cached` first, piece by piece. Plain decoding is
    the same loop with `controller.limits.lookahead` off.
    """
    if stops.room <= 0:
        yield ended(Finish.LENGTH)
        return
    scores = cached.start(prompt, lambda done: not cancel())
    if scores is None:
        yield ended(Finish.CANCELLED)
        return
    reply = steps(prompt, scores, cached, sources, sampler, stops, controller)
    step = first_step(reply)
    yield step
    while step.finish is None:
        if cancel():
            yield ended(Finish.CANCELLED)
            return
        asked = next_rows(reply)
        started = time.perf_counter()
        scores = cached.runner.forward(asked.rows)
        forward_ms = 1000 * (time.perf_counter() - started)
        count = len(asked.rows.token_ids)
        controller.cost.learn(count, forward_ms)
        step = next_step(reply, Ran(scores, forward_ms, controller.cost.plain_ms(count, forward_ms)))
        yield step


def steps(
    prompt: Sequence[int],
    scores: Scores,
    cached: CachedSequence,
    sources: Sequence[DraftSource],
    sampler: Sampler,
    stops: Stops,
    controller: Controller,
) -> Steps:
    """The reply to a prompt that `cached` holds; scores: of its last token, a single row."""
    context = list(prompt)
    guesses = Guesses(prompt, sources, controller, cached)
    run: tuple[int, ...] = (sampler.draw(scores, 0),)
    cut = stops.cut(run)
    context.extend(run[: cut.keep])
    guesses.start(context)
    finish = cut.finish or _full(cached)
    yield Step(run[: cut.keep], ("",) * cut.keep, 0, 0, 0.0, 0.0, finish)

    while finish is None:
        started = time.perf_counter()
        plan = guesses.plan(min(stops.room, cached.runner.context_size - cached.runner.length) - 1)
        rows, row_sources = guesses.build(context, plan)
        draft_ms = 1000 * (time.perf_counter() - started)

        ran = yield Asked(rows, 1.0 + guesses.promised)
        assert ran is not None, "rows were asked for"

        started = time.perf_counter()
        accepted = accept(rows, ran.scores, sampler)
        cut = stops.cut(accepted.token_ids)
        kept = accepted.token_ids[: cut.keep]

        cached.keep(rows, accepted.path[: cut.keep])
        context.extend(kept)
        sources_of = _sources_of(accepted, row_sources, cut.keep)
        guesses.learn(rows, ran.scores, kept, sources_of)
        finish = cut.finish or _full(cached)
        drafted = _drafted(rows, row_sources)
        draft_ms += 1000 * (time.perf_counter() - started)
        count = sum(drafted.values())
        yield Step(kept, sources_of, len(rows.token_ids), count, ran.ms, draft_ms, finish, drafted, ran.plain_ms)


def first_step(reply: Steps) -> Step:
    """Begin."""
    step = next(reply)
    assert isinstance(step, Step)
    return step


def next_rows(reply: Steps) -> Asked:
    """After a step that was not the last: the rows of the next one."""
    asked = next(reply)
    assert isinstance(asked, Asked)
    return asked


def next_step(reply: Steps, ran: Ran) -> Step:
    """Answer; the step that comes of it."""
    step = reply.send(ran)
    assert isinstance(step, Step)
    return step


def ended(finish: Finish) -> Step:
    """A last step that delivers nothing."""
    return Step((), (), 0, 0, 0.0, 0.0, finish)


def _full(cached: CachedSequence) -> Finish | None:
    return Finish.CONTEXT if cached.runner.length >= cached.runner.context_size else None


def _drafted(rows: Rows, row_sources: Sequence[str]) -> dict[str, int]:
    """Rows a draw could be compared with, by who guessed them; a window's newest level is wanted for its argmax, but
    nothing leads there."""
    reached = {0}
    drafted: dict[str, int] = {}
    for row in rows.wanted[1:]:
        if rows.parents[row] in reached:
            reached.add(row)
            source = row_sources[row]
            drafted[source] = drafted.get(source, 0) + 1
    return drafted


def _sources_of(accepted: Accepted, row_sources: Sequence[str], keep: int) -> tuple[str, ...]:
    """Who guessed each kept token: the row after the one it was drawn at, nobody for the bonus token."""
    guessed = [row_sources[row] for row in accepted.path[1:]]
    return (*guessed, "")[:keep]
