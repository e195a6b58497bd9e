"""Thousands of mutated GGUF files; `gguf_fuzz` run by hand makes more of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf_fuzz import run


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is bounded by what /proc says of it")
@pytest.mark.parametrize(("seed", "count"), [(1, 200), pytest.param(2, 4000, marks=pytest.mark.slow)])
def test_every_file_is_read_or_refused(seed: int, count: int, tmp_path: Path) -> None:
    outcomes = run(tmp_path, seed, count)
    assert outcomes.keys() == {"read", "refused"}, outcomes
