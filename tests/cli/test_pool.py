"""`lacli pool` beyond looking: what was saved, build, prune, export and import, and the caps from the environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacli import paths
from lacli.cli.main import main
from lacli.events import Counts
from lacli.pool.store import Pool, open_pool
from lacli.pool.update import NO_TOKEN, PoolUpdate, TableRows
from lacli.project.root import pool_key
from tests.cli.conftest import ROOT, Scripted, Terminal

VOCAB = 1_000
FINGERPRINT = "ab" * 32
COUNTS = Counts(
    replies=1,
    predicted_n=30,
    steps=10,
    plain_steps=29,
    draft_n=50,
    draft_n_accepted=19,
    drafted_by_source={"project": 40, "successor": 10},
    accepted_by_source={"project": 15, "successor": 4},
    rows=60,
    draft_ms=10.0,
    step_ms=500.0,
    saved_ms=400.0,
)


def rows() -> TableRows:
    keys = np.array([[NO_TOKEN, 3], [3, 4]], np.uint32)
    return TableRows(keys, np.full((2, 8), 5, np.uint32), np.full((2, 8), 16, np.uint8))


def learned(project: Path, *replies: int, fingerprint: str = FINGERPRINT) -> Pool:
    pool = open_pool(pool_key(project, fingerprint), paths.pools_dir(), "learn", VOCAB, "smol")
    for number in replies or (1,):
        ids = [number * 40 + index for index in range(40)]
        assert pool.learn(PoolUpdate(ids, "text", table=rows(), totals=COUNTS.totals()))
    return pool


def reopened(project: Path, fingerprint: str = FINGERPRINT) -> list[list[int]]:
    pool = open_pool(pool_key(project, fingerprint), paths.pools_dir(), "read", VOCAB)
    return [segment.tolist() for segment in pool.segments()]


Captured = pytest.CaptureFixture[bytes]


def run(capfdbinary: Captured, *arguments: str) -> tuple[int, str, str]:
    capfdbinary.readouterr()
    code = main(["pool", *arguments])
    out, err = capfdbinary.readouterr()
    return code, out.decode(), err.decode()


class TestInfo:
    def test_what_guessing_saved_in_the_project_has_the_names_of_stats(
        self, project: Path, capfdbinary: Captured, scripted: Scripted
    ) -> None:
        learned(project, 1, 2)
        shown = json.loads(run(capfdbinary, "info", "--json")[1])["pools"][0]
        stats = json.loads(scripted.run(["ask", "hi", "--stats"], ["one two three"]).err)
        assert shown["totals"].keys() - {"replies"} <= stats.keys()
        assert (shown["totals"]["replies"], shown["totals"]["predicted_n"], shown["totals"]["saved_n"]) == (2, 60, 38)
        assert shown["totals"]["saved_ms"] == 800.0
        assert shown["totals"]["accepted_by_source"] == {"project": 30, "successor": 8}
        assert shown["table_entries"] == 2

    def test_people_see_it_too_and_no_line_is_wider_than_it_must_be(self, project: Path, capfdbinary: Captured) -> None:
        learned(project, 1, 2)
        code, out, err = run(capfdbinary, "info")
        assert (code, err) == (0, "")
        lines = [line.split() for line in out.splitlines()]
        assert ["saved", "steps", "38"] in lines
        assert ["project", "30/80", "50%"] in lines
        assert ["table", "2", "entries"] in [line[:3] for line in lines]


class TestVerify:
    @pytest.mark.parametrize("name", ["table.lacli", "numbers.json", "files.lacli"])
    def test_a_bad_file_beside_the_log_is_found_and_named(
        self, project: Path, capfdbinary: Captured, name: str
    ) -> None:
        pool = learned(project)
        assert run(capfdbinary, "verify") == (0, f"sound  {pool.path}\n", "")
        (pool.path.parent / name).write_bytes(b"garbage")
        code, out, err = run(capfdbinary, "verify")
        assert code == 1
        assert out.startswith(f"damaged  {pool.path.parent / name}: ")
        assert err.count("\n") == 1
        found = json.loads(run(capfdbinary, "verify", "--json")[1])
        assert [each["path"] for each in found["damaged"]] == [str(pool.path.parent / name)]
        assert (pool.path.parent / name).read_bytes() == b"garbage"


class TestClear:
    def test_the_index_of_files_and_all_else_goes_too(self, project: Path, capfdbinary: Captured) -> None:
        pool = learned(project)
        (pool.path.parent / "files.lacli").write_bytes(b"hashes")
        assert run(capfdbinary, "clear", "--yes")[0] == 0
        assert {path.name for path in paths.pools_dir().rglob("*") if path.is_file()} <= {"pool.lacli.lock"}

    def test_an_index_alone_is_shown_and_deleted_when_confirmed(self, project: Path, capfdbinary: Captured) -> None:
        folder = learned(project).path.parent
        for name in ("pool.lacli", "table.lacli", "numbers.json"):
            (folder / name).unlink()
        (folder / "files.lacli").write_bytes(bytes(3_000))
        assert "files     index 3 kB" in run(capfdbinary, "info")[1]
        code, _, err = run(capfdbinary, "clear")
        assert code == 2
        assert "--yes" in err
        assert run(capfdbinary, "clear", "--yes")[0] == 0
        assert [path.name for path in folder.iterdir()] == ["pool.lacli.lock"]
        assert "nothing to delete" in run(capfdbinary, "clear")[2]


class TestPrune:
    def test_a_pool_above_the_cap_is_cut_to_its_newest_replies(self, project: Path, capfdbinary: Captured) -> None:
        learned(project, *range(1, 20))
        code, out, err = run(capfdbinary, "prune", "--max-mb", "0.004")
        assert (code, err) == (0, "")
        assert re.fullmatch(r"freed [\d.]+ k?B: 1 pool compacted\n", out)
        left = reopened(project)
        assert 0 < len(left) < 19
        assert left[-1][0] == 19 * 40
        assert run(capfdbinary, "prune")[1] == "nothing to do: all pools are below their caps\n"

    def test_leftovers_are_removed(self, project: Path, capfdbinary: Captured) -> None:
        pool = learned(project)
        aside = pool.path.with_name("pool.lacli.1.bad")
        aside.write_bytes(b"x" * 5_000)
        assert run(capfdbinary, "prune")[0] == 0
        assert not aside.exists()
        assert reopened(project) == [list(range(40, 80))]

    def test_pools_of_projects_that_are_gone_go_only_when_asked_for_and_confirmed(
        self, project: Path, tmp_path: Path, capfdbinary: Captured
    ) -> None:
        (tmp_path / "old").mkdir()
        old = learned(tmp_path / "old")
        here = learned(project)
        (tmp_path / "old").rmdir()
        assert run(capfdbinary, "prune")[0] == 0
        assert old.path.exists()
        code, _, err = run(capfdbinary, "prune", "--gone")
        assert code == 2
        assert "--yes" in err
        assert str(tmp_path / "old") in err
        assert old.path.exists()
        shown = json.loads(run(capfdbinary, "prune", "--gone", "--yes", "--json")[1])
        assert shown["vanished"] == [str(tmp_path / "old")]
        assert not old.path.exists()
        assert here.path.exists()
        (tmp_path / "old").mkdir()
        learned(tmp_path / "old")
        (tmp_path / "old").rmdir()
        assert run(capfdbinary, "prune", "--gone", "--yes")[1].endswith(": 1 deleted (its project is gone)\n")

    @pytest.mark.parametrize("value", ["-1", "nan", "inf", "2e9"])
    def test_nonsense_is_a_usage_error(self, project: Path, capfdbinary: Captured, value: str) -> None:
        pool = learned(project)
        code, _, err = run(capfdbinary, "prune", "--max-mb", value)
        assert code == 2
        assert "from 0 to" in err
        assert pool.path.exists()


class TestCaps:
    @pytest.mark.parametrize("name", ["LACLI_POOL_MB", "LACLI_POOLS_MB"])
    @pytest.mark.parametrize("value", ["much", "-1", "nan", "inf"])
    def test_nonsense_in_the_environment_is_a_usage_error_before_any_model_is_loaded(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, name: str, value: str
    ) -> None:
        monkeypatch.setenv(name, value)
        result = scripted.run(["ask", "hi"])
        assert result.code == 2
        assert result.err.startswith(f"lacli: error: {name}={value} is not a size; set it to megabytes")
        assert not scripted.assistants

    def test_they_reach_the_settings_and_prune(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, project: Path, capfdbinary: Captured
    ) -> None:
        monkeypatch.setenv("LACLI_POOL_MB", "0.004")
        monkeypatch.setenv("LACLI_POOLS_MB", "7")
        assert scripted.run(["ask", "hi"]).err == ""
        assert (scripted.settings[0].pool_mb, scripted.settings[0].pools_mb) == (0.004, 7.0)
        learned(project, *range(1, 20))
        assert run(capfdbinary, "prune")[0] == 0
        assert 0 < len(reopened(project)) < 19


class TestExport:
    def test_what_is_exported_can_be_imported_elsewhere(
        self, project: Path, tmp_path: Path, capfdbinary: Captured
    ) -> None:
        learned(project, 1, 2)
        file = tmp_path / "site.pool"
        code, out, err = run(capfdbinary, "export", str(file))
        assert (code, out) == (0, "")
        assert err.startswith("lacli: wrote 80 tokens to ")
        assert file.stat().st_mode & 0o777 == 0o600
        (tmp_path / "other").mkdir()
        code, out, err = run(capfdbinary, "import", str(file), "--project", str(tmp_path / "other"), "--json")
        assert code == 0
        done = json.loads(out)
        assert (done["replies"], done["refused"], done["entries"], done["tokens"]) == (2, 0, 2, 80)
        assert done["checked"] is False
        assert "nothing was checked for secrets" in err
        assert sorted(reopened(tmp_path / "other")) == sorted(reopened(project))
        assert (done["new_replies"], done["new_entries"]) == (2, 2)
        again = run(capfdbinary, "import", str(file), "--project", str(tmp_path / "other"))[1]
        assert again == "took in nothing new; the pool has 80 tokens now\n"

    def test_an_existing_file_is_kept_without_force(self, project: Path, tmp_path: Path, capfdbinary: Captured) -> None:
        learned(project)
        file = tmp_path / "mine.txt"
        file.write_text("precious", encoding="utf-8")
        code, _, err = run(capfdbinary, "export", str(file))
        assert code == 2
        assert "--force" in err
        assert file.read_text(encoding="utf-8") == "precious"
        assert run(capfdbinary, "export", str(file), "--force")[0] == 0
        assert file.read_bytes() != b"precious"
        os.mkfifo(tmp_path / "pipe")
        for place in (tmp_path, tmp_path / "pipe"):  # a device would be replaced by a file
            code, _, err = run(capfdbinary, "export", str(place), "--force")
            assert code == 2
            assert "is not a regular file" in err
        assert (tmp_path / "pipe").is_fifo()

    def test_a_pipe_takes_it_and_a_terminal_does_not(
        self, project: Path, tmp_path: Path, capfdbinary: Captured
    ) -> None:
        learned(project)
        assert run(capfdbinary, "export", str(tmp_path / "file"))[0] == 0
        lacli = [sys.executable, "-c", "import sys; from lacli.cli.main import main; sys.exit(main())", "pool"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        piped = subprocess.run([*lacli, "export", "-"], capture_output=True, env=environment, check=True, timeout=60)
        assert len(piped.stdout) == (tmp_path / "file").stat().st_size
        (tmp_path / "other").mkdir()
        taken = subprocess.run(
            [*lacli, "import", "-", "--project", str(tmp_path / "other")],
            input=piped.stdout,
            capture_output=True,
            env=environment,
            check=True,
            timeout=60,
        )
        assert taken.stdout.startswith(
            b"took in 1 new reply, 2 new entries of the successor table; the pool has 40 tokens"
        )
        assert reopened(tmp_path / "other") == reopened(project)

    @pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
    def test_bytes_never_reach_a_terminal(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        learned(project)
        lacli = [sys.executable, "-c", "import sys; from lacli.cli.main import main; sys.exit(main())", "pool"]
        terminal = Terminal([*lacli, "export", "-"])
        assert terminal.finish() == 2
        assert b"not text for a terminal" in terminal.seen
        assert b"LACLI" not in terminal.seen

    def test_of_several_pools_one_is_named(self, project: Path, tmp_path: Path, capfdbinary: Captured) -> None:
        assert run(capfdbinary, "export", str(tmp_path / "a"))[0] == 1
        learned(project)
        learned(project, fingerprint="cd" * 32)
        code, _, err = run(capfdbinary, "export", str(tmp_path / "a"))
        assert code == 2
        assert "abababab" in err
        assert "cdcdcdcd" in err
        assert run(capfdbinary, "export", str(tmp_path / "a"), "--tokenizer", "ef")[0] == 2
        assert run(capfdbinary, "export", str(tmp_path / "a"), "--tokenizer", "cd")[0] == 0

    @pytest.mark.parametrize("content", [b"", b"hello", b"LACLIPOOL" * 9])
    def test_what_is_no_pool_is_refused(
        self,
        project: Path,
        tmp_path: Path,
        capfdbinary: Captured,
        monkeypatch: pytest.MonkeyPatch,
        content: bytes,
    ) -> None:
        (tmp_path / "x").write_bytes(content)
        with open(tmp_path / "x", encoding="latin-1") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            code, out, err = run(capfdbinary, "import", "-")
        assert (code, out) == (1, "")
        assert err.startswith("lacli: error: stdin ")
        code, out, err = run(capfdbinary, "import", str(tmp_path / "x"))
        assert (code, out) == (1, "")
        assert err.startswith("lacli: error: ")
        assert err.count("\n") == 1
        assert not paths.pools_dir().exists()

    def test_a_file_that_is_not_there_is_a_mistake_in_the_call(self, project: Path, capfdbinary: Captured) -> None:
        code, out, err = run(capfdbinary, "import", "nowhere.pool")
        assert (code, out) == (2, "")
        assert "nowhere.pool cannot be read" in err


@pytest.fixture
def tokenizer(sandbox_with_model: Path, prepared_default: Any) -> Any:
    from lacli.text.tokenizer import Tokenizer

    return Tokenizer.load(prepared_default.folder)


@pytest.mark.parametrize("moved", ["pool", "project"])
def test_a_pool_moved_behind_a_link_is_cleared_like_any_other(
    project: Path, tmp_path: Path, capfdbinary: Captured, moved: str
) -> None:
    pool = learned(project)
    folder = pool.path.parent if moved == "pool" else pool.path.parent.parent
    shutil.move(folder, tmp_path / "other disk")
    folder.symlink_to(tmp_path / "other disk")
    assert reopened(project)
    assert run(capfdbinary, "clear", "--yes")[0] == 0
    left = [path.name for path in (tmp_path / "other disk").rglob("*") if path.is_file()]
    assert [name for name in left if not name.endswith(".lock")] == []


@pytest.mark.parametrize("name", ["LACLI_POOL_MB", "LACLI_POOLS_MB"])
@pytest.mark.parametrize("command", [["import", "{file}"], ["build", "."]])
def test_who_keeps_nothing_has_nothing_put_on_the_disk(
    project: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch, name: str, command: list[str]
) -> None:
    learned(project)
    file = tmp_path / "site.pool"
    assert run(capfdbinary, "export", str(file))[0] == 0
    before = {path: path.stat().st_mtime_ns for path in paths.pools_dir().rglob("*")}
    monkeypatch.setenv(name, "0")
    code, out, err = run(capfdbinary, *(word.format(file=file) for word in command))
    assert (code, out) == (2, "")
    assert f"{name}=0 says that nothing is to be kept" in err
    assert {path: path.stat().st_mtime_ns for path in paths.pools_dir().rglob("*")} == before


def test_an_import_leaves_out_what_the_tokenizer_shows_to_be_a_secret(
    project: Path, tmp_path: Path, capfdbinary: Captured, tokenizer: Any
) -> None:
    key = pool_key(project, tokenizer.fingerprint)
    pool = open_pool(key, paths.pools_dir(), "learn", 49_152)
    sound = tokenizer.encode("def add(a, b):\n    return a + b\n")
    assert pool.learn(PoolUpdate(sound, "unseen"))
    assert pool.learn(PoolUpdate(tokenizer.encode('key = "AKIAIOSFODNN7QWERTYZ"\n'), "unseen", table=rows()))
    assert run(capfdbinary, "export", str(tmp_path / "pool"))[0] == 0
    (tmp_path / "other").mkdir()
    code, out, err = run(capfdbinary, "import", str(tmp_path / "pool"), "--project", str(tmp_path / "other"), "--json")
    assert (code, err) == (0, "")
    assert (json.loads(out)["refused"], json.loads(out)["checked"], json.loads(out)["entries"]) == (1, True, 0)
    other = open_pool(pool_key(tmp_path / "other", tokenizer.fingerprint), paths.pools_dir(), "read", 49_152)
    assert [segment.tolist() for segment in other.segments()] == [sound]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
class TestBuild:
    @pytest.fixture
    def repository(self, project: Path) -> Path:
        (project / "a.py").write_text("def add(a, b):\n    return a + b\n", encoding="utf-8")
        (project / "notes.txt").write_text("not tracked\n", encoding="utf-8")
        subprocess.run(["git", "init", "-q"], check=True)
        subprocess.run(["git", "add", "a.py"], check=True)
        return project

    def test_tracked_files_and_those_named_are_indexed_without_torch(
        self, repository: Path, capfdbinary: Captured, tokenizer: Any
    ) -> None:
        code, out, err = run(capfdbinary, "build", "--json")
        assert (code, err) == (0, "")
        first = json.loads(out)
        assert first["files"] == 1
        program = (
            "import sys; from lacli.cli.main import main; code = main(['pool', 'build', 'notes.txt']); "
            "print(code, sorted({'torch', 'transformers', 'textual'} & set(sys.modules)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            check=True,
            timeout=60,
        )
        line, last = done.stdout.decode().splitlines()
        assert line.startswith("2 files of ")
        assert last == "0 []"
        learned(repository, fingerprint=tokenizer.fingerprint)
        shown = json.loads(run(capfdbinary, "info", "--json")[1])["pools"][0]["files"]
        assert [(each["path"], each["files"]) for each in shown] == [(first["path"], 2)]
        assert Path(first["path"]).stat().st_mode & 0o777 == 0o600

    def test_a_model_that_is_not_here_is_exit_3_with_the_remedy(self, repository: Path, capfdbinary: Captured) -> None:
        code, out, err = run(capfdbinary, "build")
        assert (code, out) == (3, "")
        assert "lacli models pull" in err
        assert not paths.pools_dir().exists()

    def test_a_path_that_is_missing_or_outside_is_a_usage_error(
        self, repository: Path, capfdbinary: Captured, tokenizer: Any
    ) -> None:
        for path in ("missing.py", ".."):
            code, _, err = run(capfdbinary, "build", path)
            assert code == 2
            assert err.count("\n") == 1
