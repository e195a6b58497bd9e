"""write.py: a file is replaced whole or not at all, and nothing but a file is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lacli.configuration.write import replace
from lacli.errors import OutOfMemory, UsageError


def test_a_new_file_is_private_or_not_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    for name, private, mode in (("a", True, 0o600), ("b", False, 0o644)):
        replace(tmp_path / "new" / name, b"x", private=private)
        assert (tmp_path / "new" / name).read_bytes() == b"x"
        if os.name == "posix":
            assert stat.S_IMODE((tmp_path / "new" / name).stat().st_mode) == mode
    (tmp_path / "new" / "a").chmod(0o640)
    replace(tmp_path / "new" / "a", b"y")
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "new" / "a").stat().st_mode) == 0o640
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_folder_and_a_device_are_left_alone(tmp_path: Path) -> None:
    for path in (tmp_path, Path(os.devnull)):
        with pytest.raises(UsageError, match="not a regular file"):
            replace(path, b"x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_failure_leaves_the_old_file_whole_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "c.toml").write_bytes(b"old")

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OutOfMemory, match="No space left"):
        replace(tmp_path / "c.toml", b"new")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("c.toml", b"old")]
