"""A forced reply comes out exactly as given, however it is guessed, and costs real forwards."""

from __future__ import annotations

import pytest
import torch

from lacli.bench.modes import COMPARED, MEASURED, Mode, Warmth
from lacli.bench.oracle import ReferenceRunner
from lacli.bench.suites import Case
from lacli.bench.warm import log
from lacli.models.base import Rows
from lacli.models.runners.scores import scores_of
from tests.bench.fakes import END, VOCAB, TableBench, walk
from tests.fakes import TableRunner

REPLY = tuple((5 * index * index + index) % END for index in range(60))
CASE = Case("edit", "edit-ref", "1 2 3 4", " ".join(map(str, REPLY)))


@pytest.mark.parametrize("mode", dict.fromkeys((*MEASURED, *COMPARED)), ids=lambda mode: mode.name)
def test_every_mode_writes_the_reference_to_its_last_token(mode: Mode) -> None:
    bench = TableBench()
    task = bench.task(CASE)
    others = {"edit": REPLY, "other": tuple(reversed(REPLY))}
    run = bench.play(task, mode, bench.cached(task), Warmth(log(task, mode, others, VOCAB)))
    assert run.token_ids == REPLY


def test_a_right_guess_is_verified_in_few_forwards_and_a_plain_one_in_as_many_as_tokens() -> None:
    bench = TableBench()
    task = bench.task(CASE)
    plain, warm = MEASURED[0], next(mode for mode in MEASURED if mode.name == "warm-replay")
    slow = bench.play(task, plain, bench.cached(task))
    quick = bench.play(task, warm, bench.cached(task), Warmth([REPLY]))
    assert slow.steps == len(REPLY)  # the last one gives the end of sequence
    assert slow.tokens_per_step == pytest.approx(1, abs=0.02)
    assert quick.steps <= 12
    assert quick.accepted["project"] > 40


def test_a_reply_longer_than_the_budget_is_still_written_whole() -> None:
    bench = TableBench(max_tokens=5)
    task = bench.task(CASE)
    assert bench.play(task, MEASURED[0], bench.cached(task)).token_ids == REPLY


def test_rows_off_the_reference_keep_the_models_own_logits() -> None:
    inner = TableRunner(walk, vocab_size=VOCAB)
    runner = ReferenceRunner(inner, (1, 2, 3), (10, 11, 12), END)
    first = runner.prefill((1, 2, 3))
    assert first is not None
    assert int(first.logits[0].argmax()) == 10
    assert first.top_ids[0, 0] == 10
    # row 0 -> 11 (right) -> 12 (right); 0 -> 40 (wrong) -> 12 (right token, wrong place)
    rows = Rows((10, 11, 12, 40, 12), (-1, 0, 1, 0, 3), (0, 1, 2, 3, 4))
    scores, own = runner.forward(rows), inner.forward(rows)
    assert [int(row.argmax()) for row in scores.logits[:3]] == [11, 12, END]
    assert torch.equal(scores.logits[3:], own.logits[3:])
    assert not torch.equal(scores.logits[:3], own.logits[:3])
    again = scores_of(scores.logits)
    assert scores.top_logits.tolist() == again.top_logits.tolist()
    assert scores.top_ids.tolist() == again.top_ids.tolist()


def test_past_the_end_of_the_reference_nothing_is_forced() -> None:
    inner = TableRunner(walk, vocab_size=VOCAB)
    runner = ReferenceRunner(inner, (1, 2, 3), (10, 11), END)
    runner.prefill((1, 2, 3))
    rows = Rows((10, 11, END, 5), (-1, 0, 1, 2), (0, 1, 2, 3))
    assert torch.equal(runner.forward(rows).logits[2:], inner.forward(rows).logits[2:])
