"""Drafts merged into one tree of rows, and the walk down it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from lacli.drafts.base import Draft
from lacli.engine import tree
from lacli.engine.accept import accept
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.step import Accepted
from lacli.models.base import Rows

VOCAB = 50


def chain(ids: Sequence[int], *chances: float, source: str = "prompt") -> Draft:
    return Draft(tuple(ids), chances or tuple(0.9 ** (n + 1) for n in range(len(ids))), source)


def built(drafts: Sequence[Draft], depth: int = 9, most: int = 30) -> tuple[tree.Tree, list[float]]:
    """The tree where all rows are bought, and the chances offered."""
    offered: list[float] = []

    def all_of(chances: Sequence[float]) -> int:
        offered.extend(chances)
        return len(chances)

    return tree.build(0, drafts, depth, VOCAB, most, all_of), offered


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

    def test_a_tree_of_guesses_is_merged_with_the_chains(self) -> None:
        branching = Draft((1, 2, 7, 3), (0.8, 0.5, 0.3, 0.2), "successor", 0, (-1, 0, -1, 1))
        made, _ = built([chain((1, 2, 4)), branching])
        assert paths(made) == {(1,), (1, 2), (1, 2, 4), (1, 2, 3), (7,)}

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

    def test_no_child_counts_for_more_than_its_parent(self) -> None:
        """Another source may be surer of the whole run than this one is of its first token."""
        made, offered = built([chain((1,), 0.2), Draft((1, 2), (0.1, 0.9), "project"), chain((3,), 0.5)])
        assert offered == [0.5, 0.2, 0.2]
        assert made.token_ids == [0, 3, 1, 2]

    def test_only_the_rows_bought_are_there(self) -> None:
        made = tree.build(0, [chain((1, 2, 3)), chain((4,), 0.85)], 9, VOCAB, 30, lambda chances: 2)
        assert paths(made) == {(1,), (4,)}

    def test_none_is_deeper_than_allowed(self) -> None:
        branching = Draft((7, 8, 9), (0.8, 0.7, 0.6), "successor", 0, (-1, 0, 1))
        made, _ = built([chain((1, 2, 3, 4)), branching], depth=2)
        assert paths(made) == {(1,), (1, 2), (7,), (7, 8)}

    def test_nothing_is_built_on_an_id_the_model_does_not_know(self) -> None:
        branching = Draft((1, VOCAB, 5, 6), (0.8, 0.7, 0.6, 0.6), "successor", 0, (-1, 0, 1, 0))
        made, _ = built([branching, chain((-1, 3)), chain((2, 10**12, 3))])
        assert paths(made) == {(1,), (1, 6), (2,)}

    def test_without_guesses_or_room_nobody_is_asked_to_buy(self) -> None:
        for drafts, most in (([], 10), ([chain((1,))], 0)):
            assert len(tree.build(3, drafts, 9, VOCAB, most, lambda chances: 1 / 0)) == 1  # type: ignore[arg-type]

    def test_any_drafts_give_a_sound_tree(self) -> None:
        generator = random.Random(0)
        for _ in range(200):
            drafts = []
            for _ in range(generator.randrange(1, 8)):
                count = generator.randrange(1, 9)
                parents = tuple(generator.randrange(-1, index) for index in range(count))
                chances = [generator.random()]
                for parent in parents[1:]:
                    chances.append(generator.random() * (chances[parent] if parent >= 0 else 1.0))
                ids = tuple(generator.randrange(-1, 6) for _ in range(count))
                drafts.append(Draft(ids, tuple(chances), "prompt", 0, parents if generator.random() < 0.5 else ()))
            depth, most = generator.randrange(1, 6), generator.randrange(1, 12)
            made, offered = built(drafts, depth, most)
            assert offered == sorted(offered, reverse=True)
            assert len(made) - 1 == len(offered) <= most
            assert all(parent < row for row, parent in enumerate(made.parents))
            assert max(made.rows().depths()) <= depth
            assert len(paths(made)) == len(made) - 1  # no row twice
            assert paths(made) <= {path for draft in drafts for path in _prefixes(draft)}


def _prefixes(draft: Draft) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for index, token_id in enumerate(draft.token_ids):
        parent = draft.parents[index] if draft.parents else index - 1
        found.append((*(found[parent] if parent >= 0 else ()), token_id))
    return found


class TestAccept:
    """Logits whose argmax at row i is `wanted[i]`."""

    def walk(self, rows: Rows, *wanted: int) -> Accepted:
        logits = torch.zeros(len(wanted), VOCAB)
        for slot, token_id in enumerate(wanted):
            logits[slot, token_id] = 5.0
        return accept(rows, logits, Sampler(SamplingOptions()))

    def test_follows_the_branch_that_comes_true_and_adds_the_bonus_token(self) -> None:
        rows = Rows((9, 1, 2, 3, 4, 5), (-1, 0, 0, 2, 2, 4), (0, 1, 2, 3, 4, 5))
        assert self.walk(rows, 2, 8, 4, 8, 5, 7) == Accepted((0, 2, 4, 5), (2, 4, 5, 7))
        assert self.walk(rows, 2, 8, 6, 8, 5, 7) == Accepted((0, 2), (2, 6))
        assert self.walk(rows, 6, 8, 4, 8, 5, 7) == Accepted((0,), (6,))

    def test_does_not_step_to_the_same_token_below_another_parent(self) -> None:
        rows = Rows((9, 1, 2, 3), (-1, 0, 0, 1), (0, 1, 2, 3))
        assert self.walk(rows, 2, 8, 3, 8) == Accepted((0, 2), (2, 3))

    def test_stops_at_a_row_whose_logits_were_not_asked_for(self) -> None:
        rows = Rows((9, 1, 2), (-1, 0, 1), (0, 2))
        assert self.walk(rows, 1, 2) == Accepted((0,), (1,))

    def test_rows_left_out_do_not_shift_the_others(self) -> None:
        rows = Rows((9, 1, 2, 3), (-1, 0, 0, 2), (0, 2, 3))
        assert self.walk(rows, 2, 3, 6) == Accepted((0, 2, 3), (2, 3, 6))
