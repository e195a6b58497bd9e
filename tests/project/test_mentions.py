"""Counting the files that have a word: the project's own, whole words, never what may hold secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.project import mentions
from lacli.project.mentions import files_with
from tests.project.conftest import git, needs_git

pytestmark = needs_git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for name, text in {
        "a.py": "def load(): ...\n",
        "sub/b.py": "from a import load\n",
        "c.py": "reload(downloads)\n",
        "d.md": "`load` reads it\n",
        ".env": "load=1\n",
        "e.png": "load\n",
        "f.py": "grüße = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_whole_words_of_other_files_count_and_files_of_secrets_are_not_read(project: Path) -> None:
    assert files_with(("load",), project / "a.py") == 2
    assert files_with(("load", "grüße"), project / "a.py") == 3
    assert files_with(("load",), project / "sub" / "b.py") == 2
    assert files_with(("nowhere",), project / "a.py") == 0


def test_of_large_projects_nothing_is_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "_MOST_FILES", 2)
    assert files_with(("load",), project / "a.py") == 0


def test_large_files_and_links_do_not_count(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "d.md").unlink()
    (project / "d.md").symlink_to(".env")
    assert files_with(("load",), project / "a.py") == 1
    monkeypatch.setattr(mentions, "_MOST_BYTES", 10)
    assert files_with(("load",), project / "a.py") == 0


def test_a_linked_worktree_does_not_count_its_own_files_in_the_main_one(project: Path, tmp_path: Path) -> None:
    git(project, "add", "a.py", "sub/b.py")
    git(project, "commit", "-qm", "first")
    git(project, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert files_with(("load",), tmp_path / "linked" / "a.py") == 0


def test_outside_a_project_nothing_is_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project))
    assert files_with(("load",), project / "a.py") == 0
