"""Where a text is put: what is said of a path before anything is written there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lacli.errors import LacliError, UsageError
from lacli.verbs.places import completions, place_of, put


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    monkeypatch.chdir(folder)
    return folder


def asked(path: str) -> str:
    return place_of(Path(path), Path()).question("it")


def test_a_new_file_is_not_asked_about_and_everything_else_is(project: Path) -> None:
    assert asked("new.py") == ""
    Path("old.py").write_text("x")
    assert asked("old.py") == "old.py exists; overwrite it with it?"
    assert asked("a/b/new.py") == "there is no folder a/b; make it, and put it into a/b/new.py?"
    put(place_of(Path("a/b/new.py")), "x\n")
    assert Path("a/b/new.py").read_text() == "x\n"


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_link_tells_its_target_and_whether_that_is_outside_the_project(project: Path) -> None:
    other = project.parent / "other.py"
    Path("link.py").symlink_to(other)
    Path("inner.py").symlink_to("old.py")
    Path("old.py").write_text("x")
    assert str(place_of(Path("inner.py"), Path())) == f"inner.py, a link to {project / 'old.py'}"
    assert asked("link.py") == f"put it into link.py, a link to {other}, outside the project?"
    assert str(place_of(Path("../new.py"), Path())) == "../new.py, outside the project"
    put(place_of(Path("link.py")), "y\n")
    assert other.read_text() == "y\n"
    assert Path("link.py").is_symlink()


def test_what_is_no_file_is_refused_before_anything_is_asked(project: Path) -> None:
    Path("old.py").write_text("x")
    Path("old.py").chmod(0o444)
    with pytest.raises(UsageError, match="is a folder"):
        place_of(project)
    with pytest.raises(UsageError, match="is no folder, so old"):
        place_of(Path("old.py/x.py"))
    with pytest.raises(UsageError, match="is no path"):
        place_of(Path("a\0b"))
    with pytest.raises(UsageError, match="read-only") as found:
        place_of(Path("old.py"))
    assert "--" not in found.value.hint


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_may_wait_for_ever_is_never_opened(project: Path) -> None:
    os.mkfifo("pipe")
    for path in ("pipe", "/dev/null", "/dev/stdout"):
        with pytest.raises(UsageError, match="is not a regular file"):
            place_of(Path(path))
    place = place_of(Path("later"))
    os.mkfifo("later")
    with pytest.raises(LacliError, match="is not a regular file"):
        put(place, "x")


def test_a_path_is_completed_as_it_was_typed(project: Path) -> None:
    for name in ("src", "Sub", ".hidden"):
        Path(name).mkdir()
    Path("src/a b.py").write_text("")
    assert completions("") == ["src/", "Sub/"]
    assert completions("s") == ["src/"]
    if hasattr(os, "mkfifo"):
        os.mkfifo("spipe")
        assert completions("s") == ["src/"]
    assert completions(".") == [".git/", ".hidden/"]
    assert completions("./src/") == ["./src/a b.py"]
    assert completions(f"{project}/S") == [f"{project}/Sub/"]
    assert completions("no/such/") == completions("a\0/") == []
