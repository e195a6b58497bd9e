"""Our own server, with the default model in it, as a remote: the texts are those of the model here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from lacli.config import Settings
from lacli.configuration.remotes import Remote
from lacli.events import Finished, Message, Piece, Place, Request
from lacli.remote.assistant import RemoteAssistant
from tests.assistants import Make, loaded, make, reply
from tests.server.http.engines import TOKEN, AssistantEngine, Doors, serving

__all__ = ["loaded", "make"]

pytestmark = [pytest.mark.model, pytest.mark.slow]

QUESTION = Request(messages=(Message("user", "Write a python function that adds two numbers"),), max_tokens=24)


@pytest.fixture
def doors(make: Make) -> Iterator[Doors]:
    engine = AssistantEngine(make())
    with serving(engine) as made:
        yield made
    engine.close()


@pytest.fixture
def remote(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> RemoteAssistant:
    monkeypatch.setenv("OWN_KEY", TOKEN)
    named = Remote("own", doors.url, doors.get("/v1/models")["data"][0]["id"], key_env="OWN_KEY")
    return RemoteAssistant(Settings(model="remote:own", pool=False), lambda: named)


def told(remote: RemoteAssistant, request: Request) -> Finished:
    events = list(remote.reply(request))
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert "".join(each.text for each in events if isinstance(each, Piece)) == finished.text
    return finished


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_a_chat_is_what_ask_says_here(remote: RemoteAssistant, make: Make, temperature: float) -> None:
    request = replace(QUESTION, temperature=temperature, seed=7, top_k=20, repetition_penalty=1.1)
    expected = reply(make(lookahead=False), request)
    found = told(remote, request)
    assert (found.text, found.reason) == (expected.text, expected.reason)
    assert found.stats.predicted_n == len(expected.token_ids)


def test_its_steps_are_those_that_the_engine_counted(remote: RemoteAssistant, doors: Doors) -> None:
    stats = told(remote, replace(QUESTION, prediction="def add(a, b):\n    return a + b\n")).stats
    _, _, text = doors.send("GET", "/metrics")
    counters = dict(line.split() for line in text.decode().splitlines() if not line.startswith("#"))
    assert stats.untold == ()
    assert stats.steps == int(counters["vllm:spec_decode_num_drafts_total"])
    assert stats.draft_n == int(counters["vllm:spec_decode_num_draft_tokens_total"])
    assert stats.draft_n_accepted == int(counters["vllm:spec_decode_num_accepted_tokens_total"])


def test_a_completion_by_its_own_door_is_as_good_as_here(remote: RemoteAssistant, make: Make) -> None:
    place = Place("def add(a, b):\n    ", "\n\nprint(add(1, 2))\n", path="a.py", scope="block")
    found = told(remote, Request(place=place, max_tokens=24, drop_oldest=True))
    assert found.text
    assert "print(add" not in found.text


def test_a_reply_that_is_begun_goes_on(remote: RemoteAssistant, make: Make) -> None:
    request = replace(QUESTION, begun="```python\ndef add(")
    assert told(remote, request).text == reply(make(lookahead=False), request).text
