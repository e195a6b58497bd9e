"""identity.py and projects.py: what is one project to a person is one pool, with git and without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from lacli.pool import projects
from lacli.pool.store import Pool, open_pool
from lacli.pool.update import PoolUpdate
from lacli.project import root as identity
from lacli.project.root import first_commit, pool_key, project_id, project_root

from .conftest import FINGERPRINT, VOCAB, linux_only, posix_only
from .test_pool_store import reply

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="makes repositories with git")


def git(folder: Path, *arguments: str) -> str:
    settings = ["user.name=T", "user.email=t@example.com", "protocol.file.allow=always", "init.defaultBranch=main"]
    command = ["git", *(word for setting in settings for word in ("-c", setting)), *arguments]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def repository(folder: Path, commit: bool = True) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "src" / "deep").mkdir(parents=True)
    if commit:
        (folder / "src" / "a.py").write_text(f"# {folder.name}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"start of {folder.name}")
    return folder


def pool_of(folder: Path, pools: Path) -> Pool:
    root = project_root(folder)
    assert root is not None
    return open_pool(pool_key(root, FINGERPRINT), pools, "learn", VOCAB)


def first_of(top: Path) -> str:
    return git(top, "rev-list", "--max-parents=0", "HEAD")


class TestProjectRoot:
    def test_a_folder_outside_any_repository_is_itself(self, tmp_path: Path) -> None:
        (tmp_path / "notes" / "deep").mkdir(parents=True)
        assert project_root(tmp_path / "notes" / "deep") == tmp_path / "notes" / "deep"

    @needs_git
    def test_everything_in_a_repository_is_one_project(self, tmp_path: Path) -> None:
        top = repository(tmp_path / "repo")
        for inside in (top, top / "src", top / "src" / "deep", top / ".git", top / ".git" / "refs"):
            assert project_root(inside) == top

    @needs_git
    def test_worktrees_share_the_main_one_s_root(self, tmp_path: Path) -> None:
        top = repository(tmp_path / "repo")
        git(top, "worktree", "add", "-q", str(tmp_path / "feature"))
        git(top, "worktree", "add", "-q", "-b", "inner", str(top / "inner"))
        assert project_root(tmp_path / "feature" / "src") == top
        assert project_root(top / "inner") == top

    @needs_git
    def test_a_submodule_is_its_own_project_and_its_worktrees_share_it(self, tmp_path: Path) -> None:
        library, top = repository(tmp_path / "library"), repository(tmp_path / "repo")
        git(top, "submodule", "add", "-q", str(library), "lib")
        assert project_root(top / "lib" / "src") == top / "lib"
        assert project_root(top / "src") == top
        git(top / "lib", "worktree", "add", "-q", str(tmp_path / "lib2"))
        assert project_root(tmp_path / "lib2") == top / "lib"

    @needs_git
    def test_a_bare_repository_is_itself(self, tmp_path: Path) -> None:
        bare = tmp_path / "bare.git"
        git(tmp_path, "clone", "-q", "--bare", str(repository(tmp_path / "repo")), str(bare))
        assert project_root(bare) == project_root(bare / "refs" / "heads") == bare
        git(bare, "worktree", "add", "-q", str(tmp_path / "tree"))
        assert project_root(tmp_path / "tree" / "src") == bare

    @needs_git
    def test_worktrees_beside_a_bare_repository_share_the_folder(self, tmp_path: Path) -> None:
        """project/.bare, project/.git pointing to it, and a folder for each branch."""
        top = tmp_path / "project"
        git(tmp_path, "clone", "-q", "--bare", str(repository(tmp_path / "repo")), str(top / ".bare"))
        (top / ".git").write_text("gitdir: ./.bare\n")
        git(top, "worktree", "add", "-q", "one", "main")
        assert project_root(top / "one" / "src") == project_root(top) == top

    @needs_git
    def test_a_git_folder_kept_elsewhere(self, tmp_path: Path) -> None:
        (tmp_path / "files").mkdir()
        git(tmp_path / "files", "init", "-q", "--separate-git-dir", str(tmp_path / "store"))
        assert project_root(tmp_path / "files") == tmp_path / "files"

    @pytest.mark.parametrize(
        "text",
        ["gitdir: /nowhere/at/all\n", "gitdir: \n", "gitdir:", "", "nonsense", "gitdir: ..\n", "gitdir: a\0b", "\xff"],
    )
    def test_a_broken_git_file_marks_a_project_of_its_own(self, tmp_path: Path, text: str) -> None:
        top = tmp_path / "above"
        for part in ("objects", "refs"):
            (top / ".git" / part).mkdir(parents=True)
        (top / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (top / "pruned" / "src").mkdir(parents=True)
        (top / "pruned" / ".git").write_bytes(text.encode("latin-1"))
        assert project_root(top / "pruned" / "src") == top / "pruned"
        assert project_root(top) == top

    @needs_git
    def test_an_unpacked_archive_cannot_claim_another_project(self, tmp_path: Path) -> None:
        """Its replies would be learned there, and that project's drafts tried here."""
        victim = repository(tmp_path / "victim")
        git_dir = tmp_path / "archive" / "store"
        for part in ("objects", "refs"):
            (git_dir / part).mkdir(parents=True)
        (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
        (git_dir / "commondir").write_text(f"{victim}/.git\n")
        (tmp_path / "archive" / ".git").write_text("gitdir: store\n")
        assert project_root(tmp_path / "archive") == tmp_path / "archive"
        bare = tmp_path / "bare.git"
        git(tmp_path, "init", "-q", "--bare", str(bare))
        with open(bare / "config", "a") as config:
            config.write(f"[core]\n\tbare = false\n\tworktree = {victim}\n")
        assert project_root(bare) == bare
        assert project_root(victim) == victim

    def test_an_empty_git_folder_is_passed_over_as_git_does(self, tmp_path: Path) -> None:
        (tmp_path / "a" / ".git").mkdir(parents=True)
        assert project_root(tmp_path / "a") == tmp_path / "a"
        assert identity._repository(tmp_path / "a") is None

    @posix_only
    def test_files_that_would_block_are_not_opened(self, tmp_path: Path) -> None:
        git_dir = tmp_path / "a" / ".git"
        for part in ("objects", "refs"):
            (git_dir / part).mkdir(parents=True)
        (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
        for name in ("commondir", "config", "config.worktree"):
            os.mkfifo(git_dir / name)
        os.mkfifo(tmp_path / ".git")
        assert project_root(tmp_path / "a") == tmp_path / "a"

    @posix_only
    def test_symlinks_are_resolved(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        (tmp_path / "loop").symlink_to("loop")
        assert project_root(tmp_path / "link") == tmp_path / "real"
        assert project_root(tmp_path / "loop") is None

    @posix_only
    def test_folders_that_hold_everything_are_no_projects(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home, temporary = tmp_path / "home", tmp_path / "temporary"
        for folder in (home / "work", temporary / "work"):
            folder.mkdir(parents=True)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("TMPDIR", str(temporary))
        (tmp_path / "also-home").symlink_to(home)
        for none in (home, temporary, Path("/"), Path("/tmp"), tmp_path / "also-home", tmp_path / "missing"):
            assert project_root(none) is None, none
        assert project_root(home / "work") == home / "work"
        assert project_root(temporary / "work") == temporary / "work"

    @needs_git
    def test_a_repository_of_the_home_folder_does_not_swallow_all(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = repository(tmp_path / "home")
        monkeypatch.setenv("HOME", str(home))
        assert project_root(home) is None
        assert project_root(home / "src") == home / "src"

    @pytest.mark.parametrize("home", ["", "relative", "/", "/nonexistent", "/proc", None])
    def test_a_strange_home_does_no_harm(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str | None
    ) -> None:
        if home is None:
            monkeypatch.delenv("HOME")
        else:
            monkeypatch.setenv("HOME", home)
        assert project_root(tmp_path) == tmp_path

    @linux_only
    def test_a_current_folder_that_was_deleted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "gone").mkdir()
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        assert project_root(Path(".")) is None

    @needs_git
    def test_git_s_variables_and_absence_change_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        top, other = repository(tmp_path / "repo"), repository(tmp_path / "other")
        first = first_of(top)
        monkeypatch.setenv("GIT_DIR", str(other / ".git"))
        monkeypatch.setenv("GIT_WORK_TREE", str(other))
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(top))
        assert project_root(top / "src") == top
        assert first_commit(top) == first
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
        assert project_root(top / "src") == top
        assert first_commit(top) is None

    @needs_git
    def test_every_kind_of_repository_has_the_same_key_without_git(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        top, library = repository(tmp_path / "repo"), repository(tmp_path / "library")
        git(top, "worktree", "add", "-q", str(tmp_path / "tree"))
        git(top, "submodule", "add", "-q", str(library), "lib")
        git(top, "commit", "-q", "-m", "second")
        git(tmp_path, "clone", "-q", "--bare", str(top), str(tmp_path / "bare.git"))
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{top}", str(tmp_path / "shallow"))
        repository(tmp_path / "empty", commit=False)
        (tmp_path / "dangling").mkdir()
        (tmp_path / "dangling" / ".git").write_text("gitdir: /nowhere\n")
        roots = {"repo": "repo", "tree": "repo", "repo/lib": "repo/lib", "bare.git": "bare.git", "shallow": "shallow"}
        roots |= {"empty": "empty", "dangling": "dangling"}
        hanging = tmp_path / "hanging" / "git"
        hanging.parent.mkdir()
        hanging.write_text("#!/bin/sh\nsleep 60\n")
        hanging.chmod(0o755)
        (tmp_path / "nothing").mkdir()
        for programs in (os.environ["PATH"], str(tmp_path / "nothing"), f"{hanging.parent}:/usr/bin:/bin"):
            monkeypatch.setenv("PATH", programs)
            started = time.monotonic()
            for place, root in roots.items():
                assert project_root(tmp_path / place) == tmp_path / root, (place, programs)
            assert time.monotonic() - started < 5

    @needs_git
    def test_what_was_moved_with_its_submodule_or_away_from_its_worktree(self, tmp_path: Path) -> None:
        top, library = repository(tmp_path / "repo"), repository(tmp_path / "library")
        git(top, "submodule", "add", "-q", str(library), "lib")
        git(top, "worktree", "add", "-q", str(tmp_path / "tree"))
        top.rename(tmp_path / "moved")
        assert project_root(tmp_path / "moved" / "lib" / "src") == tmp_path / "moved" / "lib"
        assert project_root(tmp_path / "tree" / "src") == tmp_path / "tree"  # git itself no longer knows it
        shutil.rmtree(tmp_path / "moved" / ".git")
        assert project_root(tmp_path / "moved" / "src") == tmp_path / "moved" / "src"

    @needs_git
    def test_a_repository_far_above_is_the_project_unless_it_holds_everything(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        top = repository(tmp_path / "far")
        deep = top.joinpath(*"abcdefgh")
        deep.mkdir(parents=True)
        assert project_root(deep) == top
        monkeypatch.setenv("TMPDIR", str(top))
        assert project_root(deep) == deep

    def test_looking_writes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        project_root(tmp_path / "a")
        assert list((tmp_path / "a").iterdir()) == []


class TestNames:
    def test_every_root_has_its_own_readable_name(self, tmp_path: Path) -> None:
        strange = [Path(f"/x/{name}") for name in ("Site", "site ", "Übung", "..", "a/b", "漢字", "x" * 300, "CON")]
        strange.append(Path(os.fsdecode(b"/x/\xff\xfe")))
        names = [project_id(root) for root in strange]
        assert len(set(names)) == len(names)
        assert names[0].startswith("site-")
        assert all(name.isascii() and len(name) <= 41 and "/" not in name and name[0] not in ".-" for name in names)

    def test_a_fingerprint_of_any_form_makes_a_folder_name(self) -> None:
        names = [
            pool_key(Path("/x"), text).tokenizer_folder() for text in (FINGERPRINT, "../../etc", "", "a b", "\udcff")
        ]
        assert len(set(names)) == len(names)
        assert names[0] == FINGERPRINT[:16]
        assert all(len(name) == 16 and name.isalnum() for name in names)

    @linux_only
    def test_a_root_that_is_no_utf_8_is_recorded(self, tmp_path: Path, pools: Path) -> None:
        root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
        root.mkdir()
        open_pool(pool_key(root, FINGERPRINT), pools, "learn", VOCAB).learn(PoolUpdate(reply(1)))
        record = projects.read_record(pools / project_id(root))
        assert record is not None
        assert record.root == root
