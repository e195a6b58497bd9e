"""Many replies at once: each is what it is alone, whoever sits beside it, comes later or breaks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lacli.drafts.base import GuessSource
from lacli.drafts.lookup import PromptSource, SessionSource
from lacli.drafts.successor import SuccessorSource
from lacli.engine.batch import Batch, Job, best_slots
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Finish, Read, Step
from lacli.engine.stop import Stops
from lacli.errors import LacliError, OutOfMemory, PromptTooLong
from lacli.models.base import Scores
from tests.engine.replies import PLAIN, VERIFY_ONLY, reply, successor
from tests.fakes import ListSource, NarrowRunner, SharingTableRunner, TableRunner, as_sources

DEAR = CostCurve({1: 1.0, 64: 64.0}, learning=False)
"""A row costs a step."""


def chaotic(context: Sequence[int]) -> int:
    return (3 * context[-1] + 5 * context[-2 % len(context)] + 7 * context[-3 % len(context)]) % 23


def random_logits(context: Sequence[int]) -> Sequence[float]:
    """Other ones for every context, the same each time."""
    generator = random.Random(hash(tuple(context[-4:])))
    return [generator.gauss(0, 2) for _ in range(64)]


class Run:
    """A batch over a runner without a model, and what came of it."""

    def __init__(
        self,
        runner: Any,
        prompts: Sequence[Sequence[int] | LacliError],
        counts: Sequence[int] | int = 20,
        *,
        most: int = 4,
        sources: Sequence[GuessSource] = (),
        options: SamplingOptions = SamplingOptions(),  # noqa: B008 - frozen
        controller: Controller | None = None,
        most_bytes: float = 1e9,
        eos: Sequence[int] = (),
        cancelled: dict[int, int] | None = None,
    ) -> None:
        """cancelled: jobs that are no longer wanted after so many questions whether they are."""
        self.runner = runner
        self.taken = 0
        self.finished: list[int] = []
        self.errors: dict[int, LacliError] = {}
        self.ids: dict[int, list[int]] = {}
        self.steps: dict[int, list[Step]] = {}
        self.reads: dict[int, list[Read]] = {}
        self.controller = controller or Controller(CostCurve.flat(), VERIFY_ONLY)
        self._batch = Batch(CachedSequence(runner), self.controller, most, most_bytes)
        self._wanted = {key: iter(range(count)) for key, count in (cancelled or {}).items()}
        self._prompts, self._sources, self._options, self._eos = prompts, sources, options, eos
        self._counts = [counts] * len(prompts) if isinstance(counts, int) else counts

    def _jobs(self) -> Iterator[tuple[int, Job | LacliError]]:
        for index, prompt in enumerate(self._prompts):
            self.taken += 1
            if isinstance(prompt, LacliError):
                yield index, prompt
                continue
            yield (
                index,
                Job(
                    prompt,
                    as_sources(self._sources).fork(),
                    Sampler(self._options, prompt),
                    Stops(self._eos, self._counts[index]),
                    self.controller,
                    cancel=lambda index=index: index in self._wanted and next(self._wanted[index], None) is None,
                ),
            )

    def all(self, cancel: Any = lambda: False, until: int = -1) -> Run:
        for number, (key, came) in enumerate(self._batch.decode(self._jobs(), cancel)):
            if isinstance(came, LacliError):
                self.errors[key] = came
            elif isinstance(came, Read):
                self.reads.setdefault(key, []).append(came)
            else:
                self.ids.setdefault(key, []).extend(came.token_ids)
                self.steps.setdefault(key, []).append(came)
                if came.finish is not None:
                    self.finished.append(key)
            if number == until:
                break
        return self


PROMPTS = [(4,), (4, 9), (2, 7, 1, 8, 2, 8), (5,) * 90, (4, 9, 3), (11, 12), (2, 7, 1, 8, 2, 9), (5,) * 91, (6,)]
COUNTS = [20, 1, 33, 7, 0, 50, 20, 12, 41]


class TestText:
    @pytest.mark.parametrize("most", [1, 2, 3, 9, 20])
    @pytest.mark.parametrize("options", [SamplingOptions(), SamplingOptions(temperature=1.3, top_p=0.9, seed=7)])
    @pytest.mark.parametrize("sources", ["none", "all", "lies"])
    def test_each_reply_is_the_one_written_alone(self, most: int, options: SamplingOptions, sources: str) -> None:
        alone = [
            reply(TableRunner(random_logits), prompt, count, limits=PLAIN, options=options).ids
            for prompt, count in zip(PROMPTS, COUNTS, strict=True)
        ]
        given: list[GuessSource] = {
            "none": [],
            "all": [PromptSource(), SessionSource(), SuccessorSource()],
            "lies": [ListSource([(1, 2, 3), (9, 9)])],
        }[sources]  # type: ignore[assignment]
        done = Run(SharingTableRunner(random_logits), PROMPTS, COUNTS, most=most, sources=given, options=options).all()
        assert [done.ids[index] for index in range(len(PROMPTS))] == alone
        assert sorted(done.finished) == list(range(len(PROMPTS)))

    def test_the_window_changes_nothing_either(self) -> None:
        controller = Controller(CostCurve.flat(), Limits(window=3, ngram=3, max_rows=64))
        done = Run(SharingTableRunner(chaotic), PROMPTS, 30, controller=controller).all()
        assert done.ids == {i: reply(TableRunner(chaotic), p, 30, limits=PLAIN).ids for i, p in enumerate(PROMPTS)}
        assert any("window" in step.drafted_by_source for steps in done.steps.values() for step in steps)

    def test_an_end_of_sequence_ends_one_and_the_others_go_on(self) -> None:
        done = Run(SharingTableRunner(successor), [(1,), (30,)], 20, eos=(5,)).all()
        assert done.ids == {0: [2, 3, 4], 1: [*range(31, 50), 0]}
        assert [done.steps[key][-1].finish for key in (0, 1)] == [Finish.STOP, Finish.LENGTH]

    def test_the_end_of_the_context_ends_a_reply(self) -> None:
        done = Run(SharingTableRunner(successor, context_size=10), [(1, 2, 3), (1, 2, 3, 4, 5)], 20).all()
        alone = [reply(TableRunner(successor, context_size=10), p, 20) for p in ((1, 2, 3), (1, 2, 3, 4, 5))]
        assert [done.ids[key] for key in (0, 1)] == [each.ids for each in alone]
        assert {steps[-1].finish for steps in done.steps.values()} == {Finish.CONTEXT}

    def test_one_that_comes_when_all_others_have_begun_joins_them(self) -> None:
        run = Run(SharingTableRunner(chaotic), PROMPTS, 30)
        jobs, come = list(run._jobs()), [0]

        class Coming(Iterator[Any]):
            def __next__(self) -> Any:
                come[0] += 1
                if not jobs or come[0] % 5:
                    raise StopIteration
                return jobs.pop(0)

        come[0] = 4
        run._jobs = Coming  # type: ignore[method-assign]
        run.all()
        assert run.ids == {i: reply(TableRunner(chaotic), p, 30, limits=PLAIN).ids for i, p in enumerate(PROMPTS)}
        assert max(map(len, run.runner.together)) > 2

    def test_a_runner_that_cannot_share_writes_them_one_after_the_other(self) -> None:
        done = Run(TableRunner(successor), [(1,), (20, 21), (40,)], 10, most=1).all()
        assert done.ids == {
            key: reply(TableRunner(successor), p, 10).ids for key, p in enumerate([(1,), (20, 21), (40,)])
        }
        assert done.finished == [0, 1, 2]

    def test_a_runner_that_starts_each_prefill_over_gets_the_prompt_at_once(self) -> None:
        """As with dynamic RoPE scaling; read chunk by chunk its prompt would never end."""

        class StartsOver(TableRunner):
            def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
                whole = [*self.cache, *token_ids]
                self.cache.clear()
                return super().prefill(whole, on_chunk)

        prompt = tuple(range(1, 40))
        done = Run(StartsOver(successor, chunk=16), [prompt], 5, most=1).all(until=9)
        assert done.ids == {0: [40, 41, 42, 43, 44]}
        assert len(done.runner.prefilled) == 1

    def test_a_cancel_ends_the_prefill_of_a_runner_that_cannot_share(self) -> None:
        asked = iter([False] * 3 + [True] * 9)
        done = Run(TableRunner(successor, chunk=8), [tuple(range(1, 60))], 5, most=1).all(lambda: next(asked))
        assert done.steps[0][-1].finish is Finish.CANCELLED
        assert 0 < done.runner.length < 59


class TestPlaces:
    def test_rows_of_all_share_each_forward_and_a_place_that_is_left_is_taken(self) -> None:
        done = Run(SharingTableRunner(successor), [(1,), (2,), (3,), (4,)], [3, 9, 9, 9], most=2).all()
        assert done.runner.together[0] == [1, 1]  # two prompts
        assert done.runner.together[1:3] == [[1, 1], [1, 1]]
        assert done.finished == [0, 1, 2, 3]
        assert max(map(len, done.runner.together)) == 2

    def test_jobs_are_taken_when_there_is_a_place_for_them(self) -> None:
        run = Run(SharingTableRunner(successor), [(index,) for index in range(40)], 5, most=3).all(until=6)
        assert run.taken == 3

    def test_a_cache_for_which_there_is_no_memory_waits(self) -> None:
        """A hundred bytes a position: three sequences of 30 positions fit, never four."""
        done = Run(SharingTableRunner(successor), [(1,) * 10] * 6, 20, most=6, most_bytes=9500).all()
        assert max(map(len, done.runner.together)) == 3
        assert len(done.finished) == 6

    def test_one_is_written_whatever_it_takes(self) -> None:
        done = Run(SharingTableRunner(successor), [(1,) * 10] * 2, 20, most=6, most_bytes=1).all()
        assert max(map(len, done.runner.together)) == 1
        assert done.finished == [0, 1]

    def test_as_many_as_the_curve_makes_worth_it(self) -> None:
        cached = CachedSequence(SharingTableRunner(successor))
        cheap_to_16 = CostCurve({1: 10.0, 16: 11.0, 64: 44.0}, learning=False)
        assert 12 <= best_slots(Controller(cheap_to_16, Limits()), cached) <= 16
        assert best_slots(Controller(DEAR, Limits()), cached) == 1
        slow = CostCurve({1: 300.0, 64: 2190.0}, learning=False)  # 30 ms a row
        assert best_slots(Controller(slow, Limits()), cached) == 17  # a cancel waits for no longer than 800 ms
        assert best_slots(Controller(CostCurve.flat(), Limits()), CachedSequence(TableRunner(successor))) == 1


class TestPrompts:
    def test_a_common_beginning_is_read_once_and_copied(self) -> None:
        head = tuple(range(40))
        prompts = [(*head, 41), (*head, 42, 43), (*head, 44)]
        done = Run(SharingTableRunner(successor), prompts, 5).all()
        assert done.runner.adopted == [40, 40]
        assert [sum(read.reused for read in done.reads[key][-1:]) for key in range(3)] == [0, 40, 40]
        assert [done.reads[key][-1].held for key in range(3)] == [41, 42, 41]

    def test_a_place_goes_to_the_prompt_that_its_cache_serves(self) -> None:
        done = Run(SharingTableRunner(successor), [(1, 2, 3), (1, 2, 3, 4, 5), (1, 2, 3, 4)], 3, most=1).all()
        assert [done.reads[key][-1].reused for key in range(3)] == [0, 5 - 1, 3]

    def test_long_prompts_are_read_in_parts_beside_the_steps_of_others(self) -> None:
        done = Run(SharingTableRunner(successor), [(1,), tuple(range(40)) * 5], [30, 3], most=2).all()
        reading = [rows for rows in done.runner.together if max(rows) > 1]
        assert len(reading) >= 4
        assert all(sum(rows) <= 64 for rows in reading)
        assert all(len(rows) == 2 for rows in reading)


class TestGuesses:
    def test_few_replies_buy_rows_and_many_do_not_where_rows_cost(self) -> None:
        """Eight rows are free, each beyond costs nearly what a plain step of a full forward brings."""
        curve = CostCurve({1: 10.0, 8: 10.0, 64: 80.0}, learning=False)

        def bought(count: int) -> int:
            source = ListSource([], chance=0.9)
            source.propose = lambda context, room: ListSource(  # type: ignore[method-assign]
                [[successor([context[-1] + ahead]) for ahead in range(3)]], chance=0.9
            ).propose(context, room)
            controller = Controller(curve, Limits(window=0))
            done = Run(
                SharingTableRunner(successor),
                [(start,) for start in range(count)],
                30,
                most=count,
                sources=[source],
                controller=controller,
            ).all()
            return sum(step.rows - 1 for steps in done.steps.values() for step in steps if step.rows)

        assert bought(2) > 20
        assert bought(16) == 0

    def test_each_job_is_planned_with_the_limits_of_its_own_project(self) -> None:
        source = ListSource([], chance=0.9)
        source.propose = lambda context, room: ListSource(  # type: ignore[method-assign]
            [[successor([context[-1] + ahead]) for ahead in range(3)]], chance=0.9
        ).propose(context, room)
        run = Run(SharingTableRunner(successor), [(1,), (30,)], 20, sources=[source])
        jobs = list(run._jobs())
        plain = replace(jobs[1][1], controller=Controller(CostCurve.flat(), PLAIN))  # type: ignore[type-var]
        run._jobs = lambda: iter([jobs[0], (1, plain)])  # type: ignore[method-assign]
        run.all()
        assert max(step.rows for step in run.steps[0]) > 1
        assert max(step.rows for step in run.steps[1]) == 1

    def test_the_controller_is_left_as_for_one_reply(self) -> None:
        done = Run(SharingTableRunner(successor), [(1,), (2,)], 9).all(until=5)
        del done._batch
        assert done.controller.plan(20, 0).rows == Limits().max_rows - 1

    def test_the_time_of_a_forward_is_shared_by_its_rows(self) -> None:
        done = Run(SharingTableRunner(successor), [(1,), (2,), (3,)], 5).all()
        firsts = [done.steps[key][1] for key in range(3)]
        assert len({step.forward_ms for step in firsts}) == 1


class TestEnds:
    def test_a_cancel_ends_all_that_were_begun(self) -> None:
        asked = iter([False] * 4 + [True] * 100)
        done = Run(SharingTableRunner(successor), [(1,), (2,), (3,)], 30, most=2).all(lambda: next(asked))
        assert {key: steps[-1].finish for key, steps in done.steps.items()} == dict.fromkeys((0, 1), Finish.CANCELLED)
        assert done.ids[0] == list(range(2, 2 + len(done.ids[0])))

    def test_a_cancel_of_one_frees_its_place_for_the_next(self) -> None:
        run = Run(SharingTableRunner(successor), [(1,), (2,), (3,)], 9, most=2, cancelled={0: 4})
        done = run.all()
        assert done.steps[0][-1].finish is Finish.CANCELLED
        assert done.ids[0] == list(range(2, 2 + len(done.ids[0])))
        assert len(done.ids[0]) < 9
        assert done.ids[1] == list(range(3, 12))
        assert done.ids[2] == list(range(4, 13))

    def test_one_that_is_cancelled_while_it_waits_for_memory_never_begins(self) -> None:
        done = Run(SharingTableRunner(successor), [(1,) * 10] * 3, 9, most=3, most_bytes=1, cancelled={1: 2}).all()
        assert done.ids[1] == []
        assert [steps[-1].finish for _, steps in sorted(done.steps.items())] == [
            Finish.LENGTH,
            Finish.CANCELLED,
            Finish.LENGTH,
        ]

    def test_one_that_fails_is_told_and_the_others_go_on(self) -> None:
        def table(context: Sequence[int]) -> Sequence[float]:
            return [float("nan") if context[-1] == 33 else 9.0 * (token == successor(context)) for token in range(64)]

        done = Run(SharingTableRunner(table), [(1,), (30,), PromptTooLong("too long"), (3,)], 9, most=2).all()
        assert done.ids[0] == list(range(2, 11))
        assert done.ids[1] == [31, 32, 33]
        assert "not finite" in str(done.errors[1])
        assert isinstance(done.errors[2], PromptTooLong)
        assert done.finished == [0, 3]

    def test_a_forward_that_fails_ends_all_and_the_next_batch_is_right(self) -> None:
        runner = SharingTableRunner(successor)
        run = Run(runner, [(1,), (2,)], 9)
        before = runner.forward_many
        runner.forward_many = lambda asked: (_ for _ in ()).throw(MemoryError)  # type: ignore[method-assign]
        with pytest.raises(MemoryError):
            run.all()
        runner.forward_many = before  # type: ignore[method-assign]
        assert run.all().ids == {0: list(range(2, 11)), 1: list(range(3, 12))}


class TestForks:
    def test_a_successor_fork_knows_what_the_base_knows_and_keeps_what_it_learns(self) -> None:
        base = SuccessorSource()
        base.learn([(1, 2)], [[3, 4]], [[5.0, 1.0]])
        fork = base.fork()
        fork.learn([(2, 3)], [[9]], [[5.0]])
        assert [token for token, _ in fork.follow(1, 2)] == [3, 4]
        assert [token for token, _ in fork.follow(2, 3)] == [9]
        assert base.follow(2, 3) == []
        base.changes()
        base.merge(fork)
        assert [token for token, _ in base.follow(2, 3)] == [9]
        base.forget_changes()
        assert base.follow(2, 3) == []
        assert [token for token, _ in base.follow(1, 2)] == [3, 4]

    def test_a_reply_merged_into_the_session_is_found_by_the_next_and_can_be_forgotten(self) -> None:
        base = SessionSource()
        first, second = base.fork(), base.fork()
        for fork, tokens in ((first, [1, 2, 3, 4, 5, 6, 7]), (second, [11, 12, 13, 14, 15, 16, 17])):
            fork.start([0])
            fork.observe(tokens)
        base.merge(first)
        base.merge(second)
        base.forget()  # the second
        later = base.fork()
        later.start([0])
        base.start([0])
        assert later.propose([1, 2, 3], 4)[0].token_ids[:2] == (4, 5)
        assert not later.propose([11, 12, 13], 4)


def test_a_batch_without_memory_for_its_guesses_guesses_less() -> None:
    prompt = (2, 7, 1, 8)
    sources = [PromptSource(), SessionSource(), SuccessorSource()]
    alone = reply(TableRunner(chaotic), prompt, 40, limits=PLAIN)
    runner = NarrowRunner(chaotic, most=4)
    run = Run(runner, [prompt, prompt[1:]], 40, most=1, sources=sources).all()
    assert run.ids[0] == alone.ids
    assert runner.failed
    assert not run.errors
    runner = NarrowRunner(chaotic, most=0)
    with pytest.raises(OutOfMemory):
        Run(runner, [prompt], 40, most=1).all()


class ScarceRunner(SharingTableRunner):
    """Has memory for three rows of steps, and for any prompt; all siblings count what failed together."""

    failed = 0

    def forward_many(self, asked: Sequence[Any]) -> Any:
        if sum(len(rows.token_ids) for _, rows in asked) > 3 and all(0 in rows.wanted for _, rows in asked):
            type(self).failed += 1
            raise OutOfMemory("no memory")
        return super().forward_many(asked)


def test_replies_side_by_side_guess_less_together() -> None:
    """Three single rows always fit; a guess beside them does not."""
    prompts = [(2, 7, 1, 8), (4, 9), (5,) * 9]
    sources = [PromptSource(), SessionSource(), SuccessorSource()]
    alone = [reply(TableRunner(chaotic), prompt, 30, limits=PLAIN).ids for prompt in prompts]
    runner = ScarceRunner(chaotic)
    run = Run(runner, prompts, 30, most=3, sources=sources).all()
    assert runner.failed
    assert [run.ids[index] for index in range(3)] == alone
    assert run.controller.limits.max_rows < VERIFY_ONLY.max_rows
