"""Replies with what was read before taken from disk: the same text, and nothing read twice."""

from __future__ import annotations

import random

import pytest

from lacli import paths
from lacli.kernels.library import library
from lacli.kv import store
from tests.assistants import Make, ask, loaded, make, reply

__all__ = ["loaded", "make"]

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(library() is None, reason="the store serves our own kernels only"),
]
LONG = "Here is a list of words: " + " ".join(random.Random(1).choices(["red", "green", "blue", "grey"], k=300))


def stored() -> store.Size:
    return store.size(store.projects(paths.kv_dir()))


@pytest.mark.parametrize("options", [{}, {"temperature": 0.8, "seed": 5}], ids=["greedy", "sampled"])
def test_the_text_is_the_same_and_the_prompt_is_not_read_again(make: Make, options: dict[str, float]) -> None:
    asked = ask(LONG + "\nWhich is the third?", max_tokens=24, **options)
    plain = reply(make(), asked)
    assert stored().count == 0
    first = reply(make(keep_prompts=True), asked)
    assert stored().positions >= 256
    again = reply(make(keep_prompts=True), asked)
    assert plain.token_ids == first.token_ids == again.token_ids
    assert first.stats.reused_n == 0
    assert again.stats.reused_n >= 256
    assert again.stats.prompt_n <= 64


def test_a_prompt_that_goes_on_otherwise_takes_the_common_beginning(make: Make) -> None:
    one, other = (ask(LONG + end, max_tokens=12) for end in ("\nWhich is the third?", "\nName one that is cold."))
    expected = reply(make(), other).token_ids
    reply(make(keep_prompts=True), one)
    found = reply(make(keep_prompts=True), other)
    assert found.token_ids == expected
    assert found.stats.reused_n >= 256


def test_damaged_blocks_change_no_text(make: Make) -> None:
    asked = ask(LONG + "\nWhich is the third?", max_tokens=24)
    expected = reply(make(keep_prompts=True), asked).token_ids
    for number, file in enumerate(sorted(paths.kv_dir().rglob("*" + store.SUFFIX))):
        data = bytearray(file.read_bytes())
        data[(number * 7919) % len(data)] ^= 1 << number % 8
        file.write_bytes(data)
    assert reply(make(keep_prompts=True), asked).token_ids == expected


@pytest.mark.parametrize(
    "settings", [{"keep_prompts": False}, {"pool": False}, {"learn": False}, {"kv_mb": 0.0}], ids=str
)
@pytest.mark.default_cases(1)
def test_nothing_is_kept_where_nothing_is_to_be(make: Make, settings: dict[str, bool | float]) -> None:
    reply(make(**{"keep_prompts": True, **settings}), ask(LONG, max_tokens=8))
    assert stored().count == 0


def test_nothing_is_kept_while_the_log_is_off(make: Make) -> None:
    from lacli.sessions import switch

    switch.turn(on=False)
    reply(make(keep_prompts=True), ask(LONG, max_tokens=8))
    assert stored().count == 0


def test_nothing_is_kept_of_a_prompt_with_a_secret(make: Make) -> None:
    secret = "AKIA" + "J4VQ7R2MZ6T9WXB3"
    reply(make(keep_prompts=True), ask(f"{LONG}\naws_access_key_id = {secret}\nWhat is this?", max_tokens=8))
    assert stored().count == 0


def test_what_the_cache_holds_besides_the_reply_is_not_kept(make: Make) -> None:
    assistant = make(keep_prompts=True)
    reply(assistant, ask(LONG, max_tokens=8))
    assert stored().positions >= 256
    for file in paths.kv_dir().rglob("*" + store.SUFFIX):
        file.unlink()
    loaded = assistant.loaded
    assert loaded is not None
    assert loaded.kept is not None
    loaded.kept.keep((*loaded.cached.ids[:200], *[5] * 80), "a prompt", "a reply that the cache does not hold", 5.0)
    assert stored().positions == 192
