"""Reading ahead while nobody waits: the next completion starts there, and its text is that of a cold run."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from lacli.assistant.assistant import Assistant
from lacli.assistant.base import Cancel, never
from lacli.errors import OutOfMemory
from lacli.events import Request
from lacli.kernels.library import library
from lacli.kv.blocks import POSITIONS
from lacli.sessions import switch
from tests.assistants import Make, ask, loaded, make, reply
from tests.kv.test_completions import LINES, at, cold, reading
from tests.kv.test_privacy import KEY
from tests.kv.test_replies import LONG, stored

__all__ = ["loaded", "make"]

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(library() is None, reason="the store serves our own kernels only"),
]
SLOW = 20.0
"""Milliseconds a token: a completion may read 75."""
LINE = 22
"""All before it fits into the context of the tests, and more than is read at once."""


def here(*typed: str, **options: float | None) -> Request:
    return replace(at(LINE, *typed, "    for side in"), **options)  # type: ignore[arg-type]


def counted(assistant: Assistant) -> list[int]:
    """The tokens of each of its forwards that read from now on."""
    assert assistant.loaded is not None
    runner, found = assistant.loaded.cached.runner, list[int]()
    read = runner.prefill

    def prefill(ids, on_chunk=None):  # type: ignore[no-untyped-def]
        before = runner.length
        try:
            return read(ids, on_chunk)
        finally:
            found.append(runner.length - before)

    runner.prefill = prefill  # type: ignore[method-assign]
    return found


def after(calls: int) -> Cancel:
    """Says that something is wanted from then on."""
    asked = itertools.count()
    return lambda: next(asked) >= calls


@pytest.mark.parametrize("options", [{}, {"temperature": 0.8, "seed": 5}], ids=["greedy", "sampled"])
def test_the_next_line_is_shown_everything_and_is_written_the_same(make: Make, options: dict[str, float]) -> None:
    assistant = reading(make, SLOW, keep_prompts=True)
    first = reply(assistant, here(**options))
    assert first.stats.shown_n < first.stats.window_n
    assistant.read_ahead(never)
    request = here("    total = 0.0", **options)
    expected = cold(make, assistant, request)
    found = reply(assistant, request)
    assert found.token_ids == expected.token_ids
    assert found.stats.shown_n > first.stats.shown_n
    assert found.stats.ahead_n > 0
    assert found.stats.prompt_n < POSITIONS
    assert reply(assistant, request).stats.ahead_n == 0


def test_another_process_finds_it_in_the_store(make: Make) -> None:
    assistant = reading(make, SLOW, keep_prompts=True)
    first = reply(assistant, here())
    assistant.read_ahead(never)
    found = reply(reading(make, SLOW, keep_prompts=True), here("    total = 0.0"))
    assert found.stats.shown_n > first.stats.shown_n
    assert found.stats.reused_n >= 3 * POSITIONS


def test_it_ends_with_the_forward_in_which_something_is_wanted_and_goes_on_later(make: Make) -> None:
    assistant = reading(make, SLOW, keep_prompts=True)
    reply(assistant, here())
    forwards = counted(assistant)
    assistant.read_ahead(lambda: True)
    assert forwards == []
    before = stored().count
    assistant.read_ahead(after(1))
    assert len(forwards) == 1
    assert forwards[0] <= POSITIONS
    for _ in range(9):
        assistant.preview(here())
        assistant.read_ahead(after(2))
    assert sum(forwards) > 2 * POSITIONS
    assert stored().count > before
    forwards.clear()
    assistant.read_ahead(never)
    assert forwards == [], "all is read"


@pytest.mark.parametrize(
    "settings", [{"keep_prompts": False}, {"pool": False}, {"learn": False}, {"kv_mb": 0.0}], ids=str
)
def test_nothing_is_read_where_nothing_is_to_be_kept(make: Make, settings: dict[str, bool | float]) -> None:
    assistant = reading(make, SLOW, **{"keep_prompts": True, **settings})
    reply(assistant, here())
    forwards = counted(assistant)
    assistant.read_ahead(never)
    assert forwards == []


@pytest.mark.parametrize("where", ["above", "behind"])
def test_nothing_is_read_around_a_secret(make: Make, where: str) -> None:
    assistant = reading(make, SLOW, keep_prompts=True)
    request = here()
    assert request.place is not None
    secret, place = f"aws_access_key_id = {KEY}\n", request.place
    changed = {"prefix": secret + place.prefix} if where == "above" else {"suffix": f"\n{secret}{place.suffix}"}
    reply(assistant, replace(request, place=replace(place, **changed)))
    forwards = counted(assistant)
    assistant.read_ahead(never)
    assert forwards == []
    assert stored().count == 0


def test_nothing_is_read_or_kept_once_the_log_is_off(make: Make) -> None:
    assistant = reading(make, SLOW, keep_prompts=True)
    reply(assistant, here())
    before = stored().count
    assert before > 0
    switch.turn(on=False)
    forwards = counted(assistant)
    assistant.read_ahead(never)
    assert forwards == []
    reply(assistant, here("    total = 0.0", "    count = 0"))
    reply(assistant, ask(f"{LONG}\nWhich is the third?", max_tokens=2))
    assert stored().count == before


def test_nothing_is_read_behind_a_reply_that_spells_a_secret_with_its_line(make: Make) -> None:
    assistant = reading(make, SLOW, keep_prompts=True)
    assert assistant.loaded is not None
    assert assistant.loaded.pool is not None
    assistant.loaded.pool.refuse = lambda text, wary=False: text.startswith("    for side in ")  # type: ignore
    assert reply(assistant, here()).text.startswith(" ")
    forwards = counted(assistant)
    assistant.read_ahead(never)
    assert forwards == []
    assert stored().count == 0


def cancelled(assistant: Assistant) -> None:
    reply(assistant, here(), lambda: True)


def left(assistant: Assistant) -> None:
    next(events := iter(assistant.reply(here())))
    events.close()  # type: ignore[attr-defined]


def asked_otherwise(assistant: Assistant) -> None:
    reply(assistant, here())
    reply(assistant, ask("Why?", max_tokens=2))


def told_what_comes(assistant: Assistant) -> None:
    reply(assistant, here())
    assistant.warm(ask("Why?"))


def closed(assistant: Assistant) -> None:
    reply(assistant, here())
    assistant.close()


@pytest.mark.parametrize("way", [cancelled, left, asked_otherwise, told_what_comes, closed])
def test_nothing_is_read_behind_what_nobody_waited_for_or_something_else_followed(
    make: Make, way: Callable[[Assistant], None]
) -> None:
    assistant = reading(make, SLOW, keep_prompts=True)
    forwards = counted(assistant)
    way(assistant)
    forwards.clear()
    assistant.read_ahead(never)
    assert forwards == []


def test_without_memory_for_it_the_next_completion_is_as_it_would_have_been(make: Make) -> None:
    assistant = reading(make, SLOW, keep_prompts=True)
    reply(assistant, here())
    assert assistant.loaded is not None
    runner = assistant.loaded.cached.runner
    read = runner.prefill

    def refuse(ids, on_chunk=None):  # type: ignore[no-untyped-def]
        raise OutOfMemory("there is none", "")

    runner.prefill = refuse  # type: ignore[method-assign]
    assistant.read_ahead(never)
    runner.prefill = read  # type: ignore[method-assign]
    forwards = counted(assistant)
    assistant.read_ahead(never)
    assert forwards == [], "it is not tried again"
    assert reply(assistant, here("    total = 0.0")).token_ids


def test_the_place_is_one_of_which_not_everything_is_read_at_once() -> None:
    assert len("\n".join(LINES[:LINE])) > 4 * 75
