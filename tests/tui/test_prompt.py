"""The prompt: pastes, line ends, what was typed before, files."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events

from lacli.assistant.base import Cancel, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.events import Event, Request
from lacli_tui.sanitize import clean_paste, visible
from lacli_tui.terminal import PasteParser
from lacli_tui.widgets.draft import MOST_ROWS
from lacli_tui.widgets.prompt import Prompt
from tests.slow import TEN, slow
from tests.tui.conftest import Play, Playing

LINES = "".join(f"\tvalue = {number}\n" for number in range(40))


def prompt(it: Playing) -> Prompt:
    return it.main.query_one(Prompt)


async def keys_at_once(it: Playing, *keys: str) -> None:
    """As a terminal without bracketed paste sends a paste."""
    for key in keys:
        character = {"enter": "\r", "tab": "\t"}.get(key, key)
        it.app.post_message(events.Key(key, character))
    await it.pilot.pause(0.1)


class TestPastes:
    async def test_a_paste_is_one_draft_and_is_sent_once(self, pilot: Play) -> None:
        async with pilot("ok") as it:
            prompt(it).post_message(events.Paste(LINES.replace("\n", "\r\n") + "\x1b[31mred\x1b[0m\x07"))
            await it.pilot.pause()
            assert prompt(it).text == LINES + "red"
            assert prompt(it).size.height == MOST_ROWS
            assert not it.assistant.requests
            await it.press("enter")
            await it.idle()
            assert [request.messages[-1].text for request in it.assistant.requests] == [LINES + "red"]

    @pytest.mark.slow
    async def test_twenty_thousand_lines_while_a_reply_is_written_are_one_draft(self, pilot: Play) -> None:
        text = "\tvalue = [/x]\n" * 20_000
        writes = threading.Event()

        class Waits(ScriptedAssistant):
            def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
                for count, event in enumerate(super().reply(request, cancel)):
                    while count == 3 and not cancel():
                        writes.wait(0.01)
                    yield event

        async with pilot(replier=Waits(["word " * 50])) as it:
            await it.type("go")
            await it.press("enter")
            await it.until(lambda: it.main.engine.phase == "decoding")
            prompt(it).post_message(events.Paste(text))
            await it.until(lambda: prompt(it).text == text)
            assert prompt(it).size.height == MOST_ROWS
            await it.press("enter")
            assert prompt(it).text == ""
            await it.press("escape")
            await it.idle()
            assert prompt(it).text == text
            assert [request.messages[-1].text for request in it.assistant.requests] == ["go"]

    async def test_one_that_comes_key_by_key_is_not_sent_line_by_line(self, pilot: Play) -> None:
        async with pilot("ok") as it:
            await keys_at_once(it, *"ab", "enter", "tab", *"cd", "enter")
            assert prompt(it).text == "ab\n\tcd\n"
            assert not it.assistant.requests

    @pytest.mark.parametrize("size", [7, 100, 999, 4096])
    async def test_one_that_is_not_marked_is_one_draft_however_it_is_read(self, pilot: Play, size: int) -> None:
        async with pilot("ok") as it:
            parser, data = PasteParser(), LINES.replace("\n", "\r")
            for at in range(0, len(data), size):
                for event in parser.feed(data[at : at + size]):
                    it.app.post_message(event)
            await it.until(lambda: prompt(it).text.count("\n") == 40 and not prompt(it).is_waiting)
            assert prompt(it).text == LINES
            assert not it.assistant.requests

    def test_a_long_line_with_its_enter_is_typed(self) -> None:
        came = list(PasteParser().feed("what is this file good for, please?\r"))
        assert all(isinstance(each, events.Key) for each in came)

    async def test_a_line_and_an_enter_at_once_are_sent(self, pilot: Play) -> None:
        async with pilot("ok") as it:
            await keys_at_once(it, *"hello", "enter")
            await it.idle()
            assert it.assistant.requests[0].messages[-1].text == "hello"

    @pytest.mark.parametrize("size", [1, 2, 7, 4096])
    def test_escape_sequences_inside_are_no_keys_however_it_is_read(self, size: int) -> None:
        text = "one \x1b[31mtwo\x1b[0m\r\n\x1b[2 three\x1b"
        data = f"abcdefghijkl\x1b[200~{text}\x1b[201~z"
        cuts = [0, *range(12 if size > 1 else 18, len(data), size), len(data)]
        parser = PasteParser()
        came = [each for start, end in itertools.pairwise(cuts) for each in parser.feed(data[start:end])]
        assert [each.text for each in came if isinstance(each, events.Paste)] == [text]
        assert "".join(each.key for each in came if isinstance(each, events.Key)) == "abcdefghijklz"

    def test_nothing_in_it_can_act(self) -> None:
        assert clean_paste("a\x1b]52;c;eA==\x07b\x9b31mc\x00\td\re") == "ab31mc\td\ne"
        assert visible("a\u202eb") == "a<U+202E>b"
        assert visible("a\x1b[31m\x07\x9b\ud800\t\r\n") == "a␛[31m␇�?\t\n"

    @pytest.mark.default_cases(TEN)
    @pytest.mark.parametrize("seed", range(40))
    def test_no_text_is_lost_that_is_outside_of_a_whole_sequence(self, seed: int) -> None:
        chance = random.Random(seed)
        parts = [
            "\x1b",
            "\x1b[",
            "\x1b]",
            "\x1b_",
            "\x1b\\",
            "\x07",
            "\x9b",
            "31m",
            "\n",
            "(B",
            "a",
            "é",
            " ",
            "_",
            "7",
        ]
        text = "".join(chance.choice([*parts, chr(chance.randrange(256))]) for _ in range(300)).replace("\r", "")
        assert clean_paste(text) == outside(text)
        assert "AAA" + clean_paste("\x1b_ BBB\nline2") == "AAA_ BBB\nline2"


def outside(text: str) -> str:
    """What is left without whole sequences and controls, one character after the other."""
    left, at = "", 0
    while at < len(text):
        end = whole(text, at) if text[at] == "\x1b" else 0
        if not end and (text[at] in "\t\n" or " " <= text[at] < "\x7f" or text[at] >= "\xa0"):
            left += text[at]
        at = end or at + 1
    return left


def whole(text: str, at: int) -> int:
    """Where the sequence ends that begins here; 0 if it does not."""
    kind, end = text[at + 1 : at + 2], at + 2
    if kind == "[":
        for low, high in (("0", "?"), (" ", "/")):
            while low <= text[end : end + 1] <= high:
                end += 1
        return end + 1 if "@" <= text[end : end + 1] <= "~" else 0
    if kind and kind in "]PX^_":
        while text[end : end + 1] not in ("", "\x07", "\x1b", "\n"):
            end += 1
        return end + 1 if text[end : end + 1] == "\x07" else end + 2 if text[end : end + 2] == "\x1b\\" else 0
    return end + 1 if kind and kind in "()*+" and text[end : end + 1].isascii() and text[end : end + 1].isalnum() else 0


async def test_ctrl_j_makes_a_line_and_enter_sends(pilot: Play) -> None:
    async with pilot("ok") as it:
        await it.press("a", "ctrl+j", "b")
        assert prompt(it).text == "a\nb"
        assert prompt(it).size.height == 2
        await it.press("enter")
        await it.idle()
        assert it.assistant.requests[0].messages[-1].text == "a\nb"
        assert prompt(it).size.height == 1


async def test_the_arrows_find_what_was_typed_before_and_the_draft_again(pilot: Play, sandbox: Path) -> None:
    async with pilot("ok", "ok") as it:
        await it.ask("first")
        await it.ask("second ghp_" + "a1B2c3D4" * 5)
        await it.type("draft")
        await it.press("up")
        assert prompt(it).text.startswith("second")
        await it.press("up", "up")
        assert prompt(it).text == "first"
        await it.press("down", "down")
        assert prompt(it).text == "draft"
    kept = (sandbox / "state" / "chat_history").read_text()
    assert "+first" in kept
    assert "ghp_" not in kept
    async with pilot() as it:
        await it.until(lambda: prompt(it)._typed_history._typed)
        await it.press("up")
        assert prompt(it).text == "first"


@pytest.mark.slow
async def test_a_file_goes_with_the_question_and_can_be_taken_away(pilot: Play, tmp_path: Path) -> None:
    (tmp_path / "[").mkdir()
    (tmp_path / "[/a].py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("y = 2\n")
    async with pilot("ok") as it:
        await it.ask('/file "[/a].py"')
        await it.until(lambda: "[/a].py (1 line, ~2 tok)" in it.text())
        await it.press("backspace")
        assert "[/a].py (1 line, ~2 tok)" not in it.text()
        await it.ask("what is in @b.py")
        asked = it.assistant.requests[0].messages[-1]
        assert [each.label for each in asked.attachments] == ["b.py"]
        assert "b.py (1 line, ~2 tok)" in it.text()


async def test_ctrl_d_leaves_only_an_empty_prompt(pilot: Play) -> None:
    async with pilot() as it:
        await it.press("a", "home", "ctrl+d")
        assert prompt(it).text == ""
        assert it.app.is_running
        await it.press("ctrl+d")
        await it.until(lambda: not it.app.is_running)


async def test_delete_never_leaves(pilot: Play) -> None:
    async with pilot() as it:
        await it.press("delete", "a", "left", "delete", "delete")
        assert prompt(it).text == ""
        assert it.app.is_running
        assert not it.app._exit


class TestEnter:
    async def test_keys_that_come_late_while_the_screen_is_slow_are_questions_of_their_own(self, pilot: Play) -> None:
        async with pilot("ok", "ok") as it:
            begun = time.monotonic()
            for count, key in enumerate([*"ab", "enter", *"cd", "enter", "e"]):  # all wait in the queue
                event = events.Key(key, "\r" if key == "enter" else key)
                event.time = begun + count * 0.08
                it.app.post_message(event)
            await it.until(lambda: len(it.assistant.requests) == 2)
            await it.idle()
            assert [each.messages[-1].text for each in it.assistant.requests] == ["ab", "cd"]
            assert prompt(it).text == "e"

    async def test_what_is_refused_is_the_draft_again(self, pilot: Play) -> None:
        async with pilot("ok") as it:
            await it.ask("/nonsense it is")
            assert prompt(it).text == "/nonsense it is"
            assert not it.assistant.requests


async def test_wide_and_joined_characters_move_no_border(pilot: Play) -> None:
    reply = "漢字 👩‍💻 e\u0301 ok\n\n```\n漢字\tx\n```\n"
    async with pilot(reply, size=(120, 40)) as it:
        await it.ask("漢字 é")
        from rich.cells import cell_len

        widths = {cell_len(line) for line in it.text().split("\n")}
        assert len(widths) == 1
        await it.type("漢字")
        await it.press("backspace")
        assert prompt(it).text == "漢"


async def test_what_turns_text_around_is_seen_in_a_draft_and_sent_as_it_is(pilot: Play) -> None:
    async with pilot("yes") as it:
        await it.type("if x:\u202e # y")
        assert "if x:\ufffd # y" in it.text()
        await it.press("enter")
        await it.idle()
        assert it.main.chat.conversation.turns[0].question.text == "if x:\u202e # y"
        assert "if x:<U+202E> # y" in it.text()


class TestKeysInTheirOrder:
    """Each has its effect before those that came later, also where all of them are there already."""

    @pytest.mark.parametrize(
        ("keys", "text"),
        [
            (["ctrl+u", *"/help"], "/help"),
            (["home", "ctrl+k", *"new"], "new"),
            (["ctrl+w", "x"], "one x"),
            (["backspace", "backspace", "x"], "one tx"),
            (["home", "x", "end", "y"], "xone twoy"),
            (["left", "left", "x", "ctrl+d", "y"], "one txyo"),
            (["ctrl+a", "delete", "O"], "One two"),
            (["ctrl+left", "x"], "one xtwo"),
            (["ctrl+w", "ctrl+underscore", "x"], "one twox"),
            (["shift+home", "x"], "x"),
            (["up", "x"], "beforex"),
            (["ctrl+c", *"new"], "new"),
            (["x", "ctrl+c", "y", "ctrl+c", "z"], "z"),
        ],
    )
    @pytest.mark.parametrize("apart", [0.0, slow(0.05)], ids=["burst", "typed"])
    @pytest.mark.default_cases(5)
    async def test_while_the_app_is_busy(self, pilot: Play, keys: list[str], text: str, apart: float) -> None:
        async with pilot() as it:
            prompt(it).remember(["before"])
            prompt(it).put("one two")
            await it.pilot.pause()
            now = time.monotonic()
            for number, key in enumerate(keys):
                event = events.Key({"/": "slash"}.get(key, key), key if len(key) == 1 else None)
                event.time = now + apart * number
                it.app.post_message(event)
            time.sleep(0.05)
            await it.until(lambda: prompt(it).text == text, 5)
            await it.pilot.pause(0.05)
            assert prompt(it).text == text
            assert not prompt(it).is_waiting

    async def test_keys_of_ones_own_hold(self, pilot: Play) -> None:
        async with pilot(keymap={"undo-typing": "ctrl+u"}) as it:
            await it.type("one two")
            await it.press("ctrl+w", "ctrl+u")
            assert prompt(it).text == "one two"

    async def test_backspace_still_takes_a_file_away_and_ctrl_d_leaves(self, pilot: Play, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("x")
        async with pilot() as it:
            await it.attach("a.py")
            await it.press("backspace")
            assert not it.main.chat.conversation.pending
            await it.press("ctrl+d")
            assert it.app._exit


class TestClearing:
    async def test_ctrl_c_clears_a_draft_of_many_lines_and_undo_brings_it_back(self, pilot: Play) -> None:
        async with pilot() as it:
            await it.type("one\ntwo\nthree")
            await it.press("ctrl+c")
            assert prompt(it).text == ""
            assert prompt(it).size.height == 1
            await it.press("ctrl+underscore")
            assert prompt(it).text == "one\ntwo\nthree"

    async def test_it_copies_what_is_selected_and_says_how_to_leave_where_nothing_is(self, pilot: Play) -> None:
        async with pilot() as it:
            await it.press("ctrl+c")
            await it.until(lambda: "ctrl+q leaves" in it.text())
            await it.type("one two")
            await it.press("shift+home", "ctrl+c")
            assert prompt(it).text == "one two"

    async def test_a_reply_is_stopped_first(self, pilot: Play) -> None:
        class Waits(ScriptedAssistant):
            def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
                for event in super().reply(request, cancel):
                    yield event
                    while not cancel():
                        time.sleep(0.01)

        async with pilot(replier=Waits(["word " * 50])) as it:
            await it.type("go")
            await it.press("enter")
            await it.until(lambda: it.main.engine.is_replying)
            await it.type("draft")
            await it.press("ctrl+c")
            await it.idle()
            assert prompt(it).text == "draft"
            await it.press("ctrl+c")
            assert prompt(it).text == ""
