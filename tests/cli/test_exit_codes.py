"""Every exit code that the program has (`lacli spec` lists them), reached by the program and its engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT
from tests.slow import slow

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and pipes")
LACLI = (sys.executable, "-m", "lacli")


@dataclass(frozen=True)
class Way:
    """How a code is reached."""

    code: int
    arguments: Sequence[str]
    err: str
    """What the last line of stderr has."""
    out: str = ""
    """Where stdout goes: a file, or `closed`; nothing is a pipe that is read."""


WITHOUT_A_MODEL = (
    Way(0, ["--version"], ""),
    Way(1, ["doctor"], ""),
    Way(1, ["spec"], "cannot write to stdout", out="/dev/full"),
    Way(2, ["aks", "hi"], "there is no command 'aks'"),
    Way(2, ["ask", "--top-p", "2", "hi"], "out of range"),
    Way(2, ["ask", "hi", "--config", "gone.toml"], "gone.toml"),
    Way(2, ["complete", "a.py:9"], "a.py has 1 line"),
    Way(3, ["ask", "hi"], "lacli models pull"),
    Way(3, ["ask", "-m", "nowhere", "hi"], "no model named 'nowhere'"),
    Way(5, ["complete", "huge.py"], "huge.py"),
    Way(141, ["spec"], "", out="closed"),
    Way(141, ["--help"], "", out="closed"),
)
WITH_THE_MODEL = (
    Way(0, ["ask", "-n", "2", "hi"], "cut at 2 tokens"),
    Way(4, ["ask", "-n", "2", "-o", "/dev/full", "hi"], "No space left"),
    Way(5, ["ask", "-n", "16", "--ctx", "64", "word " * 100], "--truncate"),
    Way(6, ["ask", "--timeout", "0.01", "hi"], "--timeout"),
    Way(141, ["ask", "-n", "4", "hi"], "", out="closed"),
)


def run(way: Way, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    with open(folder / "huge.py", "wb") as huge:
        huge.truncate(1 << 40)
    stdout = subprocess.PIPE
    if way.out == "closed":
        reader, stdout = os.pipe()
        os.close(reader)
    elif way.out:
        if not os.path.exists(way.out):
            pytest.skip(f"needs {way.out}")
        stdout = os.open(way.out, os.O_WRONLY)
    try:
        done = subprocess.run(
            [*LACLI, *way.arguments],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=folder,
            timeout=120,
            check=False,
        )
    finally:
        if way.out:
            os.close(stdout)
    err = done.stderr.decode()
    assert done.returncode == way.code, err
    assert "Traceback" not in err
    assert way.err in (err.splitlines() or [""])[-1]
    assert err.count("\n") <= 1
    assert bool(err) == bool(way.err)


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.parametrize("way", WITHOUT_A_MODEL, ids=lambda way: f"{way.code} {' '.join(way.arguments)[:30]}")
@pytest.mark.default_cases(2)
def test_codes_that_need_no_model(way: Way, tmp_path: Path) -> None:
    run(way, tmp_path)


@pytest.mark.parametrize(
    "way",
    [slow(way) if way.code in (4, 6) else way for way in WITH_THE_MODEL],
    ids=lambda way: f"{way.code} {' '.join(way.arguments)[:30]}",
)
@pytest.mark.default_cases(1)
def test_codes_that_the_engine_ends_with(way: Way, tmp_path: Path, sandbox_with_model: Path) -> None:
    run(way, tmp_path)


def test_an_interrupted_reply_is_130(tmp_path: Path, sandbox_with_model: Path) -> None:
    running = subprocess.Popen(
        [*LACLI, "ask", "--no-stdin", "Count from one to three hundred in words"],
        bufsize=0,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert running.stdout is not None
    assert running.stdout.read(1), "the reply has begun"
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, b"lacli: stopped; this is the text so far\n")


def test_no_code_is_missing_here(capfd: pytest.CaptureFixture[str]) -> None:
    from lacli.cli.main import main

    main(["spec"])
    documented = {int(code) for code in json.loads(capfd.readouterr().out)["exit_codes"]}
    assert documented == {way.code for way in (*WITHOUT_A_MODEL, *WITH_THE_MODEL)} | {130}
