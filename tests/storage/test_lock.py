"""Locks between real processes, and what happens where there are none."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lacli.storage import lock

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys
from pathlib import Path
from lacli.storage import lock
kind, path = sys.argv[1:]
with open(path, "ab") as file, lock.locked(Path(path), 5):
    assert kind != "file" or lock.lock_file(file)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder() -> Iterator[Callable[[str, Path], subprocess.Popen[str]]]:
    """Another process that holds the lock beside a file, and with `file` that of the file itself."""
    made: list[subprocess.Popen[str]] = []

    def start(kind: str, path: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDER, kind, str(path)]
        pipe = subprocess.PIPE
        made.append(subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True))
        assert made[-1].stdout is not None
        assert made[-1].stdout.readline() == "held\n"
        return made[-1]

    yield start
    for each in made:
        each.kill()
        each.wait()
        for stream in (each.stdin, each.stdout):
            assert stream is not None
            stream.close()


Holder = Callable[[str, Path], "subprocess.Popen[str]"]


class TestALockFile:
    def test_keeps_another_process_away(self, holder: Holder, tmp_path: Path) -> None:
        holder("beside", tmp_path / "file")
        with pytest.raises(TimeoutError), lock.locked(tmp_path / "file", 0.1):
            pytest.fail("both have it")

    def test_of_a_process_that_is_killed_is_free(self, holder: Holder, tmp_path: Path) -> None:
        process = holder("beside", tmp_path / "file")
        process.kill()
        process.wait()
        with lock.locked(tmp_path / "file", 1.0):
            pass

    def test_is_waited_for_and_said_once(self, holder: Holder, tmp_path: Path) -> None:
        process = holder("beside", tmp_path / "file")
        said: list[str] = []

        def on_wait() -> None:
            said.append("waiting")
            assert process.stdin is not None
            process.stdin.close()

        with lock.hold(tmp_path / "file.lock", 10.0, on_wait=on_wait):
            assert said == ["waiting"]

    def test_that_is_free_is_not_waited_for(self, tmp_path: Path) -> None:
        with lock.hold(tmp_path / "file.lock", 10.0, on_wait=lambda: pytest.fail("waited")):
            pass

    @pytest.mark.skipif(os.name != "posix", reason="modes")
    def test_is_for_the_owner_alone(self, tmp_path: Path) -> None:
        with lock.locked(tmp_path / "file", 1.0):
            assert stat.S_IMODE((tmp_path / "file.lock").stat().st_mode) == 0o600

    @pytest.mark.parametrize("marker", [True, False])
    def test_that_cannot_be_made_is_no_file_system_without_locks(self, tmp_path: Path, marker: bool) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(OSError, match="file") as caught, lock.hold(tmp_path / "file" / "f", 0.1, marker=marker):
            pass
        assert caught.value.errno in (errno.ENOTDIR, errno.EEXIST)


@pytest.mark.skipif(os.name != "posix", reason="Windows has other locks")
class TestAFileSystemWithoutLocks:
    @pytest.fixture(params=[errno.ENOLCK, errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP])
    def no_locks(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(descriptor: object, operation: int) -> None:
            raise OSError(request.param, os.strerror(request.param))

        monkeypatch.setattr("fcntl.flock", refused)

    @pytest.mark.usefixtures("no_locks")
    def test_is_told_from_a_lock_that_is_taken(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="no locks") as caught, lock.locked(tmp_path / "file", 0.1):
            pass
        assert caught.value.errno == errno.ENOLCK

    @pytest.mark.filterwarnings("ignore:flock not supported")
    def test_may_have_a_marker_instead_which_goes_with_the_block(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(descriptor: object, operation: int) -> None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

        monkeypatch.setattr("fcntl.flock", refused)
        marker = tmp_path / "file.lock"
        with lock.hold(marker, 0.1, marker=True):
            assert marker.exists()
        assert not marker.exists()

    @pytest.mark.usefixtures("no_locks")
    def test_lets_a_file_be_used_without(self, tmp_path: Path) -> None:
        with open(tmp_path / "file", "ab") as file:
            assert lock.lock_file(file)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such locks")
class TestAFileItself:
    def test_is_one_process_at_a_time(self, holder: Holder, tmp_path: Path) -> None:
        process = holder("file", tmp_path / "file")
        with open(tmp_path / "file", "ab") as file:
            assert not lock.lock_file(file)
            assert not lock.lock_file(file, 0.1)
            process.kill()
            assert lock.lock_file(file, 10.0)
