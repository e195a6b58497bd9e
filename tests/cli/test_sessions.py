"""`lacli sessions` and `lacli logs`, as they are seen."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from lacli.cli.sessions.lines import fitted
from lacli.events import Attachment
from lacli.sessions import switch
from lacli.sessions.store import SessionStore, path
from tests.cli.conftest import ROOT, Program, Scripted, Terminal
from tests.sessions.turns import turn

NOW = time.time()


@pytest.fixture
def log(project: Path, monkeypatch: pytest.MonkeyPatch) -> SessionStore:
    """Three sessions, of which two are of the current folder: aa…, ab… and bb…."""
    now = time.time()  # ages must not hang on how long the other tests took
    ids = iter(["aa00000000000001", "ab00000000000002", "bb00000000000003"])
    monkeypatch.setattr("secrets.token_hex", lambda count: next(ids))
    store = SessionStore(path())
    first = store.begin("chat", project, "smollm2", "Be terse.")
    store.append(store.begin("ask", project, "smollm2"), turn("\x1b[31mred\x1b[0m alert", "don't", now - 86_400 * 40))
    attached = (Attachment("src/a.py", "import os\n"),)
    store.append(first, turn("What does\nos.replace do?", "It renames.", now - 7200, attachments=attached))
    store.append(first, turn("and 错题?", "half an ans", now - 3600, reason="cancelled"))
    store.append(store.begin("edit", Path("/elsewhere"), "large"), turn("fix it", "done", now - 60))
    return store


class TestList:
    def test_the_sessions_of_this_project_are_listed(self, scripted: Scripted, log: SessionStore) -> None:
        done = scripted.run(["sessions"])
        assert done.code == 0
        assert done.out.splitlines() == [
            "aa000000  1 h ago     chat          2  [interrupted] What does os.replace do?",
            "ab000000  40 d ago    ask           1  \x1b[31mred\x1b[0m alert",
        ]

    def test_all_says_whose_they_are(self, scripted: Scripted, log: SessionStore) -> None:
        lines = scripted.run(["sessions", "list", "--all", "-n", "1"]).out.splitlines()
        assert lines == ["bb000000  1 min ago   edit          1  /elsewhere                fix it"]

    def test_more_than_a_database_can_count_is_a_wrong_use(self, scripted: Scripted, log: SessionStore) -> None:
        result = scripted.run(["sessions", "list", "-n", str(2**64)])
        assert result.code == 2
        assert result.err.startswith("lacli: error: invalid value for '-n'")

    def test_json_has_all_of_it(self, scripted: Scripted, log: SessionStore, project: Path) -> None:
        found = json.loads(scripted.run(["sessions", "list", "--json"]).out)
        assert [each["id"] for each in found] == ["aa00000000000001", "ab00000000000002"]
        assert found[0]["project"] == str(project)
        assert (found[0]["turns"], found[0]["interrupted"]) == (2, True)

    def test_where_nothing_is_kept_a_note_says_so(self, scripted: Scripted, project: Path) -> None:
        done = scripted.run(["sessions", "list"])
        assert (done.code, done.out) == (0, "")
        assert "no session is kept of this project" in done.err

    def test_on_a_terminal_lines_fit_and_steer_nothing(self, program: Program, log: SessionStore) -> None:
        store = SessionStore(path())
        store.append("aa00000000000001", turn("x" * 300))
        for number in range(25):
            id_ = f"cc{number:014x}"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("secrets.token_hex", lambda count, id_=id_: id_)
                store.append(store.begin("ask", Path.cwd(), "m"), turn("错题" * 60, at=NOW))
        terminal = Terminal(program.command("sessions", "list", "-n", "40"), columns=60)
        assert terminal.finish() == 0
        assert b"\x1b[31m" not in terminal.seen
        lines = terminal.seen.decode().split("\r\n")
        assert lines[0].split() == ["id", "used", "kind", "turns", "title"]
        assert len(lines) == 29
        from lacli.cli.terminal.tty import column_after

        assert max(column_after(0, line) for line in lines) <= 60
        terminal = Terminal(program.command("sessions", "list"), columns=60)
        assert terminal.finish() == 0
        assert b"only the last 20 are listed" in terminal.seen


class TestShow:
    def test_a_session_is_shown_with_names_of_what_was_attached(self, scripted: Scripted, log: SessionStore) -> None:
        out = scripted.run(["sessions", "show", "aa"]).out
        assert out.startswith("aa00000000000001  chat in ")
        for part in (
            "system: Be terse.\n",
            "> [src/a.py, 10 characters]\n> What does\n> os.replace do?\n\nIt renames.\n",
            "(interrupted)\n> and 错题?\n\nhalf an ans\n",
        ):
            assert part in out
        assert "import os" not in out

    def test_without_an_id_it_is_the_one_used_last_here(self, scripted: Scripted, log: SessionStore) -> None:
        assert scripted.run(["sessions", "show"]).out.startswith("aa00000000000001")

    def test_json_has_attachments_and_ids(self, scripted: Scripted, log: SessionStore) -> None:
        turns = json.loads(scripted.run(["sessions", "show", "aa", "--json"]).out)["turns"]
        assert turns[0]["attachments"] == [{"label": "src/a.py", "text": "import os\n"}]
        assert turns[0]["token_ids"] == [1, 2, 70_000]

    def test_an_ambiguous_id_lists_those_meant(self, scripted: Scripted, log: SessionStore) -> None:
        done = scripted.run(["sessions", "show", "a"])
        assert (done.code, done.out) == (2, "")
        assert "aa00000000000001 (chat: What does os.replace do?), ab00000000000002 (ask: red" in done.err
        assert done.err.count("\n") == 1
        assert scripted.run(["sessions", "show", "zz"]).code == 2


class TestSearch:
    def test_what_was_found_stands_below_its_session(self, scripted: Scripted, log: SessionStore) -> None:
        lines = scripted.run(["sessions", "search", "OS.REPLACE", "do"]).out.splitlines()
        assert len(lines) == 2
        assert lines[1] == "    1. question: What does os.replace do?"

    @pytest.mark.parametrize("text", ["don't", '"', "NEAR(", "%_", "*", "'", "错题", "", "\udcff", "--", "a:b", "C++"])
    def test_no_text_is_an_error(self, scripted: Scripted, log: SessionStore, text: str) -> None:
        done = scripted.run(["sessions", "search", "--json", "--", text])
        assert done.code == 0
        assert len(json.loads(done.out)) == {"don't": 1, "'": 1, "错题": 1, "": 2}.get(text, 0)

    def test_other_projects_only_where_asked(self, scripted: Scripted, log: SessionStore) -> None:
        done = scripted.run(["sessions", "search", "fix it"])
        assert (done.code, done.out) == (0, "")
        assert "--all looks everywhere" in done.err
        assert "fix it" in scripted.run(["sessions", "search", "--all", "fix it"]).out


class TestRemove:
    def test_sessions_are_removed_by_id(self, scripted: Scripted, log: SessionStore) -> None:
        assert scripted.run(["sessions", "rm", "aa", "bb", "-y"]).err == "lacli: deleted 2 sessions\n"
        assert [each.id[:2] for each in log.list(everywhere=True)] == ["ab"]

    def test_one_wrong_id_removes_none(self, scripted: Scripted, log: SessionStore) -> None:
        assert scripted.run(["sessions", "rm", "aa", "zz", "-y"]).code == 2
        assert len(log.list(everywhere=True)) == 3

    def test_old_ones_go_by_age(self, scripted: Scripted, log: SessionStore) -> None:
        assert scripted.run(["sessions", "rm", "--older-than", "30d", "-y"]).code == 0
        assert [each.id[:2] for each in log.list(everywhere=True)] == ["bb", "aa"]

    def test_all_of_a_project_leave_others_alone(self, scripted: Scripted, log: SessionStore) -> None:
        assert scripted.run(["sessions", "rm", "--all-in-project", "-y"]).code == 0
        assert [each.id[:2] for each in log.list(everywhere=True)] == ["bb"]
        assert "nothing to delete" in scripted.run(["sessions", "rm", "--all-in-project", "-y"]).err

    @pytest.mark.parametrize(
        "arguments", [[], ["aa", "--all-in-project"], ["--older-than", "soon"], ["--older-than", "-1d"]]
    )
    def test_what_is_not_clear_removes_nothing(
        self, scripted: Scripted, log: SessionStore, arguments: list[str]
    ) -> None:
        assert scripted.run(["sessions", "rm", *arguments, "-y"]).code == 2
        assert len(log.list(everywhere=True)) == 3

    def test_where_nobody_can_be_asked_nothing_is_removed(self, program: Program, log: SessionStore) -> None:
        done = subprocess.run(
            program.command("sessions", "rm", "aa"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,
        )
        assert done.returncode == 2
        assert b"--yes" in done.stderr
        assert len(log.list(everywhere=True)) == 3

    def test_a_no_removes_nothing(self, program: Program, log: SessionStore) -> None:
        terminal = Terminal(program.command("sessions", "rm", "aa"))
        terminal.wait_for(b"[y/N]")
        terminal.send(b"n\n")
        assert terminal.finish() == 1
        assert len(log.list(everywhere=True)) == 3


class TestExport:
    def test_markdown_goes_to_stdout(self, scripted: Scripted, log: SessionStore) -> None:
        out = scripted.run(["sessions", "export", "aa"]).out
        assert "# What does os.replace do?" in out
        assert "import os" in out

    def test_a_file_is_private_and_not_overwritten(self, scripted: Scripted, log: SessionStore, project: Path) -> None:
        assert scripted.run(["sessions", "export", "aa", "-o", "talk.json"]).code == 0
        assert (project / "talk.json").stat().st_mode & 0o777 == 0o600
        assert json.loads((project / "talk.json").read_text(encoding="utf-8"))["id"] == "aa00000000000001"
        assert scripted.run(["sessions", "export", "ab", "-o", "talk.json"]).code == 2
        assert scripted.run(["sessions", "export", "ab", "-o", "talk.json", "--force", "--markdown"]).code == 0
        assert (project / "talk.json").read_text(encoding="utf-8").startswith("# ")
        assert [each.name for each in project.iterdir()] == ["talk.json"]

    def test_a_place_that_cannot_be_written_is_one_line(self, scripted: Scripted, log: SessionStore) -> None:
        done = scripted.run(["sessions", "export", "aa", "-o", "no/such/folder.md"])
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)


class TestLogs:
    def test_off_lasts_until_on(self, scripted: Scripted, log: SessionStore, sandbox: Path) -> None:
        assert scripted.run(["logs"]).out.startswith("on: ")
        assert scripted.run(["logs", "off"]).code == 0
        assert not switch.is_on()
        assert json.loads(scripted.run(["logs", "status", "--json"]).out)["on"] is False
        assert scripted.run(["logs", "off"]).code == 0
        assert scripted.run(["logs", "on"]).code == 0
        assert switch.is_on()
        assert [each.name for each in (sandbox / "data").iterdir()] == ["sessions.db"]

    def test_status_says_how_much_there_is(self, scripted: Scripted, log: SessionStore) -> None:
        out = scripted.run(["logs", "status"]).out
        assert str(path()) in out
        assert "3 sessions of 4 turns" in out

    def test_path_prints_where_the_log_is(self, scripted: Scripted, project: Path) -> None:
        assert scripted.run(["logs", "path"]).out == f"{path()}\n"
        assert not path().exists()

    def test_status_is_known_though_the_log_is_damaged(self, scripted: Scripted, log: SessionStore) -> None:
        path().write_bytes(b"x" * 9000)
        done = scripted.run(["logs", "status"])
        assert done.code == 1
        assert done.out.startswith("on: ")
        assert "rename it" in done.err
        assert path().read_bytes() == b"x" * 9000


class TestFitting:
    def test_wide_characters_take_two_columns(self) -> None:
        assert fitted("错题错题错题", 12) == "错题错题错题"
        assert fitted("错题错题错题", 11) == "错题错题..."
        assert fitted("one\ntwo", 0) == "one two"


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys; from lacli.cli.main import main\n"
        "for line in ('sessions list', 'sessions search x', 'logs', 'stats'): main(line.split())\n"
        "print({'torch', 'transformers', 'textual', 'rich', 'numpy', 'prompt_toolkit'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.endswith("set()\n")


@pytest.mark.parametrize("value", ["9e999", "-9e999", "1e300", "'text'", "x'00ff'"])
def test_mad_values_in_a_damaged_row_are_no_crash(scripted: Scripted, log: SessionStore, value: str) -> None:
    with closing(sqlite3.connect(path())) as connection:
        connection.execute(f"UPDATE turns SET at_s = {value}, token_ids = {value}, counts = {value}")
        connection.execute(f"UPDATE sessions SET used_s = {value}, begun_s = {value}, title = {value}")
        connection.execute(f"UPDATE OR REPLACE days SET value = {value}, day = {value}")
        connection.execute('UPDATE turns SET counts = \'{"step_ms": Infinity, "tokens": "x"}\' WHERE number = 2')
        connection.commit()
    for line in ("list --all", "show aa", "show aa --json", "export aa", "search don"):
        done = scripted.run(["sessions", *line.split()])
        assert (done.code, bool(done.out)) == (0, True)
    assert scripted.run(["logs"]).code == 0
    assert scripted.run(["stats", "--all", "--json"]).code == 0
