"""The lookahead window: its rows go into a step, n-grams come out. Knows no model and no cache.

W columns and N-1 levels of guessed tokens (Jacobi iterations, oldest first) after the last emitted token, which is
column 0 of level 0. Column i of level l sits at position p+i+l and hangs from column i of level l-1; level 0 is a
chain. The argmax at the rows of the newest level is the next level, and each column read down the levels is an n-gram
(Lookahead Decoding, arXiv 2402.02057; levels are filled one step at a time as in its reference implementation).
N = 2 is plain Jacobi decoding: one level, whose own rows may be accepted.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from lacli.drafts.jacobi import WindowSource
from lacli.engine.tree import Tree
from lacli.models.base import Rows, Scores


class LookaheadWindow:
    """The window of one reply and the draft source that is fed with its n-grams."""

    def __init__(self, columns: int, ngram: int, context: Sequence[int]) -> None:
        self.source = WindowSource()
        self._window = JacobiWindow(columns, ngram, context)
        self.rows_needed = self._window.rows_needed
        self._newest: list[int] | None = None
        """Rows of the newest level in the step in progress; None if the window does not run in it."""

    def skip(self) -> None:
        """The window does not run in this step."""
        self._newest = None

    def place(self, tree: Tree, depth: int) -> list[int]:
        """See `JacobiWindow.place`."""
        self._newest = self._window.place(tree, depth)
        return self._newest

    def learn(self, rows: Rows, scores: Scores, emitted: int) -> bool:
        """Take the argmax at the newest level's rows and move on; False if the window did not run in this step."""
        if self._newest is None:
            return False
        scored = {row: index for index, row in enumerate(rows.wanted)}
        firsts = scores.top_ids[:, 0].tolist()
        newest = [firsts[scored[row]] for row in self._newest]
        self.source.learn(self._window.advance(newest, rows.token_ids[0], emitted))
        return True


class JacobiWindow:
    """The levels of guessed tokens, and how they move on."""

    def __init__(self, columns: int, ngram: int, context: Sequence[int], seed: int = 0) -> None:
        self.columns = columns
        self.ngram = ngram
        self._random = random.Random(seed)
        self._fillers = tuple(context)
        # Level l lists the tokens of columns 0..W-1; column 0 of level 0 is the row of the last emitted token itself,
        # so its entry is never read.
        self._levels: list[list[int]] = [[self._filler() for _ in range(columns)]]
        self._rows: list[list[int]] = []

    @property
    def rows_needed(self) -> int:
        """Rows the window adds to a step once all its levels are there: what it is priced by from the first step on."""
        return self.columns * (self.ngram - 1) - 1

    def _filler(self) -> int:
        return self._random.choice(self._fillers)

    def place(self, tree: Tree, depth: int) -> list[int]:
        """Add the window's rows to `tree`, none deeper than `depth`; return the rows of the newest level.

        The result is shorter than W where columns had to be left out.
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
        """Take the argmax at the newest level's rows, move on by the tokens emitted, return the n-grams read.

        newest: one token per row that `place` returned; last_token: the token of row 0 in that step.
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
        # Column i of level l+1 stands where column i of level l stands one position later, so dropping the oldest
        # level moves the window by one; more emitted tokens, or a level still missing, move the columns.
        shift = emitted - 1 if full else emitted
        self._levels = [self._moved(level, shift) for level in kept]
        return grams

    def _moved(self, level: list[int], shift: int) -> list[int]:
        if shift <= 0:
            return level
        return [*level[shift:], *(self._filler() for _ in range(min(shift, self.columns)))]
