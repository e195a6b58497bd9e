"""Where a text is put: what is said of a path before anything is written there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lacli.chat.targets import completions, file_typed, put, write_target
from lacli.errors import LacliError, UsageError


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    monkeypatch.chdir(folder)
    return folder


def asked(path: str) -> str:
    return write_target(Path(path), Path()).question("it")


def test_a_new_file_is_not_asked_about_and_everything_else_is(project: Path) -> None:
    assert asked("new.py") == ""
    Path("old.py").write_text("x")
    assert asked("old.py") == "old.py exists; overwrite it with it?"
    assert asked("a/b/new.py") == "there is no folder a/b; make it, and put it into a/b/new.py?"
    put(write_target(Path("a/b/new.py")), b"x\n")
    assert Path("a/b/new.py").read_text() == "x\n"


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_link_tells_its_target_and_whether_that_is_outside_the_project(project: Path) -> None:
    other = project.parent / "other.py"
    Path("link.py").symlink_to(other)
    Path("inner.py").symlink_to("old.py")
    Path("old.py").write_text("x")
    assert str(write_target(Path("inner.py"), Path())) == f"inner.py, a link to {project / 'old.py'}"
    assert asked("link.py") == f"put it into link.py, a link to {other}, outside the project?"
    assert str(write_target(Path("../new.py"), Path())) == "../new.py, outside the project"
    put(write_target(Path("link.py")), b"y\n")
    assert other.read_text() == "y\n"
    assert Path("link.py").is_symlink()


def test_what_is_no_file_is_refused_before_anything_is_asked(project: Path) -> None:
    Path("old.py").write_text("x")
    Path("old.py").chmod(0o444)
    with pytest.raises(UsageError, match="is a folder"):
        write_target(project)
    with pytest.raises(UsageError, match="is no folder, so old"):
        write_target(Path("old.py/x.py"))
    with pytest.raises(UsageError, match="is no path"):
        write_target(Path("a\0b"))
    with pytest.raises(UsageError, match="read-only") as found:
        write_target(Path("old.py"))
    assert "--" not in found.value.hint


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_may_wait_for_ever_is_never_opened(project: Path) -> None:
    os.mkfifo("pipe")
    for path in ("pipe", "/dev/null", "/dev/stdout"):
        with pytest.raises(UsageError, match="is not a regular file"):
            write_target(Path(path))
    target = write_target(Path("later"))
    os.mkfifo("later")
    with pytest.raises(LacliError, match="is not a regular file"):
        put(target, b"x")


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


def test_a_new_file_outside_the_project_or_among_gits_own_is_asked_about(project: Path) -> None:
    (project.parent / "elsewhere").mkdir()
    Path("lnk").symlink_to(project.parent / "elsewhere")
    for path in ("../new.py", f"{project.parent}/new.py", "lnk/new.py"):
        assert asked(path) == f"put it into {path}, outside the project?"
    assert asked(".git/config2") == "put it into .git/config2, inside .git?"
    assert write_target(Path("../new.py"), Path()).remarks == ("../new.py, outside the project",)
    assert write_target(Path("nd/x.py"), Path()).remarks == ("there is no folder nd yet; it is made, too",)


def test_where_there_is_no_project_all_beyond_the_folder_is_outside(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = project.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert write_target(home / "x.py", home).is_odd is False
    assert write_target(project / "x.py", home).is_odd


def test_what_came_between_the_question_and_the_answer_is_left_as_it_is(project: Path) -> None:
    target = project.parent / "target.txt"
    target.write_text("precious")

    def filled() -> None:
        Path("a/f.md").parent.mkdir()
        Path("a/f.md").write_text("precious")

    def linked() -> None:
        Path("b.md").symlink_to(target)

    def nowhere() -> None:
        Path("c.md").symlink_to(project.parent / "nothing")

    def written() -> None:
        Path("old.md").write_text("precious")

    Path("old.md").write_text("x")
    Path("there").mkdir()
    cases = {"a/f.md": filled, "b.md": linked, "c.md": nowhere, "old.md": written, "there/f.md": Path("there").rmdir}
    for path, meanwhile in cases.items():
        found = write_target(Path(path), Path())
        meanwhile()
        with pytest.raises(LacliError, match="not what it was when you were asked"):
            put(found, b"ours")
    assert Path("a/f.md").read_text() == Path("old.md").read_text() == target.read_text() == "precious"
    assert not Path("there").exists()
    assert not (project.parent / "nothing").exists()


def test_a_file_that_appears_while_it_is_written_is_left_as_it_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lacli.storage.atomic as atomic

    real = atomic._fill

    def slow(descriptor: int, data: bytes, durable: bool = True) -> None:
        real(descriptor, data, durable)
        Path("nd/f.md").write_text("precious")

    monkeypatch.setattr(atomic, "_fill", slow)
    with pytest.raises(LacliError, match="not what it was"):
        put(write_target(Path("nd/f.md")), b"ours")
    assert Path("nd/f.md").read_text() == "precious"
    assert os.listdir("nd") == ["f.md"]


def test_a_file_system_without_hard_links_has_its_files_made_too(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", link)
    put(write_target(Path("new.md")), b"ours")
    assert Path("new.md").read_text() == "ours"
    assert sorted(each for each in os.listdir() if each != ".git") == ["new.md"]


def test_folders_of_a_file_that_could_not_be_written_do_not_stay(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LacliError, match="No space left"):
        put(write_target(Path("a/b/c.md")), b"ours")
    assert not Path("a").exists()


def test_a_path_that_says_it_is_a_folder_names_no_file(project: Path) -> None:
    for typed in ("x9/", "'x9/'", "a/b/", "x9/."):
        with pytest.raises(UsageError, match="is a folder"):
            file_typed(typed)
    assert file_typed("'x 9'") == Path("x 9")
