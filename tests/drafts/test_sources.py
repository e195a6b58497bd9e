"""The sources: what each has seen when it is asked, and what it learns from the text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from lacli.drafts.base import DraftSource
from lacli.drafts.index import StoredIndex
from lacli.drafts.jacobi import WindowSource
from lacli.drafts.lookup import FilesSource, PredictionSource, ProjectSource, PromptSource, SessionSource
from lacli.drafts.successor import SuccessorSource, weights_of


def runs(source: DraftSource, context: Sequence[int], room: int = 4) -> list[tuple[int, ...]]:
    return [draft.token_ids for draft in source.propose(context, room)]


def expecting(token_ids: Sequence[int]) -> PredictionSource:
    source = PredictionSource()
    source.expect(token_ids)
    return source


SOURCES = [
    PromptSource,
    lambda: expecting([1, 2, 1, 5]),
    SessionSource,
    lambda: ProjectSource([[1, 2, 3]]),
    WindowSource,
]


class TestAll:
    @pytest.mark.parametrize("make", SOURCES)
    def test_odd_ids_and_no_room_are_no_trouble(self, make) -> None:  # type: ignore[no-untyped-def]
        source = make()
        for context in ([1], [-1, 5], [10**12, 1, 2], [1, 2, 1, 2, 1, 2]):
            source.start(context)
            for room in (0, 1, 50):
                for draft in source.propose(context, room):
                    assert len(draft.token_ids) == len(draft.chances)
                    assert draft.source == source.name
                    assert len(draft.token_ids) <= room
            source.observe([7, -3, 10**12])

    def test_odd_ids_are_no_trouble_to_the_follower_source_either(self) -> None:
        source = SuccessorSource()
        for context in ([1], [-1, 5], [10**12, 1, 2], [1, 2, 1, 2, 1, 2]):
            source.start(context)
            assert source.follow(context[-2] if len(context) > 1 else -1, context[-1]) == []
            source.observe([7, -3, 10**12])


class TestPromptSource:
    def test_knows_the_prompt_and_the_reply_so_far(self) -> None:
        source = PromptSource()
        source.start([1, 2, 3, 9, 8])
        assert runs(source, [1, 2, 3, 9, 8, 1, 2])[0] == (3, 9, 8)
        source.observe([40, 41, 42])
        source.observe([40, 41])
        assert runs(source, [1, 2, 3, 9, 8, 40, 41, 42, 40, 41])[0][:1] == (42,)

    def test_forgets_it_with_the_next_request(self) -> None:
        source = PromptSource()
        source.start([1, 2, 3])
        source.start([5, 6])
        assert runs(source, [5, 6, 1, 2]) == []


class TestPredictionSource:
    def test_follows_what_is_expected_from_its_first_token_on(self) -> None:
        source = expecting([50, 51, 52, 53])
        source.start([1, 2, 3, 50])
        assert runs(source, [1, 2, 3, 50])[0] == (51, 52, 53)
        assert runs(source, [1, 2, 3, 50, 51, 52])[0] == (53,)

    def test_begins_at_its_beginning_though_its_first_token_comes_again(self) -> None:
        source = expecting([50, 60, 50, 70, 50, 70, 50, 70])
        source.start([1, 2, 3, 50])
        assert runs(source, [1, 2, 3, 50])[0][:2] == (60, 50)

    def test_takes_it_up_again_behind_a_change(self) -> None:
        source = expecting([50, 51, 52, 53, 54, 55])
        source.start([1, 50])
        source.observe([99, 52, 53])
        assert runs(source, [1, 50, 99, 52, 53])[0] == (54, 55)

    def test_knows_nothing_else(self) -> None:
        source = expecting([])
        source.start([1, 2, 3, 1, 2])
        assert runs(source, [1, 2, 3, 1, 2]) == []
        source.expect([50, 51])
        source.start([1, 2, 50])
        source.expect(())
        source.start([1, 2, 50])
        assert runs(source, [1, 2, 50]) == []

    def test_a_fork_expects_nothing_before_it_is_told(self) -> None:
        fork = expecting([50, 51, 52]).fork()
        fork.start([1, 50])
        assert runs(fork, [1, 50]) == []


class TestSessionSource:
    def test_knows_earlier_replies_and_not_the_one_being_written(self) -> None:
        source = SessionSource()
        source.start([1, 2, 50])  # 50 came from prefill and belongs to the reply
        source.observe([51, 52, 53])
        assert runs(source, [50, 51]) == []
        source.start([9])
        assert runs(source, [50, 51]) == [(52, 53)]
        assert runs(source, [50]) == [(51, 52, 53)]
        assert runs(source, [1, 2]) == []  # the prompt is no reply

    def test_no_guess_runs_from_one_reply_into_the_next(self) -> None:
        source = SessionSource()
        for ids in ([10, 11, 12], [20, 21, 22]):
            source.start([5, ids[0]])
            source.observe(ids[1:])
        source.start([5, 30])
        assert runs(source, [10, 11]) == [(12,)]
        assert runs(source, [11, 12]) == []


class TestProjectSource:
    def test_knows_what_was_stored_and_nothing_of_this_reply(self) -> None:
        source = ProjectSource([[1, 2, 3, 4, 5], [7, 8, 9]])
        source.start([7, 8])
        source.observe([40, 41, 42])
        assert runs(source, [3, 3, 2, 3]) == [(4, 5)]
        assert runs(source, [40, 41]) == []

    def test_says_which_segments_were_of_use(self) -> None:
        source = ProjectSource([[1, 2, 3, 4, 5], [7, 8, 9], [20, 21, 22]])
        (useful,), (useless,) = source.propose([1, 2], 4), source.propose([7, 8], 4)
        source.credit(useful, 2)
        source.credit(useful, 1)
        source.credit(useless, 0)
        assert source.credits() == {0: 3}
        assert source.credits() == {}

    def test_learns_of_a_class_of_matches_what_became_of_its_guesses(self) -> None:
        source = ProjectSource([[1, 2, 3, 4, 5]])
        (fresh,) = source.propose([1, 2], 4)
        for _ in range(10):
            source.credit(fresh, 0)
        assert source.propose([1, 2], 4)[0].chances[0] < fresh.chances[0] / 2
        other = ProjectSource([[1, 2, 3, 4, 5]])
        other.restore(source.numbers())
        assert other.propose([1, 2], 4) == source.propose([1, 2], 4)


class TestFilesSource:
    def test_looks_up_in_the_index_it_was_given_last(self) -> None:
        source = FilesSource()
        assert runs(source, [1, 2]) == []
        source.replace(StoredIndex([[1, 2, 3]]))
        assert runs(source, [1, 2]) == [(3,)]
        source.replace(StoredIndex([[1, 2, 4]]))
        assert runs(source, [1, 2]) == [(4,)]
        source.replace(None)
        assert runs(source, [1, 2]) == []


class TestWindowSource:
    def test_gives_the_ngrams_of_the_last_token_newest_first(self) -> None:
        source = WindowSource()
        source.learn([(1, 2, 3, 4), (1, 5, 6, 7), (8, 9, 9, 9)])
        assert runs(source, [3, 1]) == [(5, 6, 7), (2, 3, 4)]
        source.learn([(1, 2, 3, 4)])
        assert runs(source, [1]) == [(2, 3, 4), (5, 6, 7)]
        assert runs(source, [1], room=2) == [(2, 3), (5, 6)]
        assert runs(source, [4]) == []

    def test_keeps_a_few_for_each_token(self) -> None:
        source = WindowSource()
        source.learn([(1, number, number) for number in range(100)])
        assert runs(source, [1]) == [(number, number) for number in range(99, 91, -1)]


def taught(
    source: SuccessorSource, pairs: list[tuple[int, int]], followers: list[list[int]], chances: list[list[float]]
) -> None:
    source.learn(pairs, followers, [[math.log(chance) for chance in each] for each in chances])


class TestSuccessorSource:
    def made(self) -> SuccessorSource:
        source = SuccessorSource()
        taught(source, [(9, 1), (5, 1)], [[2, 3], [4, 2]], [[0.9, 0.1], [0.6, 0.4]])
        return source

    def test_a_pair_is_known_better_than_its_last_token(self) -> None:
        source = self.made()
        after_pair, after_token = dict(source.follow(9, 1)), dict(source.follow(7, 1))
        assert list(after_pair) == [2, 3, 4]
        assert list(after_token) == [4, 2]  # what the token had last
        assert after_pair[2] > after_token[4] > after_pair[4]

    def test_the_surer_the_model_was_the_likelier_the_guess(self) -> None:
        source = SuccessorSource()
        taught(source, [(1, 2)], [[3, 4, 5, 6]], [[0.7, 0.2, 0.09, 0.01]])
        chances = [chance for _, chance in source.follow(1, 2)]
        assert chances == sorted(chances, reverse=True)
        assert chances[0] > 10 * chances[-1]

    def test_learns_how_often_its_guesses_come_true(self) -> None:
        source = SuccessorSource()
        taught(source, [(8, 1)], [[10, 11, 12]], [[0.9, 0.06, 0.04]])
        before = dict(source.follow(8, 1))
        source.start([8, 1])
        for _ in range(200):
            source.observe([12, 8, 1])  # never the one it was so sure of
        after = dict(source.follow(8, 1))
        assert after[10] < 0.1 < before[10]
        assert after[12] > 0.5 > before[12]

    def test_what_was_never_seen_has_no_followers(self) -> None:
        assert self.made().follow(1, 77) == []

    def test_another_process_takes_up_where_this_one_ends(self) -> None:
        source, other = self.made(), SuccessorSource()
        source.start([9, 1])
        source.observe([2])
        other.load(*source.changes())
        other.restore(source.numbers())
        for before in (9, 5, 7):
            assert other.follow(before, 1) == source.follow(before, 1)
        assert all(len(part) == 0 for part in source.changes())  # told once

    def test_what_is_forgotten_was_never_learned(self) -> None:
        source = self.made()
        source.changes()
        kept = source.follow(9, 1)
        taught(source, [(9, 1), (70, 71)], [[40, 41], [72]], [[0.5, 0.5], [1.0]])
        source.forget_changes()
        assert source.follow(9, 1) == kept
        assert source.follow(70, 71) == []
        assert all(len(part) == 0 for part in source.changes())

    def test_pairs_are_bounded_and_the_oldest_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lacli.drafts.successor.MOST_PAIRS", 3)
        source = SuccessorSource()
        taught(source, [(number, 50) for number in range(5)], [[60 + number] for number in range(5)], [[1.0]] * 5)
        assert [token for token, _ in source.follow(4, 50)] == [64]
        assert source.follow(0, 50) == source.follow(777, 50)
        keys, _, _ = source.changes()
        assert len(keys) == 4  # three pairs and the token

    def test_numbers_of_another_shape_are_ignored(self) -> None:
        for numbers in ([], [1.0], [-1.0] * 84, [float("nan")] * 84):
            source = self.made()
            source.restore(numbers)
            assert source.follow(9, 1) == self.made().follow(9, 1)

    def test_a_pair_that_begins_with_token_0_is_no_single_token(self) -> None:
        source, other = SuccessorSource(), SuccessorSource()
        taught(source, [(0, 50), (3, 50)], [[60], [61]], [[1.0], [1.0]])
        other.load(*source.changes())
        for made in (source, other):
            assert [token for token, _ in made.follow(0, 50)] == [60, 61]
            assert [token for token, _ in made.follow(9, 50)] == [61]

    def test_a_weight_is_sixteenths_of_a_bit_and_what_is_no_chance_weighs_most(self) -> None:
        inf, nan = float("inf"), float("nan")
        assert weights_of([7.0]) == (0,)
        assert weights_of([math.log(part) for part in (0.5, 0.25, 0.125, 0.125)]) == (16, 32, 48, 48)
        assert weights_of([50.0, 50.0 - 15.9 * math.log(2), 38.0, 0.0, -inf]) == (0, 254, 255, 255, 255)
        for odd in ([nan, 1.0], [1.0, nan], [inf, 1.0], [inf, inf], [-inf, -inf]):
            assert weights_of(odd) == (255, 255)
