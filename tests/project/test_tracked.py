"""tracked.py and ignore.py: drafts come from the files a person would call the project's own, and from no other."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lacli.project import tracked
from lacli.project.root import checkout, git_output
from lacli.project.tracked import Listing, list_known, list_named, list_tracked

from .conftest import Write, git, needs_git, posix_only, write

CODE = "def add(a, b):\n    return a + b\n"
pytestmark = needs_git


def names(listing: Listing | None) -> set[str]:
    assert listing is not None
    return {os.fsdecode(file.name) for file in listing.files}


class TestTracked:
    def test_only_what_git_tracks_is_listed(self, repo: Path, track: Write) -> None:
        track({"a.py": CODE, "src/b.py": CODE})
        write(repo, {"untracked.py": CODE})
        assert names(list_tracked(repo)) == {"a.py", "src/b.py"}

    def test_a_tracked_file_that_is_ignored_by_now_is_left_alone(self, repo: Path, track: Write) -> None:
        track(
            {"a.py": CODE, "gen/b.py": CODE, "deep/c.log": "x\n", "deep/.gitignore": "*.log\n", ".gitignore": "gen/\n"}
        )
        assert names(list_tracked(repo)) == {"a.py", ".gitignore", "deep/.gitignore"}

    def test_lacliignore_is_honoured_in_every_folder_with_git_s_syntax(self, repo: Path, track: Write) -> None:
        track(
            {
                "a.py": CODE,
                "notes/b.md": "x\n",
                "notes/keep.md": "x\n",
                "c/d.py": CODE,
                "c/e.py": CODE,
                "f/x/y.py": CODE,
            }
        )
        write(repo, {".lacliignore": "notes/*\n!notes/keep.md\n/f\n[\n", "c/.lacliignore": "e.*\n"})
        listing = list_tracked(repo)
        assert names(listing) == {"a.py", "notes/keep.md", "c/d.py"}
        assert listing is not None
        assert listing.skipped["ignored"] == 3

    def test_odd_names_are_taken_as_they_are(self, repo: Path, track: Write) -> None:
        odd = [
            'quo"te.py',
            "new\nline.py",
            "tab\t.py",
            "ünï.py",
            "back\\slash.py",
            " blank .py",
            os.fsdecode(b"\xff\xfe.py"),
        ]
        track({name: CODE for name in odd})
        assert names(list_tracked(repo)) == set(odd)

    def test_the_newest_come_first_and_the_cap_cuts_the_oldest(
        self, repo: Path, track: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        track({f"{number}.py": CODE for number in range(5)})
        for number in range(5):
            os.utime(repo / f"{number}.py", (1_000_000 + number, 1_000_000 + number))
        monkeypatch.setattr(tracked, "MAX_TOTAL_BYTES", 3 * len(CODE))
        listing = list_tracked(repo)
        assert listing is not None
        assert [os.fsdecode(file.name) for file in listing.files] == ["4.py", "3.py", "2.py"]
        assert listing.skipped["over the cap"] == 2

    @posix_only
    def test_links_fifos_folders_and_large_files_are_left_out(self, repo: Path, track: Write, tmp_path: Path) -> None:
        write(tmp_path, {"outside/secret.py": CODE, "outside/in.py": CODE})
        track({"a.py": CODE, "pipe.py": CODE, "gone.py": CODE, "big.py": "x = 1\n" * 50_000, "dir/in.py": CODE})
        os.symlink(tmp_path / "outside" / "secret.py", repo / "out.py")
        os.symlink("a.py", repo / "in.py")
        git(repo, "add", ".")
        for name in ("pipe.py", "gone.py", "dir/in.py"):
            (repo / name).unlink()
        os.mkfifo(repo / "pipe.py")
        (repo / "dir").rmdir()
        os.symlink(tmp_path / "outside", repo / "dir")  # a tracked folder that leads out by now
        listing = list_tracked(repo)
        assert names(listing) == {"a.py"}
        assert listing is not None
        assert listing.skipped == {"link": 3, "special": 1, "large": 1, "unreadable": 1}

    def test_a_submodule_s_files_are_not_the_project_s(self, repo: Path, track: Write, tmp_path: Path) -> None:
        library = tmp_path / "library"
        library.mkdir()
        git(library, "init", "-q")
        write(library, {"l.py": CODE})
        git(library, "add", ".")
        git(library, "commit", "-qm", "x")
        track({"a.py": CODE})
        git(repo, "submodule", "add", "-q", str(library), "lib")
        assert names(list_tracked(repo)) == {"a.py", ".gitmodules"}

    def test_a_worktree_lists_its_own_files(self, repo: Path, track: Write, tmp_path: Path) -> None:
        track({"a.py": CODE})
        git(repo, "commit", "-qm", "x")
        git(repo, "worktree", "add", "-q", str(tmp_path / "feature"))
        write(tmp_path / "feature", {"b.py": CODE})
        git(tmp_path / "feature", "add", ".")
        top = checkout(tmp_path / "feature")
        assert top == tmp_path / "feature"
        assert names(list_tracked(top)) == {"a.py", "b.py"}

    def test_thirty_thousand_names_are_bounded_in_number_and_time(self, repo: Path) -> None:
        blob = git(repo, "hash-object", "-w", "--stdin", feed=CODE)
        git(
            repo,
            "update-index",
            "--index-info",
            feed="".join(f"100644 {blob}\td{i % 99}/{i}.py\n" for i in range(30_000)),
        )
        write(repo, {"d0/0.py": CODE})
        started = time.process_time()
        listing = list_tracked(repo)
        assert time.process_time() - started < 3
        assert names(listing) == {"d0/0.py"}
        assert listing is not None
        assert listing.skipped["over the cap"] == 10_000

    def test_of_a_list_without_end_the_beginning_is_taken(
        self, repo: Path, track: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        track({"aaaa.py": CODE, "bbbb.py": CODE, "cccc.py": CODE})
        monkeypatch.setattr(tracked, "_MAX_LISTING", 18)
        assert names(list_tracked(repo)) == {"aaaa.py", "bbbb.py"}


class TestWithoutGit:
    def test_no_repository_no_files(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.py": CODE})
        assert list_tracked(tmp_path) is None
        assert checkout(tmp_path) is None

    def test_no_git_program_no_files(self, repo: Path, track: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        track({"a.py": CODE})
        monkeypatch.setenv("PATH", str(repo))
        assert list_tracked(repo) is None

    @posix_only
    def test_a_git_that_hangs_is_not_waited_for(
        self, repo: Path, track: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        track({"a.py": CODE})
        write(tmp_path, {"bin/git": "#!/bin/sh\nsleep 60\n"})
        (tmp_path / "bin" / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
        started = time.monotonic()
        assert list_tracked(repo, wait_s=0.2) is None
        assert time.monotonic() - started < 5

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
    def test_somebody_else_s_repository_is_not_read(self, repo: Path, track: Write) -> None:
        track({"a.py": CODE})
        for path in (repo, repo / ".git"):
            os.chown(path, 12_345, 12_345)
        assert list_tracked(repo) is None

    @posix_only
    def test_no_program_the_repository_names_is_started(self, repo: Path, track: Write, tmp_path: Path) -> None:
        track({"a.py": CODE, "evil.sh": f"#!/bin/sh\ntouch {tmp_path}/ran\n"})
        for name in ("evil.sh", ".git/hooks/post-index-change", ".git/hooks/fsmonitor-watchman"):
            (repo / name).parent.mkdir(exist_ok=True)
            (repo / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
            (repo / name).chmod(0o755)
        git(repo, "config", "core.fsmonitor", str(repo / "evil.sh"))
        git(repo, "config", "core.pager", str(repo / "evil.sh"))
        (tmp_path / "ran").unlink(missing_ok=True)
        index = (repo / ".git" / "index").read_bytes()
        assert "a.py" in names(list_tracked(repo))
        assert not (tmp_path / "ran").exists()
        assert (repo / ".git" / "index").read_bytes() == index

    def test_variables_for_git_do_not_lead_it_elsewhere(
        self, repo: Path, track: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        track({"a.py": CODE})
        monkeypatch.setenv("GIT_DIR", str(tmp_path))
        monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "none"))
        assert git_output(repo, ["ls-files", "-z"], 5.0) == b"a.py\0"


class TestHome:
    @pytest.mark.parametrize("variable", ["HOME", "TMPDIR"])
    def test_home_and_the_temporary_folder_are_no_project_even_as_a_repository(
        self, repo: Path, track: Write, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        track({"src/a.py": CODE})
        assert checkout(repo / "src") == repo
        monkeypatch.setenv(variable, str(repo))
        assert checkout(repo) is None
        assert checkout(repo / "src") is None


class TestNamed:
    def test_folders_and_files_named_are_walked_with_both_ignore_files(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.py": CODE, "src/b.py": CODE, "src/out/c.py": CODE, "src/d.tmp": CODE, "src/n.py": CODE})
        write(tmp_path, {"src/.gitignore": "out/\n*.tmp\n", ".lacliignore": "n.py\n", "src/node_modules/m/i.js": CODE})
        assert names(list_named(tmp_path, [tmp_path / "src"])) == {"src/b.py", "src/.gitignore"}
        assert names(list_named(tmp_path, [tmp_path / "a.py", tmp_path / "src" / "d.tmp"])) == {"a.py"}
        assert "src/b.py" in names(list_named(tmp_path, [tmp_path]))

    def test_a_pattern_that_takes_for_ever_does_not(self, tmp_path: Path) -> None:
        name = "a" * 200 + ".py"
        write(tmp_path, {name: CODE, "b.py": CODE, ".lacliignore": "*a" * 40 + "b\n!" + "*a" * 40 + "*\n"})
        started = time.process_time()
        assert "b.py" in names(list_named(tmp_path, [tmp_path]))
        assert time.process_time() - started < 2

    @posix_only
    def test_links_are_not_followed_whoever_names_them(self, tmp_path: Path) -> None:
        write(tmp_path, {"root/a.py": CODE, "elsewhere/b.py": CODE})
        os.symlink(tmp_path / "elsewhere", tmp_path / "root" / "link")
        os.symlink(tmp_path / "root", tmp_path / "root" / "loop")
        root = tmp_path / "root"
        assert names(list_named(root, [root])) == {"a.py"}
        assert names(list_named(root, [root / "link"])) == set()
        assert names(list_named(root, [root / "link" / "b.py"])) == set()

    def test_a_repository_inside_is_not_entered(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.py": CODE, "inner/.git": "gitdir: nowhere\n", "inner/b.py": CODE})
        assert names(list_named(tmp_path, [tmp_path])) == {"a.py"}

    def test_only_known_names_are_found_again(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.py": CODE, "src/b.py": CODE, "src/c.py": CODE})
        assert names(list_known(tmp_path, lambda name: name == b"src/b.py")) == {"src/b.py"}
