"""The engine as a process: alone, ended by signals, killed; and what starts and stops it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lacli import paths
from lacli.config import Settings
from lacli.errors import LacliError, WorkerDied
from lacli.events import Event, Finished, Message, Request
from lacli.server import background
from lacli.server.supervisor import AlreadyRuns, ServeOptions, run
from lacli.server.units import unit
from lacli.storage.lock import lock_file
from lacli.worker import endpoint
from lacli.worker.attached import NotAttached, attached, status
from tests.worker.worker_child import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")

QUESTION = Request((Message("user", "hi"),))
ENOUGH_S = 20.0
PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from lacli.server.supervisor import ServeOptions, run
from tests.worker.worker_child import command
run(ServeOptions(2, 600.0, tuple(command(*sys.argv[1:]))), ready=lambda path: print(path, flush=True))
print(",".join(sys.modules))
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """An engine as a process of its own, with workers of a kind."""
    started: list[subprocess.Popen[str]] = []

    def _start(*kind: str) -> subprocess.Popen[str]:
        made = subprocess.Popen([sys.executable, "-c", PROGRAM, *kind], stdout=subprocess.PIPE, text=True)
        started.append(made)
        assert made.stdout is not None
        assert made.stdout.readline().strip() == str(endpoint.socket_path())
        return made

    yield _start
    for each in started:
        each.kill()
        each.wait()
        assert each.stdout is not None
        each.stdout.close()


@pytest.fixture
def stopped() -> Iterator[None]:
    """What a test leaves running in the background ends."""
    yield
    background.stop()


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + ENOUGH_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def begun() -> Iterator[Event]:
    """A reply by way of the engine of which something has come."""
    events = attached(Settings()).reply(QUESTION)
    next(events)
    return events


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_to_end_let_the_worker_save_and_leave_nothing(self, start: Start, tmp_path: Path, number: int) -> None:
        engine = start("saves", str(tmp_path))
        events = begun()
        (worker,) = psutil.Process(engine.pid).children()
        engine.send_signal(number)
        with pytest.raises(WorkerDied, match="stopped"):
            list(events)
        assert engine.wait(ENOUGH_S) == 0
        assert (tmp_path / "saved").exists()
        assert not worker.is_running()
        assert not endpoint.socket_path().exists()
        assert endpoint.running_pid() is None

    def test_that_kill_end_the_reply_in_one_line_and_the_next_engine_starts(self, start: Start) -> None:
        for _ in range(2):
            engine = start("slow")
            events = begun()
            (worker,) = psutil.Process(engine.pid).children()
            engine.kill()
            engine.wait()
            with pytest.raises(WorkerDied, match="ended"):
                list(events)
            with pytest.raises(NotAttached, match="died"):
                attached(Settings())
            until(lambda worker=worker: not worker.is_running())  # by itself: nobody reads its answers any more


class TestAlone:
    def test_another_one_is_refused_and_told_which_runs(self, start: Start) -> None:
        engine = start("quick")
        with pytest.raises(AlreadyRuns, match=f"process {engine.pid}") as caught:
            run(ServeOptions())
        assert caught.value.pid == engine.pid == endpoint.running_pid()

    def test_another_home_has_one_of_its_own(
        self, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one = start("quick")
        monkeypatch.setenv("LACLI_HOME", str(tmp_path / "other"))
        assert endpoint.running_pid() is None
        other = start("quick")
        assert endpoint.running_pid() == other.pid != one.pid

    def test_a_folder_of_somebody_else_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        there = tmp_path / "theirs"
        there.mkdir()
        (tmp_path / "run").symlink_to(there)
        monkeypatch.setattr("lacli.paths.runtime_dir", lambda: tmp_path / "run")
        with pytest.raises(LacliError, match="belongs to somebody else"):
            run(ServeOptions())

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
    @pytest.mark.parametrize("which", [endpoint.lock_path, endpoint.socket_path])
    def test_what_stands_in_the_way_is_named_and_not_waited_for(
        self, make: Callable[[Path], None], which: Callable[[], Path]
    ) -> None:
        path = which()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        make(path)
        assert endpoint.running_pid() is None
        assert background.stop() is None
        with pytest.raises(NotAttached):
            status()
        if (make, which) == (os.mkfifo, endpoint.socket_path):
            return  # it takes the place of what was left there
        with pytest.raises(LacliError, match=re.escape(str(path))):
            run(ServeOptions())

    def test_a_log_that_is_none_is_not_waited_for(self) -> None:
        log = paths.state_dir() / "engine.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(log)
        with pytest.raises(LacliError, match="cannot be started"):
            background.start_detached()

    @pytest.mark.parametrize("said", ["-1", "0", "1", "x", "", "-9" * 20])
    def test_only_a_process_is_ever_ended(self, said: str) -> None:
        path = endpoint.lock_path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(said)
        with open(path, "rb") as held:
            assert lock_file(held)
            assert endpoint.running_pid() is None

    def test_where_nothing_can_be_written_it_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LACLI_HOME", "/proc/nowhere")
        with pytest.raises(LacliError, match="cannot be written"):
            run(ServeOptions())


def test_it_stays_small_and_imports_nothing_that_computes(start: Start) -> None:
    engine = start("quick")
    *_, last = attached(Settings()).reply(QUESTION)
    assert isinstance(last, Finished)
    assert psutil.Process(engine.pid).memory_info().rss < 60e6  # 40 are meant; how much is counted differs by system
    engine.terminate()
    assert engine.stdout is not None
    loaded = set(engine.stdout.read().strip().split(","))
    assert "asyncio" in loaded
    assert not {"numpy", "torch", "tokenizers", "transformers", "uvicorn", "starlette", "typer", "psutil"} & loaded


class TestInTheBackground:
    def test_it_is_started_answers_is_shown_and_stopped(self, stopped: None) -> None:
        pid = background.start_detached(["--keep-alive", "1h"])
        greeting, found = status()
        assert greeting.pid == pid == endpoint.running_pid()
        assert found is not None
        assert (found.models, found.keep_alive_s) == ((), 3600.0)
        assert os.getsid(pid) == pid  # of no terminal
        assert background.stop() == pid
        assert background.stop() is None
        until(lambda: not psutil.pid_exists(pid))

    def test_one_that_cannot_be_says_why(self, stopped: None) -> None:
        with pytest.raises(LacliError, match="is no time"):
            background.start_detached(["--keep-alive", "soon"])

    def test_where_one_is_hung_it_is_ended_all_the_same(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = start("quick")
        engine.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(background, "_STOP_S", 0.2)
        assert background.stop() == engine.pid

    def test_two_who_start_one_at_once_get_the_same(self, stopped: None) -> None:
        program = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); from lacli.server import background; "
            "print(background.start_detached())"
        )
        both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(2)]
        pids = {each.communicate()[0] for each in both}
        assert pids == {f"{endpoint.running_pid()}\n".encode()}


class TestUnits:
    def test_of_systemd_runs_this_program(self) -> None:
        text = unit("systemd", ["--keep-alive", "1h"])
        assert f"ExecStart={sys.executable} -P -m lacli serve --keep-alive 1h\n" in text

    def test_of_launchd_is_a_property_list(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import plistlib

        monkeypatch.setattr(sys, "executable", "/a & b/python")
        found = plistlib.loads(unit("launchd", ["--models", "2"]).encode())
        assert found["ProgramArguments"] == ["/a & b/python", "-P", "-m", "lacli", "serve", "--models", "2"]


@pytest.mark.slow
def test_killed_ten_times_each_worker_and_engine_leave_no_process_and_no_socket_in_the_way(start: Start) -> None:
    seen: list[psutil.Process] = []
    for _ in range(10):
        engine = start("slow")
        events = begun()
        (worker,) = psutil.Process(engine.pid).children()
        worker.kill()
        with pytest.raises(WorkerDied, match="killed"):
            list(events)
        events = begun()
        seen += psutil.Process(engine.pid).children()
        engine.kill()
        engine.wait()
        with pytest.raises(WorkerDied, match="ended"):
            list(events)
    until(lambda: not any(each.is_running() for each in seen))


def test_the_command_that_starts_it_is_the_one_that_is_documented() -> None:
    done = subprocess.run([*background.command(), "--status", "--json"], capture_output=True, check=False, text=True)
    assert done.returncode == 1
    assert json.loads(done.stdout) == {"running": False, "reason": "no engine runs"}
