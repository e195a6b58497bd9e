"""What the model was seen to say and what text says of the next token, taken together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lacli.drafts import blend, ngram_counts, ngrams
from lacli.drafts.blend import PAIR_KNOWN, UNKNOWN, blended, claim
from lacli.drafts.successor import SuccessorSource

CLAIM = [(5, claim(0.3, 0)), (6, claim(0.1, 0))]


def test_a_follower_that_text_names_too_is_likelier_and_any_other_less_likely() -> None:
    alone = dict(blended(CLAIM, PAIR_KNOWN, ngrams.NOTHING))
    both = dict(blended(CLAIM, PAIR_KNOWN, (2, (6,), (16,))))
    assert both[6] > alone[6]
    assert both[5] < alone[5]


def test_what_only_text_names_counts_less_where_the_model_was_seen() -> None:
    found = (3, (9,), (4,))
    known, unknown = dict(blended(CLAIM, PAIR_KNOWN, found)), dict(blended([], UNKNOWN, found))
    assert 0 < known[9] < unknown[9] < 1


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.5, 1.0])
@pytest.mark.parametrize("order", range(5))
def test_every_chance_is_one(rate: float, order: int) -> None:
    found = (order, (1, 2), (0, 255)) if order else ngrams.NOTHING
    for kind in range(3):
        for _, chance in blended([(1, claim(rate, kind)), (7, claim(rate, kind))], kind, found):
            assert 0 < chance < 1
    assert len(blend._LOGITS) == 256


def test_the_successor_table_asks_the_n_grams_for_the_whole_tail(tmp_path: Path) -> None:
    file = tmp_path / "a.ngrams"
    file.write_bytes(ngram_counts.build([np.array([1, 2, 3, 4, 5, 9, 9, 2, 3, 4, 6] * 9, np.uint32)]))
    source = SuccessorSource(ngrams.read(file))
    assert [token for token, _ in source.follow(1, 2, 3, 4)] == [5]
    assert [token for token, _ in source.follow(9, 2, 3, 4)] == [6]
    source.learn([(3, 4)], [[70, 5]], [[2.0, 1.0]])
    assert {token for token, _ in source.follow(1, 2, 3, 4)} == {70, 5}
    assert source.fork().follow(1, 2, 3, 4) == source.follow(1, 2, 3, 4)
