"""A row's bits do not depend on what rides along: the real default model in all its kinds, compared with torch.equal.

Everything is compared with the model run one row a step. One runner of each kind serves the whole session, and a long
past is made by repeating the keys and values of a short one: what attention sums up matters, not what was said.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
import torch

from lacli.models.base import Rows
from lacli.models.runners.fused.runner import PREFILL_CHUNK
from lacli.models.runners.native.runner import NativeRunner
from tests.models.kernels import Fused, logits_of, repeat, set_threads, stored
from tests.slow import slow

SIZES = (1, 2, 3, 7, 16, 33, 63, 64)
ON_TORCH = (7, 16, 64)
"""Enough for PyTorch's kernels, which are slow: one block, a whole one, many."""
SHORT = PREFILL_CHUNK + 3
"""Length of the real past."""
STEPS = 7
STARTS = (197, 508, 996)
"""Each is followed by `STEPS` tokens one row a step, across 200, 511 and 1000."""


@dataclass
class Reference:
    """One text, and what the model says of it one row a step."""

    runner: Fused
    ids: list[int]
    logits: dict[int, torch.Tensor] = field(default_factory=dict)
    """Position of a token -> logits after it."""
    keys: dict[int, torch.Tensor] = field(default_factory=dict)
    values: dict[int, torch.Tensor] = field(default_factory=dict)

    def step(self) -> None:
        position = self.runner.length
        self.logits[position] = logits_of(self.runner.forward(Rows((self.ids[position],), (-1,), (0,))))[0].clone()
        self.runner.keep([0])
        self.keys[position], self.values[position] = stored(self.runner, position, position + 1)

    @torch.inference_mode()
    def at(self, start: int) -> None:
        """Make the cache `start` long: up to `SHORT` the text, beyond it the same over and over."""
        self.runner.truncate(min(start, SHORT))
        while self.runner.length < start:
            length = self.runner.length
            if length < SHORT:
                self.runner.prefill(self.ids[length : min(start, SHORT)])
                continue
            count = min(start - length, SHORT)
            repeat(self.runner, length, count)

    def sizes(self, sizes: Sequence[int]) -> list[int]:
        """Those of `sizes` to be tried with this runner."""
        return [size for size in sizes if isinstance(self.runner, NativeRunner) or size in ON_TORCH]

    def agrees(self, first: int, last: int) -> bool:
        """Whether the cache holds, from `first` to before `last`, the bits of one row a step."""
        keys, values = stored(self.runner, first, last)
        return torch.equal(keys, torch.cat([self.keys[place] for place in range(first, last)], dim=2)) and torch.equal(
            values, torch.cat([self.values[place] for place in range(first, last)], dim=2)
        )


_made: dict[int, Reference] = {}


@pytest.fixture
def reference(default_runner: Fused) -> Reference:
    set_threads(default_runner, 1)
    found = _made.get(id(default_runner))
    if found is None:
        default_runner.truncate(0)
        ids = random.Random(7).choices(range(20, 40_000), k=STARTS[-1] + STEPS)
        found = _made[id(default_runner)] = Reference(default_runner, ids)
        for _ in range(SHORT):
            found.step()
        for start in STARTS:
            found.at(start)
            for _ in range(STEPS):
                found.step()
    return found


def scattered(path_ids: Sequence[int], size: int, generator: random.Random) -> tuple[Rows, list[int]]:
    """A tree of `size` rows that holds `path_ids` on scattered rows among junk; also the rows of the path.

    Junk hangs from any row, its tokens sometimes those of the path, so that a wrong parent is no better than a wrong
    token.
    """
    slots = sorted(generator.sample(range(1, size), len(path_ids) - 1))
    ids, parents, path = [path_ids[0]], [-1], [0]
    for row in range(1, size):
        if row in slots:
            ids.append(path_ids[len(path)])
            parents.append(path[-1])
            path.append(row)
        else:
            ids.append(generator.choice(path_ids) if generator.random() < 0.3 else generator.randrange(40_000))
            parents.append(generator.randrange(row))
    return Rows(tuple(ids), tuple(parents), tuple(range(size))), path


class TestRows:
    @pytest.mark.default_cases(1)
    @pytest.mark.parametrize("start", STARTS)
    @pytest.mark.default_cases(1)
    def test_a_path_among_junk_siblings_has_the_bits_of_one_row_a_step(self, reference: Reference, start: int) -> None:
        runner = reference.runner
        generator = random.Random(start)
        for size in reference.sizes(SIZES if start < 300 else SIZES[1::2]):
            reference.at(start)
            count = min(size, STEPS - 1)
            rows, path = scattered(reference.ids[start : start + count], size, generator)
            wanted = rows.wanted if size % 2 else tuple(path)
            logits = dict(
                zip(wanted, logits_of(runner.forward(Rows(rows.token_ids, rows.parents, wanted))), strict=True)
            )
            assert runner.length == start
            for depth, row in enumerate(path):
                assert torch.equal(logits[row], reference.logits[start + depth]), (size, depth)
            # Part of the path is kept, moved together out of its slots; what follows knows no difference.
            kept = generator.randint(1, count)
            runner.keep(path[:kept])
            assert runner.length == start + kept
            assert reference.agrees(start, start + kept), size
            following = logits_of(runner.forward(Rows((reference.ids[start + kept],), (-1,), (0,))))
            assert torch.equal(following[0], reference.logits[start + kept]), size

    @pytest.mark.default_cases(1)
    def test_a_chain_has_the_bits_of_one_row_a_step(self, reference: Reference) -> None:
        start = 3
        for size in reference.sizes(SIZES):
            reference.at(start)
            chain = tuple(range(-1, size - 1))
            ids = tuple(reference.ids[start : start + size])
            logits = logits_of(reference.runner.forward(Rows(ids, chain, tuple(range(size)))))
            for row in range(size):
                assert torch.equal(logits[row], reference.logits[start + row]), (size, row)
            reference.runner.keep(range(size))
            assert reference.agrees(start, start + size)

    @pytest.mark.default_cases(1)
    def test_many_steps_of_trees_end_where_plain_steps_end(self, reference: Reference) -> None:
        """Kept rows of one tree are the past of the next, fifteen times."""
        runner, generator = reference.runner, random.Random(3)
        reference.at(2)
        while runner.length < PREFILL_CHUNK:
            start = runner.length
            count = min(generator.randint(1, 9), PREFILL_CHUNK - start)
            rows, path = scattered(reference.ids[start : start + count], count + generator.randrange(12), generator)
            logits = logits_of(runner.forward(rows))
            assert all(torch.equal(logits[row], reference.logits[start + depth]) for depth, row in enumerate(path)), (
                start
            )
            runner.keep(path[: generator.randint(1, count)])
        assert reference.agrees(0, runner.length)

    def test_a_forward_thrown_away_leaves_no_trace(self, reference: Reference) -> None:
        runner = reference.runner
        reference.at(30)
        rows, _ = scattered([5, 6, 7, 8], 20, random.Random(1))
        runner.forward(rows)
        assert runner.length == 30
        logits = logits_of(runner.forward(Rows((reference.ids[30],), (-1,), (0,))))
        assert torch.equal(logits[0], reference.logits[30])

    @pytest.mark.parametrize("threads", [2, slow(3), slow(6)])
    def test_so_it_is_on_any_number_of_threads(self, reference: Reference, threads: int) -> None:
        """Work is cut among threads where it falls; compared within one number of threads."""
        runner, generator = reference.runner, random.Random(threads)
        set_threads(runner, threads)
        reference.at(40)
        expected = []
        for position in range(40, 42):
            expected.append(logits_of(runner.forward(Rows((reference.ids[position],), (-1,), (0,))))[0].clone())
            runner.keep([0])
        for size in (4, 46):
            reference.at(40)
            rows, path = scattered(reference.ids[40:42], size, generator)
            logits = logits_of(runner.forward(rows))
            assert all(torch.equal(logits[row], each) for row, each in zip(path, expected, strict=True)), size


class TestPrefill:
    """The first token does not depend on how the prompt was processed (mlx-lm#1109)."""

    @pytest.mark.parametrize("length", [1, 2, slow(PREFILL_CHUNK - 1), PREFILL_CHUNK, PREFILL_CHUNK + 1])
    def test_a_prompt_has_the_bits_of_one_row_a_step(self, reference: Reference, length: int) -> None:
        reference.at(0)
        scores = reference.runner.prefill(reference.ids[:length])
        assert scores is not None
        assert torch.equal(logits_of(scores)[0], reference.logits[length - 1])
        assert reference.agrees(0, length)

    @pytest.mark.parametrize("reused", [1, slow(30), PREFILL_CHUNK, slow(PREFILL_CHUNK + 1)])
    def test_so_has_one_whose_beginning_was_in_the_cache(self, reference: Reference, reused: int) -> None:
        length = PREFILL_CHUNK + 2
        reference.at(0)
        # Another text came first, and the cache was cut back to what both have in common.
        reference.runner.prefill([*reference.ids[:reused], 11, 12, 13])
        reference.runner.truncate(reused)
        scores = reference.runner.prefill(reference.ids[reused:length])
        assert scores is not None
        assert torch.equal(logits_of(scores)[0], reference.logits[length - 1])
        assert reference.agrees(0, length)

    def test_so_has_one_that_was_cancelled_and_taken_up_again(self, reference: Reference) -> None:
        reference.at(0)
        runner, length = reference.runner, PREFILL_CHUNK + 2
        assert runner.prefill(reference.ids[:length], lambda done: False) is None
        assert 0 < runner.length <= PREFILL_CHUNK  # less where the machine is slow
        scores = runner.prefill(reference.ids[runner.length : length])
        assert scores is not None
        assert torch.equal(logits_of(scores)[0], reference.logits[length - 1])
