"""Case S2: whatever happens to the file, nothing raises but `StoreUnavailable`, and nothing is repaired down."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from lacli.errors import LacliError
from lacli.sessions import database
from lacli.sessions.records import StoreUnavailable
from lacli.sessions.store import SessionStore, open_store
from tests.sessions.turns import turn

ROOT = Path(__file__).resolve().parents[2]
HERE = Path("/home/me/site")


def begun(store: SessionStore, turns: int = 3) -> str:
    """A session with some turns."""
    id_ = store.begin("chat", HERE, "m")
    for number in range(turns):
        store.append(id_, turn(f"question {number}", "answer " * 300))
    return id_


def questions(file: Path, id_: str) -> list[str]:
    return [each.question.text for each in SessionStore(file).session(id_).turns]


class TestDeleted:
    def test_a_chat_whose_log_is_deleted_goes_on_in_a_new_one(
        self, store: SessionStore, file: Path, told: list[str]
    ) -> None:
        id_ = begun(store)
        file.unlink()
        store.append(id_, turn("after"))
        store.append(id_, turn("later"))
        assert questions(file, id_) == ["after", "later"]
        assert len(told) == 1
        assert "gone from the log" in told[0]

    def test_a_log_that_was_moved_is_left_alone(self, store: SessionStore, file: Path, tmp_path: Path) -> None:
        id_ = begun(store)
        moved = tmp_path / "moved.db"
        file.rename(moved)
        before = moved.read_bytes()
        store.append(id_, turn("after"))
        assert moved.read_bytes() == before
        assert questions(file, id_) == ["after"]

    def test_a_session_removed_meanwhile_goes_on(self, store: SessionStore, file: Path, told: list[str]) -> None:
        id_ = begun(store)
        SessionStore(file).remove([id_])
        store.replace_last(id_, turn("after"))
        assert questions(file, id_) == ["after"]
        assert len(told) == 1

    def test_a_resumed_session_goes_on_though_its_log_is_gone(self, store: SessionStore, file: Path) -> None:
        session = store.session(begun(store))
        other = SessionStore(file)
        other.register(session)
        file.unlink()
        other.append(session.id, turn("after"))
        assert questions(file, session.id) == ["after"]


def overwritten(data: bytes, page: int) -> bytes:
    return data[: page * 4096] + os.urandom(4096) + data[(page + 1) * 4096 :]


class TestDamaged:
    @pytest.mark.parametrize("length", [15, 100, 511, 4096, 5000, 20_000])
    def test_a_cut_file_is_kept_aside_and_a_new_one_begun(
        self, store: SessionStore, file: Path, told: list[str], length: int
    ) -> None:
        id_ = begun(store)
        cut = file.read_bytes()[:length]
        file.write_bytes(cut)
        store.append(id_, turn("after"))
        assert questions(file, id_) == ["after"]
        aside = [each for each in file.parent.iterdir() if ".damaged-" in each.name]
        assert [each.read_bytes() for each in aside] == [cut]
        assert str(aside[0]) in told[0]

    def test_no_overwritten_page_raises_anything_else(self, store: SessionStore, file: Path) -> None:
        id_ = begun(store)
        whole = file.read_bytes()
        for page in range(len(whole) // 4096):
            file.write_bytes(overwritten(whole, page))
            other = SessionStore(file)
            for work in (
                lambda other=other: other.list(everywhere=True),
                lambda other=other: other.search("question", everywhere=True),
                lambda other=other: other.latest(HERE, ("chat",)),
                lambda other=other: other.days(everywhere=True),
                lambda other=other: other.append(id_, turn()),
                lambda other=other: other.append(other.begin("ask", HERE, "m"), turn()),
            ):
                with suppress(LacliError):
                    work()

    def test_what_a_damaged_schema_makes_sqlite_say_is_damage(self, store: SessionStore, file: Path) -> None:
        id_ = begun(store)
        whole = file.read_bytes()
        file.write_bytes(whole.replace(b"answer TEXT NOT NULL, token", b"answer TEXT NOT \xb9ULL, token", 1))
        store.append(id_, turn("after"))
        assert [each.name for each in file.parent.iterdir() if ".damaged-" in each.name]

    def test_reading_alone_moves_nothing(self, store: SessionStore, file: Path) -> None:
        begun(store)
        file.write_bytes(b"this is no database\n" * 500)
        with pytest.raises(StoreUnavailable, match="is damaged") as raised:
            SessionStore(file).list(everywhere=True)
        assert "rename it" in raised.value.hint
        assert file.read_bytes().startswith(b"this is no")

    def test_a_store_opened_for_a_chat_moves_it_at_once(self, sandbox: Path) -> None:
        file = sandbox / "data" / "sessions.db"
        file.parent.mkdir()
        file.write_bytes(b"this is no database\n" * 500)
        told: list[str] = []
        store = open_store(lambda notice: told.append(notice.text))
        assert store.list(everywhere=True) == []
        assert len(told) == 1

    def test_a_good_file_put_there_meanwhile_is_not_moved(self, store: SessionStore, file: Path) -> None:
        begun(store)
        good = file.read_bytes()
        file.write_bytes(b"this is no database\n" * 500)
        base = store._database
        found = base._identity()
        file.rename(file.with_name("bad"))
        file.write_bytes(good)
        base._set_aside(found)
        assert file.read_bytes() == good

    def test_a_log_beside_which_its_wal_is_gone_is_used(self, store: SessionStore, file: Path) -> None:
        id_ = begun(store, 1)
        with closing(sqlite3.connect(file)) as other:  # keeps the WAL from being written back
            other.execute("SELECT * FROM sessions").fetchall()
            store.append(id_, turn("in the WAL"))
            copy = file.with_name("copy.db")
            copy.write_bytes(file.read_bytes())
        again = SessionStore(copy)
        again.append(id_, turn("after"))
        assert questions(copy, id_)[-1] == "after"


class TestForeign:
    def test_a_newer_layout_is_left_alone(self, store: SessionStore, file: Path) -> None:
        id_ = begun(store)
        with closing(sqlite3.connect(file)) as other:
            other.execute("PRAGMA user_version = 999")
        before = file.read_bytes()
        with pytest.raises(StoreUnavailable, match="newer lacli"):
            store.append(id_, turn())
        with pytest.raises(StoreUnavailable, match="newer lacli"):
            store.list()
        assert file.read_bytes() == before
        assert sorted(each.suffix for each in file.parent.iterdir()) == [".db"]

    def test_a_layout_that_wants_more_is_left_alone(self, store: SessionStore, file: Path) -> None:
        id_ = begun(store)
        with closing(sqlite3.connect(file)) as other:
            other.execute("ALTER TABLE sessions ADD COLUMN extra TEXT NOT NULL DEFAULT ''")
            other.execute("CREATE TABLE turns2 (number INTEGER PRIMARY KEY, extra TEXT NOT NULL)")
            other.execute("DROP TABLE turns")
            other.execute("ALTER TABLE turns2 RENAME TO turns")
        with pytest.raises(StoreUnavailable, match="layout"):
            store.append(id_, turn())

    def test_a_column_that_must_not_be_null_is_no_crash(self, store: SessionStore, file: Path) -> None:
        id_ = begun(store)
        with closing(sqlite3.connect(file)) as other:
            other.execute("PRAGMA writable_schema = ON")
            other.execute(
                "UPDATE sqlite_schema SET sql = replace(sql, 'at_s REAL NOT NULL', 'at_s REAL NOT NULL, x NOT NULL')"
                " WHERE name = 'turns'"
            )
            other.commit()
        with pytest.raises(StoreUnavailable, match="layout"):
            store.append(id_, turn())

    def test_another_programs_database_is_left_alone(self, store: SessionStore, file: Path) -> None:
        file.parent.mkdir()
        with closing(sqlite3.connect(file)) as other:
            other.execute("CREATE TABLE sessions (what)")
        with pytest.raises(StoreUnavailable, match="layout"):
            store.append(store.begin("ask", HERE, "m"), turn())

    @pytest.mark.parametrize("kind", ["folder", "pipe"])
    def test_what_is_no_file_is_left_alone(self, store: SessionStore, file: Path, kind: str) -> None:
        file.parent.mkdir()
        if kind == "pipe" and not hasattr(os, "mkfifo"):
            pytest.skip("no pipes here")
        (os.mkfifo if kind == "pipe" else os.mkdir)(file)
        with pytest.raises(StoreUnavailable, match="not a regular file"):
            store.append(store.begin("ask", HERE, "m"), turn())

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_a_file_without_rights_is_left_alone(self, store: SessionStore, file: Path) -> None:
        id_ = begun(store)
        file.chmod(0)
        with pytest.raises(StoreUnavailable, match="opened"):
            store.append(id_, turn())

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
    def test_a_log_in_a_folder_that_cannot_be_written_is_still_read(self, store: SessionStore, file: Path) -> None:
        id_ = begun(store)
        file.chmod(0o400)
        file.parent.chmod(0o500)
        try:
            assert len(questions(file, id_)) == 3
            with pytest.raises(StoreUnavailable):
                store.append(id_, turn())
        finally:
            file.parent.chmod(0o700)

    def test_a_file_in_the_folders_place_is_no_crash(self, file: Path) -> None:
        file.parent.write_text("a file")
        store = SessionStore(file)
        with pytest.raises(StoreUnavailable, match="cannot be"):
            store.append(store.begin("ask", HERE, "m"), turn())


class TestShared:
    @pytest.mark.parametrize("journal", ["wal", "delete"])
    def test_a_lock_is_waited_for_within_bounds(
        self, file: Path, journal: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "MAX_WAIT_S", 0.1)
        id_ = begun(SessionStore(file))
        store = SessionStore(file)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute(f"PRAGMA journal_mode = {journal}")
            other.execute("BEGIN EXCLUSIVE")
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="held by another program"):
                    store.append(id_, turn("lost"))
            slept: list[float] = []
            monkeypatch.setattr("time.sleep", slept.append)
            with pytest.raises(StoreUnavailable):  # the patience of a run is used up but once
                store.append(id_, turn("lost"))
            assert slept == []
        store.append(id_, turn("after"))
        assert questions(file, id_)[3:] == ["after"]

    WRITER = """
import sys
from pathlib import Path
from lacli.sessions.store import SessionStore
from tests.sessions.turns import turn
store = SessionStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
id_ = store.begin("chat", None, "m")
for number in range(int(sys.argv[2])):
    store.append(id_, turn(f"{id_} {number}", "answer " * 500))
    print(id_, number, flush=True)
"""

    def start(self, file: Path, turns: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", self.WRITER, str(file), str(turns)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload, no-any-return]

    def test_processes_that_begin_one_log_at_once_lose_nothing(self, file: Path) -> None:
        writers = [self.start(file, 15) for _ in range(3)]
        for each in writers:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        said = []
        for each in writers:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        for each in writers:
            out, _ = each.communicate(timeout=60)
            assert each.returncode == 0
            said += out.split("\n")[:-1]
        kept = [
            each.question.text for one in SessionStore(file).list() for each in SessionStore(file).session(one.id).turns
        ]
        assert sorted(kept) == sorted(said)
        assert len(kept) == 45

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
    def test_a_process_that_is_killed_has_kept_what_it_said_it_had(self, file: Path) -> None:
        for stop_at in (0, 3, 7):
            writer = self.start(file, 1000)
            assert writer.stdout is not None
            assert writer.stdin is not None
            writer.stdout.readline()
            writer.stdin.write("go\n")
            writer.stdin.flush()
            said = [writer.stdout.readline() for _ in range(stop_at + 1)]
            writer.kill()
            said += writer.communicate()[0].splitlines(keepends=True)
            whole = [line for line in said if line.endswith("\n")]
            id_ = whole[0].split()[0]
            assert questions(file, id_)[: len(whole)] == [line.strip() for line in whole]

    def test_a_full_disk_loses_nothing_that_was_kept(self, file: Path) -> None:
        resource = pytest.importorskip("resource")
        id_ = begun(SessionStore(file))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 8192, hard))
        try:
            with pytest.raises(StoreUnavailable, match=r"disk|written"):
                SessionStore(file).append(id_, turn("more", "x" * 100_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert questions(file, id_)[:3] == ["question 0", "question 1", "question 2"]
        SessionStore(file).append(id_, turn("after"))
        assert questions(file, id_)[-1] == "after"
