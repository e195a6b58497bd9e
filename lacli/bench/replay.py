"""Decodes recorded replies again without the model: the real loop and the real sources over an oracle for a runner.

`python -m lacli.bench.replay` and `lacli bench --replay` give tokens per step of any mode in seconds. What the runner
says on the recorded tree (`recording`) is what the model said: its eight likeliest next tokens with their chances, the
rest spread evenly. A row that was never recorded gets what the model said in this prompt's recording where the longest
suffix of the row's path was seen, up to four tokens; failing that, all tokens are equally likely. Such a row is never
accepted, so it bears only on what the successor table and the window learn: of tokens this prompt's text will come to
they learn its own wording (too many tokens per step), of all others nothing (too few). Other prompts' recordings are
not asked, or one prompt's wording would stand in the pool made of another's replay. A recording is the truer the more
its tree is like those replayed: with one of the same drafts, cold figures at 16, 32 and 64 rows were within 5 % of the
model's, with one of other drafts 9 % too high. After a change of how drafts are made, empty `recordings` in the cache.

Ids are renumbered so that only those that occur count, in the same order: logits of 50,000 ids for 64 rows would cost
more than the model's own forward. Times of forwards are not measured but taken from the stored cost curve.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lacli import paths
from lacli.assistant.base import ignore
from lacli.assistant.loaded import Loaded
from lacli.assistant.loading import load
from lacli.bench import report
from lacli.bench.measure import Progress, measure
from lacli.bench.modes import ALL_COLD, MEASURED, PLAIN, WRONG_POOL, Mode
from lacli.bench.recording import BEST, Recording, RecordingRunner, recording_path, save, stored
from lacli.bench.runner import Bench, Player, Run, Task
from lacli.bench.suites import Case, load_suites
from lacli.config import Settings
from lacli.drafts.base import NO_TOKEN, Found, StaticFollowers
from lacli.drafts.successor import SuccessorTable
from lacli.engine.controller import Limits
from lacli.engine.cost import CostCurve
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Step
from lacli.models.base import Rows, Scores
from lacli.models.runners.scores import scores_of
from lacli.text.tokenizer import Tokenizer

RECORDED_ROWS = 64
MOST_IDS = 1 << 20
MODES = tuple(mode for mode in (*MEASURED, WRONG_POOL) if not mode.sampled)
_SUFFIX = 4


class Oracle:
    """All recordings of a run, joined and renumbered."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        arrays = [part for one in recordings for part in (one.prompt, one.eos_ids, one.token_ids, one.best, one.forced)]
        self._known = np.unique(np.concatenate([array.ravel() for array in arrays]))
        self.width = len(self._known)
        """Logits of a row. Ids beyond, which only an unrelated pool holds, can be guessed and are never the model's."""
        self.vocab_size = self.width + MOST_IDS
        best = [self.renumbered(one.best) for one in recordings]
        best.append(np.arange(BEST)[None])
        chances = [one.chances for one in recordings]
        chances.append(np.zeros((1, BEST), dtype=np.float32))
        self._best = torch.from_numpy(np.concatenate(best))
        joined = np.concatenate(chances)
        self._said: list[bool] = (joined[:, 0] > 0).tolist()
        self._logits, self._rest = self._spread(torch.from_numpy(joined).double())
        self.nowhere = len(self._best) - 1
        starts = np.cumsum([0, *(len(one.parents) for one in recordings)]).tolist()
        self._starts = {id(one): start for one, start in zip(recordings, starts, strict=False)}
        self._own: dict[int, dict[tuple[int, ...], int]] = {}
        self._children: dict[int, dict[tuple[int, int], int]] = {}
        for one in recordings:
            self._index(one)

    def renumbered(self, token_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of these ids."""
        numbers = np.searchsorted(self._known, token_ids)
        found = self._known[np.minimum(numbers, self.width - 1)] == token_ids
        return np.where(found, numbers, self.width + token_ids)

    def token_ids(self, numbers: Sequence[int]) -> list[int]:
        """The ids behind these numbers."""
        return [int(self._known[one]) if one < self.width else one - self.width for one in numbers]

    def runner(self, recording: Recording) -> ReplayRunner:
        """The runner of one prompt."""
        start = self._starts[id(recording)]
        prompt = self.renumbered(recording.prompt).tolist()
        return ReplayRunner(self, prompt, start, self._children[start], self._own[start])

    def said(self, node: int) -> bool:
        """Whether the model's answer there is known: a window's older rows are run without anybody asking."""
        return self._said[node]

    def scores(self, nodes: Sequence[int]) -> Scores:
        """What the model said at these nodes."""
        index = torch.tensor(nodes)
        every = self._rest[index].unsqueeze(1).expand(-1, self.width).clone()
        return scores_of(every.scatter_(1, self._best[index], self._logits[index]))

    def _spread(self, chances: Tensor) -> tuple[Tensor, Tensor]:
        """Log chances of the best, and of each of the others; these stay below the best, whatever the rounding."""
        others = max(1, self.width - BEST)
        least = torch.where(chances > 0, chances, 1.0).amin(dim=1)
        rest = ((1 - chances.sum(dim=1)) / others).clamp(min=1e-12)
        rest = torch.minimum(rest, 0.99 * least)
        logits = torch.where(chances > 0, chances, rest[:, None]).log().float()
        for rank in range(1, BEST):  # in the order of the recording, ties or not
            below = torch.nextafter(logits[:, rank - 1], torch.tensor(-torch.inf))
            logits[:, rank] = torch.where(chances[:, rank] > 0, torch.minimum(logits[:, rank], below), logits[:, rank])
        return logits, rest.log().float()

    def _index(self, one: Recording) -> None:
        """Where each short run of tokens was seen; the latest node counts."""
        start = self._starts[id(one)]
        own: dict[tuple[int, ...], int] = {}
        children: dict[tuple[int, int], int] = {}
        tails: list[tuple[int, ...]] = []
        known = (one.chances[:, 0] > 0).tolist()
        token_ids = self.renumbered(one.token_ids).tolist()
        for node, (parent, token_id) in enumerate(zip(one.parents.tolist(), token_ids, strict=True)):
            above = tails[parent] if parent >= 0 else tuple(self.renumbered(one.prompt[-_SUFFIX:-1]).tolist())
            tail = (*above, token_id)[-_SUFFIX:]
            tails.append(tail)
            if parent >= 0:
                children[start + parent, token_id] = start + node
            if known[node]:
                for length in range(1, len(tail) + 1):
                    own[tail[-length:]] = start + node
        self._children[start], self._own[start] = children, own


class ReplayRunner:
    """Implements `Runner` from a recording; rows off it are answered by the longest suffix known."""

    can_branch = True
    kernel = "torch"
    notes: tuple[str, ...] = ()
    context_size = 1 << 20

    def __init__(
        self,
        oracle: Oracle,
        prompt: Sequence[int],
        root: int,
        children: dict[tuple[int, int], int],
        seen: dict[tuple[int, ...], int],
    ) -> None:
        """children: nodes by parent and token; seen: nodes by the last tokens that lead there."""
        self._oracle = oracle
        self._children = children
        self._seen = seen
        self._root = self._at = root
        self._start = tuple(prompt[-_SUFFIX:])
        self._tail = self._start
        self._length = 0
        self._nodes: list[int | None] = []
        self._tails: list[tuple[int, ...]] = []
        self.vocab_size = oracle.vocab_size

    @property
    def length(self) -> int:
        """See `Runner.length`."""
        return self._length

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """See `Runner.prefill`; only the recorded prompt can be asked for."""
        self._length += len(token_ids)
        self._at, self._tail = self._root, self._start
        if on_chunk is not None and not on_chunk(len(token_ids)):
            return None
        return self._oracle.scores([self._root])

    def forward(self, rows: Rows) -> Scores:
        """See `Runner.forward`."""
        self._nodes, self._tails = [], []
        for token_id, parent in zip(rows.token_ids, rows.parents, strict=True):
            above = self._nodes[parent] if parent >= 0 else self._at
            tail = self._tails[parent] if parent >= 0 else self._tail
            self._nodes.append(None if above is None else self._children.get((above, token_id)))
            self._tails.append((*tail, token_id)[-_SUFFIX:])
        return self._oracle.scores([self._answer(row) for row in rows.wanted])

    def _answer(self, row: int) -> int:
        node, tail = self._nodes[row], self._tails[row]
        if node is not None and self._oracle.said(node):
            return node
        for length in range(len(tail), 0, -1):
            found = self._seen.get(tail[-length:])
            if found is not None:
                return found
        return self._oracle.nowhere

    def keep(self, path: Sequence[int]) -> None:
        """See `Runner.keep`."""
        self._length += len(path)
        node = self._nodes[path[-1]]
        assert node is not None, "an accepted row was not recorded"
        self._at, self._tail = node, self._tails[path[-1]]

    def truncate(self, length: int) -> None:
        """See `Runner.truncate`; what follows is a prefill."""
        self._length = length


class RenumberedFollowers:
    """A `StaticFollowers` in the oracle's numbers."""

    def __init__(self, ngrams: StaticFollowers, oracle: Oracle) -> None:
        self._ngrams, self._oracle = ngrams, oracle
        self._known: dict[tuple[int, ...], Found] = {}

    def find(self, tail: tuple[int, ...]) -> Found:
        """See `StaticFollowers.find`."""
        found = self._known.get(tail)
        if found is None:
            found = self._known[tail] = self._look_up(tail)
        return found

    def _look_up(self, tail: tuple[int, ...]) -> Found:
        order, followers, weights = self._ngrams.find(tuple(self._oracle.token_ids(tail)))
        return order, tuple(self._oracle.renumbered(np.array(followers, dtype=np.int64)).tolist()), weights


class Replay(Player):
    """Recorded replies in place of a model."""

    def __init__(
        self,
        recordings: dict[Case, Recording],
        limits: Limits,
        points: dict[int, float],
        tokenizer: Tokenizer,
        primer: SuccessorTable | None,
        ngrams: StaticFollowers | None,
        max_tokens: int,
        rows: int | None = None,
    ) -> None:
        """points: the measured cost of rows, by which forwards are timed, and bought where `rows` is None."""
        super().__init__(limits, max_tokens, rows)
        self._recordings = recordings
        self._tokenizer = tokenizer
        self._points = points
        self._free = rows is not None
        self._timed = CostCurve(points, learning=False)
        self.oracle = Oracle(list(recordings.values()))
        self.vocab_size = self.oracle.vocab_size
        self.primer = self._renumbered_table(primer) if primer is not None else None
        self.ngrams = RenumberedFollowers(ngrams, self.oracle) if ngrams is not None else None

    def _renumbered_table(self, table: SuccessorTable) -> SuccessorTable:
        keys, followers, weights = table
        before, last, after = (
            np.where(ids == NO_TOKEN, NO_TOKEN, self.oracle.renumbered(ids.astype(np.int64))).astype(np.uint32)
            for ids in (keys[:, 0], keys[:, 1], followers)
        )
        return np.stack([before, last], axis=1), after, weights

    def task(self, case: Case) -> Task:
        """See `Player.task`."""
        one = self._recordings[case]
        prompt, eos_ids, forced = (self.oracle.renumbered(part) for part in (one.prompt, one.eos_ids, one.forced))
        return Task(case, tuple(prompt.tolist()), tuple(eos_ids.tolist()), tuple(forced.tolist()))

    def cached(self, task: Task) -> CachedSequence:
        """See `Player.cached`."""
        return CachedSequence(self.oracle.runner(self._recordings[task.case]))

    def reply(self, task: Task, cached: CachedSequence) -> tuple[int, ...]:
        """See `Player.reply`."""
        return tuple(self.oracle.renumbered(self._recordings[task.case].reply).tolist())

    def encode(self, text: str) -> Sequence[int]:
        """See `Player.encode`."""
        numbers: list[int] = self.oracle.renumbered(np.array(self._tokenizer.encode(text), dtype=np.int64)).tolist()
        return numbers

    def cost(self) -> CostCurve:
        """See `Player.cost`; the oracle's own speed teaches nothing."""
        return CostCurve.flat() if self._free else CostCurve(self._points, learning=False)

    def forward_ms(self, step: Step) -> float:
        """See `Player.forward_ms`."""
        return self._timed(step.rows) if step.rows else 0.0


def recorded(loaded: Loaded, cases: Sequence[Case], max_tokens: int, progress: Progress) -> dict[Case, Recording]:
    """The recordings of these cases; what is missing is made, by one decode of each prompt with many guesses."""
    folder = paths.cache_dir() / "recordings"
    model = f"{loaded.prepared.folder.name}-{loaded.quant}-{loaded.device}-{loaded.cached.runner.kernel}"
    found = {}
    for number, case in enumerate(cases, start=1):
        path = recording_path(folder, model, case, max_tokens)
        recording = stored(path)
        if recording is None:
            progress(f"recording {case.suite} {number}/{len(cases)} {case.name}")
            recording = record(Bench(loaded, max_tokens, RECORDED_ROWS), case)
            save(recording, path)
        found[case] = recording
    return found


def record(bench: Bench, case: Case) -> Recording:
    """Decode a case with the model, guessing as widely as can be: the more is recorded, the less must be made up."""
    task = bench.task(case)
    runner = RecordingRunner(bench.cached(task).runner, task.prompt)
    cached = CachedSequence(runner)
    reply = bench.play(task, ALL_COLD, cached, stop_loops=False).token_ids
    return runner.recording(reply, task.reference, task.eos_ids)


def replay_of(loaded: Loaded, cases: Sequence[Case], max_tokens: int, rows: int | None, progress: Progress) -> Replay:
    """These cases, recorded where they are not yet, ready to be played."""
    recordings = recorded(loaded, cases, max_tokens, progress)
    controller = loaded.controller
    points = controller.cost.points
    return Replay(
        recordings, controller.limits, points, loaded.tokenizer, loaded.primer, loaded.ngrams, max_tokens, rows
    )


def open_replay(
    suite: str = "code", max_tokens: int = 96, rows: int | None = None, limit: int | None = None
) -> tuple[Replay, tuple[Case, ...]]:
    """A suite of the default model, for scripts that tune: `measure(replay, cases, progress, modes)`."""
    cases = load_suites(suite, limit)
    loaded = load(Settings(offline=True, pool=False), ignore)
    return replay_of(loaded, cases, max_tokens, rows, print), cases


def main(arguments: Sequence[str] | None = None) -> None:
    """Replay a suite and print the table."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.replay", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--suite", default="code")
    parser.add_argument("--rows", type=int)
    parser.add_argument("-n", type=int, default=96)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--modes", default="cold,warm-similar,warm-replay")
    options = parser.parse_args(arguments)
    replay, cases = open_replay(options.suite, options.n, options.rows, options.limit)
    for line in report.table(report.figures(replayed(replay, cases, options.modes.split(","), lambda text: None))):
        print(line)


def replayed(replay: Replay, cases: Sequence[Case], names: Sequence[str], progress: Progress) -> list[Run]:
    """The runs of these modes, plain decoding always among them."""
    wanted: list[Mode] = [mode for mode in MODES if mode is PLAIN or mode.name in names]
    return measure(replay, cases, progress, wanted)


if __name__ == "__main__":
    main()
