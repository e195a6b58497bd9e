"""One server for all tests of a file that need no engine of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lacli.server.base import Health
from tests.server.http.engines import REPLY, Doors, ScriptedEngine, serving


@pytest.fixture(scope="module")
def shared_doors() -> Iterator[Doors]:
    with serving(ScriptedEngine()) as doors:
        yield doors


@pytest.fixture
def doors(shared_doors: Doors) -> Doors:
    """The doors, in front of an engine that answers everything with `REPLY` and has not been asked anything."""
    engine = shared_doors.engine
    for noted in (engine.asked, engine.warmed, engine.previewed, engine.ended):
        noted.clear()
    engine.scripts[:] = [REPLY]
    engine.step_s, engine.thought, engine.state, engine.shown = 0.0, "", Health(), None
    return shared_doors
