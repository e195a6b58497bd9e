"""What the pool's tests share: a key, and a way to open its pool again and again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacli.pool.store import Pool, open_pool
from lacli.pool.update import NO_TOKEN, TableRows
from lacli.project.root import PoolKey, pool_key

FINGERPRINT = "0123456789abcdef" * 4
VOCAB = 50_000

posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has no such files or modes")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's file systems")

Opener = Callable[..., Pool]


@pytest.fixture(autouse=True)
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of replies are stored here, and no power fails."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def key(tmp_path: Path) -> PoolKey:
    project = tmp_path / "project"
    project.mkdir()
    return pool_key(project, FINGERPRINT)


@pytest.fixture
def pools(tmp_path: Path) -> Path:
    """The folder of all pools; not made yet, as at a first run."""
    return tmp_path / "state" / "pools"


@pytest.fixture
def reopen(key: PoolKey, pools: Path) -> Opener:
    """Open the pool as a new process would."""

    def _open(mode: Any = "learn", vocab_size: int = VOCAB, **options: Any) -> Pool:
        return open_pool(key, pools, mode, vocab_size, **options)

    return _open


def table_rows(*keys: tuple[int, int] | int, follower: int = 7) -> TableRows:
    """Entries for these keys, with followers that can be told from those of another call."""
    pairs = [key if isinstance(key, tuple) else (NO_TOKEN, key) for key in keys]
    followers = [[*range(follower, follower + 7), NO_TOKEN] for _ in pairs]
    weights = [[2, 5, 9, 17, 33, 80, 200, 255] for _ in pairs]
    return TableRows(
        np.array(pairs, np.uint32).reshape(-1, 2),
        np.array(followers, np.uint32).reshape(-1, 8),
        np.array(weights, np.uint8).reshape(-1, 8),
    )


def entries(rows: TableRows | None) -> dict[tuple[int, ...], tuple[list[int], list[int]]]:
    """What a table says, by key."""
    if rows is None:
        return {}
    values = zip(rows.keys.tolist(), rows.followers.tolist(), rows.weights.tolist(), strict=True)
    return {tuple(key): (followers, weights) for key, followers, weights in values}
