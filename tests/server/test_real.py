"""The engine with the default model: the same words as in the command's own process, and a start without loading."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lacli.assistant.assistant import Assistant
from lacli.config import Settings
from lacli.events import Attachment, Event, Failed, Finished, Loading, Message, Place, Request
from lacli.kernels.library import library
from lacli.worker.attached import attached
from tests.server.running import Running, serving

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets"), pytest.mark.model]

ENOUGH_S = 60.0
PLACES = (
    "def add(a, b):\n",
    "class Stack:\n    def push(self, item):\n",
    "for name in sorted(",
    "import os\n\n\ndef main(",
)
QUESTIONS = ("Write a haiku.", "Count to 9.", "What is a list comprehension?", "Name three colours.")
FILE = Message("user", "What does it do?", attachments=(Attachment("a.py", "def f(x):\n    return x + 1\n"),))
REQUESTS = [
    *(Request(place=Place(each, path="a.py"), max_tokens=24) for each in PLACES),
    *(Request((Message("user", each),), max_tokens=24) for each in QUESTIONS),
    Request((Message("system", "Be brief."), Message("user", QUESTIONS[0])), max_tokens=24),
    Request((Message("user", QUESTIONS[1]),), max_tokens=24, temperature=0.9, top_p=0.9, seed=7),
    Request((FILE,), max_tokens=24),
    Request((Message("user", QUESTIONS[0]),), max_tokens=24, stops=("\n",)),
]


_TASKS = (
    *("reverses a string", "adds two numbers", "reads a file", "counts words", "sorts pairs", "finds a maximum"),
    *("checks a palindrome", "computes a factorial", "merges two dicts", "flattens a list", "removes duplicates"),
    *("parses a date", "writes JSON", "joins two paths", "computes a mean"),
)
MANY = [
    *(Request((Message("user", f"Write a Python function that {each}."),), max_tokens=20) for each in _TASKS),
    *(Request((Message("user", f"How does one {each}?"),), max_tokens=20) for each in _TASKS),
    *(Request(place=Place(f"# {each}\ndef f(", path="a.py"), max_tokens=20) for each in _TASKS),
    *(
        Request((Message("user", f"Name what {each}."),), max_tokens=20, temperature=0.8, top_p=0.95, seed=seed)
        for seed, each in enumerate(_TASKS)
    ),
]
"""Sixty: questions, completions, greedy and sampled."""


@pytest.fixture
def running(sandbox_with_model: Path) -> Iterator[Running]:
    with serving(None) as made:
        yield made


def end_of(events: Iterator[Event]) -> Finished:
    *_, last = events
    assert isinstance(last, Finished)
    return last


@pytest.mark.slow
def test_words_are_the_same_as_in_the_process_itself(running: Running, tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path, threads=1, offline=True, pool=False)
    own, front_end = Assistant(settings), attached(settings)
    loading: list[Event] = []
    front_end.open(loading.append)
    assert Loading("load") in loading
    for request in REQUESTS:
        there, here = end_of(front_end.reply(request)), end_of(own.reply(request))
        assert (there.text, there.token_ids, there.reason) == (here.text, here.token_ids, here.reason)
        assert front_end.preview(request) == own.preview(request)
    again: list[Event] = []
    front_end.open(again.append)
    assert not again
    front_end.close()
    own.close()


@pytest.mark.slow
def test_sixty_replies_of_six_clients_at_once_are_those_of_the_process_itself(running: Running, tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path, threads=1, offline=True, pool=False)
    found: dict[int, Finished] = {}
    most = 0

    def client(first: int) -> None:
        nonlocal most
        front_end = attached(settings)
        for number in range(first, len(MANY), 6):
            for event in front_end.reply(MANY[number]):
                most = max(most, running.engine.health().running)
                if isinstance(event, Finished):
                    found[number] = event
        front_end.close()

    clients = [threading.Thread(target=client, args=(first,)) for first in range(6)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    own = Assistant(settings)
    expected = [end_of(own.reply(request)) for request in MANY]
    own.close()
    assert [(found[number].text, found[number].token_ids) for number in range(len(MANY))] == [
        (each.text, each.token_ids) for each in expected
    ]
    assert most > 1


@pytest.mark.slow
def test_a_batch_and_alternatives_are_those_of_the_process_itself(running: Running, tmp_path: Path) -> None:
    settings = Settings(folder=tmp_path, threads=1, offline=True, pool=False)
    several = [Request(place=Place("def add(a, b):\n", path="a.py"), max_tokens=12, beginning=at) for at in range(5)]
    requests = [*MANY[::4], *several, Request((Message("user", "word " * 90_000),))]
    own, front_end = Assistant(settings), attached(settings)
    there, here = (_ends(each.replies(requests)) for each in (front_end, own))
    assert there == here
    assert len(there) == len(requests)
    front_end.close()
    own.close()


def _ends(events: Iterator[tuple[int, Event | Failed]]) -> dict[int, Any]:
    return {
        index: (event.text, event.token_ids) if isinstance(event, Finished) else event
        for index, event in events
        if isinstance(event, Finished | Failed)
    }


@pytest.mark.skipif(library() is None, reason="the store serves our own kernels only")
def test_an_idle_engine_reads_ahead_for_the_next_completion_and_the_words_are_the_same(
    running: Running, tmp_path: Path
) -> None:
    lines = "\n".join(f"    value_{number} = compute_{number}(value_{number - 1})" for number in range(1, 80))

    def at(*typed: str) -> Request:
        place = Place("\n".join(["def f(value_0):", lines, *typed, ""]), "", "a.py", read_ms=1)
        return Request(place=place, max_tokens=8, drop_oldest=True)

    settings = Settings(folder=tmp_path, threads=1, offline=True, keep_prompts=True)
    front_end = attached(settings)
    first = end_of(front_end.reply(at())).stats
    assert first.shown_n < first.window_n
    until = time.monotonic() + ENOUGH_S
    for number in itertools.count():  # each completion may have interrupted the reading
        time.sleep(1.0)
        found = end_of(front_end.reply(at(f"    last_{number} = {number}")))
        if found.stats.shown_n == found.stats.window_n:
            break
        assert time.monotonic() < until
    front_end.close()
    assert found.stats.prompt_n <= 2 * 64
    own = Assistant(replace(settings, keep_prompts=False))
    unbounded = replace(at(f"    last_{number} = {number}"))
    assert unbounded.place is not None
    expected = end_of(own.reply(replace(unbounded, place=replace(unbounded.place, read_ms=600_000))))
    own.close()
    assert found.stats.prompt_n + found.stats.reused_n == expected.stats.prompt_n
    assert found.token_ids == expected.token_ids
