"""identity.py and projects.py: a project that was moved or copied, told by the first commit of its history."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lacli.pool import projects
from lacli.pool.store import open_pool
from lacli.pool.update import PoolUpdate
from lacli.project.root import first_commit, pool_key, project_id, project_root

from .conftest import FINGERPRINT, VOCAB, posix_only
from .test_pool_identity import first_of, git, needs_git, pool_of, repository
from .test_pool_store import replies, reply


@needs_git
class TestMoves:
    def test_a_moved_repository_keeps_its_pool(self, tmp_path: Path, pools: Path) -> None:
        top = repository(tmp_path / "old")
        pool_of(top, pools).learn(PoolUpdate(reply(1)))
        top.rename(tmp_path / "new")
        pool = pool_of(tmp_path / "new" / "src", pools)
        assert replies(pool) == [reply(1)]
        assert pool.learn(PoolUpdate(reply(2)))
        assert replies(pool_of(tmp_path / "new", pools)) == [reply(1), reply(2)]
        assert len(list(pools.iterdir())) == 1
        record = projects.read_record(next(pools.iterdir()))
        assert record is not None
        assert record.root == tmp_path / "new"

    def test_reading_finds_it_too_but_renames_nothing(self, tmp_path: Path, pools: Path) -> None:
        top = repository(tmp_path / "old")
        pool_of(top, pools).learn(PoolUpdate(reply(1)))
        before = sorted(pools.rglob("*"))
        top.rename(tmp_path / "new")
        pool = open_pool(pool_key(tmp_path / "new", FINGERPRINT), pools, "read", VOCAB)
        assert replies(pool) == [reply(1)]
        assert sorted(pools.rglob("*")) == before

    def test_two_clones_that_both_exist_stay_apart(self, tmp_path: Path, pools: Path) -> None:
        top = repository(tmp_path / "one")
        pool_of(top, pools).learn(PoolUpdate(reply(1)))
        git(tmp_path, "clone", "-q", str(top), str(tmp_path / "two"))
        assert replies(pool_of(tmp_path / "two", pools)) == []
        pool_of(tmp_path / "two", pools).learn(PoolUpdate(reply(2)))
        assert replies(pool_of(top, pools)) == [reply(1)]

    def test_another_repository_adopts_nothing(self, tmp_path: Path, pools: Path) -> None:
        top = repository(tmp_path / "old")
        pool_of(top, pools).learn(PoolUpdate(reply(1)))
        shutil.rmtree(top)
        assert replies(pool_of(repository(tmp_path / "unrelated"), pools)) == []
        (tmp_path / "no-repository").mkdir()
        assert replies(pool_of(tmp_path / "no-repository", pools)) == []

    def test_without_git_nothing_is_adopted_and_nothing_fails(
        self, tmp_path: Path, pools: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        top = repository(tmp_path / "old")
        pool_of(top, pools).learn(PoolUpdate(reply(1)))
        top.rename(tmp_path / "new")
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
        pool = pool_of(tmp_path / "new", pools)
        assert replies(pool) == []
        assert pool.learn(PoolUpdate(reply(2)))
        assert pool.notices == []

    def test_an_empty_or_shallow_repository_that_moved_starts_anew(self, tmp_path: Path, pools: Path) -> None:
        origin = repository(tmp_path / "origin")
        git(origin, "commit", "-q", "--allow-empty", "-m", "second")
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", str(tmp_path / "shallow"))
        repository(tmp_path / "empty", commit=False)
        for name in ("shallow", "empty"):
            pool_of(tmp_path / name, pools).learn(PoolUpdate(reply(1)))
            (tmp_path / name).rename(tmp_path / f"moved-{name}")
            pool = pool_of(tmp_path / f"moved-{name}", pools)
            assert replies(pool) == []
            assert pool.learn(PoolUpdate(reply(2)))
            assert pool.notices == []

    def test_a_worktree_and_its_repository_teach_one_pool(self, tmp_path: Path, pools: Path) -> None:
        top = repository(tmp_path / "repo")
        git(top, "worktree", "add", "-q", str(tmp_path / "tree"))
        pool_of(top / "src", pools).learn(PoolUpdate(reply(1)))
        pool_of(tmp_path / "tree", pools).learn(PoolUpdate(reply(2)))
        assert replies(pool_of(top, pools)) == [reply(1), reply(2)]
        assert git(top, "status", "--porcelain") == git(tmp_path / "tree", "status", "--porcelain") == ""

    @posix_only
    @pytest.mark.slow
    def test_a_git_that_hangs_delays_a_session_by_seconds_at_most(
        self, tmp_path: Path, pools: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool_of(repository(tmp_path / "old"), pools).learn(PoolUpdate(reply(1)))
        (tmp_path / "old").rename(tmp_path / "new")
        program = tmp_path / "bin" / "git"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\nsleep 60\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        started = time.monotonic()
        pool = pool_of(tmp_path / "new", pools)
        assert pool.learn(PoolUpdate(reply(2)))
        assert time.monotonic() - started < 6
        assert pool.notices == []

    @pytest.mark.parametrize(
        "bad", [b"", b"{", b"[]", b'{"root": 5}', b'{"root": "/a\\u0000b"}', b"\xff", b"[" * 60_000]
    )
    def test_a_damaged_record_costs_nothing_but_the_adoption(self, tmp_path: Path, pools: Path, bad: bytes) -> None:
        top = repository(tmp_path / "repo")
        pool_of(top, pools).learn(PoolUpdate(reply(1)))
        record = pools / project_id(top) / projects.RECORD_NAME
        record.write_bytes(bad)
        pool = pool_of(top, pools)
        assert replies(pool) == [reply(1)]
        assert pool.learn(PoolUpdate(reply(2)))
        assert pool.notices == []
        repaired = projects.read_record(record.parent)
        assert repaired is not None
        assert repaired.first_commit == first_of(top)


@needs_git
class TestFirstCommit:
    def test_it_is_the_first_and_not_the_last(self, tmp_path: Path) -> None:
        top = repository(tmp_path / "repo")
        first = git(top, "rev-parse", "HEAD")
        git(top, "commit", "-q", "--allow-empty", "-m", "second")
        assert first_commit(top) == first

    def test_an_empty_or_a_shallow_repository_has_none(self, tmp_path: Path) -> None:
        assert first_commit(repository(tmp_path / "empty", commit=False)) is None
        top = repository(tmp_path / "repo")
        git(top, "commit", "-q", "--allow-empty", "-m", "second")
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{top}", str(tmp_path / "shallow"))
        assert first_commit(tmp_path / "shallow") is None
        (tmp_path / "none").mkdir()
        assert first_commit(tmp_path / "none") is None

    @posix_only
    @pytest.mark.parametrize(
        "script",
        ["sleep 60", "sleep 60 & exit 0", "trap '' TERM INT; sleep 60", "exit 1", "echo nonsense", "kill -9 $$"],
    )
    @pytest.mark.default_cases(1)
    def test_a_git_that_hangs_or_lies_is_not_waited_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
    ) -> None:
        top = repository(tmp_path / "repo")
        program = tmp_path / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        start = time.monotonic()
        assert first_commit(top, wait_s=0.3) is None
        assert time.monotonic() - start < 3

    @posix_only
    def test_a_program_that_is_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        top = repository(tmp_path / "repo")
        program = tmp_path / "bin" / "git"
        program.parent.mkdir()
        program.write_bytes(b"\x7fELF not really")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        assert first_commit(top) is None

    @posix_only
    def test_a_git_that_hangs_does_not_outlive_a_program_whose_thread_asked_it(self, tmp_path: Path) -> None:
        project, hanging, told = tmp_path / "p", tmp_path / "bin" / "git", tmp_path / "told"
        project.mkdir()
        hanging.parent.mkdir()
        hanging.write_text(f"#!/bin/sh\necho $$ > {told}.new\nmv {told}.new {told}\nexec sleep 60\n")
        hanging.chmod(0o755)
        code = (
            "import pathlib, threading, time; from lacli.project.root import git_output\n"
            f"ask = lambda: git_output(pathlib.Path({str(project)!r}), ['ls-files'], 50.0)\n"
            "threading.Thread(target=ask, daemon=True).start()\n"
            f"while not pathlib.Path({str(told)!r}).exists(): time.sleep(0.01)\n"
        )
        environment = {**os.environ, "PATH": f"{hanging.parent}:/usr/bin:/bin"}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=30)
        with pytest.raises(ProcessLookupError):
            os.kill(int(told.read_text()), 0)

    @pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="gives a repository to another user")
    def test_a_repository_of_another_user_changes_no_configuration(self, tmp_path: Path) -> None:
        top = repository(tmp_path / "repo")
        config = (top / ".git" / "config").read_bytes()
        for path in [top, *top.rglob("*")]:
            os.chown(path, 65534, 65534)
        assert project_root(top / "src") == top
        assert first_commit(top) in (None, _first_as_owner(top))
        assert (top / ".git" / "config").read_bytes() == config


def _first_as_owner(top: Path) -> str:
    return git(top, "-c", f"safe.directory={top}", "rev-list", "--max-parents=0", "HEAD")
