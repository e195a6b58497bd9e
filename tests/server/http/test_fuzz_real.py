"""Odd requests that reach the model: whatever the doors let through, it answers or refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lacli.config import Settings
from lacli.events import Event, Request
from tests.assistants import Make, loaded, make
from tests.server.http.engines import AssistantEngine, Doors, serving
from tests.server.http.test_fuzz import ALLOWED, BODIES
from tests.server.mutated import Mutator

__all__ = ["loaded", "make"]

pytestmark = [pytest.mark.model, pytest.mark.slow]

_DOORS = (
    "/v1/chat/completions",
    "/v1/completions",
    "/infill",
    "/completion",
    "/api/generate",
    "/tokenize",
    "/detokenize",
)
_TOKENS, _EACH = 2, 100


class Brief(AssistantEngine):
    """Writes a token or two, however many are asked for."""

    async def reply(self, request: Request, settings: Settings, urgent: bool = False) -> AsyncGenerator[Event, None]:
        brief = replace(request, max_tokens=min(request.max_tokens, _TOKENS))
        async for event in super().reply(brief, settings, urgent):
            yield event


@pytest.fixture
def doors(make: Make) -> Iterator[Doors]:
    engine = Brief(make())
    with serving(engine) as doors:
        yield doors
    engine.close()


@pytest.mark.parametrize("path", _DOORS)
def test_bodies(doors: Doors, path: str, tmp_path: Path) -> None:
    mutator, served = Mutator(23, str(tmp_path)), 0
    for _ in range(_EACH):
        body = mutator.body(BODIES[path])
        status, _, answer = doors.send("POST", path, body)
        assert status in ALLOWED, (body[:500], answer[:500])
        assert b"Traceback" not in answer
        if status != 200:
            assert json.loads(answer)["error"]
        served += status == 200
    assert served
