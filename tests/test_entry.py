"""Ctrl-C while the program is still being imported."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

_INTERRUPTED_AT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["lacli", "--version"]
from lacli.entry import lacli
sys.exit(lacli())
"""


def run(module: str, ignored: bool = False) -> subprocess.CompletedProcess[bytes]:
    action = signal.SIG_IGN if ignored else signal.SIG_DFL
    return subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_AT.format(module=module)],
        capture_output=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, action),
        timeout=60,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")
@pytest.mark.parametrize("module", ["lacli.cli.main", "lacli.cli.run", "typer"])
def test_ends_with_130_and_without_a_word(module: str) -> None:
    ended = run(module)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")
def test_is_ignored_where_it_was_ignored() -> None:
    ended = run("typer", ignored=True)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.startswith(b"lacli ")
