"""What a model said to one prompt, and to everything that was guessed on the way: enough to decode it again without it.

A recording is a tree: node 0 stands for the prompt, every other node for one more token behind its parent, and each
node holds the model's likeliest next tokens there. The reply is one path of it; the other nodes are guesses that were
verified and found wrong while it was recorded. Kept in the cache folder, a private file per prompt, model and number
of tokens.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lacli.bench.oracle import RunnerAround
from lacli.bench.suites import Case
from lacli.models.base import TOP, Rows, Runner, Scores
from lacli.storage import atomic, files

BEST = TOP
_VERSION = 2
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """One prompt with its reply. Ids are the model's own."""

    prompt: NDArray[np.int64]
    eos_ids: NDArray[np.int64]
    reply: NDArray[np.int64]
    """What plain decoding delivers."""
    forced: NDArray[np.int64]
    """The reply the model was made to give; empty where it answered by itself."""
    parents: NDArray[np.int64]
    """[nodes] parent of each node, smaller than itself; -1 for node 0."""
    token_ids: NDArray[np.int64]
    """[nodes] the token of each node; for node 0 the prompt's last."""
    best: NDArray[np.int64]
    """[nodes, 8] likeliest next tokens, the one greedy decoding takes first."""
    chances: NDArray[np.float32]
    """[nodes, 8] their probabilities."""


class RecordingRunner(RunnerAround):
    """Notes what the model says; the cache must begin with `prompt`."""

    def __init__(self, runner: Runner, prompt: Sequence[int]) -> None:
        super().__init__(runner)
        self._prompt = tuple(prompt)
        self._children: dict[tuple[int, int], int] = {}
        self._parents = [-1]
        self._token_ids = [self._prompt[-1]]
        self._best: dict[int, tuple[list[int], list[float]]] = {}
        self._at = 0  # the node of the last token in the cache
        self._nodes: list[int] = []

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """See `Runner.prefill`."""
        scores = self._runner.prefill(token_ids, on_chunk)
        if scores is not None and self.length == len(self._prompt):
            self._at = 0
            self._note([0], scores)
        return scores

    def forward(self, rows: Rows) -> Scores:
        """See `Runner.forward`."""
        scores = self._runner.forward(rows)
        self._nodes = []
        for token_id, parent in zip(rows.token_ids, rows.parents, strict=True):
            self._nodes.append(self._child(self._nodes[parent] if parent >= 0 else self._at, token_id))
        self._note([self._nodes[row] for row in rows.wanted], scores)
        return scores

    def keep(self, path: Sequence[int]) -> None:
        """See `Runner.keep`."""
        super().keep(path)
        self._at = self._nodes[path[-1]]

    def recording(self, reply: Sequence[int], forced: Sequence[int], eos_ids: Sequence[int]) -> Recording:
        """All of it; nodes that were never run on, as the last token's, are marked by zero chances."""
        nothing = ([0] * BEST, [0.0] * BEST)
        noted = [self._best.get(node, nothing) for node in range(len(self._parents))]
        return Recording(
            prompt=np.array(self._prompt, dtype=np.int64),
            eos_ids=np.array(eos_ids, dtype=np.int64),
            reply=np.array(reply, dtype=np.int64),
            forced=np.array(forced, dtype=np.int64),
            parents=np.array(self._parents, dtype=np.int64),
            token_ids=np.array(self._token_ids, dtype=np.int64),
            best=np.array([best for best, _ in noted], dtype=np.int64),
            chances=np.array([chances for _, chances in noted], dtype=np.float32),
        )

    def _child(self, node: int, token_id: int) -> int:
        child = self._children.get((node, token_id))
        if child is None:
            child = self._children[node, token_id] = len(self._parents)
            self._parents.append(node)
            self._token_ids.append(token_id)
        return child

    def _note(self, nodes: Sequence[int], scores: Scores) -> None:
        best = torch.from_numpy(scores.top_logits).double()
        chances = torch.exp(best - torch.as_tensor(scores.logits).double().logsumexp(dim=-1, keepdim=True).cpu())
        for node, ids, values in zip(nodes, scores.top_ids.tolist(), chances.tolist(), strict=True):
            padding = BEST - len(ids)
            self._best.setdefault(node, (ids + [0] * padding, values + [0.0] * padding))


def recording_path(folder: Path, model: str, case: Case, max_tokens: int) -> Path:
    """Where the recording of a case stands. model: names weights, quantisation, device and kernel."""
    asked = json.dumps([_VERSION, model, case.prompt, case.reply, max_tokens])
    return folder / f"{hashlib.sha256(asked.encode()).hexdigest()[:24]}.npz"


def save(recording: Recording, path: Path) -> None:
    """Write beside, then put in place; readable by the owner only."""
    memory = io.BytesIO()
    np.savez_compressed(memory, **{name: getattr(recording, name) for name in Recording.__slots__})
    files.make_private(path.parent)
    atomic.replace(path, memory.getvalue())


def stored(path: Path) -> Recording | None:
    """The recording of this file; None where there is none, or none that can be read."""
    try:
        with np.load(io.BytesIO(files.read(path, limit=_MOST_BYTES)), allow_pickle=False) as arrays:
            recording = Recording(**{name: arrays[name] for name in Recording.__slots__})
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None
    nodes = len(recording.parents)
    shapes = {recording.token_ids.shape: (nodes,), recording.best.shape: (nodes, BEST)}
    whole = nodes > 0 and all(found == wanted for found, wanted in shapes.items())
    return recording if whole and recording.chances.shape == recording.best.shape else None
