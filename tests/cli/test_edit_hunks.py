"""`lacli edit --interactive` and the chat's /apply, hunk by hunk: what is asked, and what the file then is."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from lacli.cli.edit.hunks import choose_hunks
from lacli.edits.write.textfile import TextFile
from tests.cli.conftest import Program, Scripted, Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

OLD = "".join(f"x{number} = {number}\n" for number in range(40))
FIRST, SECOND, THIRD = ("x3 = 3\n", "three = 3\n"), ("x6 = 6\n", ""), ("x30 = 30\n", "x30 = 30\nmore = 1\n")
QUESTION = b"take this hunk? [y,n,e,a,d,s,q,?]"


def changed(*changes: tuple[str, str]) -> str:
    text = OLD
    for before, after in changes:
        text = text.replace(before, after)
    return text


NEW = changed(FIRST, SECOND, THIRD)


@pytest.fixture
def folder(tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("SCRIPTS", json.dumps([f"```python\n{NEW}```\n"]))
    (tmp_path / "a.txt").write_text(OLD, encoding="utf-8")
    return tmp_path


def editor(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that does this to its file, `$1`."""
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(path))


def asking(program: Program, *more: str) -> Terminal:
    return Terminal(program.command("edit", "a.txt", "improve it", "-i", "--no-stdin", *more))


class TestKeys:
    @pytest.mark.parametrize(
        ("keys", "made"),
        [
            ("yy", NEW),
            ("nn", OLD),
            ("yn", changed(FIRST, SECOND)),
            ("ny", changed(THIRD)),
            ("y\nn\n", changed(FIRST, SECOND)),
            ("a", NEW),
            ("na", changed(THIRD)),
            ("d", OLD),
            ("yd", changed(FIRST, SECOND)),
            ("yq", changed(FIRST, SECOND)),
            ("q", OLD),
            ("syny", changed(FIRST, THIRD)),
            ("snyn", changed(SECOND)),
            ("Yn", changed(FIRST, SECOND)),
            ("?x\x1byn", changed(FIRST, SECOND)),
            ("y", changed(FIRST, SECOND)),
        ],
    )
    def test_each_means_what_it_does_to_git(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, keys: str, made: str
    ) -> None:
        source = iter(keys)
        monkeypatch.setattr("lacli.cli.edit.hunks.keys_of", lambda terminal: nullcontext(lambda: next(source, "")))
        monkeypatch.setattr("lacli.cli.edit.hunks.open_terminal", io.StringIO)
        monkeypatch.setattr("lacli.cli.edit.hunks.SCREEN", os.devnull)
        data = choose_hunks(TextFile.read("a.txt"), NEW.encode())
        assert data.decode() == made
        assert "".join(source) in ("", "\n")

    def test_only_what_is_neither_old_nor_new_is_checked(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("lacli.cli.edit.hunks.SCREEN", os.devnull)
        for keys, said in (("n\nn\n", ""), ("y\ny\n", ""), ("y\nn\n", "lacli: warning: it does not parse\n")):
            monkeypatch.setattr("lacli.cli.edit.hunks.open_terminal", partial(io.StringIO, keys))
            choose_hunks(TextFile.read("a.txt"), NEW.encode(), lambda data: "it does not parse")
            assert capfd.readouterr().err == said


class TestOnATerminal:
    def test_hunks_are_shown_in_colours_and_a_key_needs_no_enter(self, folder: Path, program: Program) -> None:
        terminal = asking(program, "--backup", ".bak")
        terminal.wait_for(b"\x1b[36m@@ -1,10 +1,9 @@\x1b[0m\r\n x0 = 0\r\n")
        terminal.wait_for(b"\x1b[31m-x3 = 3\x1b[0m\r\n\x1b[32m+three = 3\x1b[0m\r\n")
        terminal.wait_for(b"(1/2) " + QUESTION)
        terminal.send(b"?")
        terminal.wait_for(b"y - take this hunk\r\n")
        terminal.wait_for(b"(1/2) " + QUESTION)
        terminal.send(b"\x1b[A")  # an arrow, whose last letter is no answer
        terminal.wait_for(b"(1/2) " + QUESTION)
        assert b"[A" not in terminal.seen
        terminal.send(b"s")
        terminal.wait_for(b"@@ -1,5 +1,5 @@")
        terminal.wait_for(b"(1/3) take this hunk? [y,n,e,a,d,q,?]")
        terminal.send(b"n")
        terminal.wait_for(b"(2/3) take")
        terminal.send(b"y")
        terminal.wait_for(b"@@ -29,6 +28,7 @@ x27 = 27")
        terminal.wait_for(b"+more = 1")
        terminal.wait_for(b"(3/3) take")
        terminal.send(b"q")
        terminal.wait_for(b"lacli: a.txt: 0 lines in, 1 out\r\n")
        assert terminal.finish() == 0
        assert (folder / "a.txt").read_text() == changed(SECOND)
        assert (folder / "a.txt.bak").read_text() == OLD

    def test_nothing_taken_is_nothing_changed_and_without_colours_there_are_none(
        self, folder: Path, program: Program
    ) -> None:
        before = (folder / "a.txt").stat()
        terminal = asking(program, "--color", "never", "-q", "--backup", ".bak")
        terminal.wait_for(b"@@ -1,10 +1,9 @@\r\n x0 = 0\r\n")
        terminal.wait_for(QUESTION)
        terminal.send(b"d")
        assert terminal.finish() == 0
        assert b"\x1b" not in terminal.seen
        assert (folder / "a.txt").stat().st_mtime_ns == before.st_mtime_ns
        assert not (folder / "a.txt.bak").exists()

    def test_ctrl_c_leaves_the_file_and_the_terminal_as_they_were(self, folder: Path, program: Program) -> None:
        terminal = asking(program)
        terminal.wait_for(QUESTION)
        terminal.send(b"y")
        terminal.wait_for(b"(2/2)")
        terminal.wait_for(b"q,?]")
        terminal.send(b"\x03")
        terminal.wait_for(b"stopped")
        assert terminal.finish() == 130
        assert b"Traceback" not in terminal.seen
        assert (folder / "a.txt").read_text() == OLD

    def test_what_is_no_text_steers_no_terminal(
        self, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "a.txt").write_bytes(b"# \x1b]0;title\x07 caf\xe9\nx = 1\n")
        monkeypatch.setenv("SCRIPTS", json.dumps(["```python\n# \x1b]0;title\x07 caf\xe9\nx = 2\n```\n"]))
        terminal = asking(program)
        terminal.wait_for(b" #  caf\xc3\xa9\r\n")
        terminal.wait_for(b"take this hunk?")
        terminal.send(b"y")
        assert terminal.finish() == 0
        assert (folder / "a.txt").read_bytes() == b"# \x1b]0;title\x07 caf\xe9\nx = 2\n"


class TestEditing:
    def test_what_the_editor_left_is_taken(
        self, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        editor(folder, "sed -i -e 's/^+three/+drei/' -e 's/^-x6/ x6/' \"$1\"", monkeypatch)
        terminal = asking(program)
        terminal.wait_for(QUESTION)
        terminal.send(b"e")
        terminal.wait_for(b"(2/2)")
        terminal.send(b"n")
        assert terminal.finish() == 0
        assert (folder / "a.txt").read_text() == OLD.replace("x3 = 3", "drei = 3")

    def test_what_does_not_fit_is_said_and_is_in_the_editor_the_next_time(
        self, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script = 'if grep -q "^=" "$1"; then sed -i "s/^=x3/-x3/" "$1"; else sed -i "s/^-x3/=x3/" "$1"; fi'
        editor(folder, script, monkeypatch)
        terminal = asking(program)
        terminal.wait_for(QUESTION)
        terminal.send(b"e")
        terminal.wait_for(b"the line '=x3 = 3' begins with no blank, + or -; edit it again\r\n")
        terminal.wait_for(b"(1/2)")
        terminal.send(b"e")
        terminal.wait_for(b"(2/2)")
        terminal.send(b"d")
        assert terminal.finish() == 0
        assert (folder / "a.txt").read_text() == changed(FIRST, SECOND)

    @pytest.mark.parametrize(
        ("script", "said"),
        [(': > "$1"', b"nothing is left of it: the hunk is as it was\r\n"), ("exit 3", b"ended with code 3")],
    )
    def test_an_editor_that_leaves_nothing_or_fails_changes_nothing(
        self, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch, script: str, said: bytes
    ) -> None:
        editor(folder, script, monkeypatch)
        terminal = asking(program)
        terminal.wait_for(QUESTION)
        terminal.send(b"e")
        terminal.wait_for(said)
        terminal.wait_for(b"(1/2)")
        terminal.send(b"a")
        assert terminal.finish() == 0
        assert (folder / "a.txt").read_text() == NEW


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (["--full"], "--interactive and --full exclude each other"),
            (["--diff"], "--interactive and --diff exclude each other"),
            (["--json"], "--interactive and --json exclude each other"),
            ([], "--interactive needs a terminal to ask at"),
        ],
    )
    def test_before_a_model_is_loaded(
        self, folder: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, arguments: list[str], why: str
    ) -> None:
        monkeypatch.setattr("lacli.cli.edit.hunks.open_terminal", lambda: None)
        result = scripted.run(["edit", "a.txt", "x", "-i", *arguments], ["```\n```"])
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert why in result.err
        assert scripted.assistants == []

    def test_stdin_is_no_file(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["edit", "-", "x", "-i"], ["```\n```"], stdin=b"a\n")
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "leave out --interactive: the result is printed" in result.err


class TestApply:
    @pytest.mark.parametrize(("keys", "made"), [([b"i\n", b"n", b"y"], changed(THIRD)), ([b"i\n", b"d"], OLD)])
    def test_i_asks_of_each_hunk(self, folder: Path, program: Program, keys: list[bytes], made: str) -> None:
        terminal = Terminal(program.command("chat"))
        terminal.wait_for(b"\x1b[?2004h")
        terminal.send(b"improve it\r")
        terminal.wait_for(b"\x1b[?2004h")
        terminal.send(b"/apply a.txt\r")
        for key, question in zip(keys, (b"change a.txt? [y/N/i] ", b"(1/2)", b"(2/2)"), strict=False):
            terminal.wait_for(question)
            terminal.send(key)
        terminal.wait_for(b"nothing was changed" if made == OLD else b"a.txt was changed")
        terminal.wait_for(b"\x1b[?2004h")
        terminal.send(b"/exit\r")
        assert terminal.finish() == 0
        assert (folder / "a.txt").read_text() == made
