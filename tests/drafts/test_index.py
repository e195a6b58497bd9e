"""Where a context's end was seen before: both indexes against a search token by token, and each other."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from lacli.drafts import index as module
from lacli.drafts.chains import drafts_from, new_calibration
from lacli.drafts.index import (
    LONGEST_MATCH,
    LiveIndex,
    StoredIndex,
    SuffixIndex,
)

MOST = 12
"""Places an index looks at for one key."""


def live(segments: Sequence[Sequence[int]]) -> LiveIndex:
    made = LiveIndex()
    for segment in segments:
        made.extend(segment)
        made.close_segment()
    return made


def texts(generator: random.Random, count: int, length: int, vocab: int) -> list[list[int]]:
    return [[generator.randrange(vocab) for _ in range(generator.randrange(length))] for _ in range(count)]


def found(index: SuffixIndex, context: Sequence[int]) -> set[tuple[int, tuple[int, ...]]]:
    """Matches as (length, what followed), the same for every index of the same segments."""
    return {(length, index.following(place, 6)) for length, place in index.matches(context)}


def slow(
    segments: Sequence[Sequence[int]], context: Sequence[int], sizes: Sequence[int]
) -> list[tuple[int, tuple[int, ...]]]:
    """All (length, following) for the longest of `sizes` that occurs, oldest first."""
    for size in sizes:
        tail, hits = list(context[-size:]), []
        for segment in segments if len(context) >= size else ():
            for place in range(size, len(segment)):
                if list(segment[place - size : place]) == tail:
                    length = size
                    while (
                        length < min(place, len(context), LONGEST_MATCH)
                        and segment[place - 1 - length] == context[-1 - length]
                    ):
                        length += 1
                    hits.append((length, tuple(segment[place : place + 6])))
        if hits:
            return hits
    return []


class TestMatches:
    @pytest.mark.parametrize("vocab", [2, 3, 8, 30])
    def test_are_those_of_a_search_token_by_token(self, vocab: int) -> None:
        generator = random.Random(vocab)
        for _ in range(40):
            segments = texts(generator, 4, 12, vocab)
            ours, stored = live(segments), StoredIndex(segments)
            for _ in range(20):
                context = [generator.randrange(vocab) for _ in range(generator.randrange(1, 12))]
                every = slow(segments, context, (4, 2, 1))
                assert found(ours, context) <= set(every)
                if len(every) <= MOST // 2:
                    assert found(ours, context) == set(every)
                every = slow(segments, context, (4, 2))
                assert found(stored, context) <= set(every)
                if len(every) <= MOST // 2:
                    assert found(stored, context) == set(every)

    def test_a_stored_index_equals_one_that_grew(self) -> None:
        generator = random.Random(5)
        for vocab in (3, 6, 40):
            segments = texts(generator, 30, 60, vocab)
            grown, stored = live(segments), StoredIndex(segments)
            assert len(grown) <= len(stored)
            for _ in range(300):
                source = generator.choice(segments)
                cut = generator.randrange(len(source) + 1)
                context = [generator.randrange(vocab), *source[max(0, cut - 30) : cut]]
                if slow(segments, context, (4, 2)):
                    assert found(grown, context) == found(stored, context)
                else:
                    assert found(stored, context) == set()

    def test_the_newest_places_are_looked_at(self) -> None:
        segments = [[1, 2, 3, 4, number] for number in range(100)]
        for index in (live(segments), StoredIndex(segments)):
            assert {follow[1][0] for follow in found(index, [1, 2, 3, 4])} == set(range(100 - MOST, 100))

    def test_a_longer_match_is_told_by_its_length(self) -> None:
        segments = [[9, 9, 1, 2, 3, 4, 50], [7, 8, 1, 2, 3, 4, 60]]
        for index in (live(segments), StoredIndex(segments)):
            assert found(index, [5, 7, 8, 1, 2, 3, 4]) == {(4, (50,)), (6, (60,))}
            assert max(length for length, _ in index.matches([*range(100, 200), 7, 8, 1, 2, 3, 4])) == 6

    def test_a_length_ends_at_the_longest_that_counts(self) -> None:
        segment = list(range(100, 200))
        for index in (live([segment]), StoredIndex([segment])):
            assert index.matches(segment[:60]) == [(LONGEST_MATCH, 60)]

    @pytest.mark.parametrize("context", [[], [1], [-1], [-1, -1], [3, -1], [10**12, 5], [-5, 2**40]])
    def test_odd_contexts_and_empty_indexes_are_no_trouble(self, context: list[int]) -> None:
        for segments in ([], [[]], [[1]], [[1, 2]], [[1, 2, 3], [], [1, 2, 3]]):
            for index in (live(segments), StoredIndex(segments)):
                assert all(following for _, following in found(index, context))


class TestSeparators:
    def test_no_match_and_no_continuation_crosses_from_one_segment_to_the_next(self) -> None:
        segments = [[1, 2, 3, 4], [5, 6, 7, 8]]
        for index in (live(segments), StoredIndex(segments)):
            assert index.matches([3, 4, 5, 6]) == index.matches([90, 91, 5, 6]) != []
            assert found(index, [3, 4, 5, 6]) == {(2, (7, 8))}
            assert found(index, [2, 3]) == {(2, (4,))}
            assert found(index, [3, 4]) == set()  # nothing followed within the segment
            assert found(index, [4, 5]) <= {(1, (6, 7, 8))}

    def test_an_end_without_continuation_does_not_hide_a_shorter_match(self) -> None:
        segments = [[1, 2, 3, 4], [3, 4, 5]]
        for index in (live(segments), StoredIndex(segments)):
            assert found(index, [1, 2, 3, 4]) == {(2, (5,))}


class TestCollisions:
    def test_a_hash_is_believed_only_after_the_tokens_are_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_hashes", lambda columns: np.zeros(len(columns[0]), dtype=np.uint64))
        segments = texts(random.Random(1), 6, 10, 9)
        index = StoredIndex(segments)
        for context in texts(random.Random(2), 200, 9, 9):
            assert found(index, context) <= set(slow(segments, context, (4, 2)))
        assert found(StoredIndex([[1, 2, 3]]), [1, 2]) == {(2, (3,))}


class TestSize:
    def test_a_million_tokens_are_hashed_in_two_passes_and_asked_in_a_few_looks(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The worst texts too: one token over and over matches everywhere."""
        calls = []
        plain = module._hashes
        monkeypatch.setattr(module, "_hashes", lambda columns: calls.append(len(columns[0])) or plain(columns))
        segments = [np.full(500_000, 7), np.random.default_rng(0).integers(0, 50_000, 500_000)]
        index = StoredIndex(segments)
        assert calls == [1_000_002 - 4, 1_000_002 - 2]
        assert len(index.matches([7] * 50)) == MOST - 1  # nothing follows the last place of a segment
        assert len(calls) == 3
        context = segments[1][1000:1030].tolist()
        assert index.following(index.matches(context)[0][1], 5) == tuple(segments[1][1030:1035])

    def test_a_growing_index_keeps_few_places_for_each_key(self) -> None:
        index = LiveIndex()
        index.extend([7] * 20_000)
        assert max(len(places) for places in index._places.values()) <= 4 * MOST
        assert len(index.matches([7] * 50)) <= MOST
        assert index.following(index.matches([7] * 50)[0][1], 3)


class TestDrafts:
    def drafts(
        self, segments: Sequence[Sequence[int]], context: Sequence[int], room: int = 20
    ) -> list[tuple[int, ...]]:
        made = drafts_from(live(segments), context, room, new_calibration(), "session")
        assert all(draft.source == "session" for draft in made)
        for draft in made:
            assert len(draft.chances) == len(draft.token_ids) <= room
            assert list(draft.chances) == sorted(draft.chances, reverse=True)
            assert all(0 < chance <= 1 for chance in draft.chances)
        return [draft.token_ids for draft in made]

    def test_the_longest_match_comes_first_then_the_newest(self) -> None:
        segments = [[8, 1, 2, 3, 4, 60], [1, 2, 3, 4, 70], [1, 2, 3, 4, 80]]
        assert self.drafts(segments, [8, 1, 2, 3, 4]) == [(60,), (80,), (70,)]

    def test_the_same_continuation_is_proposed_once(self) -> None:
        assert self.drafts([[1, 2, 3, 4, 60, 61]] * 5, [1, 2, 3, 4]) == [(60, 61)]

    def test_a_long_match_is_followed_further(self) -> None:
        segment = list(range(100, 200))
        short, long = self.drafts([segment], segment[48:50], 60), self.drafts([segment], segment[:50], 60)
        assert 4 <= len(short[0]) < len(long[0]) == 50

    def test_what_always_followed_is_likelier_than_one_of_many(self) -> None:
        sure = drafts_from(live([[1, 2, 3, 4, 60]] * 3), [1, 2, 3, 4], 9, new_calibration(), "session")
        torn = drafts_from(
            live([[1, 2, 3, 4, token] for token in (60, 70, 80)]), [1, 2, 3, 4], 9, new_calibration(), "session"
        )
        assert sure[0].chances[0] > torn[0].chances[0]

    def test_room_is_kept(self) -> None:
        segment = list(range(100, 200))
        assert [len(run) for run in self.drafts([segment], segment[:50], 3)] == [3]
        assert self.drafts([segment], segment[:50], 0) == []
