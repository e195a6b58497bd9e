"""Replies with what was read before taken from disk: the same text, and nothing read twice."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lacli import paths
from lacli.assistant.assistant import Assistant
from lacli.assistant.pace import Pace
from lacli.chat.conversation import Conversation
from lacli.config import Settings
from lacli.events import Finished, Message, Request
from lacli.kernels.library import library
from lacli.kv import store
from lacli.kv.blocks import POSITIONS
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
    loaded.kept.keep(loaded.cached, (*loaded.cached.ids[:200], *[5] * 80), "a prompt", "a reply it does not hold", 5.0)
    assert stored().positions == 192


class TestWhoTakesWhatWasRead:
    """Every way to a reply begins at what is new."""

    def test_a_batch_reads_its_common_beginning_once_and_takes_it_from_the_store(self, make: Make) -> None:
        asked = [ask(f"{LONG}\nWhich is number {number}?", max_tokens=8) for number in range(3)]
        expected = [reply(make(), each).token_ids for each in asked]
        first, again = (side_by_side(make(keep_prompts=True), asked) for _ in range(2))
        assert [each.token_ids for each in first] == [each.token_ids for each in again] == expected
        length = first[0].stats.prompt_n
        assert sum(each.stats.prompt_n for each in first) < 1.5 * length  # read once, in whichever place
        assert sum(each.stats.prompt_n for each in again) <= 3 * (64 + 16)
        assert all(each.stats.reused_n >= 256 for each in again)

    def test_a_reply_takes_what_a_batch_has_read_and_the_other_way_round(self, make: Make) -> None:
        asked = ask(LONG + "\nWhich is the third?", max_tokens=8)
        side_by_side(make(keep_prompts=True), [asked, ask("Hello", max_tokens=2)])
        assert reply(make(keep_prompts=True), asked).stats.reused_n >= 256
        (found,) = side_by_side(make(keep_prompts=True), [asked])
        assert found.stats.reused_n >= 256

    def test_reading_ahead_does(self, make: Make) -> None:
        asked = ask(LONG + "\nWhich is the third?", max_tokens=8)
        reply(make(keep_prompts=True), asked)
        assistant, computed = make(keep_prompts=True), []
        assert assistant.loaded is not None
        runner = assistant.loaded.cached.runner
        read = runner.prefill
        runner.prefill = lambda ids, on_chunk=None: computed.append(len(ids)) or read(ids, on_chunk)  # type: ignore
        before = (*asked.messages, Message("assistant", "blue"), Message("user", ""))
        assistant.warm(Request(messages=before, max_tokens=8))
        assert sum(computed) <= 64 + 16

    def test_what_was_read_ahead_is_kept_with_the_reply(self, make: Make) -> None:
        assistant = make(keep_prompts=True)
        asked = ask(LONG + "\nWhich is the third?", max_tokens=8)
        before = (*asked.messages, Message("assistant", "blue"))
        assistant.warm(Request(messages=(*before, Message("user", "")), max_tokens=8))
        found = reply(assistant, Request(messages=(*before, Message("user", "Why?")), max_tokens=8))
        assert found.stats.prompt_n < 16
        assert stored().positions >= 256

    def test_what_is_written_after_a_short_question_is_kept_though_no_time_could_be_taken(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reply(make(keep_prompts=True), ask(LONG + "\nRepeat this list.", max_tokens=2))
        before = stored().positions
        assert before >= 256
        monkeypatch.setattr(Pace, "learn", lambda self, tokens, ms: None)
        written = reply(make(keep_prompts=True), ask(LONG + "\nRepeat this list.", max_tokens=100))
        assert len(written.token_ids) == 100
        assert stored().positions >= before + 64

    def test_a_reply_of_which_nothing_is_left_has_its_prompt_kept(self, make: Make) -> None:
        asked = ask(LONG + "\nWhich is the third?", max_tokens=8)
        begins = reply(make(), asked).text[0]
        stopped = reply(make(keep_prompts=True), replace(asked, stops=(begins,)))
        assert stopped.token_ids == ()
        assert stored().positions >= 256

    def test_each_turn_of_a_chat_taken_up_by_a_new_process_does(self, make: Make) -> None:
        chat, used = Conversation(), 0
        for words in (LONG, "Which is the third?", "And the last?"):
            found = reply(make(keep_prompts=True), Request(chat.ask(words), max_tokens=8))
            chat.answered(found)
            new = found.stats.prompt_n + found.stats.reused_n - used
            assert used == 0 or found.stats.prompt_n <= POSITIONS + new
            used = found.stats.ctx_used

    @pytest.mark.slow
    def test_a_chat_of_four_thousand_tokens_does(self, sandbox_with_model: Path, tmp_path: Path) -> None:
        words = " ".join(random.Random(2).choices(["red", "green", "blue", "grey"], k=3900))
        chat, found = Conversation(), []
        for question in (words, "Which is the third?"):
            assistant = Assistant(Settings(folder=tmp_path, keep_prompts=True, offline=True))
            found.append(reply(assistant, Request(chat.ask(question), max_tokens=16)))
            chat.answered(found[-1])
            assistant.close()
        first, second = (each.stats for each in found)
        assert first.prompt_n >= 3900
        assert second.prompt_n <= 0.03 * first.prompt_n


def side_by_side(assistant: Assistant, asked: Sequence[Request]) -> list[Finished]:
    found = {place: event for place, event in assistant.replies(asked) if isinstance(event, Finished)}
    return [found[place] for place in range(len(asked))]
