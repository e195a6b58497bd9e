"""The engine with the default model: the same words as in the command's own process, and a start without loading."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.assistant.assistant import Assistant
from lacli.config import Settings
from lacli.events import Attachment, Event, Finished, Loading, Message, Place, Request
from lacli.worker.attached import attached
from tests.server.running import Running, serving

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets"), pytest.mark.model]

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
