"""Numbers for people: the same counts in one line, in a table, and in JSON; readable on a narrow terminal."""

from __future__ import annotations

import dataclasses

from lacli.cli.terminal.tty import column_after
from lacli.events import Counts, Finished, ReplyStats
from lacli.shared.wording import counts_record, counts_table, cut_note, live_line, stats_line, stats_record

STATS = ReplyStats(
    predicted_n=90,
    steps=30,
    plain_steps=89,
    draft_n=400,
    draft_n_accepted=59,
    drafted_by_source={"prompt": 300, "successor": 100},
    accepted_by_source={"prompt": 50, "successor": 9},
    rows=430,
    draft_ms=20.0,
    step_ms=1_000.0,
    saved_ms=780.0,
    predicted_ms=1_100.0,
    plain_step_ms=20.0,
)


def test_the_line_tells_time_saved_and_time_lost() -> None:
    assert "saved 59 steps, 780 ms" in stats_line(STATS)
    assert "saved 1 step, 780 ms" in stats_line(dataclasses.replace(STATS, plain_steps=STATS.steps + 1))
    assert "saved 59 steps, lost 30 ms" in stats_line(dataclasses.replace(STATS, saved_ms=-30.0))
    assert "saved 59 steps · " in stats_line(dataclasses.replace(STATS, saved_ms=None))
    assert " · lost 30 ms · " in stats_line(dataclasses.replace(STATS, plain_steps=30, saved_ms=-30.0))
    assert "saved" not in stats_line(dataclasses.replace(STATS, plain_steps=30, saved_ms=0.2))
    assert "saved" not in stats_line(ReplyStats(predicted_n=3, steps=2, plain_steps=2))
    assert stats_line(dataclasses.replace(STATS, quant="int4", kernel="avx2")).endswith(" · int4 on avx2")


def test_the_live_line_fits_into_40_columns() -> None:
    slow = dataclasses.replace(STATS, steps=9, predicted_ms=1.0, saved_ms=-5_000_000.0)
    assert live_line(STATS) == "2.97 tok/step · 81 tok/s · saved 780 ms"
    for stats in (STATS, dataclasses.replace(slow, predicted_ms=900.0)):
        assert column_after(0, live_line(stats)) <= 40


def test_the_table_of_two_columns_fits_into_40_characters() -> None:
    many = Counts(
        replies=1,
        predicted_n=23_456_789,
        steps=10_000_000,
        plain_steps=23_456_788,
        drafted_by_source={"prompt": 999_499_999, "successor": 12_345},
        accepted_by_source={"prompt": 13_456_789},
        rows=900_000_000,
        draft_n_accepted=13_456_789,
        draft_ms=1.0,
        step_ms=10.0,
        saved_ms=-1e10,
    )
    lines = counts_table([("this reply", STATS), ("this chat", many)])
    assert max(map(len, lines)) <= 40
    assert lines[0].split() == ["this", "reply", "this", "chat"]
    cells = {line[:12].strip(): line[26:].strip() for line in lines}
    assert cells["prompt"] == "13M/999M  57%"
    assert cells["successor"] == "0/12k   0%"
    assert cells["saved time"] == "-2777.8 h"


def test_sources_that_hit_most_come_first_and_every_number_of_the_record_is_there() -> None:
    (*_, legend, prompt, successor) = counts_table([("", STATS)])
    assert legend == "guesses: right/tried, share of the text"
    assert prompt.split() == ["prompt", "50/300", "56%"]
    assert successor.split() == ["successor", "9/100", "10%"]


def test_the_record_of_a_reply_holds_the_counts_under_the_same_names() -> None:
    record = counts_record(STATS)
    assert record.items() <= stats_record(STATS).items()
    assert record["rows_bought"] == 400
    assert record["rows_used"] == record["draft_n_accepted"] == sum(record["accepted_by_source"].values())
    assert record["drafting_share"] == 0.02
    assert (record["saved_n"], record["saved_ms"]) == (59, 780.0)


def test_a_reply_that_was_cut_before_its_answer_says_what_the_tokens_went_for() -> None:
    cut = Finished("", (1, 2), "length", ReplyStats(), thought="hm")
    assert cut_note(cut, 2) == "cut at 2 tokens, while the model was still thinking; -n N for more"
    assert cut_note(dataclasses.replace(cut, text="so"), 2) == "cut at 2 tokens; -n N for more"
