"""stdout is UTF-8 and byte-true, and a reader that went away is one private exception."""

from __future__ import annotations

import io
import os
import sys

import pytest

from lacli.cli.terminal import output
from lacli.errors import LacliError


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def test_bytes_are_utf8_whatever_the_streams_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1", newline="\r\n"))
    output.text("漢é\n")
    output.end_text("\n")
    assert raw.getvalue() == "漢é\n\n".encode()


def test_a_pipe_gets_control_characters_and_a_terminal_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, expected in ((io.TextIOWrapper, b"a\x1b[31mb"), (Terminal, b"ab")):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", stream(raw, encoding="utf-8"))
        output.text("a\x1b[3")
        output.text("1mb")
        output.end_text()
        assert raw.getvalue() == expected


def test_a_lone_surrogate_is_replaced_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="utf-8"))
    output.text("a\udcffb")
    assert raw.getvalue() == b"a?b"


def test_no_stdout_at_all_is_stdout_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(output.StdoutClosed):
        output.text("x")
    output.flush()


def test_a_broken_pipe_is_stdout_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stream = open(writer, "w", encoding="utf-8")  # noqa: SIM115 - closing it fails, as it must
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(output.StdoutClosed):
        output.text("x")
    output.abandon()
    stream.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_an_error_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115 - closed below, after its descriptor was replaced
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(LacliError, match="No space left"):
        output.text("x")
    stream.close()
