"""`lacli pool`, through the program's own entry."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lacli import paths
from lacli.cli.main import main
from lacli.pool.store import Pool, open_pool
from lacli.pool.update import PoolUpdate
from lacli.project.root import pool_key

from .conftest import FINGERPRINT, VOCAB
from .test_pool_store import reply

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder, and the current one."""
    folder = tmp_path / "site [x]"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def learned(project: Path, fingerprint: str = FINGERPRINT) -> Pool:
    pool = open_pool(pool_key(project, fingerprint), paths.pools_dir(), "learn", VOCAB, "smol")
    assert pool.learn(PoolUpdate(reply(1)))
    assert pool.learn(PoolUpdate(reply(2)))
    return pool


class TestInfo:
    def test_it_is_the_default_and_needs_no_pool(self, project: Path, capsys: Captured) -> None:
        assert main(["pool"]) == 0
        out, err = capsys.readouterr()
        assert str(project) in out
        assert "none yet" in out
        assert err == ""
        assert not paths.pools_dir().exists()

    def test_it_shows_every_tokenizer_s_pool(self, project: Path, capsys: Captured) -> None:
        learned(project)
        learned(project, "another")
        assert main(["pool", "info"]) == 0
        out = capsys.readouterr().out
        assert out.count("80 tokens in 2 replies") == 2
        assert "smol" in out
        assert "just now" in out

    def test_json_is_one_object(self, project: Path, capsys: Captured, tmp_path: Path) -> None:
        pool = learned(project)
        assert main(["pool", "info", "--json", "--project", str(project)]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["project"] == str(project)
        assert shown["tokens"] == 80
        assert shown["pools"][0]["path"] == str(pool.path)
        assert shown["pools"][0]["bytes"] == pool.path.stat().st_size
        assert shown["pools"][0]["damage"] is None

    def test_damage_is_shown_and_changed_by_nothing(self, project: Path, capsys: Captured) -> None:
        pool = learned(project)
        pool.path.write_bytes(b"garbage")
        assert main(["pool"]) == 0
        assert "no lacli pool" in capsys.readouterr().out
        assert pool.path.read_bytes() == b"garbage"

    @pytest.mark.parametrize("place", ["/", "missing", "home"])
    def test_no_project_is_a_usage_error(
        self, project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        (project / "home").mkdir()
        monkeypatch.setenv("HOME", str(project / "home"))
        assert main(["pool", "info", "--project", place]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("lacli: error: ")
        assert err.count("\n") == 1

    def test_it_imports_no_torch(self, project: Path) -> None:
        learned(project)
        code = (
            "import sys; from lacli.cli.main import main; code = main(['pool', 'info']); "
            "print(code, sorted({'torch', 'transformers', 'textual', 'rich'} & set(sys.modules)))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert run.stdout.splitlines()[-1] == "0 []"


class TestList:
    def test_all_projects_are_listed_the_last_used_first(self, project: Path, capsys: Captured, tmp_path: Path) -> None:
        assert main(["pool", "list"]) == 0
        assert capsys.readouterr() == ("", "lacli: there are no pools yet\n")
        (tmp_path / "other").mkdir()
        learned(project)
        learned(tmp_path / "other")
        (paths.pools_dir() / "a stray file").write_text("x")
        assert main(["pool", "list"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split("  ")[-1] for line in lines] == [str(tmp_path / "other"), str(project)]
        assert main(["pool", "list", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)) == 2


class TestPath:
    def test_it_prints_the_folder_only(self, project: Path, capsys: Captured) -> None:
        pool = learned(project)
        assert main(["pool", "path"]) == 0
        assert capsys.readouterr().out == f"{pool.path.parent.parent}\n"


class TestClear:
    def test_everything_learned_is_gone(self, project: Path, capsys: Captured) -> None:
        pool = learned(project)
        pool.path.with_name("pool.lacli.1.bad").write_bytes(b"old")
        learned(project, "another")
        assert main(["pool", "clear", "--yes"]) == 0
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("lacli: deleted")
        left = [path.name for path in paths.pools_dir().rglob("*") if path.is_file()]
        assert set(left) <= {"pool.lacli.lock"}
        assert pool.learn(PoolUpdate(reply(3)))  # a running session goes on with an empty pool
        assert open_pool(pool_key(project, FINGERPRINT), paths.pools_dir(), "read", VOCAB).size == 40

    def test_nothing_to_delete_is_no_error(self, project: Path, capsys: Captured) -> None:
        assert main(["pool", "clear"]) == 0
        assert "nothing to delete" in capsys.readouterr().err
        assert not paths.pools_dir().exists()

    def test_without_a_terminal_it_asks_for_yes(
        self, project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool = learned(project)
        with open("/dev/null", encoding="ascii") as nothing:
            monkeypatch.setattr(sys, "stdin", nothing)
            assert main(["pool", "clear"]) == 2
        assert "--yes" in capsys.readouterr().err
        assert pool.path.exists()

    def test_other_projects_keep_theirs(self, project: Path, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        other = learned(tmp_path / "other")
        learned(project)
        assert main(["pool", "clear", "-y"]) == 0
        assert other.path.exists()


class TestVerify:
    def test_a_sound_pool(self, project: Path, capsys: Captured) -> None:
        pool = learned(project)
        assert main(["pool", "verify"]) == 0
        assert capsys.readouterr().out == f"sound  {pool.path}\n"

    @pytest.mark.parametrize(("cut", "words"), [(-3, "incomplete"), (40, "damaged")])
    def test_a_bad_one_is_exit_code_1(self, project: Path, capsys: Captured, cut: int, words: str) -> None:
        pool = learned(project)
        bad = pool.path.read_bytes()[:cut]
        pool.path.write_bytes(bad)
        assert main(["pool", "verify"]) == 1
        out, err = capsys.readouterr()
        assert out.startswith("damaged")
        assert words in err
        assert pool.path.read_bytes() == bad
