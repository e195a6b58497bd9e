"""The table a model starts with: learned from a text of our own, and never trusted unseen."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from lacli.assistant import primer
from lacli.bench.suites import load_suites
from lacli.drafts.successor import SuccessorSource
from lacli.errors import LacliError
from lacli.models.base import Rows, Scores
from tests.fakes import TableRunner

VOCAB = 300


class Letters:
    """A tokenizer of one token a byte."""

    fingerprint = "letters"

    def encode(self, text: str) -> list[int]:
        return list(text.encode())


LETTERS: Any = Letters()


def runner() -> TableRunner:
    return TableRunner(lambda context: (context[-1] + 1) % VOCAB, vocab_size=VOCAB)


def learned(most: int | None = None) -> tuple[SuccessorSource, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    table = primer.learn(runner(), LETTERS, lambda done, total: told.append((done, total)), most)
    source = SuccessorSource()
    source.load(*table)
    return source, told


@pytest.fixture(autouse=True)
def short_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primer, "text", lambda: "def one():\n    pass" * 8 + "\n%%\nclass Two:\n    x = 1\n")


class TestLearning:
    def test_every_token_of_the_text_leaves_what_the_model_says_next(self) -> None:
        source, told = learned()
        for before, last in ((ord("d"), ord("e")), (ord("T"), ord("w"))):
            assert source.follow(before, last)[0][0] == last + 1
        assert told[0][0] == 0
        assert told[-1][0] == told[-1][1]

    def test_no_pair_crosses_from_one_section_into_the_next(self) -> None:
        source, _ = learned()
        assert source.follow(ord("\n"), ord("c")) == source.follow(-1, ord("c"))

    def test_ends_where_enough_is_learned(self) -> None:
        source, told = learned(100)
        assert told[-1] == (100, 100)
        assert source.follow(ord("d"), ord("e"))
        assert not source.follow(ord("T"), ord("w"))

    def test_leaves_an_empty_cache(self) -> None:
        made = runner()
        primer.learn(made, LETTERS, lambda done, total: None)
        assert made.length == 0

    def test_what_follows_two_tokens_depends_on_all_before_them(self) -> None:
        made = TableRunner(lambda context: (31 * len(context) + sum(context)) % VOCAB, vocab_size=VOCAB)
        source = SuccessorSource()
        source.load(*primer.learn(made, LETTERS, lambda done, total: None))
        second = b"class Two:\n    x = 1"
        place = second.index(b"Tw") + 2
        assert source.follow(*second[place - 2 : place])[0][0] == (31 * place + sum(second[:place])) % VOCAB

    def test_weights_that_give_no_numbers_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = runner()
        forward = made.forward

        def damaged(rows: Rows) -> Scores:
            scores = forward(rows)
            scores.top_logits[-1, 0] = np.nan
            return scores

        monkeypatch.setattr(made, "forward", damaged)
        with pytest.raises(LacliError, match="not finite"):
            primer.learn(made, LETTERS, lambda done, total: None)


class TestEncoding:
    def table(self) -> Any:
        return primer.learn(runner(), LETTERS, lambda done, total: None)

    def test_comes_back_as_it_was(self) -> None:
        table = self.table()
        again = primer.decode(primer.encode(table), VOCAB)
        assert again is not None
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(table, again, strict=True))

    def test_what_is_not_sound_is_none(self) -> None:
        whole = primer.encode(self.table())
        assert primer.decode(whole, 100) is None  # ids that this model lacks
        for cut in range(0, len(whole), max(1, len(whole) // 20)):
            assert primer.decode(whole[:cut], VOCAB) is None
        assert primer.decode(_npz(keys=np.zeros((3, 1), np.uint32)), VOCAB) is None
        assert primer.decode(_npz(keys=np.uint32(3)), VOCAB) is None

    def test_a_byte_that_was_changed_anywhere_is_no_trouble(self) -> None:
        whole = primer.encode(self.table())
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= 1 << place % 8
            primer.decode(bytes(changed), VOCAB)  # zipfile and numpy have a dozen exceptions for it


def _npz(keys: Any) -> bytes:
    stored = io.BytesIO()
    np.savez(stored, keys=keys, followers=np.zeros((3, 8)), weights=np.zeros(3))
    return stored.getvalue()


def test_the_text_holds_nothing_that_the_bench_measures_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    runs = _runs(primer.text(), 12)
    assert len(runs) > 2000
    for case in load_suites("all"):
        assert not runs & _runs(case.prompt, 12), case.name
        assert not runs & _runs(case.reply, 12), case.name


def _runs(text: str, size: int) -> set[tuple[str, ...]]:
    words = text.split()
    return {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}
