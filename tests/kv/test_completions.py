"""Completions that start at what is new: what was read stays the beginning, and the text is that of a cold run."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from lacli.assistant.assistant import Assistant
from lacli.assistant.pace import Pace
from lacli.assistant.reply import Reply
from lacli.events import Finished, Place, Request
from lacli.kernels.library import library
from lacli.kv.blocks import POSITIONS
from tests.assistants import Make, checked, loaded, make, reply

__all__ = ["loaded", "make"]

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(library() is None, reason="the store serves our own kernels only"),
]
LINES = (Path(__file__).parents[1] / "data" / "sources" / "geometry.py").read_text().split("\n")


def at(line: int, *typed: str) -> Request:
    """A completion in line with what was typed above it."""
    prefix, suffix = "\n".join([*LINES[:line], *typed]), "\n".join(["", *LINES[line:]])
    return Request(place=Place(prefix, suffix, "geometry.py", read_ms=1_500), max_tokens=8, drop_oldest=True)


def reading(make: Make, ms_per_token: float = 6.0, **settings: bool | float) -> Assistant:
    """An assistant in a process of its own that reads so fast."""
    assistant = make(**settings)
    for each in assistant._projects.values():
        each.pace = Pace(ms_per_token)
    return assistant


def cold(make: Make, warm: Assistant, request: Request) -> Finished:
    """The same prompt read as a whole."""
    assistant = make(keep_prompts=True, kv_mb=0.0)
    assert assistant.loaded is not None
    assert warm.loaded is not None
    return checked(list(Reply(assistant.loaded, request, set(), warm.loaded.reading()).events(lambda: False)))


@pytest.mark.parametrize("options", [{}, {"temperature": 0.8, "seed": 5}], ids=["greedy", "sampled"])
def test_a_line_further_reads_what_is_new_and_writes_the_same(make: Make, options: dict[str, float]) -> None:
    typed = ("    total = 0.0", "    count = 0")
    one, two, other = (replace(at(60, *typed[:count], "    for side in"), **options) for count in range(3))
    first = reply(reading(make, keep_prompts=True), one)
    assert first.stats.reused_n == 0
    assert 0 < first.stats.shown_n < first.stats.window_n
    second = reply(reading(make, keep_prompts=True), two)
    assert second.stats.shown_n > first.stats.shown_n, "what follows the cursor is free now, and leaves room for more"
    warm = reading(make, keep_prompts=True)
    expected = cold(make, warm, other)
    found = reply(warm, other)
    assert found.token_ids == expected.token_ids
    assert found.stats.prompt_n + found.stats.reused_n == expected.stats.prompt_n
    assert found.stats.reused_n >= POSITIONS
    assert found.stats.prompt_n <= POSITIONS + 24
    assert found.stats.shown_n >= second.stats.shown_n


def test_a_preview_of_a_model_that_is_not_loaded_is_what_is_read(make: Make) -> None:
    for _ in range(2):
        assistant = reading(make, keep_prompts=True)
        shown = assistant.preview(at(60))
        stats = reply(assistant, at(60)).stats
        assert (shown.shown_n, shown.window_n) == (stats.shown_n, stats.window_n)
        assert len(shown.token_ids) == stats.prompt_n + stats.reused_n
        assert shown.reused_n == stats.reused_n
    assert stats.reused_n > 0


def test_several_texts_for_one_place_have_one_prompt_and_keep_it(make: Make) -> None:
    requests = [replace(at(60), beginning=rank) for rank in range(3)]

    def written() -> list[Finished]:
        assistant = reading(make, keep_prompts=True)
        return [event for _, event in assistant.replies(requests) if isinstance(event, Finished)]

    first, again = written(), written()
    for one, other in itertools.pairwise(first):
        assert one.stats.shown_n == other.stats.shown_n
    assert max(each.stats.reused_n for each in first) > 0, "the second takes over what the first has read"
    assert all(each.stats.reused_n >= POSITIONS for each in again)


def test_a_reply_without_words_is_kept_and_teaches_the_pace(make: Make) -> None:
    request = replace(at(60), stops=("",))
    assistant = reading(make, ms_per_token=500.0, keep_prompts=True)
    list(assistant.reply(replace(request, stops=("\n", " ", "e", "a", "i", "t", "r")), lambda: False))
    assert assistant.loaded is not None
    assert assistant.loaded.pace.mean_ms < 500


def test_without_a_store_everything_costs(make: Make) -> None:
    for _ in range(2):
        stats = reply(reading(make, keep_prompts=True, kv_mb=0.0), at(60)).stats
        assert stats.reused_n == 0
        assert stats.prompt_n <= 250
