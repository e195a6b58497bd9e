"""Sessions kept, found again and removed."""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from lacli.chat.conversation import Conversation
from lacli.events import Attachment, Counts
from lacli.sessions.export import as_markdown, markdown, record
from lacli.sessions.records import NoSuchSession
from lacli.sessions.store import SessionStore
from tests.sessions.turns import turn

HERE = Path("/home/me/site")


class TestKeeping:
    def test_a_session_comes_back_as_it_was(self, store: SessionStore, file: Path) -> None:
        kept = turn("why?", "because", attachments=(Attachment("a.py", "x = 1\n"), Attachment("stdin", "")))
        interrupted = turn("and?", "well", reason="cancelled", token_ids=())
        id_ = store.begin("chat", HERE, "smollm2", "Be terse.")
        store.append(id_, kept)
        store.append(id_, interrupted)
        session = SessionStore(file).session(id_)
        assert session.turns == (kept, interrupted)
        assert (session.id, session.kind, session.project) == (id_, "chat", HERE)
        assert (session.model, session.system, session.title) == ("smollm2", "Be terse.", "why?")
        assert session.turns[1].interrupted

    def test_a_thought_is_kept_apart_from_its_answer(self, store: SessionStore, file: Path) -> None:
        kept = replace(turn("why?", "because"), thought="well, why?")
        id_ = store.begin("ask", HERE, "m")
        store.append(id_, kept)
        session = SessionStore(file).session(id_)
        assert session.turns == (kept,)
        assert record(session)["turns"][0]["thought"] == "well, why?"
        assert "> well, why?\n\nbecause" in markdown(session)
        assert "> well, why?\n\nbecause" in as_markdown("", session.turns)
        assert [message.text for message in Conversation("", session.turns).ask("and?")] == ["why?", "because", "and?"]

    def test_a_log_of_an_older_lacli_gets_a_place_for_thoughts(
        self, store: SessionStore, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        id_ = store.begin("ask", HERE, "m")
        store.append(id_, turn())
        with sqlite3.connect(file) as connection:
            connection.execute("ALTER TABLE turns DROP COLUMN thought")
            connection.execute("DELETE FROM migrations WHERE name = 'm002_thoughts'")
            connection.execute("PRAGMA user_version = 1")
        connection.close()
        newer = SessionStore(file)
        newer.append(id_, replace(turn(), thought="hm"))
        assert [each.thought for each in newer.session(id_).turns] == ["", "hm"]

    def test_a_session_without_a_turn_is_not_kept(self, store: SessionStore, file: Path) -> None:
        store.begin("chat", HERE, "m")
        assert not file.exists()

    def test_what_is_no_utf8_is_kept_and_found(self, store: SessionStore) -> None:
        project = Path(os.fsdecode(b"/home/me/caf\xe9"))
        id_ = store.begin("ask", project, "m")
        store.append(
            id_, turn("what is \udcff\ud83d\ude00?", "nul \0 byte", attachments=(Attachment("\udce9.py", ""),))
        )
        session = store.session(id_)
        assert session.turns[0].question.text == "what is \ufffd\U0001f600?"
        assert session.turns[0].answer.text == "nul \0 byte"
        assert session.project == project
        assert [each.id for each in store.list(project)] == [id_]

    def test_of_a_huge_attachment_beginning_and_end_are_kept_once(self, store: SessionStore, file: Path) -> None:
        text = "".join(f"line {number}\n" for number in range(200_000))
        id_ = store.begin("ask", HERE, "m")
        for _ in range(3):
            store.append(id_, turn(attachments=(Attachment("big.log", text),)))
        kept = store.session(id_).turns[2].question.attachments[0].text
        assert kept.startswith("line 0\n")
        assert kept.endswith("line 199999\n")
        assert "characters are not kept" in kept
        assert file.stat().st_size < 400_000

    def test_folder_and_file_are_private_whatever_the_umask(self, store: SessionStore, file: Path) -> None:
        before = os.umask(0)
        try:
            store.append(store.begin("ask", None, "m"), turn())
        finally:
            os.umask(before)
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    def test_a_file_that_others_could_read_becomes_private(self, store: SessionStore, file: Path) -> None:
        store.append(store.begin("ask", None, "m"), turn())
        file.chmod(0o644)
        store.append(store.begin("ask", None, "m"), turn())
        assert file.stat().st_mode & 0o777 == 0o600


class TestChanging:
    def test_the_last_turn_is_replaced_or_taken_away(self, store: SessionStore) -> None:
        id_ = store.begin("chat", HERE, "m")
        first, second, other = turn("1", at=1.0), turn("2", at=2.0), turn("2", "again", at=3.0)
        store.append(id_, first)
        store.append(id_, second)
        store.replace_last(id_, other)
        assert store.session(id_).turns == (first, other)
        store.replace_last(id_, None)
        assert store.session(id_).turns == (first,)
        store.replace_last(id_, None)
        assert store.list(everywhere=True) == []
        store.append(id_, second)
        assert store.session(id_).turns == (second,)

    def test_ids_of_another_model_are_forgotten(self, store: SessionStore) -> None:
        id_ = store.begin("chat", HERE, "small")
        store.append(id_, turn(), "small")
        assert store.session(id_).turns[0].answer.token_ids
        store.append(id_, turn(), "large")
        session = store.session(id_)
        assert session.model == "large"
        assert [bool(each.answer.token_ids) for each in session.turns] == [False, True]

    def test_a_system_message_is_changed(self, store: SessionStore, file: Path) -> None:
        id_ = store.begin("chat", HERE, "m", "old")
        store.append(id_, turn())
        store.describe(id_, "new")
        assert SessionStore(file).session(id_).system == "new"


class TestFinding:
    def test_a_unique_beginning_of_an_id_is_enough(self, store: SessionStore) -> None:
        id_ = store.begin("ask", HERE, "m")
        store.append(id_, turn())
        assert store.session(id_[:1]).id == store.full_id(id_[:4].upper()) == id_

    def test_of_several_none_is_taken_and_all_are_named(
        self, store: SessionStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ids = iter(["ab00000000000000", "ab10000000000000"])
        monkeypatch.setattr("secrets.token_hex", lambda count: next(ids))
        for question in ("one", "two"):
            store.append(store.begin("ask", HERE, "m"), turn(question))
        with pytest.raises(NoSuchSession) as raised:
            store.session("ab")
        assert "2 sessions" in raised.value.message
        assert "ab00000000000000 (ask: one)" in raised.value.hint
        assert "ab10000000000000 (ask: two)" in raised.value.hint

    @pytest.mark.parametrize("prefix", ["", "zz", "%", "_", "' OR 1=1 --", "\0"])
    def test_what_is_no_beginning_is_named(self, store: SessionStore, prefix: str) -> None:
        store.append(store.begin("ask", HERE, "m"), turn())
        with pytest.raises(NoSuchSession):
            store.session(prefix)

    def test_the_latest_is_that_of_the_project_and_of_the_kinds(self, store: SessionStore) -> None:
        for at, (kind, project) in enumerate(
            [("chat", HERE), ("edit", HERE), ("chat", Path("/other")), ("chat", None)]
        ):
            store.append(store.begin(kind, project, "m"), turn(f"{kind} {project}", at=float(at)))
        found = store.latest(HERE, ("ask", "chat"))
        assert found is not None
        assert found.title == "chat /home/me/site"
        outside = store.latest(None, ("chat",))
        assert outside is not None
        assert outside.title == "chat None"
        assert store.latest(Path("/nowhere"), ("chat",)) is None

    def test_lists_are_of_the_project_and_the_one_used_last_comes_first(self, store: SessionStore) -> None:
        first, second = store.begin("ask", HERE, "m"), store.begin("chat", HERE, "m")
        for at, id_ in enumerate((first, second, first)):
            store.append(id_, turn(at=float(at)))
        store.append(store.begin("ask", None, "m"), turn(at=0.5))
        assert [(each.id, each.turns) for each in store.list(HERE)] == [(first, 2), (second, 1)]
        assert len(store.list(everywhere=True)) == 3
        assert len(store.list(everywhere=True, limit=2)) == 2

    def test_a_clock_that_was_put_back_changes_no_order(self, store: SessionStore) -> None:
        first, second = store.begin("chat", HERE, "m"), store.begin("chat", HERE, "m")
        store.append(first, turn(at=2_000.0))
        store.append(second, turn(at=1_000.0))
        assert [each.id for each in store.list(HERE)] == [second, first]
        latest = store.latest(HERE, ("chat",))
        assert latest is not None
        assert latest.id == second

    def test_nothing_is_found_and_nothing_made_where_there_is_no_log(self, store: SessionStore, file: Path) -> None:
        assert (store.list(everywhere=True), store.days(), store.search(""), store.remove(["x"])) == ([], {}, [], 0)
        assert store.latest(None, ("chat",)) is None
        assert not file.parent.exists()


class TestRemoving:
    def test_what_is_removed_is_nowhere_in_the_files(self, store: SessionStore, file: Path) -> None:
        gone, stays = store.begin("ask", HERE, "m"), store.begin("ask", HERE, "m")
        shared = Attachment("shared.py", "SHARED" * 100)
        secret = (Attachment("s.py", "ATTACHED" * 2000), shared)
        store.append(gone, turn("ASKED" * 300, "ANSWERED" * 300, attachments=secret))
        store.append(stays, turn(attachments=(shared,)))
        assert store.remove([gone, "unknown"]) == 1
        held = b"".join(each.read_bytes() for each in file.parent.iterdir())
        assert not [word for word in (b"ASKED", b"ANSWERED", b"ATTACHED") if word in held]
        assert store.session(stays).turns[0].question.attachments == (shared,)

    def test_the_room_is_given_back(self, store: SessionStore, file: Path) -> None:
        for number in range(5):
            store.append(store.begin("ask", HERE, "m"), turn(attachments=(Attachment("f", str(number) * 150_000),)))
        before = file.stat().st_size
        store.remove([each.id for each in store.list(HERE)])
        assert before > 700_000
        assert file.stat().st_size < 100_000


class TestDays:
    def test_counts_are_added_up_by_day_and_outlive_their_sessions(self, store: SessionStore, file: Path) -> None:
        noon = time.mktime((2026, 3, 2, 12, 0, 0, 0, 0, -1))
        counts = Counts(1, 10, 4, 9, 6, 5, {"project": 6}, {"project": 5}, saved_ms=-2.5)
        id_ = store.begin("ask", HERE, "m")
        store.append(id_, turn(at=noon, counts=counts))
        SessionStore(file).append(id_, turn(at=noon + 60, counts=counts))
        store.append(id_, turn(at=noon + 86_400, counts=counts))
        store.remove([id_])
        assert store.days(HERE) == {"2026-03-02": counts + counts, "2026-03-03": counts}
        assert store.days(Path("/other")) == {}
        assert store.days(everywhere=True)["2026-03-03"] == counts

    def test_a_turn_that_is_put_back_is_not_counted_again(self, store: SessionStore) -> None:
        id_ = store.begin("chat", HERE, "m")
        first, other = turn(at=1.0), turn(at=2.0)
        store.append(id_, first)
        store.replace_last(id_, other)
        store.replace_last(id_, first)
        assert sum(each.replies for each in store.days(HERE).values()) == 2

    def test_numbers_are_counted_without_a_word(self, store: SessionStore, file: Path) -> None:
        store.count(HERE, Counts(replies=1, predicted_n=7), 1_000_000.0)
        assert [each.predicted_n for each in store.days(HERE).values()] == [7]
        assert store.list(everywhere=True) == []


def test_the_log_says_which_steps_made_it(store: SessionStore, file: Path) -> None:
    store.append(store.begin("ask", HERE, "m"), turn())
    connection = sqlite3.connect(file)
    names = [row[0] for row in connection.execute("SELECT name FROM migrations ORDER BY name")]
    assert connection.execute("PRAGMA user_version").fetchone() == (len(names),)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert names == ["m001_sessions", "m002_thoughts"]
    connection.close()
