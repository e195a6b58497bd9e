"""Which AGENTS.md counts for a folder, how much of it, and what is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lacli.project.instructions import MOST, NAME, find
from tests.project.conftest import git, needs_git, posix_only


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The top of a repository with a folder in a folder."""
    top = tmp_path / "site"
    for name in (".git/objects", ".git/refs", "src/deep"):
        (top / name).mkdir(parents=True)
    (top / ".git" / "HEAD").touch()
    return top


def test_the_nearest_one_counts(project: Path) -> None:
    (project / NAME).write_text("of the top\n")
    deep = project / "src" / "deep"
    found = find(deep)
    assert found is not None
    assert (found.text, found.label, found.note) == (
        "of the top",
        "../../AGENTS.md",
        "using ../../AGENTS.md (10 characters)",
    )
    (project / "src" / NAME).write_text("of the sources")
    found = find(deep)
    assert found is not None
    assert (found.text, found.label) == ("of the sources", "../AGENTS.md")


def test_none_above_the_project_does(project: Path) -> None:
    (project.parent / NAME).write_text("of somebody else")
    assert find(project / "src") is None


def test_outside_any_project_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_text("of the home folder")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find(tmp_path) is None


@needs_git
def test_a_worktree_has_its_own(project: Path, tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    (main / NAME).write_text("old")
    git(main, "add", ".")
    git(main, "commit", "-qm", "x")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    (main / NAME).write_text("new")
    found = find(tmp_path / "tree")
    assert found is not None
    assert found.text == "old"


@posix_only
@pytest.mark.parametrize(
    ("target", "used"), [("CLAUDE.md", True), ("../outside.md", False), ("/etc/hosts", False), ("nosuch", False)]
)
def test_a_link_is_followed_inside_the_project_alone(target: str, used: bool, project: Path) -> None:
    (project / "CLAUDE.md").write_text("inside")
    (project.parent / "outside.md").write_text("outside")
    (project / NAME).symlink_to(target)
    notes: list[str] = []
    found = find(project, notes.append)
    assert (found is not None) == used
    assert bool(notes) != used


@posix_only
def test_what_is_no_file_of_text_is_not_waited_for(project: Path) -> None:
    notes: list[str] = []
    os.mkfifo(project / NAME)
    assert find(project, notes.append) is None
    (project / NAME).unlink()
    (project / NAME).mkdir()
    assert find(project, notes.append) is None
    (project / NAME).rmdir()
    (project / NAME).write_bytes(b"a\0b")
    assert find(project, notes.append) is None
    assert [each.partition(":")[0] for each in notes] == ["AGENTS.md is not used"] * 3


def test_what_is_hidden_is_shown_and_what_acts_is_left_out(project: Path) -> None:
    (project / NAME).write_bytes("\ufeffuse \x1b[31mtabs\u202e\r\n\tok\udcff".encode("utf-8", "surrogatepass"))
    found = find(project)
    assert found is not None
    assert found.text.startswith("use [31mtabs<U+202E>\n\tok")
    found.text.encode()


def test_a_long_one_is_cut_at_the_end_of_a_line(project: Path) -> None:
    lines = [f"{number:04} " + "x" * 95 for number in range(100)]
    (project / NAME).write_text("\n".join(lines))
    found = find(project)
    assert found is not None
    assert found.text == "\n".join(lines[:39])
    assert len(found.text) <= MOST
    assert found.is_cut
    assert found.note == "using AGENTS.md up to its 3,938th of 10,099 characters"


def test_one_without_lines_is_cut_all_the_same_and_an_empty_one_is_none(project: Path) -> None:
    (project / NAME).write_text("x" * 10_000)
    found = find(project)
    assert found is not None
    assert len(found.text) == MOST
    (project / NAME).write_text(" \n")
    assert find(project) is None


def test_a_huge_one_is_not_read(project: Path) -> None:
    (project / NAME).write_bytes(b"x\n" * (1 << 20))
    notes: list[str] = []
    assert find(project, notes.append) is None
    assert "more than" in notes[0]
