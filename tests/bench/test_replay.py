"""A replay gives what was recorded, step for step, and a recording survives the disk."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from lacli.bench.measure import measure
from lacli.bench.modes import ALL_COLD, PLAIN, Mode
from lacli.bench.recording import BEST, Recording, recording_path, save, stored
from lacli.bench.replay import MODES, Oracle, Replay, record, recorded
from lacli.bench.suites import Case
from lacli.engine.controller import Limits
from lacli.models.base import Rows
from tests.bench.fakes import END, VOCAB, TableBench, cases, walk

POINTS = {1: 10.0, 2: 11.0, 32: 30.0}


def untied(context: Sequence[int]) -> list[float]:
    """As `walk`, but no two tokens are equally likely: which of them come first is nobody's to say."""
    seed = 1 + (7 * context[-1] + 3 * sum(context[-3:])) % 96
    return [((seed * (index + 11)) % 97) / 10 - (100 if index == END else 0) for index in range(VOCAB)]


def replay_of(
    count: int = 3,
    rows: int | None = 32,
    max_tokens: int = 40,
    bench: TableBench | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Replay:
    recordings = {case: record(bench or TableBench(max_tokens=max_tokens), case) for case in cases(count)}
    return Replay(recordings, limits, POINTS, _Characters(), None, None, max_tokens, rows)  # type: ignore[arg-type]


class _Characters:
    def encode(self, text: str) -> list[int]:
        return [1000 + ord(character) for character in text]


@pytest.mark.parametrize("mode", [mode for mode in MODES if not mode.pool], ids=lambda mode: mode.name)
def test_replayed_figures_are_those_of_the_model(mode: Mode) -> None:
    """All rows of these modes were recorded, but those of a window that has gone another way."""
    bench = TableBench(untied)
    replay = replay_of(bench=bench)
    for case in cases(3):
        task = bench.task(case)
        real = bench.play(task, mode, bench.cached(task))
        again = replay.task(case)
        found = replay.play(again, mode, replay.cached(again))
        assert found.token_ids == tuple(replay.oracle.renumbered(np.array(real.token_ids)).tolist())
        if mode.guess != "window":
            assert (found.steps, found.rows, found.accepted) == (real.steps, real.rows, real.accepted)


def test_a_row_on_the_path_gets_the_models_best_tokens_with_their_chances() -> None:
    (case,) = cases(1)
    recording = record(TableBench(), case)
    oracle = Oracle([recording])
    runner = oracle.runner(recording)
    prompt = oracle.renumbered(recording.prompt).tolist()
    scores = runner.prefill(prompt)
    assert scores is not None
    own = torch.tensor(walk([1, 5, 9])).softmax(dim=-1).topk(BEST)
    chances = scores.logits[0].softmax(dim=-1)
    found = chances.topk(BEST)
    assert found.indices.tolist() == oracle.renumbered(own.indices.numpy()).tolist()
    assert found.values.tolist() == pytest.approx(own.values.tolist(), rel=0.02)
    assert float(chances.sum()) == pytest.approx(1.0)


def test_a_row_off_the_path_gets_what_was_said_where_its_longest_suffix_was_seen() -> None:
    (case,) = cases(1)
    recording = record(TableBench(), case)
    oracle = Oracle([recording])
    runner = oracle.runner(recording)
    runner.prefill(oracle.renumbered(recording.prompt).tolist())
    reply = oracle.renumbered(recording.reply).tolist()
    # Row 0 is the first token; below it hang four tokens that come ten places later.
    rows = Rows((reply[0], *reply[10:14]), (-1, 0, 1, 2, 3), (0, 1, 2, 3, 4))
    best = runner.forward(rows).top_ids[:, 0]
    assert (best[0], best[4]) == (reply[1], reply[14])


def test_a_token_nobody_has_seen_makes_all_tokens_equally_likely_and_is_never_accepted() -> None:
    (case,) = cases(1)
    recording = record(TableBench(), case)
    oracle = Oracle([recording])
    runner = oracle.runner(recording)
    runner.prefill(oracle.renumbered(recording.prompt).tolist())
    unknown = int(oracle.renumbered(np.array([5000]))[0])
    assert oracle.width <= unknown < oracle.vocab_size
    first = int(oracle.renumbered(recording.reply)[0])
    logits = runner.forward(Rows((first, unknown), (-1, 0), (0, 1))).logits
    assert len(set(logits[1].tolist())) == 1
    assert logits.shape[1] == oracle.width


def test_pools_of_tokens_outside_the_recording_can_be_replayed() -> None:
    replay = replay_of(1)
    task = replay.task(cases(1)[0])
    assert min(replay.encode("ab")) >= replay.oracle.width
    run = replay.play(task, PLAIN, replay.cached(task))
    assert len(run.token_ids) == 40


def test_forwards_take_what_the_cost_curve_says_and_bought_rows_follow_it() -> None:
    free, bought = replay_of(1, rows=32), replay_of(1, rows=None)
    for replay in (free, bought):
        task = replay.task(cases(1)[0])
        run = replay.play(task, PLAIN, replay.cached(task))
        assert run.forward_ms == pytest.approx(10.0 * run.steps)
        assert run.decode_ms >= run.forward_ms
    most = bought.play(task, ALL_COLD, bought.cached(task))
    least = replay_of(1, rows=None, limits=Limits(max_rows=2))
    assert least.play(task, ALL_COLD, least.cached(task)).rows_per_step <= 2 <= (most.rows_per_step or 0) + 1


def test_a_forced_reply_is_recorded_and_replayed_as_forced() -> None:
    case = Case("edit", "edit-ref", "1 2 3 4", " ".join(str((5 * index) % END) for index in range(30)))
    replay = Replay({case: record(TableBench(), case)}, Limits(), POINTS, _Characters(), None, None, 40, 32)  # type: ignore[arg-type]
    task = replay.task(case)
    assert len(task.reference) == 30
    assert replay.play(task, ALL_COLD, replay.cached(task)).token_ids == task.reference


def test_the_table_of_a_replay_has_every_mode_and_equal_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacli.bench.warm.UNRELATED_TOKENS", 200)
    runs = measure(replay_of(3), cases(3), lambda text: None, MODES)
    assert {run.mode for run in runs} == {mode.name for mode in MODES} - {"wrong pool"}
    assert len({(run.case, run.token_ids) for run in runs}) == 3


def test_a_recording_is_kept_privately_and_read_back(tmp_path: Path) -> None:
    (case,) = cases(1)
    recording = record(TableBench(), case)
    path = recording_path(tmp_path / "recordings", "model-int8-cpu", case, 40)
    assert stored(path) is None
    save(recording, path)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    found = stored(path)
    assert found is not None
    for name in Recording.__slots__:
        assert np.array_equal(getattr(found, name), getattr(recording, name)), name
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_other_models_prompts_and_lengths_have_other_recordings() -> None:
    case = Case("a", "code", "1 2")
    names = {
        recording_path(Path("x"), model, one, count)
        for model in ("m-int8", "m-none")
        for one in (case, dataclasses.replace(case, prompt="1 3"), dataclasses.replace(case, reply="4"))
        for count in (64, 96)
    }
    assert len(names) == 12


@pytest.mark.parametrize("keep", [0, 10, 300, -1])
def test_a_damaged_recording_is_none(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "one.npz"
    save(record(TableBench(max_tokens=8), cases(1)[0]), path)
    path.write_bytes(path.read_bytes()[:keep])
    assert stored(path) is None


def test_what_is_recorded_is_not_decoded_again(
    sandbox_with_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lacli.assistant.base import ignore
    from lacli.assistant.loading import load
    from lacli.config import Settings

    loaded = load(Settings(pool=False, lookahead=False), ignore)
    monkeypatch.setattr("lacli.paths.cache_dir", lambda: tmp_path)
    case = Case("short", "code", "Say hello.")
    said: list[str] = []
    first = recorded(loaded, [case], 4, said.append)
    monkeypatch.setattr("lacli.bench.replay.record", lambda bench, case: pytest.fail("recorded twice"))
    second = recorded(loaded, [case], 4, said.append)
    assert len(said) == 1
    assert np.array_equal(first[case].reply, second[case].reply)
