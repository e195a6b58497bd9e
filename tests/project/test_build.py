"""build.py: what the user asks to be read is read at once, and by later runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lacli.errors import UsageError
from lacli.project.build import BuildReport, build
from lacli.text.tokenizer import Tokenizer

from .conftest import Front, Write, code, git, needs_git, soon, split, write

pytestmark = needs_git


class TestBuild:
    def test_it_reports_what_was_done(self, repo: Path, track: Write, vocabulary: Tokenizer) -> None:
        track({"a.py": code(1), "b.py": code(2), "yarn.lock": "x\n", ".env": "A=1\n", "g.py": "# @generated\n"})
        told: list[tuple[int, int]] = []
        found = build(repo, [], vocabulary, lambda done, total: told.append((done, total)))
        assert isinstance(found, BuildReport)
        assert (found.files, found.tokens) == (2, len(code(1)) + len(code(2)))
        assert found.skipped == {"generated": 2, "secret": 1}
        assert found.disk_bytes == found.path.stat().st_size
        assert told[-1] == (3, 3)
        again = build(repo, [], vocabulary)
        assert (again.files, again.tokens, again.skipped) == (found.files, found.tokens, found.skipped)

    def test_a_file_from_the_far_future_is_indexed_like_any_other(
        self, repo: Path, track: Write, vocabulary: Tokenizer
    ) -> None:
        track({"a.py": code(1), "b.py": code(2)})
        year_2400 = 13_569_465_600 * 10**9  # as 64 bits of nanoseconds cannot say it
        os.utime(repo / "a.py", ns=(year_2400, year_2400))
        assert build(repo, [], vocabulary).files == 2
        assert build(repo, [], vocabulary).files == 2

    def test_files_named_outside_a_repository_are_kept_up_to_date_by_later_runs(
        self, tmp_path: Path, vocabulary: Tokenizer, front: Callable[[Path], Front]
    ) -> None:
        write(tmp_path, {"plain/src/a.py": code(1), "plain/other.py": code(2)})
        folder = tmp_path / "plain"
        assert build(folder, [folder / "src"], vocabulary).files == 1
        write(folder, {"src/a.py": code(3)})
        reply = front(folder)
        assert soon(lambda: reply.after(split(code(3))[0]) == split(code(3))[1])
        assert reply.after(split(code(2))[0]) != split(code(2))[1]

    def test_untracked_files_of_a_repository_can_be_named(
        self, repo: Path, track: Write, vocabulary: Tokenizer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        track({"a.py": code(1)})
        write(repo, {"new/b.py": code(2)})
        monkeypatch.chdir(repo / "new")
        assert build(Path("."), [Path("b.py")], vocabulary).files == 2
        assert build(Path("."), [], vocabulary).files == 2
        (repo / "new" / "b.py").unlink()
        assert build(repo, [], vocabulary).files == 1

    def test_what_cannot_be_built_is_said(
        self, tmp_path: Path, repo: Path, vocabulary: Tokenizer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path, {"plain/a.py": code(1), "beside.py": code(2)})
        with pytest.raises(UsageError, match="no git repository"):
            build(tmp_path / "plain", [], vocabulary)
        with pytest.raises(UsageError, match="outside the project"):
            build(repo, [tmp_path / "beside.py"], vocabulary)
        with pytest.raises(UsageError, match="there is no"):
            build(repo, [repo / "none.py"], vocabulary)
        monkeypatch.setenv("HOME", str(repo))
        with pytest.raises(UsageError, match="no project"):
            build(repo, [], vocabulary)
        monkeypatch.delenv("HOME")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(UsageError, match="git does not tell"):
            build(repo, [], vocabulary)

    def test_two_worktrees_keep_an_index_each(
        self, repo: Path, track: Write, vocabulary: Tokenizer, tmp_path: Path
    ) -> None:
        track({"a.py": code(1)})
        git(repo, "commit", "-qm", "x")
        git(repo, "worktree", "add", "-q", str(tmp_path / "feature"))
        write(tmp_path / "feature", {"a.py": code(2)})
        one, two = build(repo, [], vocabulary), build(tmp_path / "feature", [], vocabulary)
        assert one.path != two.path
        assert one.path.parent == two.path.parent
