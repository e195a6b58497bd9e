"""One draw per emitted token: ties, extreme options, penalties, and the distribution with guesses riding along."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import pytest
import torch
from scipy.stats import chisquare

from lacli.engine.accept import accept
from lacli.engine.controller import Limits
from lacli.engine.sampler import FirstToken, Sampler, SamplingOptions
from lacli.errors import LacliError
from lacli.models.base import Rows, Scores
from lacli.models.runners.scores import scores_of
from tests.engine.replies import PLAIN, reply
from tests.exact.sources import LiarSource, OracleSource
from tests.fakes import ListSource, TableRunner

INF = float("inf")
PROBABLE = 1e-4
"""The seeds are fixed, so a right sampler passes always; a wrong one has p-values far below this."""


def draws(options: SamplingOptions, logits: Sequence[float], count: int = 400) -> Counter[int]:
    sampler, scores = Sampler(options), scores_of(torch.tensor([logits]))
    return Counter(sampler.draw(scores, 0) for _ in range(count))


def drawn(sampler: Sampler, *logits: float) -> int:
    return sampler.draw(scores_of(torch.tensor([logits])), 0)


class TestOnADevice:
    """Logits that are not copied as a whole: the same draws."""

    @pytest.mark.parametrize("top_p", [0.05, 0.5, 0.95, 0.9999])
    @pytest.mark.parametrize("temperature", [0.01, 0.7, 3.0, 1e-300])
    @pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
    def test_a_nucleus_is_drawn_from_as_on_the_cpu(
        self, top_p: float, temperature: float, spread: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        generator = torch.Generator().manual_seed(3)
        scores = scores_of((torch.randn(2, 3000, generator=generator) * spread).round(decimals=2))
        options = SamplingOptions(temperature=temperature, top_p=top_p, seed=5)
        here, there = Sampler(options), Sampler(options)
        expected = [here.draw(scores, 1) for _ in range(60)]
        monkeypatch.setattr(Scores, "on_device", True)
        monkeypatch.setattr(Scores, "row", lambda self, index: pytest.fail("the whole row is copied"))
        assert [there.draw(scores, 1) for _ in range(60)] == expected

    @pytest.mark.parametrize(
        "options",
        [
            SamplingOptions(temperature=0.7, top_k=5, top_p=0.9, seed=1),
            SamplingOptions(temperature=0.7, seed=1),
            SamplingOptions(temperature=0.7, top_p=0.9, repetition_penalty=1.3, seed=1),
            SamplingOptions(repetition_penalty=1.3),
        ],
    )
    def test_what_else_a_row_is_asked_for_takes_all_of_it(
        self, options: SamplingOptions, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scores = scores_of(torch.randn(1, 300, generator=torch.Generator().manual_seed(3)))
        here, there = Sampler(options, [1, 2]), Sampler(options, [1, 2])
        expected = [here.draw(scores, 0) for _ in range(20)]
        monkeypatch.setattr(Scores, "on_device", True)
        assert [there.draw(scores, 0) for _ in range(20)] == expected


def moody(context: Sequence[int]) -> list[float]:
    """Logits of a vocabulary of 12 that depend on the last two tokens."""
    generator = random.Random(100 * context[-1] + (context[-2] if len(context) > 1 else 0))
    return [generator.gauss(0, 1.5) for _ in range(12)]


class TestGreedy:
    @pytest.mark.parametrize("size", [3, 17, 49_152])
    def test_the_lowest_id_wins_a_tie(self, size: int) -> None:
        logits = torch.linspace(-3, 0, size)
        for low, high in ((0, size - 1), (1, 2), (size // 2, size - 1), (size - 2, size - 1)):
            tied = logits.clone()
            tied[low] = tied[high] = 7.0
            assert Sampler(SamplingOptions()).draw(scores_of(tied[None]), 0) == low

    def test_logits_that_are_no_numbers_are_an_error(self) -> None:
        for bad in ([0.0, float("nan"), 1.0], [0.0, INF], [-INF, -INF]):
            for temperature in (0.0, 0.7):
                with pytest.raises(LacliError, match="not finite"):
                    drawn(Sampler(SamplingOptions(temperature, seed=1)), *bad)

    def test_ids_a_model_forbids_are_never_drawn(self) -> None:
        assert set(draws(SamplingOptions(2.0, seed=0), [-INF, 1.0, -INF, 0.5])) == {1, 3}

    @pytest.mark.parametrize(("number", "logits", "token"), [(0.0, (-INF, 1.0, 1.0), 1), (0.5, (1.0, 1.0), 1)])
    def test_a_number_just_between_two_tokens_draws_the_later_one(
        self, monkeypatch: pytest.MonkeyPatch, number: float, logits: tuple[float, ...], token: int
    ) -> None:
        """So that a token without weight is not drawn where the random number is 0."""
        monkeypatch.setattr(random.Random, "random", lambda _: number)
        assert drawn(Sampler(SamplingOptions(1.0, seed=0)), *logits) == token


class TestExtremes:
    LOGITS = (1.0, 2.5, 2.4, -3.0, 0.0)

    @pytest.mark.parametrize("temperature", [1e-5, 1e-30, 1e-300])
    def test_next_to_no_temperature_is_greedy(self, temperature: float) -> None:
        assert set(draws(SamplingOptions(temperature, seed=3), self.LOGITS)) == {1}

    def test_so_is_a_whole_text(self) -> None:
        greedy = reply(TableRunner(moody, vocab_size=12), (3,), 40, limits=PLAIN).ids
        for options in (SamplingOptions(1e-30, seed=1), SamplingOptions(0.8, top_k=1, seed=1)):
            assert reply(TableRunner(moody, vocab_size=12), (3,), 40, options=options).ids == greedy

    def test_endless_temperature_is_even(self) -> None:
        counts = draws(SamplingOptions(1e9, seed=3), self.LOGITS, 5000)
        assert chisquare([counts[token] for token in range(5)]).pvalue > PROBABLE

    def test_a_nucleus_of_one_token(self) -> None:
        for top_p in (0.0, 1e-9, 0.5):
            assert set(draws(SamplingOptions(1.0, top_p=top_p, seed=3), (0.0, 50.0, 0.0))) == {1}
        # All probability on one token leaves nothing to divide by; also where every other is impossible.
        assert set(draws(SamplingOptions(1.0, top_p=0.9, seed=3), (-INF, -INF, 1.0))) == {2}

    def test_a_nucleus_is_the_smallest_set_that_reaches_p(self) -> None:
        logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().tolist()
        for top_p, kept in ((0.49, {0}), (0.51, {0, 1}), (0.79, {0, 1}), (0.81, {0, 1, 2}), (1.0, {0, 1, 2, 3})):
            assert set(draws(SamplingOptions(1.0, top_p=top_p, seed=5), logits)) == kept

    def test_a_wide_nucleus_is_not_cut_short(self) -> None:
        flat = draws(SamplingOptions(1.0, top_p=0.9, seed=5), torch.linspace(0, 0.01, 1000).tolist(), 2500)
        assert min(flat) >= 95
        assert max(flat) > 990
        assert len(flat) > 750

    def test_top_k_keeps_all_tied_with_the_last_of_them(self) -> None:
        logits = (1.0, 3.0, 2.0, 2.0, 0.0)
        assert set(draws(SamplingOptions(3.0, top_k=1, seed=1), logits)) == {1}
        assert set(draws(SamplingOptions(3.0, top_k=2, seed=1), logits)) == {1, 2, 3}
        assert set(draws(SamplingOptions(3.0, top_k=3, seed=1), logits)) == {1, 2, 3}

    @pytest.mark.parametrize("top_k", [0, 5, 6, 10**6])
    def test_top_k_of_all_is_all(self, top_k: int) -> None:
        assert draws(SamplingOptions(2.0, top_k=top_k, seed=1), self.LOGITS) == draws(
            SamplingOptions(2.0, seed=1), self.LOGITS
        )

    @pytest.mark.parametrize("seed", [0, -1, 2**63, 2**70])
    def test_any_whole_number_is_a_seed(self, seed: int) -> None:
        options = SamplingOptions(1.0, seed=seed)
        assert draws(options, self.LOGITS) == draws(options, self.LOGITS)

    def test_without_a_seed_two_runs_differ(self) -> None:
        texts = {
            tuple(reply(TableRunner(moody, vocab_size=12), (3,), 40, options=SamplingOptions(1.0)).ids)
            for _ in range(3)
        }
        assert len(texts) == 3


def slowly_drawn(options: SamplingOptions, logits: list[float]) -> int:
    """The draw in plain words: sort everything, go through it one by one."""
    best = max(logits)
    order = sorted(range(len(logits)), key=lambda token: -logits[token])
    least = logits[order[options.top_k - 1]] if options.top_k else -INF
    weights = [math.exp((logit - best) / options.temperature) if logit >= least else 0.0 for logit in logits]
    if options.top_p < 1.0:
        reached = 0.0
        for token in order:
            reached += weights[token]
            if reached >= options.top_p * math.fsum(weights):
                break
        weights = [weight if weight >= weights[token] else 0.0 for weight in weights]
    cumulative = list(accumulate(weights))
    return bisect_right(cumulative, random.Random(options.seed).random() * cumulative[-1])


class TestAgainstSortingEverything:
    @pytest.mark.parametrize("top_k", [0, 3, 200])
    @pytest.mark.parametrize("top_p", [1.0, 0.95, 0.5, 0.999])
    @pytest.mark.parametrize("temperature", [0.2, 0.7, 1.5, 8.0])
    def test_the_same_token_is_drawn(self, temperature: float, top_p: float, top_k: int) -> None:
        generator = random.Random(4)
        for seed in range(8):
            # Sharp and flat, every other time with ties.
            logits = [generator.gauss(0, 1 + 2 * (seed % 3)) for _ in range(700)]
            exact = torch.tensor(logits) if seed % 2 else torch.tensor(logits).round(decimals=1)
            options = SamplingOptions(temperature, top_k, top_p, seed=seed)
            assert Sampler(options).draw(scores_of(exact[None]), 0) == slowly_drawn(options, exact.tolist())


class TestRepetitionPenalty:
    def test_divides_what_is_positive_and_multiplies_what_is_negative(self) -> None:
        sampler = Sampler(SamplingOptions(repetition_penalty=2.0), [0, 3])
        assert drawn(sampler, 3.0, 2.0, 1.0, 9.0) == 3  # 1.5, 2.0, 1.0, 4.5
        assert drawn(sampler, 3.0, 2.0, 1.0, 3.9) == 1  # 1.5, 2.0, 1.0, 1.95
        assert drawn(Sampler(SamplingOptions(repetition_penalty=2.0), [1]), -1.5, -1.0) == 0

    def test_counts_a_token_once_however_often_it_was_said(self) -> None:
        sampler = Sampler(SamplingOptions(repetition_penalty=1.5), [0, 0, 0])
        for _ in range(3):
            assert drawn(sampler, 4.0, 2.5) == 0  # 2.67 each time

    def test_falls_on_what_was_drawn_from_then_on(self) -> None:
        sampler = Sampler(SamplingOptions(repetition_penalty=2.0))
        assert [drawn(sampler, 3.0, 2.0, 0.5) for _ in range(4)] == [0, 1, 0, 0]

    def test_leaves_the_logits_it_is_given_alone(self) -> None:
        logits = torch.tensor([4.0, 2.5])
        Sampler(SamplingOptions(repetition_penalty=1.5), [0]).draw(scores_of(logits[None]), 0)
        assert logits.tolist() == [4.0, 2.5]


class TestSameTextWithGuesses:
    @pytest.mark.parametrize(
        "options",
        [
            SamplingOptions(0.8, seed=5),
            SamplingOptions(1.3, top_k=4, seed=6),
            SamplingOptions(1.0, top_p=0.9, seed=7),
            SamplingOptions(0.9, 5, 0.8, 1.6, seed=8),
            SamplingOptions(repetition_penalty=1.6),
        ],
    )
    @pytest.mark.parametrize("window", [0, 4])
    def test_a_seed_gives_the_plain_text_whatever_is_guessed(self, options: SamplingOptions, window: int) -> None:
        prompt = (3, 1)
        plain = reply(TableRunner(moody, vocab_size=12), prompt, 80, options=options, limits=PLAIN)
        pools = [
            [OracleSource(2, plain.ids)],
            [LiarSource(2, plain.ids, 12)],
            [ListSource([(1, 2), (1, 3), (1, 2, 5), (4,), (4, 4)])],
        ]
        for sources in pools:
            done = reply(
                TableRunner(moody, vocab_size=12), prompt, 80, sources, options=options, limits=Limits(window=window)
            )
            assert done.ids == plain.ids
        certain = reply(TableRunner(moody, vocab_size=12), prompt, 80, pools[0], options=options)
        assert certain.forwards <= 3  # of 80 tokens: the guesses did ride along

    def test_a_penalty_does_change_the_text(self) -> None:
        plain = reply(TableRunner(moody, vocab_size=12), (3, 1), 80, limits=PLAIN)
        penalised = SamplingOptions(repetition_penalty=1.6)
        assert reply(TableRunner(moody, vocab_size=12), (3, 1), 80, options=penalised, limits=PLAIN).ids != plain.ids


class TestDistribution:
    """Guesses of unlikely tokens, doubled prefixes among them, leave every probability as it was."""

    FIRST = (0.5, 0.3, 0.15, 0.05)
    SECOND = ((0.1, 0.2, 0.3, 0.4), (0.25, 0.25, 0.25, 0.25), (0.7, 0.1, 0.1, 0.1), (0.4, 0.3, 0.2, 0.1))

    @pytest.mark.slow
    def test_of_whole_replies_at_the_first_place_and_after_a_rejection(self) -> None:
        def table(context: Sequence[int]) -> list[float]:
            return torch.tensor(self.FIRST if len(context) == 1 else self.SECOND[context[-1]]).log().tolist()

        count = 3000
        seen: Counter[tuple[int, ...]] = Counter()
        for seed in range(count):
            done = reply(
                TableRunner(table, vocab_size=4),
                (0,),
                3,
                [ListSource([(3, 0), (3, 0, 1), (3, 1), (2, 3)])],
                options=SamplingOptions(1.0, seed=seed),
            )
            seen[tuple(done.ids)] += 1

        def like(observed: list[int], chances: Sequence[float]) -> bool:
            return bool(chisquare(observed, [sum(observed) * chance for chance in chances]).pvalue > PROBABLE)

        def number(place: int, *tokens: int) -> int:
            return sum(n for ids, n in seen.items() if ids[place : place + len(tokens)] == tokens)

        assert like([number(0, token) for token in range(4)], self.FIRST)
        for before in range(3):
            # At place 1 four guesses were verified, at place 2 one more had just been rejected or accepted.
            assert like([number(0, before, token) for token in range(4)], self.SECOND[before])
            assert like([number(1, before, token) for token in range(4)], self.SECOND[before])

    @pytest.mark.parametrize(
        ("options", "kept"),
        [
            (SamplingOptions(1.0, seed=1), (0.5, 0.3, 0.15, 0.05)),
            (SamplingOptions(0.5, seed=2), (0.25, 0.09, 0.0225, 0.0025)),
            (SamplingOptions(1.0, top_k=2, seed=3), (0.5, 0.3, 0, 0)),
            (SamplingOptions(1.0, top_p=0.85, seed=4), (0.5, 0.3, 0.15, 0)),
        ],
    )
    @pytest.mark.default_cases(2)
    def test_of_8000_draws_on_a_tree_of_guesses(self, options: SamplingOptions, kept: tuple[float, ...]) -> None:
        """Row 0 has two children (3 and 2), the first of them two more; logits differ from row to row."""
        rows = Rows((0, 3, 2, 1, 0), (-1, 0, 0, 1, 1), (0, 1, 2, 3, 4))
        logits = torch.tensor([self.FIRST, self.SECOND[3], *self.SECOND[:3]]).log()
        sampler = Sampler(options)
        seen: Counter[int] = Counter()
        for _ in range(8000):
            accepted = accept(rows, scores_of(logits), sampler)
            assert len(accepted.path) == len(accepted.token_ids)
            seen[accepted.token_ids[0]] += 1
        allowed = [token for token, weight in enumerate(kept) if weight]
        assert set(seen) == set(allowed)
        expected = [8000 * kept[token] / sum(kept) for token in allowed]
        assert chisquare([seen[token] for token in allowed], expected).pvalue > PROBABLE


class TestBeginning:
    LOGITS = (0.5, 3.0, -1.0, 3.0, 2.0)

    @pytest.mark.parametrize(
        "options", [SamplingOptions(), SamplingOptions(1.5, seed=1), SamplingOptions(0.7, top_k=1)]
    )
    def test_the_first_token_has_its_place_in_the_ranking_and_the_others_are_drawn(
        self, options: SamplingOptions
    ) -> None:
        ranked = [1, 3, 4, 0, 2]
        for rank, token_id in enumerate(ranked):
            sampler = Sampler(options, first_token=FirstToken(rank))
            assert drawn(sampler, *self.LOGITS) == token_id
            assert sampler.first == (token_id,)
            assert drawn(sampler, -INF, -INF, 0.0, -INF, -INF) == 2
        assert drawn(Sampler(options, first_token=FirstToken(9)), *self.LOGITS) == 2
        assert drawn(Sampler(options, first_token=FirstToken(1, frozenset({1, 3, 99}))), *self.LOGITS) == 0

    def test_blanks_come_before_it_and_are_never_it(self) -> None:
        for rank, token_id in enumerate([4, 0, 2, 2]):
            sampler = Sampler(SamplingOptions(), first_token=FirstToken(rank), blank=lambda index: index in (1, 3))
            assert drawn(sampler, *self.LOGITS) == 1
            assert sampler.first == ()
            assert drawn(sampler, 0.5, 2.0, -1.0, 1.0, 3.0) == token_id
            assert sampler.first == (token_id,)
            assert drawn(sampler, *self.LOGITS) == 1
        plain = Sampler(SamplingOptions(), blank=lambda index: index == 1)
        assert [drawn(plain, *self.LOGITS), drawn(plain, 0, 0, 0, 0, 1.0)] == [1, 4]
        assert plain.first == (4,)

    def test_log_probabilities_are_the_models_own(self) -> None:
        expected = torch.tensor(self.LOGITS).log_softmax(0)
        for options in (SamplingOptions(), SamplingOptions(2.0, seed=3), SamplingOptions(repetition_penalty=2.0)):
            sampler = Sampler(options, [1], keep_log_probabilities=True)
            ids = [drawn(sampler, *self.LOGITS) for _ in range(5)]
            assert sampler.log_probabilities == pytest.approx([float(expected[token_id]) for token_id in ids], abs=1e-5)
        assert Sampler(SamplingOptions()).log_probabilities == []
