"""Perplexity and the place where two texts part."""

from __future__ import annotations

import itertools
import math

import pytest

from lacli.bench.reference import first_split, perplexity
from tests.bench.fakes import TableBench, cases
from tests.fakes import TableRunner


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary() -> None:
    runner = TableRunner(lambda context: [0.0] * 50, vocab_size=50)
    assert perplexity(runner, [index % 50 for index in range(200)]) == pytest.approx(50)
    assert runner.length == 0


def test_perplexity_is_that_of_one_row_after_another() -> None:
    """Chunks must neither skip nor repeat a token."""
    table = {token: (token * 3 + 1) % 40 for token in range(40)}
    text = [(index * index + index // 3) % 40 for index in range(150)]
    weight = math.exp(10) + 39
    hits = sum(table[before] == after for before, after in itertools.pairwise(text))
    expected = math.exp((149 * math.log(weight) - 10 * hits) / 149)
    assert perplexity(TableRunner(table, vocab_size=40), text) == pytest.approx(expected)


def test_the_first_split_is_found_with_the_margin_there() -> None:
    bench = TableBench({token: (token + 1) % 64 for token in range(64)})
    task = bench.task(cases(1)[0])
    split = first_split(bench.runner, task, (10, 11, 12, 13), (10, 11, 40, 13))
    assert split is not None
    assert (split.position, split.margin) == (2, 10.0)
    assert first_split(bench.runner, task, (10, 11), (10, 11)) is None
    shorter = first_split(bench.runner, task, (10, 11), (10, 11, 12))
    assert shorter is not None
    assert shorter.position == 2
