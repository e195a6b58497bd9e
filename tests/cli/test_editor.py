"""The user's own editor: how it ends, and what becomes of it where we are to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lacli.cli.terminal.editor import edited
from lacli.errors import LacliError
from tests.cli.conftest import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

PROGRAM = """
import sys
from lacli.cli.terminal.editor import edited
edited("a draft")
"""
EDITOR = """#!/bin/sh
{trap}
echo "$$ $1" > {told}
sleep 60
true
"""


def editor_at(folder: Path, trap: str = "") -> str:
    script = folder / "editor.sh"
    script.write_text(EDITOR.format(trap=trap, told=folder / "told"))
    script.chmod(0o755)
    return str(script)


def told(folder: Path) -> tuple[int, Path]:
    """The process of the editor, and the file it was given."""
    until = time.monotonic() + 20
    while not (folder / "told").exists() or not (folder / "told").read_text().endswith("\n"):
        assert time.monotonic() < until, "no editor was started"
        time.sleep(0.01)
    pid, path = (folder / "told").read_text().split()
    return int(pid), Path(path)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("script", "how"), [("kill -INT $$", "was left by Ctrl-C"), ("exit 130", "was left by Ctrl-C")]
)
def test_an_editor_left_by_ctrl_c_is_told_of_as_that(
    script: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sh -c '{script}'")
    with pytest.raises(LacliError, match=how):
        edited("a draft")


def test_an_editor_that_was_killed_or_failed_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    for script, how in (("kill -KILL $$", "was ended by SIGKILL"), ("exit 3", "ended with code 3")):
        monkeypatch.setenv("EDITOR", f"sh -c '{script}'")
        with pytest.raises(LacliError, match=how):
            edited("a draft")


@pytest.mark.parametrize("trap", ["", "trap '' TERM"])
def test_the_editor_ends_with_us_and_its_file_goes(trap: str, tmp_path: Path) -> None:
    environment = {**os.environ, "EDITOR": editor_at(tmp_path, trap)}
    environment.pop("VISUAL", None)
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment)
    pid, path = told(tmp_path)
    assert path.read_text() == "a draft"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 128 + signal.SIGTERM
    assert not path.parent.exists()
    assert not runs(pid)


def test_the_terminal_ui_ends_in_its_own_way_and_the_editor_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("textual")
    from tests.tui.test_shutdown import PROGRAM as TUI

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", editor_at(tmp_path))
    monkeypatch.delenv("VISUAL", raising=False)
    asks = TUI.index('    self.prompt.put("a question")')
    rest = TUI.index("async def show(")
    edits = f"{TUI[:asks]}    self.call_later(self.requests.edit)\n\n{TUI[rest:]}"
    terminal = Terminal([sys.executable, "-c", edits, "editing"])
    pid, path = told(tmp_path)
    os.kill(terminal._pid, signal.SIGTERM)
    assert terminal.finish() == 143
    assert not path.parent.exists()
    assert not runs(pid)


def test_giving_the_terminal_back_changes_nothing_for_others_who_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual")
    from lacli_tui import terminal

    monkeypatch.setattr(os, "set_blocking", lambda *_: pytest.fail("the editor has it, too"))
    seen: list[bytes] = []
    monkeypatch.setattr(os, "write", lambda descriptor, data: seen.append(data))
    terminal.restore(None)
    assert seen == [terminal._RESET_MODES]
