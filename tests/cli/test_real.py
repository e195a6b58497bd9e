"""The real default model through the program as a process: pipe and pseudo-terminal, killed, interrupted, warm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT, Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and terminals")
QUESTION = "Write a python function that adds two numbers"


@dataclass
class Lacli:
    """`lacli` in a project folder of its own."""

    project: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "lacli", *arguments]

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*arguments), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, bufsize=0, cwd=self.project
        )

    def run(self, *arguments: str) -> tuple[str, dict[str, Any]]:
        """Text and statistics of a run that must succeed."""
        running = self.start(*arguments, "--stats")
        out, err = running.communicate(timeout=120)
        assert running.returncode == 0, err
        return out.decode("utf-8"), json.loads(err.splitlines()[-1])


@pytest.fixture
def lacli(sandbox_with_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lacli:
    """With rows measured as nearly free, so that a busy machine does not decide what is guessed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("LACLI_THREADS", "1")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return Lacli(tmp_path / "project")


def test_cold_warm_and_plain_are_one_text_and_warm_takes_fewer_steps(lacli: Lacli) -> None:
    cold, first = lacli.run("ask", QUESTION, "-n", "24")
    warm, second = lacli.run("ask", QUESTION, "-n", "24")
    plain, third = lacli.run("ask", QUESTION, "-n", "24", "--no-lookahead", "--no-pool")
    assert cold == warm == plain
    assert cold.endswith("\n")
    assert (first["pool_hits"], third["draft_n"]) == (0, 0)
    assert second["pool_hits"] >= 10
    assert second["steps"] < first["steps"] <= third["steps"]
    assert third["steps"] == third["predicted_n"] - 1
    assert first["pool_size"] == first["predicted_n"]
    assert third["pool_size"] == 0


@pytest.mark.slow
def test_a_run_killed_in_the_middle_of_a_reply_leaves_a_pool_that_helps(lacli: Lacli) -> None:
    _, cold = lacli.run("ask", QUESTION, "-n", "20")
    killed = lacli.start("ask", QUESTION, "-n", "200")
    assert killed.stdout is not None
    written = killed.stdout.read(3)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=30)
    text, warm = lacli.run("ask", QUESTION, "-n", "20")
    assert text.encode().startswith(written)
    assert warm["pool_hits"] > 0
    assert warm["tokens_per_step"] > 1.5 * cold["tokens_per_step"]


@pytest.mark.slow
def test_flags_and_other_projects_are_seen_in_the_statistics(lacli: Lacli, tmp_path: Path) -> None:
    _, first = lacli.run("ask", QUESTION, "-n", "16")
    _, reading = lacli.run("ask", QUESTION, "-n", "20", "--no-learn")
    assert reading["pool_hits"] > 0
    assert reading["pool_size"] == first["pool_size"] == 16
    (tmp_path / "other").mkdir()
    _, other = Lacli(tmp_path / "other").run("ask", QUESTION, "-n", "16")
    assert other["pool_hits"] == other["drafted_by_source"].get("project", 0) == 0
    for stats in (first, reading, other):
        assert sum(stats["accepted_by_source"].values()) == stats["draft_n_accepted"] == stats["rows_used"]
        assert sum(stats["drafted_by_source"].values()) == stats["draft_n"] <= stats["rows_bought"]
        assert stats["saved_n"] == stats["predicted_n"] - 1 - stats["steps"]
        assert stats["plain_step_ms"] > 0
        assert stats["saved_ms"] is not None


@pytest.mark.slow
def test_an_interrupted_reply_is_kept_and_taught(lacli: Lacli) -> None:
    running = lacli.start("ask", QUESTION, "-n", "300", "--stats")
    assert running.stdout is not None
    first = b""
    while len(first) < 60:
        first += running.stdout.read(10)
    running.send_signal(signal.SIGINT)
    rest, err = running.communicate(timeout=60)
    assert running.returncode == 130
    stats = json.loads(err.splitlines()[-1])
    assert stats["finish_reason"] == "cancelled"
    assert stats["pool_size"] == stats["predicted_n"] > 0
    text, warm = lacli.run("ask", QUESTION, "-n", str(stats["predicted_n"] + 4))
    assert text.startswith((first + rest).decode().removesuffix("\n"))
    assert warm["pool_hits"] > 0


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_it_with_141_and_the_pool_saved(lacli: Lacli) -> None:
    running = lacli.start("ask", QUESTION, "-n", "200")
    assert running.stdout is not None
    running.stdout.read(3)
    running.stdout.close()
    assert running.wait(timeout=60) == 141
    assert running.stderr is not None
    assert running.stderr.read() == b""
    running.stderr.close()
    pools = list(Path(os.environ["LACLI_HOME"]).glob("state/pools/*/*/pool.lacli"))
    assert len(pools) == 1
    assert pools[0].stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_complete_on_a_terminal_shows_the_inserted_text_alone(lacli: Lacli) -> None:
    (lacli.project / "a.py").write_text("def add(a, b):\n    return a", encoding="utf-8")
    piped, _ = lacli.run("complete", "a.py", "-n", "4")
    terminal = Terminal(lacli.command("complete", "a.py", "-n", "4", "-q"))
    assert terminal.finish(timeout=60) == 0
    assert terminal.seen.decode().replace("\r\n", "\n") == piped + "\n"
    assert (lacli.project / "a.py").read_text(encoding="utf-8") == "def add(a, b):\n    return a"


def test_a_chat_keeps_its_cache_between_turns(lacli: Lacli) -> None:
    terminal = Terminal(lacli.command("chat", "-n", "8"))
    for question in (b"Hi\r", b"Why?\r"):
        terminal.wait_for(b"\x1b[?2004h", timeout=60)
        terminal.send(question)
        terminal.wait_for(b"tok in", timeout=60)
    terminal.wait_for(b"prompt tok reused", timeout=20)
    terminal.wait_for(b"\x1b[?2004h")
    terminal.send(b"\x04")
    assert terminal.finish(timeout=30) == 0
