"""The lookahead window (Lookahead Decoding, arXiv 2402.02057): contributes rows to a step and yields n-grams.

W columns by N-1 levels of guessed tokens (successive Jacobi iterations, oldest first). The last emitted token, at
position p, is column 0 of level 0. Column i of level l sits at position p+i+l; its parent is column i of level l-1, and
level 0 is a chain. The argmax at the rows of the newest level becomes the next level, and each column read across the
levels is an n-gram. Levels are filled one per step, as in the reference implementation. N = 2 is plain Jacobi decoding:
a single level, whose own rows may be accepted. Knows neither model nor cache.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from lacli.drafts.jacobi import WindowSource
from lacli.engine.tree import Tree
from lacli.models.base import Rows, Scores


class LookaheadWindow:
    """The window of one reply and the draft source fed with its n-grams."""

    def __init__(self, columns: int, ngram: int, context: Sequence[int]) -> None:
        self.source = WindowSource()
        self._window = JacobiWindow(columns, ngram, context)
        self.rows_needed = self._window.rows_needed
        self._newest: list[int] | None = None
        """Rows of the newest level in the current step; None if the window does not run."""

    def skip(self) -> None:
        """Leave the window out of this step."""
        self._newest = None

    def place(self, tree: Tree, depth: int) -> list[int]:
        """See `JacobiWindow.place`."""
        self._newest = self._window.place(tree, depth)
        return self._newest

    def learn(self, rows: Rows, scores: Scores, emitted: int) -> bool:
        """Advance by `emitted` tokens, with the argmax at the newest level's rows; False if the window did not run."""
        if self._newest is None:
            return False
        scored = {row: index for index, row in enumerate(rows.wanted)}
        firsts = scores.top_ids[:, 0].tolist()
        newest = [firsts[scored[row]] for row in self._newest]
        self.source.learn(self._window.advance(newest, rows.token_ids[0], emitted))
        return True


class JacobiWindow:
    """The levels of guessed tokens and how they advance."""

    def __init__(self, columns: int, ngram: int, context: Sequence[int], seed: int = 0) -> None:
        self.columns = columns
        self.ngram = ngram
        self._random = random.Random(seed)
        self._fillers = tuple(context)
        # levels[l][i]: token of column i of level l, i in 0..W-1. Column 0 of level 0 is the last emitted token's own
        # row, so that entry is never read.
        self._levels: list[list[int]] = [[self._filler() for _ in range(columns)]]
        self._rows: list[list[int]] = []

    @property
    def rows_needed(self) -> int:
        """Rows of a window with all its levels filled; used as its cost from the first step on."""
        return self.columns * (self.ngram - 1) - 1

    def _filler(self) -> int:
        return self._random.choice(self._fillers)

    def place(self, tree: Tree, depth: int) -> list[int]:
        """Add the window's rows to `tree`, none deeper than `depth`; return the rows of the newest level.

        Fewer than W rows if columns had to be left out.
        """
        self._rows = []
        for level, tokens in enumerate(self._levels):
            row_of: list[int] = []
            above = self._rows[-1] if self._rows else []
            for column, token_id in enumerate(tokens):
                if column + level > depth or (level > 0 and column >= len(above)):
                    break
                if level > 0:
                    row_of.append(tree.add(above[column], token_id, "window"))
                else:
                    row_of.append(0 if column == 0 else tree.add(row_of[-1], token_id, "window"))
            self._rows.append(row_of)
        return self._rows[-1]

    def advance(self, newest: Sequence[int], last_token: int, emitted: int) -> list[tuple[int, ...]]:
        """Advance by the `emitted` tokens of a step and return the n-grams completed in it.

        newest: the argmax at each row that `place` returned; last_token: the token of row 0 in that step.
        """
        levels = self._levels
        grams: list[tuple[int, ...]] = []
        full = len(levels) == self.ngram - 1
        if full:
            for column, token_id in enumerate(newest):
                first = last_token if column == 0 else levels[0][column]
                grams.append((first, *(level[column] for level in levels[1:]), token_id))
        padded = [*newest, *(self._filler() for _ in range(self.columns - len(newest)))]
        kept = [*levels[1:], padded] if full else [*levels, padded]
        # Column i of level l+1 is one position behind column i of level l, so dropping the oldest level advances the
        # window by one position. Further emitted tokens, or a missing level, shift the columns instead.
        shift = emitted - 1 if full else emitted
        self._levels = [self._moved(level, shift) for level in kept]
        return grams

    def _moved(self, level: list[int], shift: int) -> list[int]:
        if shift <= 0:
            return level
        return [*level[shift:], *(self._filler() for _ in range(min(shift, self.columns)))]
