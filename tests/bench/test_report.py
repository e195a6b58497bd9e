"""From runs to figures and a table."""

from __future__ import annotations

import pytest

from lacli.bench.report import figures, first_token, table, worst
from lacli.bench.runner import Run


def run(case: str, mode: str, tokens: int, steps: int, decode_ms: float, **more: object) -> Run:
    values: dict[str, object] = {
        "suite": "code",
        "token_ids": tuple(range(tokens)),
        "rows": 2 * steps,
        "drafted": 0,
        "accepted": {},
        "prefill_ms": 50.0,
        "forward_ms": 90.0,
        "draft_ms": 10.0,
    }
    return Run(case=case, mode=mode, steps=steps, decode_ms=decode_ms, **(values | more))  # type: ignore[arg-type]


RUNS = [
    run("short", "plain", 11, 10, 100.0),
    run("short", "cold", 11, 5, 50.0, accepted={"prompt": 5}),
    run("long", "plain", 101, 100, 1000.0),
    run("long", "cold", 101, 25, 1000.0, accepted={"window": 75}),
]


def test_the_headline_is_the_unweighted_mean_over_prompts() -> None:
    plain, cold = figures(RUNS)
    assert plain["tokens_per_step"] == 1.0
    assert cold["tokens_per_step"] == pytest.approx((2 + 4) / 2)
    assert cold["ratio_to_plain"] == pytest.approx((2 + 1) / 2)
    assert cold["rows_per_step"] == 2
    assert cold["drafting_share"] == pytest.approx(0.1)
    assert cold["tokens_per_second"] == pytest.approx((200 + 100) / 2)
    assert cold["accepted_by_source"] == {"prompt": 5 / 112, "window": 75 / 112}
    assert cold["equal_to_plain"]


def test_a_reply_without_a_forward_is_left_out_of_the_means() -> None:
    empty = [run("empty", "plain", 1, 0, 0.0), run("empty", "cold", 1, 0, 0.0)]
    assert figures([*RUNS, *empty])[1]["tokens_per_step"] == pytest.approx(3)
    (alone, _) = figures(empty)
    assert alone["tokens_per_step"] is None
    assert "-" in "\n".join(table([alone]))


def test_a_changed_text_shows_in_the_table() -> None:
    changed = [*RUNS[:3], run("long", "cold", 100, 25, 1000.0)]
    record = figures(changed)[1]
    assert not record["equal_to_plain"]
    assert any(line.split()[0] == "cold" and line.endswith("NO") for line in table([record]))


def test_the_table_is_aligned_and_plain() -> None:
    lines = table(figures(RUNS))
    body = [line for line in lines if line.startswith("  ") and "guessed" not in line]
    assert len({len(line) for line in body}) == 1
    assert all(line.isascii() for line in lines)


def test_the_first_token_counts_each_prompts_first_run_only() -> None:
    runs = [run("a", "cold", 5, 4, 1.0, prefill_ms=300.0), run("a", "plain", 5, 4, 1.0, prefill_ms=1.0)]
    shares = first_token(runs, import_ms=600.0, load_ms=100.0)
    assert shares["prefill_ms"] == 300.0
    assert shares["import_share"] == pytest.approx(0.6)


def test_near_twins_left_out_are_told_and_worst_cases_are_those_where_guessing_has_least_to_win() -> None:
    runs = [
        run("a", "plain", 11, 10, 100.0, suite="prose"),
        run("a", "warm-similar", 11, 10, 125.0, suite="prose", twins=2),
        run("a", "plain", 11, 10, 100.0, suite="long"),
        run("a", "cold", 11, 10, 100.0, suite="long"),
        run("a", "plain", 11, 10, 100.0),
        run("a", "warm-similar", 11, 10, 50.0),
    ]
    records = figures(runs)
    assert worst(records) == {"prose, warm-similar": pytest.approx(0.8), "long, cold": pytest.approx(1.0)}
    assert [line for line in table(records) if "twins" in line] == [
        "  near twins kept out of the pools of warm-similar: 2, over all prompts"
    ]
