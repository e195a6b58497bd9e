"""The lookahead window against a slow one that keeps every level by absolute positions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lacli.engine.tree import Tree
from lacli.engine.window import JacobiWindow

FILLER = 7
"""The only token of the prompts here, so that columns filled anew are the same in both windows."""


def model(context: Sequence[int]) -> int:
    """The argmax after a context: depends on its last four tokens and its length, so on positions too."""
    return (sum((place + 3) * token for place, token in enumerate(context[-4:])) + 5 * len(context)) % 31


class SlowWindow:
    """Levels as dictionaries from absolute position to token; written from the paper's description alone.

    Level l has the columns at positions p+l .. p+l+W-1 of the current token's position p. Column i sees the text, level
    0 up to its own column, and its own column of every level up to its own.
    """

    def __init__(self, columns: int, ngram: int) -> None:
        self.columns, self.ngram = columns, ngram
        self.levels: list[dict[int, int]] = [{}]

    def token(self, level: int, position: int) -> int:
        return self.levels[level].get(position, FILLER)

    def chain(self, text: Sequence[int], column: int) -> list[int]:
        """All that the newest level's row of this column sees, itself included."""
        here = len(text) - 1
        level_0 = [self.token(0, here + step) for step in range(1, column + 1)]
        own = [self.token(level, here + column + level) for level in range(1, len(self.levels))]
        return [*text, *level_0, *own]

    def step(self, text: Sequence[int], emitted: int) -> list[tuple[int, ...]]:
        here, depth = len(text) - 1, len(self.levels)
        chains = [self.chain(text, column) for column in range(self.columns)]
        new = {here + column + depth: model(chain) for column, chain in enumerate(chains)}
        full = depth == self.ngram - 1
        grams = [(*chain[-depth:], new[here + column + depth]) for column, chain in enumerate(chains) if full]
        self.levels = [*(self.levels[1:] if full else self.levels), new]
        # What the text has passed, or what stands beyond the last column, is forgotten.
        ahead = here + emitted
        for level, tokens in enumerate(self.levels):
            for position in list(tokens):
                if not ahead + level <= position < ahead + level + self.columns:
                    del tokens[position]
        return grams


def contexts_of(tree: Tree, text: Sequence[int], rows: Sequence[int]) -> list[list[int]]:
    """What each of these rows sees: the text and its ancestors."""
    found = []
    for row in rows:
        above: list[int] = []
        while row > 0:
            above.append(tree.token_ids[row])
            row = tree.parents[row]
        found.append([*text, *above[::-1]])
    return found


class TestAgainstTheSlowWindow:
    @pytest.mark.parametrize(("columns", "ngram"), [(5, 4), (4, 3), (3, 2), (1, 4), (6, 7), (2, 5)])
    @pytest.mark.parametrize("emitted", [(1,), (2,), (1, 3, 1, 2), (4, 1, 9), (1, 1, 1, 1, 1, 6)])
    def test_the_ngrams_are_the_same_step_by_step(self, columns: int, ngram: int, emitted: tuple[int, ...]) -> None:
        ours, slow = JacobiWindow(columns, ngram, [FILLER]), SlowWindow(columns, ngram)
        text, seen = [FILLER, FILLER], 0
        for number in range(30):
            tree = Tree(text[-1])
            rows = ours.place(tree, depth=99)
            newest = contexts_of(tree, text, rows)
            assert newest == [slow.chain(text, column) for column in range(columns)]
            count = emitted[number % len(emitted)]
            grams = ours.advance([model(each) for each in newest], text[-1], count)
            assert grams == slow.step(text, count)
            seen += len(grams)
            for _ in range(count):
                text.append(model(text))
        assert seen == columns * (30 - (ngram - 2))  # levels are filled one a step

    def test_a_window_adds_no_more_rows_than_it_says(self) -> None:
        window, text = JacobiWindow(5, 4, [FILLER, 3, 9]), [1]
        for _ in range(6):
            tree = Tree(text[-1])
            rows = window.place(tree, depth=99)
            assert len(tree) - 1 <= window.rows_needed
            window.advance([model(each) for each in contexts_of(tree, text, rows)], text[-1], 1)
            text.append(model(text))
        assert window.rows_needed == 5 * 3 - 1


class TestPlace:
    @pytest.mark.parametrize("depth", [0, 1, 2, 3, 4])
    def test_no_row_is_deeper_than_allowed(self, depth: int) -> None:
        window, text = JacobiWindow(4, 4, [2, 3, 4, 5]), [1]
        for _ in range(5):
            tree = Tree(text[-1])
            newest = window.place(tree, depth)
            assert max(tree.rows().depths()) <= depth
            window.advance([model(each) for each in contexts_of(tree, text, newest)], text[-1], 1)
            text.append(model(text))

    def test_rows_a_draft_has_bought_are_shared(self) -> None:
        window = JacobiWindow(3, 3, [FILLER])
        tree = Tree(1)
        tree.add(0, FILLER, "prompt")
        window.place(tree, depth=9)
        assert tree.token_ids == [1, FILLER, FILLER]
        assert tree.sources == ["", "prompt", "window"]

    def test_its_tokens_are_the_prompts(self) -> None:
        tree = Tree(1)
        JacobiWindow(20, 3, [40, 41]).place(tree, depth=99)
        assert set(tree.token_ids[1:]) == {40, 41}
