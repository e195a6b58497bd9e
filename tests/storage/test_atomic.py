"""Files that are replaced as a whole: what stays of the old one, and what is left where it fails."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from lacli.storage import atomic

posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has neither such modes nor such links")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with something in it, alone in its folder."""
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return path


def fill_disk(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let the disk be full after so many bytes of one write."""
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if after < len(data):
            write(descriptor, data[:after])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)


def only_file_is(path: Path, content: bytes) -> bool:
    return path.read_bytes() == content and os.listdir(path.parent) == [path.name]


class TestReplace:
    def test_puts_the_data_there_and_leaves_nothing_beside(self, file: Path) -> None:
        atomic.replace(file, b"new")
        assert only_file_is(file, b"new")

    @posix_only
    @pytest.mark.parametrize(("mode", "found"), [(0o600, 0o600), (0o666, 0o644)])
    def test_makes_the_file_with_the_mode_less_the_umask(self, file: Path, mode: int, found: int) -> None:
        umask = os.umask(0o022)
        try:
            atomic.replace(file, b"new", mode)
        finally:
            os.umask(umask)
        assert stat.S_IMODE(file.stat().st_mode) == found

    @posix_only
    def test_is_for_the_owner_alone_unless_told_otherwise(self, file: Path) -> None:
        atomic.replace(file, b"new")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    @pytest.mark.parametrize("after", [0, 1, 2])
    def test_on_a_full_disk_leaves_the_old_file_alone(
        self, file: Path, after: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill_disk(monkeypatch, after)
        with pytest.raises(OSError, match="No space left"):
            atomic.replace(file, b"new")
        assert only_file_is(file, b"old")

    def test_where_the_metadata_cannot_be_copied_leaves_the_old_file_alone(self, file: Path) -> None:
        def fail(beside: str) -> None:
            assert Path(beside).read_bytes() == b"new"
            raise PermissionError

        with pytest.raises(PermissionError):
            atomic.replace(file, b"new", copy_metadata=fail)
        assert only_file_is(file, b"old")

    @pytest.mark.parametrize("left", [b"", b"longer than what is written"])
    def test_overwrites_what_a_killed_process_left_beside(self, file: Path, left: bytes) -> None:
        beside = file.with_name("file.tmp")
        beside.write_bytes(left)
        atomic.replace(file, b"new", beside=beside)
        assert only_file_is(file, b"new")

    @posix_only
    def test_does_not_follow_a_link_that_lies_beside(self, file: Path, tmp_path: Path) -> None:
        precious, beside = tmp_path / "precious", file.with_name("file.tmp")
        precious.write_bytes(b"precious")
        beside.symlink_to(precious)
        atomic.replace(file, b"new", beside=beside)
        assert precious.read_bytes() == b"precious"
        assert only_file_is(file, b"new")

    def test_takes_a_name_of_the_greatest_length(self, tmp_path: Path) -> None:
        file = tmp_path / ("n" * 255)
        atomic.replace(file, b"new")
        assert file.read_bytes() == b"new"


class TestPut:
    @posix_only
    def test_keeps_a_symbolic_link_and_replaces_its_target(self, file: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(file)
        atomic.put(link, b"new")
        assert link.is_symlink()
        assert only_file_is(file, b"new")

    @posix_only
    def test_writes_into_a_file_with_other_names(self, file: Path, tmp_path: Path) -> None:
        other = tmp_path / "other"
        os.link(file, other)
        atomic.put(file, b"new")
        assert os.path.samefile(file, other)
        assert other.read_bytes() == b"new"
        assert only_file_is(file, b"new")


class TestWriting:
    def test_takes_the_place_of_the_file_when_the_block_ends(self, file: Path) -> None:
        beside = file.with_name("file.part")
        with atomic.writing(file, beside) as stream:
            stream.write(b"new")
            assert file.read_bytes() == b"old"
        assert only_file_is(file, b"new")

    def test_that_fails_leaves_the_old_file_alone(self, file: Path) -> None:
        def write() -> None:
            with atomic.writing(file, file.with_name("file.part")) as stream:
                stream.write(b"new")
                raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            write()
        assert only_file_is(file, b"old")


def test_create_leaves_what_is_there_alone(file: Path) -> None:
    with pytest.raises(FileExistsError):
        atomic.create(str(file), b"new")
    assert only_file_is(file, b"old")


def test_move_puts_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    atomic.move(tmp_path / "made", tmp_path / "there")
    assert os.listdir(tmp_path) == ["there"]
