"""Replies of several clients of one assistant at the same time: each is the one written alone, and ends by itself."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lacli.assistant.assistant import Assistant
from lacli.errors import LacliError, PromptTooLong
from lacli.events import Event, Finished, Piece, Place, Prefill, Request
from lacli.pool.inventory import project_info
from lacli.pool.projects import locate
from tests.assistants import QUESTION, VARIED, Make, ask, checked, loaded, make, reply

__all__ = ["loaded", "make"]
pytestmark = pytest.mark.model

FILL = Place("def add(a, b):\n    ret", "\n\n\ndef sub(a, b):\n    return a - b\n", "a.py")
REQUESTS = [
    *VARIED,
    Request(place=FILL, max_tokens=16),
    Request(place=FILL, max_tokens=16, begins_again=True),
    ask(QUESTION, max_tokens=24, repetition_penalty=1.3),
    ask("Write hello ten times.", max_tokens=40),
]


class Clients:
    """Asks an assistant as the worker does, and keeps what each request brought."""

    def __init__(self, assistant: Assistant) -> None:
        self.assistant = assistant
        self.events: dict[int, list[Any]] = {}
        self.cancelled: set[int] = set()
        self._keys = itertools.count(1)

    def add(self, request: Request) -> int:
        key = next(self._keys)
        self.assistant.add(key, request, lambda: key in self.cancelled)
        self.events[key] = []
        return key

    def steps(self) -> Iterator[tuple[int, Event | LacliError]]:
        for key, event in self.assistant.together():
            self.events[key].append(event)
            yield key, event

    def finish(self) -> None:
        for _ in self.steps():
            pass

    def pieces(self, key: int) -> int:
        return sum(isinstance(event, Piece) for event in self.events[key])

    def end(self, key: int) -> Finished:
        return checked(self.events[key])


def outcome(finished: Finished) -> tuple[Any, ...]:
    return finished.text, finished.token_ids, finished.reason


@pytest.fixture
def alone(make: Make) -> Callable[[Request], tuple[Any, ...]]:
    """What a request brings by itself, plainly decoded."""
    plain = make(lookahead=False, pool=False)
    return lambda request: outcome(reply(plain, request))


class TestText:
    @pytest.mark.parametrize("lookahead", [True, False])
    @pytest.mark.parametrize("every", [7, 0, 1])
    @pytest.mark.default_cases(1)
    def test_each_is_the_reply_written_alone_whenever_the_others_come(
        self, lookahead: bool, every: int, make: Make, alone: Callable[[Request], tuple[Any, ...]]
    ) -> None:
        """every: events after which the next one comes; 0: all at once."""
        clients, coming = Clients(make(lookahead=lookahead)), list(REQUESTS)
        keys = [clients.add(coming.pop(0)) for _ in range(1 if every else len(coming))]
        for number, _ in enumerate(clients.steps(), start=1):
            if every and coming and number % every == 0:
                keys.append(clients.add(coming.pop(0)))
        while coming:
            keys.append(clients.add(coming.pop(0)))
            clients.finish()
        assert [outcome(clients.end(key)) for key in keys] == [alone(request) for request in REQUESTS]

    def test_a_prompt_is_read_between_the_steps_of_another(
        self, make: Make, alone: Callable[[Request], tuple[Any, ...]]
    ) -> None:
        long = ask("Name a fruit. " * 70, max_tokens=4)
        clients = Clients(make(pool=False))
        first = clients.add(ask("Count up", max_tokens=40))
        second = 0
        for _ in clients.steps():
            if not second and clients.pieces(first) == 2:
                second = clients.add(long)
        reads = [at for at, event in enumerate(clients.events[second]) if isinstance(event, Prefill)]
        assert len(reads) > 4
        assert outcome(clients.end(second)) == alone(long)
        assert outcome(clients.end(first)) == alone(ask("Count up", max_tokens=40))

    def test_of_a_conversation_goes_on_afterwards(
        self, make: Make, alone: Callable[[Request], tuple[Any, ...]]
    ) -> None:
        assistant = make()
        clients = Clients(assistant)
        for request in REQUESTS[:4]:
            clients.add(request)
        clients.finish()
        assert outcome(reply(assistant, REQUESTS[0])) == alone(REQUESTS[0])


class TestClients:
    def test_a_cancel_ends_one_within_a_step_and_no_other(
        self, make: Make, alone: Callable[[Request], tuple[Any, ...]]
    ) -> None:
        clients = Clients(make(pool=False))
        keys = [clients.add(each) for each in (ask("Count up", max_tokens=200), REQUESTS[0], REQUESTS[3])]
        pieces = 0
        for _ in clients.steps():
            if not clients.cancelled and min(clients.pieces(keys[0]), clients.pieces(keys[2])) >= 3:
                clients.cancelled.add(keys[0])
                pieces = clients.pieces(keys[0])
        ended = clients.end(keys[0])
        assert ended.reason == "cancelled"
        assert clients.pieces(keys[0]) <= pieces + 2  # the rest of the step under way, and the end
        assert [outcome(clients.end(key)) for key in keys[1:]] == [alone(REQUESTS[0]), alone(REQUESTS[3])]

    def test_one_that_is_cancelled_before_its_turn_never_begins(self, make: Make) -> None:
        clients = Clients(make(pool=False))
        key, other = clients.add(ask("Count up")), clients.add(REQUESTS[0])
        clients.cancelled.add(key)
        clients.finish()
        assert (clients.end(key).reason, clients.end(key).text) == ("cancelled", "")
        assert clients.end(other).reason == "length"

    def test_a_prompt_that_is_too_long_is_refused_at_once(self, make: Make) -> None:
        clients = Clients(make(pool=False))
        key = clients.add(REQUESTS[0])
        with pytest.raises(PromptTooLong):
            clients.add(ask("word " * 600))
        clients.finish()
        assert clients.end(key).reason == "length"

    def test_statistics_are_those_of_each(self, make: Make) -> None:
        clients = Clients(make(lookahead=False, pool=False))
        keys = [clients.add(ask("Count", max_tokens=count)) for count in (4, 9)]
        clients.finish()
        assert [clients.end(key).stats.steps for key in keys] == [3, 8]

    def test_each_teaches_the_pool_of_its_own_project(self, make: Make, tmp_path: Path) -> None:
        from lacli import paths

        folders = [tmp_path / "one", tmp_path / "two"]
        for folder in folders:
            folder.mkdir()
        assistant, other = (make(project=folder) for folder in folders)
        settings = other._settings
        assert settings.folder == folders[1]
        shared = dataclasses.replace(other._projects[settings], cached=assistant._model.cached)  # type: ignore[union-attr]
        assistant._projects[settings] = shared
        clients = Clients(assistant)
        first = clients.add(ask("Count", max_tokens=9))
        assistant.enter(settings)
        second = clients.add(ask("Name a colour", max_tokens=12))
        clients.finish()
        learned = [project_info(locate(paths.pools_dir(), folder)).pools[0].tokens for folder in folders]
        assert learned == [len(clients.end(key).token_ids) for key in (first, second)]

    def test_what_the_first_completion_of_a_place_reads_changes_no_prompt_of_the_others(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else the likeliest texts of `--alternatives` would continue different windows of the file."""
        from lacli.assistant.loaded import Loaded

        asked: list[Any] = []
        before = Loaded.reading
        monkeypatch.setattr(Loaded, "reading", lambda loaded: asked.append(before(loaded)) or asked[-1])
        clients = Clients(make(pool=False))
        keys = [clients.add(Request(place=FILL, max_tokens=4, beginning=0))]
        for _ in clients.steps():
            if clients.pieces(keys[0]) == 1 and len(keys) == 1:
                keys.append(clients.add(Request(place=FILL, max_tokens=4, beginning=1)))
        assert len(asked) == 1
        assert all(clients.end(key).text for key in keys)
        clients.add(Request(place=FILL, max_tokens=4))
        clients.finish()
        assert len(asked) == 2  # by then nobody was left


class TestEnds:
    def test_a_reader_that_goes_away_leaves_what_was_accepted_in_the_pool(self, make: Make, tmp_path: Path) -> None:
        from lacli import paths

        clients = Clients(make())
        keys = [clients.add(ask("Count up", max_tokens=300)), clients.add(ask("Name a colour", max_tokens=300))]
        steps = clients.steps()
        while min(clients.pieces(key) for key in keys) < 3:
            next(steps)
        steps.close()  # type: ignore[attr-defined]
        (pool,) = project_info(locate(paths.pools_dir(), tmp_path)).pools
        assert pool.segments == 2

    def test_a_forward_that_fails_ends_all_and_the_next_reply_is_right(
        self, make: Make, monkeypatch: pytest.MonkeyPatch, alone: Callable[[Request], tuple[Any, ...]]
    ) -> None:
        expected = alone(REQUESTS[0])
        clients = Clients(make(pool=False))
        for request in REQUESTS[:3]:
            clients.add(request)
        with monkeypatch.context() as broken:
            broken.setattr("lacli.engine.batch._run", lambda asked: (_ for _ in ()).throw(MemoryError))
            with pytest.raises(LacliError, match="memory"):
                clients.finish()
        key = clients.add(REQUESTS[0])
        clients.finish()
        assert outcome(clients.end(key)) == expected
