"""The static n-gram table: counted, written, mapped, and never a danger, whatever its file holds."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from lacli.drafts import ngram_counts, ngrams
from lacli.drafts.ngrams import Ngrams

TEXTS = [
    np.array([1, 2, 3, 4, 5] * 6 + [9, 2, 7] * 4, np.uint32),
    np.array([8, 2, 3, 6] * 5, np.uint32),
    np.array([3], np.uint32),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.ngrams"
    path.write_bytes(ngram_counts.build(TEXTS))
    return path


def opened(path: Path) -> Ngrams:
    found = ngrams.read(path)
    assert found is not None
    return found


class TestCounting:
    def test_the_likeliest_followers_of_the_longest_context_that_was_kept(self, file: Path) -> None:
        table = opened(file)
        seen = _seen()
        for tail in ((1, 2, 3, 4), (9, 2), (50, 8, 2, 3)):
            order, followers, weights = table.find(tail)
            counts = seen[tail[-order:]]
            assert order >= 1
            assert followers[0] == max(counts, key=lambda token: (counts[token], -token))
            assert list(weights) == sorted(weights)

    def test_a_longer_context_is_kept_where_it_says_more(self, file: Path) -> None:
        table = opened(file)
        assert table.find((1, 2))[:2] == (2, (3,))
        assert table.find((9, 2))[:2] == (2, (7,))
        assert table.find((7, 2))[0] == 1

    def test_no_context_reaches_into_the_next_text(self, file: Path) -> None:
        order, _, _ = opened(file).find((2, 7))
        assert order <= 2
        assert 8 not in opened(file).find((2, 7))[1]

    def test_the_same_text_gives_the_same_bytes_and_a_budget_is_kept(self) -> None:
        assert ngram_counts.build(TEXTS) == ngram_counts.build(TEXTS)
        few = ngram_counts.build(TEXTS, 5 * ngrams.CONTEXT_BYTES)
        assert len(few) == len(ngrams.empty()) + 5 * ngrams.CONTEXT_BYTES

    @pytest.mark.parametrize("texts", [[], [[]], [[5]], [[5, 6]]])
    def test_text_that_is_too_short_gives_an_empty_table(self, texts: list[list[int]]) -> None:
        assert ngram_counts.build([np.array(text, np.uint32) for text in texts]) == ngrams.empty()


class TestReading:
    def test_what_is_no_whole_table_is_none(self, file: Path, tmp_path: Path) -> None:
        assert ngrams.read(tmp_path / "none") is None
        whole = file.read_bytes()
        for cut in (0, 1, 20, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:cut])
            assert ngrams.read(file) is None

    def test_a_byte_that_was_changed_anywhere_is_no_trouble(self, file: Path) -> None:
        whole = file.read_bytes()
        generator = np.random.default_rng(0)
        places = [*range(32), *generator.integers(0, len(whole), 40).tolist(), *range(len(whole) - 300, len(whole))]
        for place in places:
            changed = bytearray(whole)
            changed[place] ^= 0xFF
            file.write_bytes(changed)
            table = ngrams.read(file)
            for text in TEXTS if table is not None else ():
                for at in range(len(text)):
                    table.find(tuple(text[max(0, at - 4) : at].tolist()))  # type: ignore[union-attr]

    def test_odd_tails_have_no_followers(self, file: Path) -> None:
        table = opened(file)
        for tail in ((), (-1,), (-1, 10**12), (77, 78, 79, 80, 81)):
            assert table.find(tail) == ngrams.NOTHING

    def test_no_more_is_remembered_than_is_good(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ngrams, "_MOST_KNOWN", 3)
        table = opened(file)
        first = table.find((1, 2))
        for other in range(100):
            table.find((other, 2))
        assert table.find((1, 2)) == first
        assert len(table._known) <= 3


def _seen() -> dict[tuple[int, ...], Counter[int]]:
    seen: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for text in TEXTS:
        ids = text.tolist()
        for place in range(1, len(ids)):
            for order in range(1, min(4, place) + 1):
                seen[tuple(ids[place - order : place])][ids[place]] += 1
    return seen
