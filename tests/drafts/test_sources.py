"""The sources: what each has seen when it is asked, and what it learns from the text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lacli.drafts.base import Draft, DraftSource
from lacli.drafts.jacobi import WindowSource
from lacli.drafts.lookup import ProjectSource, PromptSource, SessionSource
from lacli.drafts.successor import SUCCESSORS, SuccessorSource


def runs(source: DraftSource, context: Sequence[int], room: int = 4) -> list[tuple[int, ...]]:
    return [draft.token_ids for draft in source.propose(context, room)]


SOURCES = [PromptSource, SessionSource, lambda: ProjectSource([[1, 2, 3]]), lambda: WindowSource(4), SuccessorSource]


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
                    if not draft.parents:
                        assert len(draft.token_ids) <= room
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

    def test_believes_itself_less_with_every_step_that_was_all_wrong(self) -> None:
        source = ProjectSource([[1, 2, 3, 4, 5]])
        (fresh,) = source.propose([1, 2], 4)
        chances = [fresh.chances[0]]
        for _ in range(3):
            (draft,) = source.propose([1, 2], 4)
            source.credit(Draft(draft.token_ids[:1], draft.chances[:1], draft.source, draft.key), 0)
            source.observe([99])
            chances.append(source.propose([1, 2], 4)[0].chances[0])
        assert chances == sorted(chances, reverse=True)
        assert chances[3] < chances[0] / 8
        source.credit(fresh, 4)
        source.observe([3, 4, 5])
        assert source.propose([1, 2], 4)[0].chances[0] > 4 * chances[3]

    def test_a_step_without_a_judged_guess_changes_no_belief(self) -> None:
        source = ProjectSource([[1, 2, 3, 4, 5]])
        before = source.propose([1, 2], 4)
        for _ in range(5):
            source.observe([99])
        assert source.propose([1, 2], 4) == before


class TestWindowSource:
    def test_gives_the_ngrams_of_the_last_token_newest_first(self) -> None:
        source = WindowSource(4)
        source.learn([(1, 2, 3, 4), (1, 5, 6, 7), (8, 9, 9, 9)])
        assert runs(source, [3, 1]) == [(5, 6, 7), (2, 3, 4)]
        source.learn([(1, 2, 3, 4)])
        assert runs(source, [1]) == [(2, 3, 4), (5, 6, 7)]
        assert runs(source, [1], room=2) == [(2, 3), (5, 6)]
        assert runs(source, [4]) == []

    def test_keeps_a_few_for_each_token(self) -> None:
        source = WindowSource(3)
        source.learn([(1, number, number) for number in range(100)])
        assert runs(source, [1]) == [(number, number) for number in range(99, 91, -1)]


class TestSuccessorSource:
    def grown(self, room: int = 10, most: int = 63) -> Draft:
        source = SuccessorSource(most)
        source.start([1])
        source.learn([1, 2, 3], [[2, 3, 4], [3, 1, 5], [1, 2, 6]])
        (draft,) = source.propose([9, 1], room)
        return draft

    def test_proposes_one_sound_tree_likeliest_first(self) -> None:
        draft = self.grown()
        assert draft.token_ids[0] == 2
        assert len(draft.token_ids) == len(draft.chances) == len(draft.parents)
        assert list(draft.chances) == sorted(draft.chances, reverse=True)
        for index, parent in enumerate(draft.parents):
            assert parent < index
            assert parent < 0 or draft.chances[index] <= draft.chances[parent]

    @pytest.mark.parametrize("room", [1, 2, 3])
    def test_is_no_deeper_than_the_room(self, room: int) -> None:
        draft, depths = self.grown(room), []
        for parent in draft.parents:
            depths.append(1 if parent < 0 else depths[parent] + 1)
        assert max(depths) == room

    def test_is_no_larger_than_wanted(self) -> None:
        assert len(self.grown(most=5).token_ids) == 5

    def test_learns_which_rank_comes_true(self) -> None:
        source = SuccessorSource()
        source.learn([1], [list(range(10, 10 + SUCCESSORS))])
        source.start([1])
        before = source.propose([1], 1)[0]
        assert before.token_ids[0] == 10
        for _ in range(200):
            source.observe([12, 1])  # always the third of them
        after = source.propose([1], 1)[0]
        assert after.token_ids[0] == 12
        assert after.chances[0] > 0.5

    def test_a_token_never_seen_gives_no_guess(self) -> None:
        assert SuccessorSource().propose([5], 4) == ()
