"""Drafts merged into one tree of rows, and the walk down it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
import torch

from lacli.drafts.base import Draft
from lacli.engine import tree
from lacli.engine.accept import accept
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.step import Accepted
from lacli.models.base import Rows
from lacli.models.runners.scores import scores_of

VOCAB = 50


def chain(ids: Sequence[int], *chances: float, source: str = "prompt") -> Draft:
    return Draft(tuple(ids), chances or tuple(0.9 ** (n + 1) for n in range(len(ids))), source)


Followers = Callable[[int, int], Sequence[tuple[int, float]]]


def built(
    drafts: Sequence[Draft], depth: int = 9, most: int = 30, follow: Followers | None = None, least: float = 0.0
) -> tuple[tree.Tree, list[float]]:
    """The tree where all rows are bought, and the chances offered."""
    offered: list[float] = []

    def all_of(chances: Sequence[float]) -> int:
        offered.extend(chances)
        return len(chances)

    return tree.build((41, 0), tree.Offer(drafts, follow, "successor"), depth, VOCAB, most, least, all_of), offered


def paths(made: tree.Tree) -> set[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for token_id, parent in zip(made.token_ids[1:], made.parents[1:], strict=True):
        found.append((*found[parent], token_id))
    return set(found[1:])


class TestBuild:
    def test_shared_prefixes_cost_their_rows_once(self) -> None:
        made, _ = built([chain((1, 2, 3)), chain((1, 2, 4)), chain((1, 5)), chain((6,))])
        assert len(made) == 1 + 6
        assert paths(made) == {(1,), (1, 2), (1, 2, 3), (1, 2, 4), (1, 5), (6,)}

    def test_followers_hang_below_every_node(self) -> None:
        table = {(41, 0): [(1, 0.5), (7, 0.2)], (0, 1): [(2, 0.5)], (2, 4): [(9, 0.5)]}
        made, _ = built([chain((1, 2, 4))], follow=lambda *tail: table.get(tail[-2:], []))
        assert paths(made) == {(1,), (1, 2), (1, 2, 4), (1, 2, 4, 9), (7,)}
        assert made.sources[made.token_ids.index(9)] == made.sources[made.token_ids.index(7)] == "successor"

    def test_two_reasons_make_a_guess_likelier(self) -> None:
        both, offered = built([chain((1,), 0.5)], follow=lambda *tail: [(1, 0.5)] if tail[-1] == 0 else [])
        assert offered == [0.75]
        assert both.sources == ["", "prompt"]
        surer, _ = built([chain((1,), 0.5)], follow=lambda *tail: [(1, 0.6)] if tail[-1] == 0 else [])
        assert surer.sources == ["", "successor"]

    def test_followers_grow_no_further_than_they_pay(self) -> None:
        made, offered = built([], depth=40, follow=lambda *tail: [(1, 0.5), (2, 0.25)], least=0.1)
        assert min(offered) >= 0.1
        assert max(made.rows().depths()) == 3

    def test_a_row_is_its_likeliest_guessers(self) -> None:
        made, _ = built([chain((1, 2), 0.3, 0.2), chain((1, 2), 0.6, 0.1, source="project")])
        assert made.sources == ["", "project", "prompt"]

    def test_of_equals_the_first_asked_counts(self) -> None:
        made, _ = built([chain((1,), 0.5), chain((1,), 0.5, source="project")])
        assert made.sources == ["", "prompt"]

    def test_the_likeliest_prefixes_come_first(self) -> None:
        drafts = [chain((1, 2, 3), 0.9, 0.5, 0.1), chain((4, 5), 0.6, 0.3)]
        made, offered = built(drafts, most=3)
        assert offered == [0.9, 0.6, 0.5]
        assert paths(made) == {(1,), (4,), (1, 2)}

    def test_a_chance_given_what_stands_above_is_not_spoilt_by_another_source(self) -> None:
        """One source is sure of the first token, another of the second once the first is right."""
        made, offered = built([chain((1,), 0.8), Draft((1, 2), (0.1, 0.09), "project"), chain((3,), 0.5)])
        assert offered == pytest.approx([0.8, 0.72, 0.5])
        assert made.token_ids == [0, 1, 2, 3]

    def test_only_the_rows_bought_are_there(self) -> None:
        made = tree.build((0,), tree.Offer([chain((1, 2, 3)), chain((4,), 0.85)]), 9, VOCAB, 30, 0.0, lambda chances: 2)
        assert paths(made) == {(1,), (4,)}

    def test_none_is_deeper_than_allowed(self) -> None:
        made, _ = built([chain((1, 2, 3, 4))], depth=2, follow=lambda *tail: [(7, 0.5)])
        assert max(made.rows().depths()) == 2
        assert {(1, 2), (7, 7), (1, 7)} <= paths(made)

    def test_nothing_is_built_on_an_id_the_model_does_not_know(self) -> None:
        def follow(*tail: int) -> list[tuple[int, float]]:
            return [(VOCAB, 0.5), (5, 0.5), (-1, 0.5)] if tail[-1] == 1 else []

        made, _ = built([chain((1, VOCAB, 5)), chain((-1, 3)), chain((2, 10**12, 3))], follow=follow)
        assert paths(made) == {(1,), (1, 5), (2,)}

    def test_without_guesses_or_room_there_is_row_0_alone(self) -> None:
        for drafts, most in (([], 10), ([chain((1,))], 0)):
            offer = tree.Offer(drafts)
            assert len(tree.build((3,), offer, 9, VOCAB, most, 0.0, lambda chances: len(chances))) == 1

    def test_any_drafts_give_a_sound_tree(self) -> None:
        generator = random.Random(0)
        for _ in range(200):
            drafts = []
            for _ in range(generator.randrange(1, 8)):
                count = generator.randrange(1, 9)
                chances = [generator.random()]
                while len(chances) < count:
                    chances.append(generator.random() * chances[-1])
                drafts.append(chain([generator.randrange(-1, 6) for _ in range(count)], *chances))
            table = {last: [(generator.randrange(6), generator.random() / 3)] for last in range(3)}
            depth, most = generator.randrange(1, 6), generator.randrange(1, 12)
            made, offered = built(drafts, depth, most, lambda *tail, table=table: table.get(tail[-1], []))  # type: ignore[misc]
            assert offered == sorted(offered, reverse=True)
            assert len(made) - 1 == len(offered) <= most
            assert all(parent < row for row, parent in enumerate(made.parents))
            assert max(made.rows().depths()) <= depth
            assert len(paths(made)) == len(made) - 1  # no row twice


class TestAccept:
    """Logits whose argmax at row i is `wanted[i]`."""

    def walk(self, rows: Rows, *wanted: int) -> Accepted:
        logits = torch.zeros(len(wanted), VOCAB)
        for slot, token_id in enumerate(wanted):
            logits[slot, token_id] = 5.0
        return accept(rows, scores_of(logits), Sampler(SamplingOptions()))

    def test_follows_the_branch_that_comes_true_and_adds_the_bonus_token(self) -> None:
        rows = Rows((9, 1, 2, 3, 4, 5), (-1, 0, 0, 2, 2, 4), (0, 1, 2, 3, 4, 5))
        assert self.walk(rows, 2, 8, 4, 8, 5, 7) == Accepted((0, 2, 4, 5), (2, 4, 5, 7))
        assert self.walk(rows, 2, 8, 6, 8, 5, 7) == Accepted((0, 2), (2, 6))
        assert self.walk(rows, 6, 8, 4, 8, 5, 7) == Accepted((0,), (6,))

    def test_does_not_step_to_the_same_token_below_another_parent(self) -> None:
        rows = Rows((9, 1, 2, 3), (-1, 0, 0, 1), (0, 1, 2, 3))
        assert self.walk(rows, 2, 8, 3, 8) == Accepted((0, 2), (2, 3))

    def test_stops_at_a_row_whose_scores_were_not_asked_for(self) -> None:
        rows = Rows((9, 1, 2), (-1, 0, 1), (0, 2))
        assert self.walk(rows, 1, 2) == Accepted((0,), (1,))

    def test_rows_left_out_do_not_shift_the_others(self) -> None:
        rows = Rows((9, 1, 2, 3), (-1, 0, 0, 2), (0, 2, 3))
        assert self.walk(rows, 2, 3, 6) == Accepted((0, 2, 3), (2, 3, 6))
