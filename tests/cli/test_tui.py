"""`lacli tui` where there is no terminal for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lacli.cli import tui
from lacli.errors import UsageError
from tests.cli.conftest import Program, Scripted, Terminal


def test_without_a_terminal_it_is_one_line_that_names_chat(scripted: Scripted) -> None:
    result = scripted.run(["tui"])
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert "`lacli chat`" in result.err


@pytest.mark.parametrize("name", ["dumb", "unknown", ""])
def test_a_terminal_that_can_nothing_is_one_line_too(program: Program, name: str) -> None:
    command = ["/bin/sh", "-c", f'TERM={name} exec "$@"', "sh", *program.command("tui")]
    terminal = Terminal(command)
    assert terminal.finish() == 2
    assert b"lacli chat" in terminal.seen
    assert b"\x1b[?1049h" not in terminal.seen


def test_a_folder_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tui, "_check_terminal", lambda inline: None)
    with pytest.raises(UsageError, match="nowhere"):
        tui._entered(Path("nowhere"))


@pytest.mark.skipif(sys.platform == "win32", reason="nobody removes the current folder there")
def test_a_current_folder_that_is_gone_is_said(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tui, "_check_terminal", lambda inline: None)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = scripted.run(["tui"])
    assert result.code == 2
    assert result.err == "lacli: error: the current folder no longer exists; change to another folder\n"


def test_keys_come_from_the_users_own_file(sandbox: Path) -> None:
    (sandbox / "config").mkdir()
    (sandbox / "config" / "config.toml").write_text('[keymap]\nstop = "f12"\n')
    assert tui._keymap() == {"stop": "f12"}


def test_the_script_of_its_own_is_the_same_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lacli-tui", "--help"])
    assert tui.main() == 0
    assert "lacli tui" in capfd.readouterr().out
