"""Modes and pools: what may guess, what the pool holds, what is counted."""

from __future__ import annotations

import numpy as np
import pytest

from lacli.bench.loops import loop_start
from lacli.bench.measure import measure
from lacli.bench.modes import COLD, MEASURED, PLAIN, WRONG_POOL, Mode, Warmth, poisoned
from lacli.bench.suites import Case
from lacli.bench.warm import Taught, strangers, unrelated, warmth
from lacli.pool.update import NO_TOKEN
from tests.bench.fakes import TableBench, cases
from tests.fakes import TableRunner

MODES = {mode.name: mode for mode in (*MEASURED, WRONG_POOL)}


@pytest.fixture(autouse=True)
def _small_big_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacli.bench.warm.UNRELATED_TOKENS", 300)


def quiet(text: str) -> None:
    """A progress nobody reads."""


def test_every_mode_gives_the_text_of_plain_decoding() -> None:
    runs = measure(TableBench(), cases(3, "prose"), quiet)
    for run in runs:
        plain = "sampled plain" if run.mode.startswith("sampled") else "plain"
        (expected,) = [other for other in runs if other.case == run.case and other.mode == plain]
        assert run.token_ids == expected.token_ids, run.mode


def test_modes_are_interleaved_by_prompt_and_do_not_always_start_with_the_same() -> None:
    runs = measure(TableBench(), cases(3), quiet)
    order = [run.case for run in runs]
    assert order == sorted(order)
    firsts = {run.case: run.mode for run in reversed(runs)}
    assert len(set(firsts.values())) == 3
    assert len(runs) == 3 * len(MEASURED)


def test_the_wrong_pool_is_measured_on_prose_only() -> None:
    names = {run.mode for run in measure(TableBench(), cases(2, "prose"), quiet)}
    assert names == {*(mode.name for mode in MEASURED), "wrong pool"} - {"big pool"}


def test_a_single_prompt_has_no_others_to_warm_it() -> None:
    assert "warm-similar" not in {run.mode for run in measure(TableBench(), cases(1), quiet)}


def test_a_forced_reply_is_not_sampled_and_is_never_cut_for_looping() -> None:
    reply = [5, 6] * 30
    case = Case("loop", "edit-ref", "1 2 3", " ".join(map(str, reply)))
    runs = measure(TableBench(), [case], quiet)
    assert not [run.mode for run in runs if "sampled" in run.mode]
    assert {(run.token_ids, run.looped) for run in runs} == {(tuple(reply), 0.0)}


def lesson(*reply: int) -> Taught:
    """A reply and an entry that tells whose it is."""
    table = (
        np.array([[NO_TOKEN, reply[0]]], dtype=np.uint32),
        np.array([[reply[1], *[NO_TOKEN] * 7]], dtype=np.uint32),
        np.array([[16, *[255] * 7]], dtype=np.uint8),
    )
    return Taught(reply, (table,), {"prompt": [float(reply[0])]})


def test_leave_one_out_leaves_exactly_the_own_reply_and_its_twins_out() -> None:
    bench = TableBench()
    tasks = [bench.task(case) for case in cases(4)]
    known = {
        "case-0": lesson(*range(1, 30)),
        "case-1": lesson(*range(31, 60)),
        "case-2": lesson(5, *range(1, 30)),  # says what case-0 says
        "case-3": lesson(*range(60, 30, -1)),
    }
    replies = {name: one.reply for name, one in known.items()}
    others = strangers(tasks[0], tasks, replies)
    assert others == ["case-1", "case-3"]
    pool = warmth(tasks[0], MODES["warm-similar"], known, others, [], 64)
    assert list(pool.segments) == [replies["case-1"], replies["case-3"]]
    assert [int(keys[0, 1]) for keys, _, _ in pool.tables] == [31, 60]
    own = warmth(tasks[0], MODES["warm-replay"], known, others, [], 64)
    assert list(own.segments) == [replies["case-0"]]


def test_prompts_that_are_nearly_the_same_are_twins_whatever_they_got() -> None:
    bench = TableBench()
    tasks = [bench.task(Case(f"case-{last}", "code", f"1 2 3 4 5 6 7 8 9 {last}")) for last in (1, 2)]
    assert strangers(tasks[0], tasks, {"case-1": (1, 2, 3), "case-2": (4, 5, 6)}) == []


def test_a_big_pool_holds_the_reply_behind_what_has_nothing_to_do_with_it() -> None:
    bench = TableBench()
    stuff = unrelated(bench.encode, 500)
    assert sum(map(len, stuff)) == 500
    known = {"case-0": lesson(*range(1, 30))}
    pool = warmth(bench.task(cases(1)[0]), MODES["big pool"], known, [], stuff, 64)
    assert list(pool.segments[-1]) == list(range(1, 30))
    assert list(pool.segments[:-1]) == stuff


def test_all_guesses_of_a_wrong_table_differ_from_those_it_was_made_of() -> None:
    bench = TableBench()
    known = {"case-0": lesson(*range(1, 30))}
    (table,) = warmth(bench.task(cases(1)[0]), MODES["wrong pool"], known, [], [], 64).tables
    keys, followers, _ = table
    assert keys.tolist() == known["case-0"].tables[0][0].tolist()
    assert followers[0, 0] == 3
    assert set(followers[0, 1:].tolist()) == {NO_TOKEN}


def test_cold_modes_see_no_pool_whatever_is_handed_in() -> None:
    bench = TableBench()
    task = bench.task(cases(1)[0])
    known = {"case-0": Taught((1, 2, 3), (), {})}
    for name in ("plain", "jacobi", "prompt lookup", "cold", "sampled cold"):
        assert warmth(task, MODES[name], known, [], [], bench.vocab_size) is COLD


def test_nothing_learned_in_one_reply_helps_the_next() -> None:
    bench = TableBench()
    task = bench.task(cases(1)[0])
    first = bench.play(task, MODES["cold"], bench.cached(task))
    second = bench.play(task, MODES["cold"], bench.cached(task))
    assert (first.steps, first.rows, first.accepted) == (second.steps, second.rows, second.accepted)


def test_poisoned_segments_match_at_every_place_and_go_on_wrongly_in_many_ways() -> None:
    prompt, reply = [9, 8, 7, 6, 5], [(index * 37) % 61 for index in range(40)]
    text = [*prompt[1:], *reply]
    for right in (0, 3):
        segments = poisoned(prompt, reply, 64, right)
        for place in range(4, len(text) - right):
            begun = tuple(text[place - 4 : place + right])
            following = {segment[4 + right] for segment in segments if segment[: 4 + right] == begun}
            assert len(following) >= 8
            assert text[place + right] not in following


def test_a_wrong_pool_is_looked_up_but_never_accepted() -> None:
    bench = TableBench()
    task = bench.task(cases(1)[0])
    reply = bench.play(task, PLAIN, bench.cached(task)).token_ids
    only_pool = Mode("wrong pool", "all", "wrong")
    run = bench.play(task, only_pool, bench.cached(task), Warmth(poisoned(task.prompt, reply, bench.vocab_size)))
    assert run.token_ids == reply
    assert run.accepted.get("project", 0) == 0


def test_a_looping_reply_is_cut_in_every_mode_at_the_same_token_and_the_share_is_told() -> None:
    table = {token: 10 + (token + 1) % 5 for token in range(64)}
    runs = measure(TableBench(table, max_tokens=100), cases(1), quiet)
    greedy = [run for run in runs if not run.mode.startswith("sampled")]
    kept = loop_start(reply_of(table, 100))
    assert {len(run.token_ids) for run in greedy} == {kept}
    assert kept < 30
    assert greedy[0].looped == pytest.approx(1 - kept / 100)


def reply_of(table: dict[int, int], count: int) -> list[int]:
    """What the table says after the first case."""
    token_ids, last = [], 9
    for _ in range(count):
        last = table[last]
        token_ids.append(last)
    return token_ids


def test_free_rows_are_bounded_by_the_number_given() -> None:
    inner = TableRunner({token: (token + 1) % 5 for token in range(64)}, vocab_size=64)
    bench = TableBench(runner=inner, rows=20)
    task = bench.task(cases(1)[0])
    bench.play(task, MODES["warm-replay"], bench.cached(task), Warmth([[0, 1, 2, 3, 4] * 20]))
    most = max(len(rows.token_ids) for rows in inner.forwards)
    assert 14 < most <= 20


def test_progress_names_each_prompt() -> None:
    said: list[str] = []
    measure(TableBench(max_tokens=4), cases(2), said.append)
    assert [text for text in said if "measuring" in text] == [
        "measuring code 1/2 case-0",
        "measuring code 2/2 case-1",
    ]


def test_the_sources_of_a_cold_run_are_those_of_the_assistant() -> None:
    """The bench must measure what users get."""
    from lacli.assistant import project

    ours = [source.name for source in MODES["cold"].sources(COLD, None, None).all()]
    assert ours == [source.name for source in project._sources(None, None, None).all()]
