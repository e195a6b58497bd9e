"""The comparison on any model, of all or some sections, and its reading of prompts. No process is started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lacli.bench.peers import run as peers
from lacli.bench.peers.field import Process, entries
from lacli.bench.peers.rounds import Plan, measure_reading
from lacli.bench.peers.run import Wanted, measure
from lacli.bench.peers.table import lines, read_speed
from lacli.models.fetch import fetch
from tests.bench.fakes_peers import SPEEDS, StubField

PLAN = Plan({"code": 2}, 64, 2, 2, 1, 1, read_rounds=2)


def test_prompts_are_read_once_a_round_by_each_program_and_once_by_the_slow_one() -> None:
    taking = entries(("ngram-mod",))
    field = StubField({**SPEEDS, "transformers": 20.0})
    reading = measure_reading(field, taking, [[1] * 500, [1] * 2000], PLAN, lambda text: None)  # type: ignore[arg-type]
    counts = Counter((read.process, read.tokens) for read in reading)
    assert counts == {
        **{(name, tokens): 2 for name in ("lacli default", "llama.cpp") for tokens in (500, 2000)},
        **{("transformers", tokens): 1 for tokens in (500, 2000)},
    }
    assert read_speed(reading, "lacli default", 2000) == pytest.approx(300)
    assert read_speed(reading, "ik_llama.cpp", 2000) is None


class StubPrograms(StubField):
    """Every program there is, each at its speed, in place of `Field`."""

    def __init__(self, wanted: Mapping[str, Process], progress: Any) -> None:
        super().__init__(dict.fromkeys(wanted, 50.0))
        self.wanted = wanted
        self.loaded = {name: {"build": "stub", "tasks": {}, "reading": [[1] * 500]} for name in wanted}
        self.failures: dict[str, str] = {}
        self.idle: dict[str, float] = {}
        if "lacli default" in wanted:
            suites = wanted["lacli default"].load["cases"]
            tasks = {suite: [{"case": suite, "prompt": [1], "eos_ids": [0]}] for suite in suites}
            self.loaded["lacli default"]["tasks"] = tasks

    def start_all(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[StubPrograms]:
    """The fields that were made; no process is started."""
    made: list[StubPrograms] = []

    def make(wanted: Mapping[str, Process], progress: Any) -> StubPrograms:
        made.append(StubPrograms(wanted, progress))
        return made[-1]

    monkeypatch.setattr(peers, "Field", make)
    monkeypatch.setattr(peers, "cold_starts", lambda count, model: [(2.0, 1.0)] * count)
    monkeypatch.setattr(peers, "_shape", lambda threads, repeats, failures, progress: {"int4": {}})
    monkeypatch.setattr(fetch, "ensure_local", lambda spec, report: spec.path or Path("default.gguf"))
    return made


def orders(field: StubPrograms) -> set[tuple[str, str]]:
    return {(do, arguments.get("suite", "")) for _, do, arguments in field.orders}


def test_the_default_model_is_measured_in_every_way(programs: list[StubPrograms]) -> None:
    found = measure(Wanted(), lambda text: None)
    (field,) = programs
    assert {"lacli default", "lacli int8", "llama.cpp", "ik_llama.cpp", "transformers"} <= set(field.wanted)
    assert {process.load.get("model") for process in field.wanted.values()} == {None}
    assert (found.with_bars, found.shape, len(found.starts)) == (True, {"int4": {}}, 5)
    assert found.steps
    assert found.samples
    assert found.reading


def test_any_other_gguf_is_measured_by_all_in_its_own_quantisation(
    programs: list[StubPrograms], tmp_path: Path
) -> None:
    file = tmp_path / "other.gguf"
    file.touch()
    found = measure(Wanted(str(file), quick=True), lambda text: None)
    (field,) = programs
    assert "lacli int8" not in field.wanted
    assert {process.load["model"] for name, process in field.wanted.items() if "lacli" in name} == {str(file)}
    assert {process.load["gguf"] for name, process in field.wanted.items() if "lacli" not in name} == {str(file)}
    assert (found.with_bars, found.shape) == (False, {})
    assert {read.process for read in found.reading} == {"lacli default", "llama.cpp", "ik_llama.cpp", "transformers"}


def test_only_what_is_wanted_is_measured_and_only_programs_that_take_part_are_started(
    programs: list[StubPrograms],
) -> None:
    found = measure(Wanted(sections=("reading",)), lambda text: None)
    assert {do for do, _ in orders(programs[0])} == {"read"}
    assert set(programs[0].wanted) == {"lacli default", "lacli int8", "llama.cpp", "ik_llama.cpp", "transformers"}
    assert not found.samples
    assert not found.steps
    assert not found.with_bars
    assert "step of M rows" not in "\n".join(lines(found))
    measure(Wanted(sections=("edit",)), lambda text: None)
    assert orders(programs[1]) == {("learn", "edit"), ("generate", "edit"), ("generate", "")}
    assert "llama.cpp llama_decode" not in programs[1].wanted
    measure(Wanted(sections=("starts",)), lambda text: None)
    assert not programs[2].wanted


def test_a_model_that_is_no_gguf_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert peers.main(["-m", str(tmp_path)]) == 2
    assert "is no GGUF, which is what the peers read: give the path of a .gguf file" in capsys.readouterr().err


def test_a_section_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert peers.main(["--only", "edit,speed"]) == 2
    assert "--only knows no 'speed'" in capsys.readouterr().err
