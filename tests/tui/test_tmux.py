"""The real thing in a real terminal: `lacli tui` with the default model in tmux."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


class Tmux:
    """A tmux of our own with one pane."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")

    def __call__(self, *arguments: str) -> str:
        command = ["tmux", "-f", os.devnull, "-S", self._socket, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout

    def keys(self, *keys: str) -> None:
        self("send-keys", *keys)

    def type(self, text: str) -> None:
        self("send-keys", "-l", text)

    def pane(self) -> str:
        return self("capture-pane", "-p")

    def until(self, holds: Callable[[str], bool], seconds: float = 60) -> str:
        end = time.monotonic() + seconds
        while not holds(pane := self.pane()):
            assert time.monotonic() < end, pane
            time.sleep(0.1)
        return pane


@pytest.fixture
def tmux(tmp_path: Path, model_home: Path) -> Iterator[Tmux]:
    """A shell in an empty project; the program's own home, with the default model."""
    it = Tmux(tmp_path)
    home = tmp_path / "home"
    (home / "cache").mkdir(parents=True)
    for kept in (model_home / "cache").iterdir():
        (home / "cache" / kept.name).symlink_to(kept)
    project = tmp_path / "proj"
    (project / ".git").mkdir(parents=True)
    environment = {"LACLI_HOME": str(home), "PYTHONPATH": str(ROOT), "PS1": "$ ", "OMP_WAIT_POLICY": "passive"}
    told = [part for name, value in environment.items() for part in ("-e", f"{name}={value}")]
    it("new-session", "-d", "-x", "100", "-y", "30", "-c", str(project), *told, "sh")
    try:
        yield it
    finally:
        it("kill-server")


def test_a_day_in_short(tmux: Tmux) -> None:
    program = "import sys; from lacli.cli.main import main; sys.exit(main(['tui', *sys.argv[1:]]))"
    start = shlex.join([sys.executable, "-c", program])
    tmux.type(start)
    tmux.keys("Enter")
    tmux.until(lambda pane: "Ask about your code" in pane and "proj" in pane)

    tmux.type("Say")
    tmux.keys("C-j")
    tmux.type("hello.")
    pane = tmux.until(lambda pane: "hello." in pane)
    assert any(line.strip(" ▌") == "Say" for line in pane.split("\n")), pane
    tmux.keys("Enter")
    tmux.until(lambda pane: "tok/step" in pane and "esc stop" not in pane)

    tmux.type("Write a long story about a fox.")
    tmux.keys("Enter")
    tmux.until(lambda pane: "esc stop" in pane)
    tmux.until(lambda pane: "fox" in pane.split("Assistant")[-1])
    tmux.type("And of a cat?")
    tmux.keys("Enter")
    tmux.until(lambda pane: "[next: And of a cat?]" in pane)
    tmux.keys("Escape")
    tmux.until(lambda pane: "interrupted" in pane and "▌And of a cat?" in pane)

    tmux.keys("C-u")
    tmux.type("/retry")
    tmux.keys("Enter")
    tmux.until(lambda pane: "esc stop" in pane and "interrupted" not in pane)
    tmux.keys("Escape")
    tmux.until(lambda pane: "interrupted" in pane and "esc stop" not in pane)

    tmux.keys("C-n")
    tmux.until(lambda pane: "Ask about this project" in pane)
    tmux.keys("C-r")
    pane = tmux.until(lambda pane: "2 turns" in pane or "Say hello" in pane)
    tmux.keys("Enter")
    tmux.until(lambda pane: "Ask about this project" not in pane and "interrupted" in pane)

    tmux.keys("C-q")
    tmux.until(lambda pane: "lacli tui --session" in pane, 20)
    tmux.type('printf "\\ncode %s\\n" $?; ps -t "$(tty)" -o stat=,args= | cut -c1-60; echo all')
    tmux.keys("Enter")
    pane = tmux.until(lambda pane: "\nall" in pane, 20)
    assert "\ncode 0" in pane, pane
    left = pane.split("\ncode 0")[-1]
    assert "defunct" not in left, pane
    assert "worker" not in left, pane
    assert "python" not in left, pane
