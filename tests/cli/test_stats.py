"""`lacli stats`: weeks, table, chart."""

from __future__ import annotations

import datetime
import json
import re
import time
from pathlib import Path

import pytest

from lacli.cli.stats.weeks import chart, table, weekly
from lacli.events import Counts
from lacli.sessions.store import SessionStore, path
from tests.cli.conftest import Scripted
from tests.sessions.turns import turn

MONDAY = datetime.date(2026, 11, 30)
GUESSED = Counts(1, 101, 40, 100, 90, 60, {"project": 70, "files": 20}, {"project": 50, "files": 10}, saved_ms=90_000.0)
PLAIN = Counts(replies=2, predicted_n=20, steps=18, plain_steps=18)


class TestStats:
    def test_weeks_begin_on_monday_with_the_first_that_has_a_reply(self) -> None:
        days = {"2026-11-29": PLAIN, "2026-11-23": PLAIN, "2026-11-15": PLAIN, "2026-01-01": PLAIN, "odd": PLAIN}
        found = weekly(days, 8, datetime.date(2026, 12, 2))
        assert [(str(monday), counts.replies) for monday, counts in found] == [
            ("2026-11-09", 2),
            ("2026-11-16", 0),
            ("2026-11-23", 4),
            ("2026-11-30", 0),
        ]

    def test_the_table_says_who_brought_what(self) -> None:
        lines = table([(MONDAY - datetime.timedelta(weeks=1), PLAIN), (MONDAY, GUESSED)], 100)
        assert [line.split() for line in lines] == [
            ["week", "of", "replies", "tokens", "tok/step", "saved", "guessed", "project", "files"],
            ["2026-11-23", "2", "20", "1.00", "-", "0%", "0%", "0%"],
            ["2026-11-30", "1", "101", "2.50", "90.0", "s", "59%", "50%", "10%"],
            ["all", "3", "121", "2.03", "90.0", "s", "50%", "41%", "8%"],
        ]

    @pytest.mark.parametrize("width", [30, 43, 60, 80, 200])
    def test_table_and_chart_fit_and_are_ascii(self, width: int) -> None:
        found = [(MONDAY - datetime.timedelta(weeks=1), PLAIN), (MONDAY, GUESSED)]
        for line in [*table(found, max(width, 43)), *chart(found, width)]:
            assert len(line) <= max(width, 43)
            assert line.isascii()

    def test_bars_pass_the_mark_where_steps_were_saved(self) -> None:
        lines = chart([(MONDAY, PLAIN), (MONDAY, GUESSED), (MONDAY, Counts())], 70)[1:]
        plain, guessed, nothing = lines
        mark = guessed.index("|")
        assert plain.index("|") == nothing.index("|") == mark
        assert plain.endswith("| 1.00")
        assert re.fullmatch(r"#+\|#+ 2\.50", guessed[12:])
        assert nothing.endswith("| -")

    def test_the_command_shows_what_was_kept(self, scripted: Scripted, project: Path) -> None:
        store = SessionStore(path())
        store.append(store.begin("ask", project, "m"), turn(at=time.time(), counts=GUESSED))
        out = scripted.run(["stats"]).out
        assert "50%" in out
        assert "2.50" in out
        weeks = json.loads(scripted.run(["stats", "--all", "--json"]).out)["weeks"]
        assert weeks[-1]["accepted_by_source"] == {"project": 50, "files": 10}
        assert scripted.run(["stats", "--project", "no/such"]).code == 2

    def test_where_there_were_none_a_note_says_so(self, scripted: Scripted, project: Path) -> None:
        done = scripted.run(["stats"])
        assert (done.code, done.out) == (0, "")
        assert "no replies" in done.err
