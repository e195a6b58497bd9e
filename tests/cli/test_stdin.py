"""stdin is read to its end, however slowly it comes, and a terminal is never read."""

from __future__ import annotations

import os
import sys
import threading
import time

import pytest

from lacli.cli.terminal.stdin import Stdin, piped_stdin
from lacli.errors import PromptTooLong


def test_a_slow_writer_loses_nothing_and_is_called_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()

    def write() -> None:
        for part in (b"first ", b"\xc3", b"\xa9 ", b"last"):
            time.sleep(0.15)
            os.write(writer, part)
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    with open(reader, encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        stdin = Stdin()
        assert stdin.is_slow()
        assert stdin.text() == "first é last"
    thread.join()


def test_what_is_there_at_once_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"all\r\n\x00")
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        stdin = Stdin()
        assert not stdin.is_slow()
        assert stdin.data() == b"all\r\n\x00"
        assert stdin.text() == "all\n\x00"


def test_a_stream_without_end_is_refused_and_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacli.cli.terminal.stdin.MOST_BYTES", 1000)
    reader, writer = os.pipe()
    os.write(writer, b"y\n" * 2000)  # and never closed while stdin is read
    with open(reader, encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        with pytest.raises(PromptTooLong, match="more than 1,000 bytes"):
            Stdin().text()
    os.close(writer)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_a_missing_stdin_and_no_stdin_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    primary, secondary = pty.openpty()
    with open(secondary, encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        assert piped_stdin(no_stdin=False) is None
    os.close(primary)
    monkeypatch.setattr(sys, "stdin", None)
    assert piped_stdin(no_stdin=False) is None
    with open(os.devnull, encoding="utf-8") as null:
        monkeypatch.setattr(sys, "stdin", null)
        assert piped_stdin(no_stdin=True) is None
        assert piped_stdin(no_stdin=False) is not None
