"""The doors on stdin and stdout use the engine of `lacli serve`, where one runs and is wanted."""

from __future__ import annotations

import os

import pytest

from lacli.config import Settings
from lacli.events import Finished, Message, Request
from lacli.server.stdio.engine import where
from tests.server.running import serving
from tests.worker.worker_child import TEXT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")

QUESTION = Request(messages=(Message("user", "hi"),))


def test_an_engine_that_runs_answers_and_stays() -> None:
    with serving("quick") as running:
        replier = where(attach=True, start=False, note=lambda text: None)(Settings())
        *_, last = replier.reply(QUESTION)
        assert isinstance(last, Finished)
        assert last.text == TEXT
        (worker,) = running.workers()
        replier.close()
        assert worker.is_running()


def test_one_that_is_not_wanted_is_not_asked() -> None:
    with serving("quick") as running:
        replier = where(attach=False, start=False, note=lambda text: None)(Settings())
        replier.close()
        assert not running.workers()
