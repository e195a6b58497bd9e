"""The decoding loop as a whole: degenerate settings, hostile guesses, cancelling, closing, one reply after another."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from lacli.drafts.base import DraftSource, GuessSource, Sources
from lacli.drafts.lookup import ProjectSource, PromptSource, SessionSource
from lacli.drafts.successor import SuccessorSource
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Finish, Step
from lacli.engine.stop import Stops
from lacli.errors import OutOfMemory
from tests.engine.replies import PLAIN, VERIFY_ONLY, reply, successor
from tests.exact.sources import LiarSource, OracleSource
from tests.fakes import ListSource, NarrowRunner, TableRunner, as_sources
from tests.slow import slow

VOCAB = 64


def chaotic(context: Sequence[int]) -> int:
    """The next token depends on the last three and repeats itself now and then, as text does."""
    return (3 * context[-1] + 5 * context[-2 % len(context)] + 7 * context[-3 % len(context)]) % 23


def all_sources(stored: Sequence[Sequence[int]] = ((1, 2, 3, 4, 5, 6, 7),)) -> list[GuessSource]:
    return [PromptSource(), SessionSource(), ProjectSource(stored), SuccessorSource()]


class LateFollower(SuccessorSource):
    """Knows the text of `successor`, but is wrong about what follows its first tokens."""

    def __init__(self, right_from: int) -> None:
        super().__init__()
        self._right_from = right_from

    def follow(self, *tail: int) -> list[tuple[int, float]]:
        token_id = tail[-1]
        if tail[-2] != token_id - 1:
            return []  # not the text
        return [((token_id + 1 if token_id >= self._right_from else token_id + 2) % 50, 0.9)]

    def observe(self, token_ids: Sequence[int]) -> None: ...


class TestMemory:
    """A runner without memory for many rows: fewer guesses, the same text."""

    def test_rows_shrink_until_they_fit_and_the_text_is_the_same(self) -> None:
        plain = reply(TableRunner(chaotic), (2, 7, 1), 60, limits=PLAIN)
        runner = NarrowRunner(chaotic, most=5)
        controller = Controller(CostCurve.flat(), Limits())
        done = reply(runner, (2, 7, 1), 60, all_sources(), controller=controller)
        assert done.ids == plain.ids
        assert runner.failed
        assert 1 < controller.limits.max_rows <= 5
        assert max(step.rows for step in done.steps) > 1
        failed = runner.failed
        assert reply(runner, (2, 7, 1), 60, all_sources(), controller=controller).ids == plain.ids
        assert runner.failed == failed, "what does not fit is not tried again"

    def test_where_a_single_row_does_not_fit_it_is_reported_after_what_was_written(self) -> None:
        runner = NarrowRunner(chaotic, most=64)
        cached = CachedSequence(runner)
        controller = Controller(CostCurve.flat(), VERIFY_ONLY)
        sampler, stops = Sampler(SamplingOptions(), (2, 7)), Stops((), 60, None)
        steps = decode((2, 7), cached, as_sources(all_sources()), sampler, stops, controller)
        written = [*next(steps).token_ids, *next(steps).token_ids]
        runner.most = 0
        with pytest.raises(OutOfMemory):
            next(steps)
        assert cached.ids == (2, 7, *written[:-1])


class TestDegenerateSettings:
    @pytest.mark.parametrize("window", [0, 1, slow(2), 5, slow(12)])
    @pytest.mark.parametrize("ngram", [2, 3, slow(6), 9])
    @pytest.mark.parametrize("guesses", [0, slow(1), 8, slow(40)])
    def test_no_window_ngram_or_guess_set_changes_the_text(self, window: int, ngram: int, guesses: int) -> None:
        """N = 2 is Jacobi decoding, W = 1 and G = 0 the smallest, N = 9 longer than the prompts."""
        for prompt in ((4,), (4, 9), (2, 7, 1, 8, 2, 8)):
            plain = reply(TableRunner(chaotic), prompt, 60, limits=PLAIN)
            limits = Limits(window=window, ngram=ngram, guesses=guesses, max_rows=32)
            done = reply(TableRunner(chaotic), prompt, 60, all_sources(), limits=limits)
            assert done.ids == plain.ids
            assert done.forwards <= plain.forwards == 59

    def test_jacobi_decoding_accepts_its_own_rows(self) -> None:
        done = reply(TableRunner({3: 4, 4: 4}), (3,), 60, limits=Limits(window=6, ngram=2, guesses=0))
        assert done.ids == [4] * 60
        assert done.forwards < 30
        assert {name for step in done.steps for name in step.sources} == {"window", ""}

    def test_a_window_finds_the_ngrams_of_a_text_without_a_pool(self) -> None:
        """The next token follows from the last one alone, so a column is right after one pass: guesses come true."""
        table = {token: (token * 5 + 1) % 32 for token in range(32)}
        done = reply(TableRunner(table), (1, 2), 100, limits=Limits(window=6, ngram=4, guesses=6))
        assert done.forwards < 60
        assert sum(name == "window" for step in done.steps for name in step.sources) > 30

    def test_plain_decoding_is_one_row_a_step_and_asks_no_source(self) -> None:
        source, runner = ListSource([(11, 12)]), TableRunner(successor)
        reply(runner, (9,), 20, [source], limits=PLAIN)
        assert {len(rows.token_ids) for rows in runner.forwards} == {1}
        assert not source.started
        assert not source.observed

    def test_no_guess_set_verifies_no_draft(self) -> None:
        runner = TableRunner(successor)
        reply(runner, (9,), 20, [ListSource([(10, 11)])], limits=Limits(window=0, guesses=0))
        assert {len(rows.token_ids) for rows in runner.forwards} == {1}

    @pytest.mark.parametrize("rows", [1, 2, 3, 8, 64])
    def test_no_step_has_more_rows_than_allowed(self, rows: int) -> None:
        runner = TableRunner(chaotic)
        sources = [*all_sources(), ListSource([range(1, 60), range(20, 60)], name="files")]
        reply(runner, (4, 9), 60, sources, limits=Limits(window=0, max_rows=rows))
        assert max(len(each.token_ids) for each in runner.forwards) <= rows

    def test_a_runner_that_cannot_branch_is_decoded_plainly(self) -> None:
        runner = TableRunner(chaotic, can_branch=False)  # raises on a second row
        expected = reply(TableRunner(chaotic), (4, 9), 40, limits=PLAIN).ids
        done = reply(runner, (4, 9), 40, all_sources(), limits=Limits(window=4))
        assert done.ids == expected
        assert {step.rows for step in done.steps} == {0, 1}


class TestGuesses:
    def test_ids_outside_the_vocabulary_never_reach_the_runner(self) -> None:
        """The runner raises on such an id, as a real embedding would (on a GPU it kills the process)."""
        guesses = [(-1, 11), (11, 12, 64, 13), (10**9,), (11, -7, 13), (64,)]
        runner = TableRunner(successor, vocab_size=VOCAB)
        done = reply(runner, (9,), 30, [ListSource(guesses, chance=1.0)])
        assert done.ids == list(range(10, 40))
        assert any(12 in rows.token_ids[1:] for rows in runner.forwards)  # what stands before a bad id is used

    def test_a_miss_of_a_follower_source_that_sleeps_does_not_count_and_a_hit_wakes_it(self) -> None:
        done = reply(TableRunner(successor), (9,), 38, [LateFollower(right_from=22)])
        assert done.ids == list(range(10, 48))
        asked = [step.rows > 1 for step in done.steps if step.rows]
        # Six misses, a sleep of one step; a miss, of two; a miss, of four, of which the second would have been right.
        assert asked[:13] == [*[True] * 6, False, True, False, False, True, False, False]
        assert all(asked[13:-1])
        assert len(asked) < 26

    def test_whatever_is_in_the_pool_the_text_is_the_same(self) -> None:
        prompt = (4, 9, 2)
        truth = reply(TableRunner(chaotic), prompt, 120, limits=PLAIN).ids
        other = reply(TableRunner(chaotic), (5, 5), 300, limits=PLAIN).ids
        generator = random.Random(0)
        noise = [[generator.randrange(VOCAB) for _ in range(40)] for _ in range(50)]
        wrong = [[token if index % 5 else (token + 1) % 23 for index, token in enumerate(truth)]]
        pools: dict[str, list[DraftSource]] = {
            "cold": [],
            "random": [ProjectSource(noise)],
            "stale": [ProjectSource([other])],
            "poisoned": [ProjectSource(wrong), LiarSource(len(prompt), truth, VOCAB)],
            "maximal": [OracleSource(len(prompt), truth)],
            "warm": [ProjectSource([truth])],
            "all": [*all_sources(noise), LiarSource(len(prompt), truth, VOCAB), ProjectSource(wrong)],
        }
        for name, sources in pools.items():
            for window in (0, 4):
                done = reply(TableRunner(chaotic), prompt, 120, sources, limits=Limits(window=window))
                assert done.ids == truth, (name, window)
                if name == "maximal":
                    assert done.forwards == 2  # 119 tokens in runs of 64, the window's steps apart
                    break

    def test_a_source_sees_exactly_the_text(self) -> None:
        """Each emitted token once, in order: a pool made of it holds no repeated or rejected token."""
        source = ListSource([(11, 12, 13), (20, 21), (3,)])
        done = reply(TableRunner(successor), (9,), 30, [source])
        assert source.started == [(9, 10)]
        assert source.observed == done.ids[1:]

    def test_credit_tells_how_much_of_each_guess_was_right(self) -> None:
        source = ListSource([(11, 12, 40, 41), (30,)])
        reply(TableRunner(successor), (9,), 9, [source])
        judged = [(draft.token_ids, accepted) for draft, accepted in source.credited]
        assert judged[:2] == [((11, 12, 40), 2), ((30,), 0)]

    def test_draft_tokens_are_those_a_draw_could_be_compared_with(self) -> None:
        """Rows of a window that only feed the next level are no draft tokens."""
        runner = TableRunner(chaotic)
        done = reply(runner, (4, 9), 40, all_sources(), limits=Limits(window=5, ngram=4, max_rows=20))
        for rows, step in zip(runner.forwards, done.steps[1:], strict=True):
            compared = {0}
            for row in rows.wanted[1:]:
                if rows.parents[row] in compared:
                    compared.add(row)
            assert step.drafted == len(compared) - 1
            assert len([name for name in step.sources if name]) <= step.drafted
        assert any(
            step.drafted < len(rows.wanted) - 1 for rows, step in zip(runner.forwards, done.steps[1:], strict=True)
        )

    @pytest.mark.parametrize(("window", "max_rows"), [(5, 12), (100, 32), (3, 4), (7, 2)])
    def test_a_window_never_makes_a_step_larger_than_allowed(self, window: int, max_rows: int) -> None:
        runner = TableRunner(chaotic)
        reply(runner, (4, 9), 40, all_sources(), limits=Limits(window=window, ngram=4, max_rows=max_rows))
        sizes = [len(rows.token_ids) for rows in runner.forwards]
        assert max(sizes) <= max_rows
        assert max_rows < 4 or max(sizes) > max_rows // 2


class _Stop:
    """True from the n-th question on."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


class TestInterruption:
    @pytest.mark.parametrize("asked", [1, 2, 3, 5])
    def test_cancelled_between_steps_the_conversation_goes_on_from_a_whole_state(self, asked: int) -> None:
        prompt = (4, 9, 2)
        truth = reply(TableRunner(chaotic), prompt, 60, limits=PLAIN).ids
        runner = TableRunner(chaotic)
        cached = CachedSequence(runner)
        sources: list[DraftSource] = [OracleSource(len(prompt), truth), PromptSource()]
        first = reply(cached, prompt, 60, sources, limits=Limits(window=0, max_rows=4), cancel=_Stop(asked))
        assert first.finish is Finish.CANCELLED
        assert first.ids == truth[: len(first.ids)]
        assert runner.cache == [*prompt, *first.ids][: runner.length]
        assert runner.length == len(prompt) + max(0, len(first.ids) - 1)
        longer = [*prompt, *first.ids]
        second = reply(cached, longer, 60 - len(first.ids), [PromptSource()])
        assert [*first.ids, *second.ids] == truth

    def test_cancelled_during_prefill_what_is_done_stays_and_is_not_done_again(self) -> None:
        runner = TableRunner(successor, chunk=4)
        cached = CachedSequence(runner)
        prompt = list(range(20))
        done = reply(cached, prompt, 5, cancel=_Stop(2))
        assert (done.ids, done.finish) == ([], Finish.CANCELLED)
        assert runner.cache == prompt[: runner.length] == prompt[:12]
        assert reply(cached, prompt, 5).ids == [20, 21, 22, 23, 24]
        assert runner.prefilled[-1] == tuple(prompt[12:])

    @pytest.mark.parametrize("steps", [1, 2, 4])
    def test_closed_half_way_cache_and_sources_hold_just_what_was_yielded(self, steps: int) -> None:
        prompt, runner, source = (9,), TableRunner(successor), ListSource([(11, 12, 13), (14, 15)])
        cached = CachedSequence(runner)
        controller = Controller(CostCurve.flat(), VERIFY_ONLY)
        replying = decode(prompt, cached, Sources([source]), Sampler(SamplingOptions()), Stops((), 40), controller)
        ids: list[int] = []
        for _, step in zip(range(steps), replying, strict=False):
            ids += step.token_ids
        replying.close()
        assert runner.cache == [*prompt, *ids[:-1]]
        assert source.observed == ids[1:]
        again = reply(cached, [*prompt, *ids], 10)
        assert again.ids == [(ids[-1] + 1 + index) % 50 for index in range(10)]

    def test_a_failing_forward_leaves_the_state_of_the_last_step(self) -> None:
        class Failing(TableRunner):
            def forward(self, rows):  # type: ignore[no-untyped-def]
                if len(self.forwards) == 2:
                    raise RuntimeError("out of memory")
                return super().forward(rows)

        runner = Failing(successor)
        cached = CachedSequence(runner)
        controller = Controller(CostCurve.flat(), VERIFY_ONLY)
        ids: list[int] = []
        replying = decode((9,), cached, Sources(), Sampler(SamplingOptions()), Stops((), 40), controller)
        with pytest.raises(RuntimeError, match="memory"):
            ids.extend(token_id for step in replying for token_id in step.token_ids)
        assert ids == [10, 11, 12]
        assert runner.cache == [9, 10, 11]
        assert reply(TableRunner(successor), (9, *ids), 3).ids == [13, 14, 15]


class TestOneAfterAnother:
    def test_the_same_prompt_twice_gives_the_same_text(self) -> None:
        prompt = (4, 9, 2)
        cached = CachedSequence(TableRunner(chaotic))
        sources = all_sources()
        truth = reply(TableRunner(chaotic), prompt, 80, limits=PLAIN).ids
        for limits in (Limits(window=4), PLAIN, Limits(window=0), PLAIN, Limits(window=4)):
            assert reply(cached, prompt, 80, sources, limits=limits).ids == truth

    def test_the_second_time_the_session_knows_the_reply(self) -> None:
        prompt, sources = (4, 9, 2), [SessionSource()]
        runner = TableRunner(chaotic)
        # A text whose pairs repeat soon would be a fair guess for any source; this one counts.
        first = reply(TableRunner(successor), prompt, 40, sources)
        second = reply(TableRunner(successor), prompt, 40, sources)
        assert first.ids == second.ids
        assert second.forwards <= 6 < first.forwards == 39
        assert runner.length == 0

    def test_only_what_is_new_is_prefilled(self) -> None:
        runner = TableRunner(successor)
        cached = CachedSequence(runner)
        first = reply(cached, (7, 8, 9), 6)
        longer = [7, 8, 9, *first.ids, 30, 31]
        steps = decode(
            longer,
            cached,
            Sources(),
            Sampler(SamplingOptions()),
            Stops((), 3),
            Controller(CostCurve.flat(), VERIFY_ONLY),
        )
        assert [token for step in steps for token in step.token_ids] == [32, 33, 34]
        assert runner.prefilled[-1] == (15, 30, 31)  # the reply's last token never went through the model

    def test_an_edited_conversation_reuses_the_common_part_only(self) -> None:
        runner = TableRunner(chaotic)
        cached = CachedSequence(runner)
        reply(cached, (1, 2, 3, 4, 5, 6), 10)
        edited = (1, 2, 3, 9, 5, 6)
        assert reply(cached, edited, 10).ids == reply(TableRunner(chaotic), edited, 10).ids
        assert runner.prefilled[-1] == (9, 5, 6)
        undone = (1, 2, 3, 4, 5, 6, 8)
        assert reply(cached, undone, 10).ids == reply(TableRunner(chaotic), undone, 10).ids
        assert runner.prefilled[-1] == (4, 5, 6, 8)
        shorter = (1, 2, 3)
        assert reply(cached, shorter, 10).ids == reply(TableRunner(chaotic), shorter, 10).ids
        assert runner.prefilled[-1] == (3,)

    def test_two_conversations_share_nothing_but_the_controller(self) -> None:
        controller = Controller(CostCurve.flat(), Limits(window=4))
        prompts = [(4, 9, 2), (5, 5)]
        alone = [reply(TableRunner(chaotic), prompt, 50, limits=PLAIN).ids for prompt in prompts]
        replying = [
            decode(
                prompt,
                CachedSequence(TableRunner(chaotic)),
                as_sources(all_sources()),
                Sampler(SamplingOptions()),
                Stops((), 50),
                controller,
            )
            for prompt in prompts
        ]
        texts: list[list[int]] = [[], []]
        for pair in _together(replying):
            for text, step in zip(texts, pair, strict=True):
                text += step.token_ids if step else ()
        assert texts == alone


def _together(replying):  # type: ignore[no-untyped-def]
    """Steps of both replies, alternating, until both have ended."""
    while True:
        steps: list[Step | None] = [next(each, None) for each in replying]
        if not any(steps):
            return
        yield steps


class TestFollowers:
    def test_what_a_row_showed_is_guessed_the_next_time(self) -> None:
        # A text that goes round: after one round the table knows each token's follower.
        table, source = {token: (token + 1) % 7 for token in range(7)}, SuccessorSource()
        done = reply(TableRunner(table), (0,), 60, [source])
        assert done.ids == [(1 + place) % 7 for place in range(60)]
        assert done.forwards < 20
        late = done.steps[-2]
        assert set(late.sources[:-1]) == {"successor"}
        assert late.drafted_by_source["successor"] == late.drafted >= len(late.token_ids) - 1
