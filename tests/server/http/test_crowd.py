"""200 clients of a real `lacli serve`, which leave nothing behind. How long `/health` takes is for the bench."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lacli.bench.doors.crowd import CLIENTS, measure
from lacli.bench.doors.engine import served

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")]

_MB, _FILES = 30, 5


def test_a_crowd_leaves_nothing_behind(sandbox_with_model: Path) -> None:
    with served() as server:
        found = measure(server, CLIENTS)
    assert found["health_ms"]["asked"] > 0
    ended = found["ended"]
    assert (ended["written"], ended["left"], ended["much refused"]) == (10, 10, 1)
    assert sum(ended.values()) == CLIENTS
    assert (found["running"], found["waiting"]) == (0, 0)
    before, after = found["before"], found["after"]
    assert after["mb"] < before["mb"] + _MB
    assert after["files"] <= before["files"] + _FILES
    assert after["children"] == before["children"] == 1
    (pool,) = found["pools"]
    assert pool["damage"] is None
    assert pool["totals"]["replies"] == 20
