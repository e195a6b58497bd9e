"""The one file that is written: at once or not at all, and never over someone else's change."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lacli.configuration import write as configuration
from lacli.edits.write import disk
from lacli.edits.write.textfile import TextFile
from lacli.errors import LacliError, OutOfMemory, PromptTooLong, UsageError

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a file.py"
    path.write_bytes(b"old\n")
    return path


class TestReading:
    def test_what_is_no_file_of_text_is_one_line(self, path: Path) -> None:
        with pytest.raises(UsageError, match="is a directory"):
            TextFile.read(path.parent)
        with pytest.raises(UsageError, match="there is no file"):
            TextFile.read(path.parent / "none")
        for name in ("a\0b", ""):
            with pytest.raises(UsageError, match="there is no file"):
                TextFile.read(name)
        with pytest.raises(PromptTooLong, match="more than 3 bytes"):
            TextFile.read(path, most_bytes=3)

    @posix
    def test_a_pipe_is_not_waited_for(self, path: Path) -> None:
        os.mkfifo(path.parent / "pipe")
        with pytest.raises(UsageError, match="not a regular file"):
            TextFile.read(path.parent / "pipe")

    @posix
    def test_a_link_to_nothing_and_a_ring_of_links(self, path: Path) -> None:
        (path.parent / "none").symlink_to("nowhere")
        (path.parent / "ring").symlink_to("ring")
        for name in ("none", "ring"):
            with pytest.raises(UsageError):
                TextFile.read(path.parent / name)


class TestWriting:
    def test_new_bytes_and_nothing_beside_them(self, path: Path) -> None:
        TextFile.read(path).write(b"new\r\n\xff")
        assert path.read_bytes() == b"new\r\n\xff"
        assert os.listdir(path.parent) == [path.name]

    def test_a_backup_holds_the_old_ones(self, path: Path) -> None:
        Path(f"{path}.bak").write_bytes(b"older")
        TextFile.read(path).write(b"new", backup=".bak")
        assert (path.read_bytes(), Path(f"{path}.bak").read_bytes()) == (b"new", b"old\n")
        assert len(os.listdir(path.parent)) == 2

    @pytest.mark.parametrize("suffix", ["", "/x", "a/../b", "\0"])
    def test_a_suffix_leads_nowhere_else(self, path: Path, suffix: str) -> None:
        with pytest.raises(UsageError, match="no suffix"):
            TextFile.read(path).write(b"new", backup=suffix)
        assert path.read_bytes() == b"old\n"

    @posix
    @pytest.mark.parametrize("mode", [0o755, 0o640, 0o600, 0o4755])
    def test_the_mode_is_kept(self, path: Path, mode: int) -> None:
        path.chmod(mode)
        TextFile.read(path).write(b"new", backup="~")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(Path(f"{path}~").stat().st_mode) == mode

    @posix
    def test_a_link_stays_one_and_its_target_is_written(self, path: Path) -> None:
        (path.parent / "folder").mkdir()
        link = path.parent / "folder" / "link"
        link.symlink_to(path)
        TextFile.read(link).write(b"new", backup=".bak")
        assert link.is_symlink()
        assert (path.read_bytes(), Path(f"{path}.bak").read_bytes()) == (b"new", b"old\n")

    def test_a_protected_file_is_refused_before_and_after(self, path: Path) -> None:
        path.chmod(0o444)
        file = TextFile.read(path)
        for attempt in (file.check_writable, lambda: file.write(b"new")):
            with pytest.raises(UsageError, match="is read-only"):
                attempt()
        assert path.read_bytes() == b"old\n"

    def test_a_file_that_was_changed_meanwhile_is_left_alone(self, path: Path) -> None:
        file = TextFile.read(path)
        path.write_bytes(b"theirs\n")
        with pytest.raises(LacliError, match="was changed meanwhile"):
            file.write(b"new")
        assert path.read_bytes() == b"theirs\n"
        path.unlink()
        with pytest.raises(LacliError, match="was changed meanwhile"):
            file.write(b"new")
        assert not path.exists()

    @posix
    def test_what_took_its_place_meanwhile_is_left_alone_and_not_waited_for(self, path: Path) -> None:
        file = TextFile.read(path)
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(LacliError, match="was changed meanwhile"):
            file.write(b"new\n")
        path.unlink()
        path.mkdir()
        with pytest.raises(LacliError, match="was changed meanwhile"):
            file.write(b"new\n")

    @posix
    def test_a_mode_that_was_changed_meanwhile_is_kept(self, path: Path) -> None:
        file = TextFile.read(path)
        path.chmod(0o751)
        file.write(b"new\n", backup=".bak")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(Path(f"{path}.bak").stat().st_mode) == 0o751
        path.chmod(0o444)
        with pytest.raises(UsageError, match="is read-only"):
            TextFile.of_bytes(b"new\n", file.name, file.stamp).write(b"newer\n")

    def test_text_that_is_in_no_file(self) -> None:
        with pytest.raises(UsageError, match="stdin is no file"):
            TextFile.of_bytes(b"x", "stdin").write(b"y")

    def test_of_two_edits_at_once_one_is_refused(self, path: Path) -> None:
        for round_ in range(10):
            path.write_bytes(b"old\n")
            files = [TextFile.read(path) for _ in range(4)]
            failures: list[LacliError] = []
            gate = threading.Barrier(4)

            def write(
                number: int,
                files: list[TextFile] = files,
                gate: threading.Barrier = gate,
                failures: list[LacliError] = failures,
            ) -> None:
                gate.wait()
                try:
                    files[number].write(b"new %d\n" % number)
                except LacliError as error:
                    failures.append(error)

            threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(failures) == 3, round_
            assert path.read_bytes().startswith(b"new ")


@posix
class TestHardLinks:
    """A file with two names is one file before and after."""

    @pytest.fixture
    def other(self, path: Path) -> Path:
        other = path.parent / "other"
        other.hardlink_to(path)
        return other

    @pytest.mark.parametrize("new", [b"new", b"much longer than the old one\n", b""])
    def test_both_names_show_what_was_written(self, path: Path, other: Path, new: bytes) -> None:
        path.chmod(0o4755)
        TextFile.read(path).write(new, backup=".bak")
        assert other.read_bytes() == path.read_bytes() == new
        assert other.samefile(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o4755
        assert Path(f"{path}.bak").read_bytes() == b"old\n"
        assert len(os.listdir(path.parent)) == 3

    def test_a_backup_that_is_the_same_file_becomes_one_of_its_own(self, path: Path) -> None:
        Path(f"{path}.bak").hardlink_to(path)
        TextFile.read(path).write(b"new", backup=".bak")
        assert (path.read_bytes(), Path(f"{path}.bak").read_bytes()) == (b"new", b"old\n")

    def test_whatever_else_is_saved_keeps_them_too(self, path: Path, other: Path) -> None:
        disk.put(path, b"a reply\n")
        assert other.read_bytes() == b"a reply\n"
        configuration.replace(path, b"seed = 1\n")
        assert other.read_bytes() == b"seed = 1\n"

    def test_a_failure_puts_back_what_was_there(self, path: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fsync, calls = os.fsync, []

        def second_is_full(descriptor: int) -> None:
            calls.append(descriptor)
            if len(calls) == 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", second_is_full)
        with pytest.raises(OutOfMemory, match="it is as it was"):
            TextFile.read(path).write(b"new and longer")
        assert other.read_bytes() == path.read_bytes() == b"old\n"
        assert other.samefile(path)
        assert len(os.listdir(path.parent)) == 2

    def test_what_cannot_be_put_back_is_kept_beside(
        self, path: Path, other: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fsync, calls = os.fsync, []

        def only_the_first(descriptor: int) -> None:
            calls.append(descriptor)
            if len(calls) > 1:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", only_the_first)
        with pytest.raises(LacliError, match="written in part") as failed:
            TextFile.read(path).write(b"new")
        assert Path(failed.value.hint.removeprefix("what was in it is in ")).read_bytes() == b"old\n"

    def test_a_file_that_is_mounted_by_itself_is_written_into(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def busy(*names: str) -> None:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

        monkeypatch.setattr(os, "replace", busy)
        TextFile.read(path).write(b"new")
        assert path.read_bytes() == b"new"
        assert os.listdir(path.parent) == [path.name]


class TestFailing:
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
    def test_no_space_leaves_the_file_whole(self, path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        def full(descriptor: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OutOfMemory, match=r"a file\.py cannot be written: .*; it is as it was"):
            TextFile.read(path).write(b"new", backup=".bak")
        assert (path.read_bytes(), os.listdir(path.parent)) == (b"old\n", [path.name])

    @posix
    def test_a_real_limit_leaves_it_whole_too(self, path: Path) -> None:
        program = (
            "import resource, sys; from lacli.edits.write.textfile import TextFile; file = TextFile.read(sys.argv[1])\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
            "try: file.write(b'x' * 5000)\n"
            "except Exception as error: print(type(error).__name__)"
        )
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, timeout=20, check=True)
        assert done.stdout.strip() == b"OutOfMemory"
        assert (path.read_bytes(), os.listdir(path.parent)) == (b"old\n", [path.name])

    def test_any_other_failure_names_the_file(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(*arguments: Any) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(os, "replace", refused)
        with pytest.raises(LacliError, match=r"a file\.py cannot be written: Permission denied; it is as it was"):
            TextFile.read(path).write(b"new")
        assert (path.read_bytes(), os.listdir(path.parent)) == (b"old\n", [path.name])

    @posix
    def test_killed_before_the_rename_the_file_is_whole_and_the_stray_one_is_known_by_its_name(
        self, path: Path
    ) -> None:
        program = (
            "import os, signal, sys; from lacli.edits.write.textfile import TextFile\n"
            "file = TextFile.read(sys.argv[1])\n"
            "os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)\n"
            "file.write(b'new')"
        )
        done = subprocess.run([sys.executable, "-c", program, str(path)], timeout=20, check=False)
        assert done.returncode == -9
        assert path.read_bytes() == b"old\n"
        stray = next(name for name in os.listdir(path.parent) if name != path.name)
        assert stray.startswith(f".{path.name}.lacli-")
        assert stray.endswith(".tmp")
        TextFile.read(path).write(b"new")  # and it is in nobody's way
        assert path.read_bytes() == b"new"

    def test_without_fcntl_it_is_written_all_the_same(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "fcntl", None)
        TextFile.read(path).write(b"new")
        assert path.read_bytes() == b"new"
