"""The table a model starts with: learned once from a text of our own, kept, and never trusted unseen."""

from __future__ import annotations

from pathlib import Path

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

    def encode(self, text: str) -> list[int]:
        return list(text.encode())


def runner() -> TableRunner:
    return TableRunner(lambda context: (context[-1] + 1) % VOCAB, vocab_size=VOCAB)


def learned(budget_s: float = 60.0) -> tuple[SuccessorSource, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    primed = primer.learn(runner(), Letters(), lambda done, total: told.append((done, total)), None, budget_s)  # type: ignore[arg-type]
    source = SuccessorSource()
    source.load(*primed.table)
    return source, told


@pytest.fixture(autouse=True)
def short_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primer, "text", lambda: "def one():\n    pass" * 8 + "\n%%\nclass Two:\n    x = 1\n")


class TestLearning:
    def test_every_token_of_the_text_leaves_what_the_model_says_next(self) -> None:
        source, told = learned()
        for before, last in ((ord("d"), ord("e")), (ord("T"), ord("w"))):
            assert source.follow(before, last)[0][0] == last + 1
        assert told[-1][0] == told[-1][1]

    def test_no_pair_crosses_from_one_section_into_the_next(self) -> None:
        source, _ = learned()
        assert source.follow(ord("\n"), ord("c")) == source.follow(-1, ord("c"))

    def test_ends_with_the_budget_and_leaves_an_empty_cache(self) -> None:
        made = runner()
        told: list[int] = []
        primer.learn(made, Letters(), lambda done, total: told.append(done), budget_s=-1.0)  # type: ignore[arg-type]
        assert made.length == 0
        assert told == []

    def test_weights_that_give_no_numbers_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = runner()
        forward = made.forward

        def damaged(rows: Rows) -> Scores:
            scores = forward(rows)
            scores.top_logits[-1, 0] = np.nan
            return scores

        monkeypatch.setattr(made, "forward", damaged)
        with pytest.raises(LacliError, match="not finite"):
            primer.learn(made, Letters(), lambda done, total: None)  # type: ignore[arg-type]

    def test_a_later_process_goes_on_where_the_time_was_up(self) -> None:
        whole, made = learned()[0], runner()
        first = primer.Primer(primer.learn(made, Letters(), lambda done, total: None, None, -1.0).table, 0)  # type: ignore[arg-type]
        assert first.wants_more
        part = primer.learn(made, Letters(), lambda done, total: None, primer.Primer(first.table, 64))  # type: ignore[arg-type]
        made.truncate(0)
        assert part.tries == 2
        source = SuccessorSource()
        source.load(*part.table)
        assert source.follow(ord("T"), ord("w")) == whole.follow(ord("T"), ord("w"))
        assert not primer.Primer(first.table, 10, tries=3).wants_more  # a slow machine is left in peace
        assert not primer.Primer(first.table, primer.ENOUGH).wants_more

    def test_the_rest_of_a_section_is_learned_behind_its_beginning(self) -> None:
        """What follows two tokens depends on all before them, and on the pair that the first of the rest stands in."""

        def model() -> TableRunner:
            return TableRunner(lambda context: (31 * len(context) + sum(context)) % VOCAB, vocab_size=VOCAB)

        def report(done: int, total: int) -> None:
            pass

        whole = primer.learn(model(), Letters(), report)  # type: ignore[arg-type]
        known = primer.Primer(primer.learn(model(), Letters(), report, None, -1.0).table, 64)  # type: ignore[arg-type]
        rest = primer.learn(model(), Letters(), report, known)  # type: ignore[arg-type]
        entries = {tuple(key): row.tolist() for key, row in zip(whole.table[0].tolist(), whole.table[1], strict=True)}
        resumed = {tuple(key): row.tolist() for key, row in zip(rest.table[0].tolist(), rest.table[1], strict=True)}
        assert rest.done == whole.done
        assert len(resumed) > 20
        assert resumed.items() <= entries.items()


class TestKeeping:
    def table(self):  # type: ignore[no-untyped-def]
        return primer.learn(runner(), Letters(), lambda done, total: None)  # type: ignore[arg-type]

    def test_comes_back_as_it_was(self, tmp_path: Path) -> None:
        file, table = tmp_path / "new" / "a.npz", self.table()
        primer.save(file, table)
        again = primer.load(file, VOCAB)
        assert again is not None
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(table.table, again.table, strict=True))
        assert (again.done, again.tries) == (table.done, table.tries)
        assert [each.name for each in file.parent.iterdir()] == ["a.npz"]

    def test_what_is_not_sound_is_learned_again(self, tmp_path: Path) -> None:
        file = tmp_path / "a.npz"
        assert primer.load(file, VOCAB) is None
        primer.save(file, self.table())
        assert primer.load(file, 100) is None  # ids that this model lacks
        whole = file.read_bytes()
        for cut in range(0, len(whole), max(1, len(whole) // 20)):
            file.write_bytes(whole[:cut])
            assert primer.load(file, VOCAB) is None
        np.savez(file, keys=np.zeros((3, 1), np.uint32), followers=np.zeros((3, 8)), weights=np.zeros(3))
        assert primer.load(file, VOCAB) is None
        np.savez(file, keys=np.uint32(3), followers=np.zeros((3, 8)), weights=np.zeros(3), progress=np.ones(2))
        assert primer.load(file, VOCAB) is None

    def test_a_byte_that_was_changed_anywhere_is_no_trouble(self, tmp_path: Path) -> None:
        file = tmp_path / "a.npz"
        primer.save(file, self.table())
        whole = file.read_bytes()
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= 1 << place % 8
            file.write_bytes(changed)
            primer.load(file, VOCAB)  # zipfile and numpy have a dozen exceptions for it

    def test_a_place_that_cannot_be_written_is_no_trouble(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        primer.save(tmp_path / "file" / "a.npz", self.table())


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
