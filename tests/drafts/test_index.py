"""Where a context's end was seen before: both indexes against a search token by token, and each other."""

from __future__ import annotations

import random
import threading
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
import pytest

from lacli.drafts import index as module
from lacli.drafts.chains import drafts_from, new_calibration
from lacli.drafts.index import HEAD, KINDS, LOOKED_AT, LiveIndex, Match, StoredIndex, SuffixIndex
from lacli.drafts.index_build import sorted_positions
from lacli.drafts.index_keys import ENOUGH, LEVELS, LONGEST_MATCH, SEPARATOR

HIGHEST = 2**32 - 2
"""The highest id a token may have."""

Found = list[tuple[int, tuple[int, ...], int, int]]
"""Matches as (length, what followed, seen, of): the same for every index of the same segments."""


def live(segments: Sequence[Sequence[int]]) -> LiveIndex:
    made = LiveIndex()
    for segment in segments:
        made.extend(segment)
        made.close_segment()
    return made


def live_by_pieces(segments: Sequence[Sequence[int]], generator: random.Random) -> LiveIndex:
    made = LiveIndex()
    for segment in segments:
        rest = list(segment)
        while rest:
            cut = generator.choice([1, 1, 2, 3, 50])
            made.extend(rest[:cut])
            del rest[:cut]
        made.close_segment()
    return made


def texts(generator: random.Random, count: int, length: int, vocab: int) -> list[list[int]]:
    return [[generator.randrange(vocab) for _ in range(generator.randrange(length))] for _ in range(count)]


def contexts(
    generator: random.Random, segments: Sequence[Sequence[int]], vocab: int, count: int
) -> Iterator[list[int]]:
    """Half of them from the segments, some with a wrong beginning."""
    for number in range(count):
        if number % 2 or not any(segments):
            yield [generator.randrange(vocab) for _ in range(generator.randrange(12))]
        else:
            source = generator.choice([segment for segment in segments if segment])
            cut = generator.randrange(len(source) + 1)
            yield [*[generator.randrange(vocab)] * generator.randrange(2), *source[max(0, cut - 50) : cut]]


def found(index: SuffixIndex, context: Sequence[int]) -> Found:
    return [
        (match.length, index.following(match.position, 6), match.seen, match.of) for match in index.matches(context)
    ]


def slow(segments: Sequence[Sequence[int]], context: Sequence[int], shortest: int) -> Found:
    """The same, from every position of every segment."""
    by_length: dict[int, list[tuple[int, ...]]] = {}
    for segment in segments:
        for position in range(1, len(segment)):
            length, most = 0, min(position, len(context), LONGEST_MATCH)
            while length < most and segment[position - 1 - length] == context[-1 - length]:
                length += 1
            if length >= shortest:
                by_length.setdefault(length, []).append(tuple(segment[position : position + 6]))
    every: Found = []
    for length in sorted(by_length, reverse=True)[:LEVELS]:
        runs = by_length[length]
        heads = [run[:HEAD] for run in runs]
        newest = {head: position for position, head in enumerate(heads)}
        best = sorted(newest, key=lambda head: (heads.count(head), newest[head]), reverse=True)
        every += [(length, runs[newest[head]], heads.count(head), len(runs)) for head in best[:KINDS]]
        if sum(len(by_length[longer]) for longer in by_length if longer >= length) >= ENOUGH:
            break
    return every


class TestMatches:
    @pytest.mark.parametrize("vocab", [1, 2, 3, 8, 30])
    def test_are_those_of_a_search_token_by_token(self, vocab: int) -> None:
        generator = random.Random(vocab)
        for _ in range(60):
            # Few enough tokens that no length has more positions than are looked at.
            segments = texts(generator, generator.randrange(6), generator.choice([5, 20]), vocab)
            if sum(map(len, segments)) > LOOKED_AT:
                continue
            grown, pieced, stored = live(segments), live_by_pieces(segments, generator), StoredIndex(segments)
            for context in contexts(generator, segments, vocab, 30):
                assert found(grown, context) == found(pieced, context) == slow(segments, context, 1)
                assert found(stored, context) == slow(segments, context, 2)

    @pytest.mark.parametrize("highest", [2, 200, 2**16 - 2, 2**16, 2**21, HIGHEST])
    def test_are_the_same_whatever_ids_a_vocabulary_has(self, highest: int) -> None:
        """Ids are packed into machine words by the bits they need."""
        generator = random.Random(highest)
        ids = sorted({0, 1, highest // 2, highest - 1, highest})
        for _ in range(40):
            numbers = texts(generator, 5, 14, len(ids))
            segments = [[ids[number] for number in text] for text in numbers]
            grown, stored = live(segments), StoredIndex([np.array(text, np.uint32) for text in segments])
            for chosen in contexts(generator, numbers, len(ids), 20):
                context = [ids[number] for number in chosen]
                assert found(grown, context) == slow(segments, context, 1)
                assert found(stored, context) == slow(segments, context, 2)

    def test_in_larger_texts_the_longest_match_is_the_longest_there_is(self) -> None:
        """Repeats longer than a pass of the sort reaches."""
        generator = random.Random(11)
        for vocab, size in ((2, 300), (40, 60), (3, 2000)):
            blocks = texts(generator, 12, 70, vocab)
            segments = [[token for _ in range(3) for token in generator.choice(blocks)] for _ in range(size // 20)]
            stored, grown = StoredIndex(segments), live_by_pieces(segments, generator)
            assert len(stored) == len(grown) + sum(not segment for segment in segments)
            for context in contexts(generator, segments, vocab, 60):
                expected = slow(segments, context, 1)
                longest = expected[0][0] if expected else 0
                assert [match.length for match in grown.matches(context)[:1]] == [longest] * bool(expected)
                assert [match.length for match in stored.matches(context)[:1]] == [longest] * (longest > 1)
                if expected and expected[0][3] <= LOOKED_AT:
                    same = [match for match in expected if match[0] == longest]
                    assert found(grown, context)[: len(same)] == same

    def test_a_length_ends_at_the_longest_that_counts(self) -> None:
        segment = list(range(100, 200))
        for index in (live([segment]), StoredIndex([segment])):
            assert index.matches(segment[:60]) == [(LONGEST_MATCH, 60, 1, 1)]
            assert index.matches([0, *segment[60 - LONGEST_MATCH : 60]]) == [(LONGEST_MATCH, 60, 1, 1)]

    def test_what_was_seen_oftener_comes_first_then_the_newer(self) -> None:
        segments = [[1, 2, token] for token in (7, 8, 9, 9, 7, 6)] + [[5, 1, 2, 4]]
        for index in (live(segments), StoredIndex(segments)):
            assert found(index, [0, 1, 2]) == [
                (2, (7,), 2, 7),
                (2, (9,), 2, 7),
                (2, (4,), 1, 7),
                (2, (6,), 1, 7),
                (2, (8,), 1, 7),
            ]
            assert found(index, [5, 1, 2])[:2] == [(3, (4,), 1, 1), (2, (7,), 2, 6)]

    @pytest.mark.parametrize("context", [[], [1], [-1], [-1, -1], [3, -1], [10**12, 5], [-5, 2**40], [SEPARATOR] * 40])
    def test_odd_contexts_and_empty_indexes_are_no_trouble(self, context: list[int]) -> None:
        several: list[list[list[int]]] = [[], [[]], [[1]], [[1, 2]], [[1, 2, 3], [], [1, 2, 3]]]
        for segments in several:
            for index in (live(segments), StoredIndex(segments)):
                assert all(following for _, following, _, _ in found(index, context))
        assert found(live([[5, 6]]), [10**12, 5]) == [(1, (6,), 1, 1)]

    def test_what_is_no_token_ends_a_segment_of_a_live_index(self) -> None:
        index = LiveIndex()
        index.extend([1, 2, 3, -1, 2, 3, 4, SEPARATOR, 3, 10**15, 5])
        assert found(index, [1, 2]) == [(2, (3,), 1, 1), (1, (3, 4), 1, 1)]
        assert found(index, [3]) == [(1, (4,), 1, 1)]


class TestSeparators:
    def test_no_match_and_no_continuation_crosses_from_one_segment_to_the_next(self) -> None:
        segments = [[1, 2, 3, 4], [5, 6, 7, 8]]
        for index in (live(segments), StoredIndex(segments)):
            assert found(index, [3, 4, 5, 6]) == found(index, [90, 91, 5, 6]) == [(2, (7, 8), 1, 1)]
            assert found(index, [2, 3]) == [(2, (4,), 1, 1)]
            assert found(index, [3, 4]) == []  # nothing followed within the segment
        assert found(StoredIndex(segments), [4, 5]) == []
        assert found(live(segments), [4, 5]) == [(1, (6, 7, 8), 1, 1)]

    def test_an_end_without_continuation_does_not_hide_a_shorter_match(self) -> None:
        segments = [[1, 2, 3, 4], [3, 4, 5]]
        for index in (live(segments), StoredIndex(segments)):
            assert found(index, [1, 2, 3, 4]) == [(2, (5,), 1, 1)]

    def test_bytes_of_neighbours_that_look_like_a_gap_are_none(self) -> None:
        segments = [[9, 8, 0xFFFF, 0xFFFF0000, 0xFF, 0xFFFFFF00, 1, 0xFFFF0000, 0xFFFF]]
        for index in (live(segments), StoredIndex(segments)):
            assert index.following(index.matches([9, 8])[0].position, 20) == tuple(segments[0][2:])

    def test_a_position_tells_its_segment(self) -> None:
        segments = [[], [1, 2, 3], [], [], [1, 2, 4], [7]]
        index = StoredIndex(segments)
        assert {index.segment_of(match.position) for match in index.matches([1, 2])} == {1, 4}
        assert [
            index.following(match.position, 1)
            for match in index.matches([1, 2])
            if index.segment_of(match.position) == 4
        ] == [(4,)]


class TestSorting:
    @pytest.mark.parametrize("vocab", [1, 2, 7])
    def test_places_stand_by_what_is_before_them_and_equals_by_age(self, vocab: int) -> None:
        generator = random.Random(vocab)
        for _ in range(60):
            blocks = texts(generator, 3, 50, vocab)
            chosen = [generator.choice(blocks) + generator.choice(blocks) for _ in range(6)]
            tokens = [token for text in chosen for token in (*text, SEPARATOR)]
            keys = [
                (tokens[:position][::-1] + [SEPARATOR] * LONGEST_MATCH)[:LONGEST_MATCH]
                for position in range(len(tokens))
            ]
            useful = [
                position for position in range(1, len(tokens)) if SEPARATOR not in tokens[position - 1 : position + 1]
            ]
            ours = sorted_positions(np.array(tokens[::-1], np.uint32)).tolist()
            assert sorted(ours) == useful
            # What lies behind a gap may be compared or not: nobody asks.
            ours, expected = (
                [position for position in positions if SEPARATOR not in keys[position]]
                for positions in (ours, sorted(useful, key=keys.__getitem__))
            )
            assert ours == expected


class TestSize:
    def test_a_sought_text_is_found_among_a_million_others(self) -> None:
        noise = np.random.default_rng(0).integers(0, 50_000, 1_000_000).astype(np.uint32)
        reply = np.random.default_rng(1).integers(0, 50_000, 400).astype(np.uint32)
        index = StoredIndex([reply, noise, np.full(100_000, 7, np.uint32)])
        wanted = reply.tolist()
        for cut in range(5, 400, 7):
            best = index.matches([1, 2, 3, *wanted[:cut]])[0]
            assert (best.length, best.position, index.segment_of(best.position)) == (min(cut, LONGEST_MATCH), cut, 0)
            assert index.following(best.position, 400) == tuple(wanted[cut:])

    def test_few_places_are_looked_at_however_many_there_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The worst texts: one token over and over, one short run before ever other tokens."""
        pairs = [token for number in range(20_000) for token in (number + 10, 198, 262)]
        looked: list[int] = []

        def kinds(length: int, positions: Sequence[int], heads: Sequence[Hashable]) -> list[Match]:
            looked.append(len(positions))
            return plain(length, positions, heads)

        plain = module._kinds
        monkeypatch.setattr(module, "_kinds", kinds)
        for segments in ([[7] * 30_000], [pairs], [[7] * 5000, pairs, [7] * 5000]):
            for index in (live(segments), StoredIndex(segments)):
                for context in ([7] * 50, [7] * 5, [3, 198, 262], [198, 262, 7, 7]):
                    looked.clear()
                    assert len(index.matches(context)) <= LEVELS * KINDS
                    assert max(looked, default=0) <= LOOKED_AT + 6  # a sample of each side and list is rounded up

    def test_of_one_text_over_and_over_the_newest_is_among_those_looked_at(self) -> None:
        segments = [[*range(100, 140), number] for number in range(1000, 1500)]
        for index in (live(segments), StoredIndex(segments)):
            best = index.matches([*range(100, 140)])[0]
            assert (best.length, index.following(best.position, 2)) == (LONGEST_MATCH, (1499,))

    def test_a_growing_index_forgets_its_oldest_and_finds_what_it_keeps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_MOST", 4000)
        monkeypatch.setattr(module, "_RECENT", 150)
        generator, index, whole = random.Random(3), LiveIndex(), []
        for _ in range(300):
            segment = [generator.randrange(900) for _ in range(generator.randrange(80))]
            whole.append(segment)
            for token in segment[:40]:
                index.extend([token])
            index.extend(segment[40:])
            index.close_segment()
            assert len(index) <= 4001
            assert len(index._recent) <= 150
            assert len(index._settled) + len(index._recent) <= len(index)
            if len(segment) > 10:
                best = index.matches(segment[:9])[0]
                assert best.length == 9
                assert index.following(best.position, 90) == tuple(segment[9:])
        kept = whole[-40:]
        for context in contexts(generator, kept, 900, 100):
            assert all(following for _, following, _, _ in found(index, context))
        assert not any(match.length > 4 for match in index.matches(whole[0][:20]))

    def test_an_index_made_in_another_thread_is_as_good(self) -> None:
        segments = texts(random.Random(4), 20, 50, 4)
        made: list[StoredIndex] = []
        threads = [threading.Thread(target=lambda: made.append(StoredIndex(segments))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = StoredIndex(segments)
        assert len(made) == 4
        for context in texts(random.Random(5), 50, 9, 4):
            assert all(index.matches(context) == expected.matches(context) for index in made)


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

    def test_of_a_long_match_more_is_expected(self) -> None:
        segment = list(range(100, 200))
        (short,), (long,) = (
            drafts_from(live([segment]), context, 60, new_calibration(), "session")
            for context in (segment[48:50], segment[:50])
        )
        assert short.token_ids == long.token_ids == tuple(range(150, 200))
        assert sum(long.chances) > 4 * sum(short.chances)

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
