"""Foreign text never steers the terminal, however it is cut into pieces."""

from __future__ import annotations

import os

import pytest

from lacli.cli.terminal import keyboard
from lacli.cli.terminal.tty import StreamSanitizer, sanitize

HOSTILE = (
    "a\x1b[31mred\x1b[0m\x1b]0;title\x07b\x9b2Jc\x1b]8;;http://x\x1b\\link\r\nover\rwrite\x08\x00\tend\n\x1bc\x85é漢"
)
CLEAN = "aredbclink\noverwrite\tend\né漢"


def test_control_characters_and_sequences_are_removed_and_tab_and_newline_stay() -> None:
    assert sanitize(HOSTILE) == CLEAN


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_sequence_split_between_pieces_is_still_removed(size: int) -> None:
    sanitiser = StreamSanitizer()
    pieces = [HOSTILE[start : start + size] for start in range(0, len(HOSTILE), size)]
    assert "".join(map(sanitiser.push, pieces)).replace("\r", "") + sanitiser.finish() == CLEAN


def test_what_turns_text_around_unseen_is_marked() -> None:
    assert sanitize("ok\u202e \u2066x") == "ok<U+202E> <U+2066>x"
    assert StreamSanitizer().push("ok\u202e") == "ok<U+202E>"


def test_text_behind_an_introducer_without_end_is_shown_after_all() -> None:
    sanitiser = StreamSanitizer()
    shown = sanitiser.push("x\x1b]0;") + sanitiser.push("y" * 1000) + sanitiser.finish()
    assert shown.endswith("y" * 1000)


def test_what_is_held_back_at_the_end_is_released_without_its_escape() -> None:
    sanitiser = StreamSanitizer()
    assert sanitiser.push("ok\x1b[3") == "ok"
    assert "\x1b" not in sanitiser.finish()


def test_lines_typed_during_a_reply_and_behind_it_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter is a CR, which ends no line, until the terminal is set as it was."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    outside, inside = pty.openpty()
    monkeypatch.setattr(keyboard, "_keyboard", lambda: inside)
    before = termios.tcgetattr(inside)
    silent = [before[0] & ~termios.ICRNL, *before[1:]]
    try:
        termios.tcsetattr(inside, termios.TCSANOW, silent)
        os.write(outside, b"one?\r")
        echoed = b""
        while not echoed.endswith(b"^M"):  # the terminal has taken all of it in
            echoed += os.read(outside, 64)
        termios.tcsetattr(inside, termios.TCSANOW, before)
        assert keyboard.typed_lines() == b""  # it waits for the prompt
        os.write(outside, b"two?\r")
        assert keyboard.typed_lines() == b"one?\ntwo?\n"
    finally:
        os.close(outside)
        os.close(inside)
