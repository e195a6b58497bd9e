from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lacli.bench.peers import field as peers_field
from lacli.bench.peers import run as peers
from lacli.bench.peers import setup as peers_setup
from lacli.bench.peers.field import Entry, Field, Process, entries, processes
from lacli.bench.peers.process import Failed, Worker, command_of
from lacli.bench.peers.rounds import Plan, ReadSample, Sample, StepSample, measure_replies, measure_steps
from lacli.bench.peers.serve import answer_lines
from lacli.bench.peers.setup import IK, XLLAMACPP, NotInstalled, python_of
from lacli.bench.peers.table import Results, bars, best_peer, lines, record, speed_ratio, unequal
from lacli.errors import LacliError
from tests.bench.fakes_peers import SPEEDS, StubField

FAKE = """
import os, sys, time
sys.path.append({root!r})
from lacli.bench.peers.serve import serve

def add(left, right):
    print("chatter")
    os.write(1, b"chatter of a C library")
    return {{"sum": left + right}}

def die():
    print("out of luck", file=sys.stderr)
    os._exit(3)

def hang():
    time.sleep(60)

serve({{"add": add, "die": die, "hang": hang, "fail": lambda: 1 // 0}})
"""


@pytest.fixture
def worker() -> Iterator[Callable[..., Worker]]:
    made: list[Worker] = []

    def make(timeout_s: float = 30) -> Worker:
        root = str(Path(peers.__file__).parents[3])
        made.append(Worker([sys.executable, "-I", "-c", FAKE.format(root=root)], timeout_s))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_worker_answers_orders_whatever_else_it_prints(worker: Callable[..., Worker]) -> None:
    asked = worker()
    assert [asked.ask("add", left=1, right=number) for number in range(3)] == [{"sum": 1}, {"sum": 2}, {"sum": 3}]


def test_a_worker_that_fails_says_why_and_goes_on(worker: Callable[..., Worker]) -> None:
    asked = worker()
    with pytest.raises(Failed, match="ZeroDivisionError"):
        asked.ask("fail")
    with pytest.raises(Failed, match="KeyError"):
        asked.ask("no such order")
    assert asked.ask("add", left=1, right=1) == {"sum": 2}


def test_a_worker_that_dies_leaves_its_last_line(worker: Callable[..., Worker]) -> None:
    asked = worker()
    with pytest.raises(Failed, match="ended with 3: out of luck"):
        asked.ask("die")
    with pytest.raises(Failed):
        asked.ask("add", left=1, right=1)


def test_a_worker_that_hangs_is_ended(worker: Callable[..., Worker]) -> None:
    with pytest.raises(Failed, match="ended with"):
        worker(timeout_s=0.5).ask("hang")


def test_a_program_that_is_not_there_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="could not be started"):
        Worker([str(tmp_path / "python")])


def test_orders_are_answered_line_by_line_until_they_end() -> None:
    answers = io.StringIO()
    answer_lines(io.StringIO('{"do": "one", "of": 2}\n{"do": "two"}\n'), answers, {"one": lambda of: {"half": of / 2}})
    first, second = map(json.loads, answers.getvalue().splitlines())
    assert first == {"ok": {"half": 1.0}}
    assert second == {"error": "KeyError: 'two'"}


@pytest.mark.parametrize("module", ["server", "serve"])
def test_what_runs_in_a_peers_environment_imports_the_standard_library_only(module: str) -> None:
    code = command_of("python", module)[-1].replace("main; main()", "__name__ as name")
    code += "; print([name for name in sys.modules if name.partition('.')[0] in ('numpy', 'torch', 'psutil')])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def installing(monkeypatch: pytest.MonkeyPatch, code: int = 0, errors: str = "") -> list[list[str]]:
    """Neither makes an environment nor asks an index; the commands."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        commands.append(command)
        return subprocess.CompletedProcess(command, code, "", errors)

    monkeypatch.setattr(peers_setup.venv, "create", lambda folder, with_pip: folder.mkdir(parents=True))
    monkeypatch.setattr(peers_setup.subprocess, "run", run)
    return commands


def test_an_environment_is_made_once_from_wheels_of_a_pinned_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LACLI_HOME", str(tmp_path))
    commands = installing(monkeypatch)
    python = python_of(XLLAMACPP)
    assert python_of(XLLAMACPP) == python
    assert tmp_path in python.parents
    assert len(commands) == 1
    assert "--only-binary" in commands[0]
    assert f"xllamacpp=={XLLAMACPP.version}" in commands[0]


def test_a_peer_without_a_wheel_is_not_installed_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LACLI_HOME", str(tmp_path))
    commands = installing(monkeypatch, 1, "WARNING: old pip\nERROR: No matching distribution\n")
    for _ in range(2):
        with pytest.raises(NotInstalled, match=r"ik-llama-cpp-python 0\.1\.5 .*No matching distribution"):
            python_of(IK)
    assert len(commands) == 2


def test_a_peer_that_cannot_be_had_is_a_failure_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: Any) -> Path:
        raise NotInstalled("no wheel")

    monkeypatch.setattr(peers_field, "python_of", missing)
    field = Field({"ik": Process("llama", {}, IK)}, lambda text: None)
    field.start_all()
    assert field.failures == {"ik": "no wheel"}
    assert field.ask("ik", "generate") is None
    field.close()


def test_every_entry_has_a_process_and_every_process_an_entry() -> None:
    known = processes("model.gguf", 2, 64, {"code": 1}, ("ngram-mod",))
    taking = entries(("ngram-mod",))
    assert {entry.process for entry in taking} == set(known)
    assert len({entry.label for entry in taking}) == len(taking)


PLAN = Plan({"code": 2}, 64, 2, 2, 1, 1)
TASKS = {
    "code": [{"case": name, "prompt": [1, 2, 3], "eos_ids": [0]} for name in ("first", "second")],
    "edit": [{"case": "third", "prompt": [4, 5], "eos_ids": [0]}],
}


def replies(field: StubField) -> list[Sample]:
    taking = entries(("ngram-mod", "ngram-cache"))
    return measure_replies(field, taking, TASKS, PLAN, lambda text: None)  # type: ignore[arg-type]


def test_each_contestant_answers_each_prompt_once_a_round_and_the_missing_none() -> None:
    samples = replies(StubField(SPEEDS))
    own = [(s.round, s.scene, s.case) for s in samples if s.label == "lacli default"]
    assert len(own) == len(set(own)) == 2 * (3 * 2 + 1)
    assert not [sample for sample in samples if sample.label == "ik_llama.cpp plain"]


def test_later_rounds_renew_memories_and_leave_out_speculations_that_were_best_nowhere() -> None:
    field = StubField(SPEEDS)
    samples = replies(field)
    rounds = {
        label: {s.round for s in samples if s.label == label} for label in ("llama.cpp ngram-mod", "llama.cpp plain")
    }
    assert rounds == {"llama.cpp ngram-mod": {0, 1}, "llama.cpp plain": {0, 1}}
    assert {s.round for s in samples if s.label == "llama.cpp ngram-cache"} == {0}
    assert len(field.renewed) == 1
    assert "llama.cpp ngram-cache" not in field.renewed[0]


def test_peers_reply_as_far_as_the_recorded_reply_does_not_loop() -> None:
    field = StubField(SPEEDS)
    replies(field)
    budgets = [order["max_tokens"] for order in field.generated("llama.cpp")]
    assert budgets[:3] == [64] * 3  # a recording of each prompt
    assert set(budgets[3:]) == {11}  # the same token, so the fourth 8-gram ends at 11


def test_without_the_recording_peer_replies_have_the_whole_budget() -> None:
    field = StubField({"llama.cpp ngram-mod": 150.0})
    replies(field)
    assert {order["max_tokens"] for order in field.generated("llama.cpp ngram-mod")} == {64}


def test_steps_are_measured_in_rounds() -> None:
    taking = entries(("ngram-mod",))
    samples = measure_steps(StubField(SPEEDS), taking, PLAN, lambda text: None)  # type: ignore[arg-type]
    assert [(s.round, s.label) for s in samples] == [(0, "lacli default plain"), (1, "lacli default plain")]
    assert samples[0].ms[8] == 8 * 300


def sample(
    label: str, speed: float, number: int = 0, scene: str = "code", case: str = "one", ids: str = "ab"
) -> Sample:
    return Sample(number, scene, case, label, 11, 10_000 / speed, tuple(map(ord, ids)), 0, 0)


def results(samples: list[Sample], **others: Any) -> Results:
    found: dict[str, Any] = {"steps": (), "shape": {}, "starts": (), "failures": {}, "builds": {}}
    return Results(entries(("ngram-mod", "ngram-cache")), samples, **{**found, **others})


def test_ratios_are_taken_within_a_round_and_prompt() -> None:
    slow, fast = 0.1, 1.0  # the machine in two rounds
    pairs = [(slow, 0), (fast, 1), (fast, 2)]
    samples = [sample("llama.cpp plain", 100 * speed, number) for speed, number in pairs]
    samples += [sample("lacli default", 200 * speed, number) for speed, number in pairs[:2]]
    assert speed_ratio(samples, "lacli default", "code", "llama.cpp plain", "code") == pytest.approx(2)
    assert speed_ratio(samples, "lacli default", "edit", "llama.cpp plain", "edit") is None


def test_a_replay_is_compared_with_the_first_time_of_who_remembers_nothing() -> None:
    samples = [sample("llama.cpp plain", 100), sample("lacli default", 500, scene="replay")]
    found = {bar.name: bar for bar in bars(results(samples))}
    replay = found["speed by llama.cpp plain: warm-replay"]
    assert replay.found == pytest.approx(5)
    assert replay.verdict == "yes"
    assert found["speed by llama.cpp plain: code cold"].verdict == "not measured"


def test_the_best_peer_is_one_that_speculates() -> None:
    samples = [
        sample("ik_llama.cpp plain", 300, scene="edit"),
        sample("llama.cpp ngram-mod", 150, scene="edit"),
        sample("llama.cpp ngram-cache", 90, scene="edit"),
        sample("lacli default", 285, scene="edit"),
    ]
    found = results(samples)
    assert best_peer(found, "edit") == "llama.cpp ngram-mod"
    assert best_peer(found, "edit", speculating=False) == "ik_llama.cpp plain"
    bar = next(bar for bar in bars(found) if bar.name.endswith("speculation: edit"))
    assert bar.found == pytest.approx(1.9)
    assert (bar.verdict, bar.note) == ("NO", "llama.cpp ngram-mod")


def test_a_text_that_differs_from_plain_decoding_is_counted() -> None:
    samples = [
        sample("lacli default plain", 100, ids="right"),
        sample("lacli default", 100, ids="right"),
        sample("lacli default", 100, ids="wrong", scene="replay"),
    ]
    assert unequal(samples, "lacli default") == (2, 1)
    bar = next(bar for bar in bars(results(samples)) if "equal" in bar.name)
    assert bar.found == pytest.approx(50)
    assert not bar.passed


def steps(label: str, *ms: float) -> list[StepSample]:
    return [
        StepSample(number, label, {1: one, 4: one, 8: 1.5 * one, 16: 3 * one, 32: 9 * one})
        for number, one in enumerate(ms)
    ]


def test_bars_of_steps_shape_and_start() -> None:
    measured = {"int4": {"step_ms": [12, 40, 12], "read_ms": [10, 10, 10], "bytes": 250_000_000}}
    found = results(
        [],
        steps=[*steps("lacli default plain", 6, 60), *steps("llama.cpp llama_decode", 9, 90)],
        shape=measured,
        starts=[(3.0, 1.0), (9.0, 7.5), (3.9, 1.5)],
    )
    verdicts = {bar.name: (round(bar.found or 0, 3), bar.passed) for bar in bars(found) if bar.found is not None}
    assert verdicts == {
        "T(1) by llama.cpp's": (0.667, True),
        "T(8) / T(1)": (1.5, True),
        "T(16) / T(1)": (3.0, False),
        "1.5B shape, int4: T(1) by bytes / bandwidth": (1.2, True),
        "`lacli ask`: first token beyond `import torch`, s": (2.0, False),
    }


def test_the_table_has_a_line_for_each_contestant_and_each_failure() -> None:
    samples = [sample("llama.cpp plain", 100), sample("lacli default", 150)]
    found = results(
        samples, failures={"ik_llama.cpp": "no wheel"}, builds={"lacli default": "int4"}, idle={"llama.cpp": 0.9}
    )
    text = "\n".join(lines(found))
    assert "| lacli default | 150 (1.50) |" in text
    assert "| llama.cpp plain | 100 | 100 | 100 | - | - |" in text
    assert "- ik_llama.cpp failed: no wheel" in text
    assert "- llama.cpp kept 0.90 cores busy" in text
    assert json.loads(json.dumps(record(found)))["samples"][0]["label"] == "llama.cpp plain"


def test_the_table_has_a_column_for_each_length_of_prompt() -> None:
    reading = [ReadSample(0, process, tokens, 10.0 * tokens) for process in SPEEDS for tokens in (500, 2000)]
    text = "\n".join(lines(results([sample("llama.cpp plain", 100)], reading=reading)))
    assert "| edit-ref | reading 500 | reading 2,000 |" in text
    assert "| llama.cpp plain | 100 | 100 | 100 | - | - | 100 | 100 |" in text
    assert "| transformers plain | - | - | - | - | - | - | - |" in text


def test_another_model_is_not_held_against_what_was_asked_of_the_default_one() -> None:
    other = results([sample("llama.cpp plain", 100)], with_bars=False)
    assert "Bars:" not in lines(other)
    assert "Bars:" in lines(results([]))
    assert record(other)["bars"] == []
    assert record(results([]))["bars"]


def test_the_file_is_named_by_machine_and_date() -> None:
    assert peers.file_stem("AMD EPYC 9R14 (Zen 4)", 2, 1_700_000_000).startswith(
        "peers-amd-epyc-9r14-zen-4-2-cores-2023-11-1"
    )
    assert peers.file_stem("CPU", 2, 1_700_000_000, "models/Coder-1.5B.gguf").startswith("peers-coder-1.5b-cpu-2-cores")


def test_the_command_prints_the_table_and_keeps_the_samples(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "measure", lambda wanted, progress: results([sample("llama.cpp plain", 100)]))
    assert peers.main(["--quick", "--out", str(tmp_path / "results")]) == 0
    assert "| llama.cpp plain | 100" in capsys.readouterr().out
    (file,) = (tmp_path / "results").iterdir()
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["quick"] is True
    assert len(document["samples"]) == 1


def test_the_command_says_in_a_line_why_lacli_itself_cannot_be_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(wanted: Any, progress: Any) -> Results:
        raise LacliError("no model", "fetch one")

    monkeypatch.setattr(peers, "measure", measure)
    assert peers.main([]) == 1
    assert "no model: fetch one" in capsys.readouterr().err


def test_an_entry_without_ways_is_not_in_the_table_of_speeds() -> None:
    only_steps = Entry("one", "llama.cpp", "one", steps=True)
    found = Results([only_steps], [], steps("one", 5.0), {}, (), {}, {})
    assert "\n".join(lines(found)).count("| one |") == 1
