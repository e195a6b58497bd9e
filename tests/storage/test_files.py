"""Files of lacli's own: what is read, appended and set aside, and who may see it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lacli.storage import files

posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has neither such modes nor such files")


@posix_only
def test_a_private_folder_is_the_owners_alone_with_its_new_parents(tmp_path: Path) -> None:
    files.make_private(tmp_path / "a" / "b")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]


def test_a_private_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(NotADirectoryError):
        files.make_private(tmp_path / "a")


@posix_only
@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o400, 0o400), (0o600, 0o600)])
def test_restricting_takes_permissions_away_and_gives_none(tmp_path: Path, before: int, after: int) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(before)
    files.restrict(tmp_path / "a", 0o600)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) & ~after == 0


class TestReading:
    def test_gives_the_bytes_that_are_asked_for(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"0123456789")
        assert files.read(tmp_path / "a") == b"0123456789"
        assert files.read(tmp_path / "a", 3, 4) == b"3456"

    def test_refuses_a_file_that_is_too_large(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"0123456789")
        with pytest.raises(files.NotRegular):
            files.read(tmp_path / "a", limit=9)

    @posix_only
    def test_does_not_wait_for_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a")
        with pytest.raises(files.NotRegular):
            files.read(tmp_path / "a")


class TestAppending:
    def test_goes_behind_what_is_sound(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"sound, torn")
        files.append(tmp_path / "a", 5, b"er")
        assert (tmp_path / "a").read_bytes() == b"sounder"

    def test_that_fails_leaves_what_is_sound(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a").write_bytes(b"sound, torn")

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            files.append(tmp_path / "a", 5, b"er")
        assert (tmp_path / "a").read_bytes() == b"sound"


def test_only_the_newest_few_that_were_set_aside_stay(tmp_path: Path) -> None:
    for number in range(files.KEPT_ASIDE + 2):
        (tmp_path / "a").write_text(str(number))
        files.set_aside(tmp_path / "a")
    left = sorted(tmp_path.iterdir())
    assert [each.read_text() for each in left] == ["2", "3", "4"]
    assert all(each.name.endswith(files.BAD_SUFFIX) for each in left)


def test_a_file_keeps_its_age(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    os.utime(tmp_path / "a", (1_000, 2_000))
    with files.same_age(tmp_path / "a"):
        (tmp_path / "a").write_text("changed")
    assert (tmp_path / "a").stat().st_mtime == 2_000
