"""files.py and indexing.py: what a run knows of the project's files, when, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lacli.drafts.index import SuffixIndex
from lacli.project import files as project_files
from lacli.project import shingles
from lacli.project.build import build
from lacli.project.files import ProjectFiles
from lacli.project.indexing import Indexer, project_paths
from lacli.text.tokenizer import Tokenizer

from .conftest import Front, Write, code, git, needs_git, soon, split, write

pytestmark = needs_git


def index_files(sandbox: Path) -> list[Path]:
    return [path for path in sandbox.rglob("*files.lacli*") if path.is_file()]


class TestDrafts:
    def test_a_tracked_file_is_drafted_from_soon_after_the_first_start(
        self, repo: Path, track: Write, front: Callable[[Path], Front]
    ) -> None:
        track({"a.py": code(1), "b.py": code(2)})
        context, rest = split(code(1))
        reply = front(repo)
        assert soon(lambda: reply.after(context) == rest)

    def test_of_many_files_the_one_that_the_prompt_quotes_is_read(
        self,
        repo: Path,
        track: Write,
        front: Callable[[Path], Front],
        monkeypatch: pytest.MonkeyPatch,
        vocabulary: Tokenizer,
    ) -> None:
        track({f"{number}.py": code(number) for number in range(40)})
        build(repo, [], vocabulary)
        monkeypatch.setattr(project_files, "_NEWEST", 0)
        context, rest = split(code(33))
        reply = front(repo)
        assert soon(lambda: reply.index is not None)
        assert reply.after(context) == ""  # nothing was read before it was asked for
        assert soon(lambda: reply.after(context) == rest)
        assert len(reply.files._cached) <= project_files._FILES_AT_ONCE

    def test_what_is_kept_in_memory_is_bounded(
        self, repo: Path, track: Write, front: Callable[[Path], Front], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        track({f"{number}.py": code(number) for number in range(12)})
        size = len(code(1))
        monkeypatch.setattr(project_files, "_MAX_CACHED", 3 * size)
        monkeypatch.setattr(project_files, "_NEWEST", 0)
        reply = front(repo)
        for number in range(12):
            context, rest = split(code(number))
            assert soon(lambda context=context, rest=rest: reply.after(context) == rest), number
            assert reply.files._cached_size <= 3 * size

    def test_files_left_out_give_no_drafts(
        self, repo: Path, track: Write, front: Callable[[Path], Front], sandbox: Path
    ) -> None:
        key = "aws_secret_access_key = 'wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEYX'\n"
        track({"own.py": code(1), "leaky.py": code(2) + key, ".env": code(3), "x_pb2.py": code(4)})
        reply = front(repo)
        context, rest = split(code(1))
        assert soon(lambda: reply.after(context) == rest)
        assert soon(lambda: index_files(sandbox))
        for number in (2, 3, 4):
            assert reply.after(split(code(number))[0]) != split(code(number))[1]

    def test_a_value_of_the_env_file_keeps_a_file_out(
        self, repo: Path, track: Write, front: Callable[[Path], Front]
    ) -> None:
        track({"own.py": code(1), "copied.py": code(2) + "connect('zebra-quartz-77')\n", ".gitignore": ".env\n"})
        git(repo, "rm", "-q", "--cached", "--ignore-unmatch", ".env")
        write(repo, {".env": "DB_PASSWORD=zebra-quartz-77\n"})
        reply = front(repo)
        assert soon(lambda: reply.after(split(code(1))[0]))
        assert reply.after(split(code(2))[0]) != split(code(2))[1]

    @pytest.mark.parametrize("kind", ["no repository", "home"])
    def test_outside_a_repository_nothing_is_read(
        self,
        tmp_path: Path,
        repo: Path,
        track: Write,
        front: Callable[[Path], Front],
        monkeypatch: pytest.MonkeyPatch,
        sandbox: Path,
        kind: str,
    ) -> None:
        track({"a.py": code(1)})
        write(tmp_path, {"plain/a.py": code(1)})
        if kind == "home":
            monkeypatch.setenv("HOME", str(repo))
        reply = front(tmp_path / "plain" if kind == "no repository" else repo)
        time.sleep(0.3)
        assert reply.after(split(code(1))[0]) == ""
        assert index_files(sandbox) == []


class TestChanges:
    def test_a_changed_a_new_and_a_deleted_file_are_noticed_at_a_refresh(
        self, repo: Path, track: Write, front: Callable[[Path], Front]
    ) -> None:
        track({"a.py": code(1), "b.py": code(2), "c.py": code(3)})
        reply = front(repo)
        for number in (1, 2, 3):
            assert soon(lambda number=number: reply.after(split(code(number))[0]))
        track({"a.py": code(11), "d.py": code(4)})
        (repo / "b.py").unlink()
        reply.files.refresh()
        for number in (11, 4):
            assert soon(lambda number=number: reply.after(split(code(number))[0]) == split(code(number))[1])
        for number in (1, 2):
            assert soon(lambda number=number: reply.after(split(code(number))[0]) != split(code(number))[1])
        assert reply.after(split(code(3))[0]) == split(code(3))[1]

    def test_only_what_changed_is_tokenised_anew(self, repo: Path, track: Write, vocabulary: Tokenizer) -> None:
        track({f"{number}.py": code(number) for number in range(10)})
        build(repo, [], vocabulary)
        track({"3.py": code(33)})
        os.utime(repo / "4.py", (1, 1))  # touched: read, and found to be the same
        place = project_paths(repo, vocabulary.fingerprint, writes=False)
        assert place is not None
        indexer = Indexer(place, vocabulary)
        indexer.survey()
        assert {file.name for file in indexer.todo} == {b"3.py", b"4.py"}
        assert sum(indexer.next_file()[1] is not None for _ in range(2)) == 1

    def test_a_file_that_changed_since_it_was_listed_is_not_mistaken(
        self, repo: Path, track: Write, vocabulary: Tokenizer
    ) -> None:
        track({"a.py": code(1)})
        build(repo, [], vocabulary)
        place = project_paths(repo, vocabulary.fingerprint, writes=False)
        assert place is not None
        indexer = Indexer(place, vocabulary)
        indexer.survey()
        write(repo, {"a.py": code(2)})
        found = indexer.tokens_of(indexer.newest[0])
        assert found is not None
        assert vocabulary.decode(found.tolist()) == code(2)


class TestOnDisk:
    def test_there_is_no_text_no_token_and_no_name(
        self, repo: Path, track: Write, vocabulary: Tokenizer, sandbox: Path
    ) -> None:
        contents = {f"folder_{number}/module_{number}.py": code(number, 200) for number in range(10)}
        track(contents)
        build(repo, [], vocabulary)
        (path,) = index_files(sandbox)
        data = path.read_bytes()
        said = [data]
        for kind in ("<u4", ">u4", "<u2", ">u2", "u1"):
            for start in range(np.dtype(kind).itemsize):
                stream = np.frombuffer(data[start : len(data) - (len(data) - start) % np.dtype(kind).itemsize], kind)
                said.append(vocabulary.decode(stream[stream < vocabulary.vocab_size].tolist()).encode())
        needles = {text[at : at + 6].encode() for text in contents.values() for at in range(len(text) - 6)}
        needles |= {b"module_", b"folder_"}
        # Sorted hashes hold single letters by chance; six in a row they do not.
        found = [needle for needle in needles for stream in said if needle in stream]
        assert found == []

    def test_a_run_that_does_not_learn_writes_nothing(
        self, repo: Path, track: Write, vocabulary: Tokenizer, sandbox: Path
    ) -> None:
        track({"a.py": code(1)})
        got: list[SuffixIndex] = []
        files = ProjectFiles()
        files.start(repo, vocabulary, got.append, writes=False)
        assert soon(lambda: got and got[-1].matches(vocabulary.encode(split(code(1))[0])))
        files.close()
        assert index_files(sandbox) == []

    def test_nothing_is_written_in_the_repository(self, repo: Path, track: Write, vocabulary: Tokenizer) -> None:
        track({"a.py": code(1)})
        before = git(repo, "status", "--porcelain", "--ignored")
        build(repo, [], vocabulary)
        assert git(repo, "status", "--porcelain", "--ignored") == before

    def test_a_build_killed_at_any_moment_leaves_an_index_that_can_be_used(
        self, repo: Path, track: Write, vocabulary: Tokenizer, sandbox: Path
    ) -> None:
        track({f"{number}.py": code(number) for number in range(30)})
        script = _SCRIPT + (
            "indexer = Indexer(project_paths(folder, tokenizer.fingerprint, True), tokenizer)\n"
            "indexer.survey()\nprint('ready', flush=True)\n"
            "while True:\n    indexer.todo and indexer.next_file()\n    indexer.save()\n"
        )
        for attempt in range(4):
            child = subprocess.Popen([sys.executable, "-c", script, str(repo)], stdout=subprocess.PIPE, cwd=_TOP)
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(0.02 + 0.03 * attempt)
            child.kill()
            child.wait()
            child.stdout.close()
            for path in index_files(sandbox):
                if path.name == shingles.FILE_NAME:
                    assert shingles.decode(path.read_bytes(), vocabulary.fingerprint) is not None
        assert build(repo, [], vocabulary).files == 30


_TOP = Path(__file__).parents[2]
_SCRIPT = """
import sys
from pathlib import Path
from lacli.project.files import ProjectFiles
from lacli.project.indexing import Indexer, project_paths
from tests.vocabularies import byte_level, made
folder, tokenizer = Path(sys.argv[1]), made(byte_level())
"""


class TestThread:
    @pytest.mark.parametrize("wait_s", ["0", "0.05", "0.3"])
    @pytest.mark.default_cases(1)
    def test_it_never_delays_nor_spoils_the_end_of_a_program(self, repo: Path, track: Write, wait_s: str) -> None:
        track({f"{number}.py": code(number, 2_000) for number in range(60)})
        script = _SCRIPT + (
            "import time, atexit\nstarted = []\n"
            "atexit.register(lambda: print(round(time.monotonic() - started[0], 2)))\n"
            "ProjectFiles().start(folder, tokenizer, lambda index: None)\n"
            f"time.sleep({wait_s})\nstarted.append(time.monotonic())\n"
        )
        done = subprocess.run([sys.executable, "-c", script, str(repo)], capture_output=True, text=True, cwd=_TOP)
        assert (done.returncode, done.stderr) == (0, "")
        assert float(done.stdout) < 1.0

    def test_an_interrupt_during_the_reading_ends_the_program_as_ever(self, repo: Path, track: Write) -> None:
        track({f"{number}.py": code(number, 2_000) for number in range(60)})
        script = _SCRIPT + (
            "ProjectFiles().start(folder, tokenizer, lambda index: None)\nprint('ready', flush=True)\n"
            "import time\ntry:\n    time.sleep(30)\nexcept KeyboardInterrupt:\n    sys.exit(7)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", script, str(repo)], stdout=subprocess.PIPE, cwd=_TOP)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        assert child.wait(10) == 7
        child.stdout.close()

    def test_a_failure_inside_costs_the_source_and_nothing_else(
        self, repo: Path, track: Write, vocabulary: Tokenizer, capfd: pytest.CaptureFixture[str]
    ) -> None:
        track({"a.py": code(1)})

        def sink(index: SuffixIndex) -> None:
            raise RuntimeError("boom")

        files = ProjectFiles()
        files.start(repo, vocabulary, sink)
        assert soon(lambda: files._thread is not None and not files._thread.is_alive())
        files.refresh()
        files.close()
        assert capfd.readouterr() == ("", "")

    def test_asking_takes_no_time_and_touches_no_file(
        self, repo: Path, track: Write, front: Callable[[Path], Front], vocabulary: Tokenizer
    ) -> None:
        track({"a.py": code(1)})
        reply = front(repo)
        assert soon(lambda: reply.after(split(code(1))[0]))
        context = vocabulary.encode(code(1) * 20)
        opened: list[str] = []
        asking = threading.get_ident()

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event in ("open", "os.scandir", "os.listdir", "subprocess.Popen") and threading.get_ident() == asking:
                opened.append(event)

        sys.addaudithook(hook)
        assert reply.index is not None
        started = time.thread_time()
        for end in range(len(context) - 300, len(context)):
            reply.index.matches(context[:end])
        assert (time.thread_time() - started) / 300 < 0.005
        asking = -1
        assert opened == []
