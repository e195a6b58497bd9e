"""The start phase by phase: every function that is wrapped exists, and each millisecond is counted once."""

from __future__ import annotations

import importlib
import threading
from pathlib import Path

import pytest

from lacli.bench.start import probe, run


@pytest.mark.parametrize(
    ("module", "function"),
    [*((module, name) for module, names in probe.WRAPPED.items() for name in names), *probe.MARKS],
)
def test_what_is_wrapped_is_there(module: str, function: str) -> None:
    found = importlib.import_module(module)
    for name in function.split("."):
        assert name in vars(found)
        found = vars(found)[name]
    assert callable(getattr(found, "__func__", found))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(probe.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(probe.time, "thread_time", lambda: now[0] / 10)
    return now


def test_time_of_a_phase_within_another_is_not_the_others(clock: list[float]) -> None:
    recorder = probe.Recorder(99.0)
    with recorder.phase("outer"):
        clock[0] += 1
        with recorder.phase("inner"):
            clock[0] += 10
        with recorder.phase("inner"):
            clock[0] += 20
        clock[0] += 2
    assert recorder.phases == {"inner": (30.0, 3.0), "outer": (3.0, pytest.approx(0.3))}


def test_nothing_is_counted_after_the_first_chunk_or_in_another_thread(clock: list[float]) -> None:
    recorder = probe.Recorder(99.0)

    def elsewhere() -> None:
        with recorder.phase("elsewhere"):
            clock[0] += 1

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    recorder.mark("first chunk")
    with recorder.phase("later"):
        clock[0] += 1
    recorder.mark("first chunk")
    assert recorder.phases == {}
    assert recorder.marks == {"first chunk": (2.0, 10.1)}


@pytest.mark.slow
def test_a_start_is_measured(sandbox_with_model: Path) -> None:
    result = run.measure(None, 1)
    assert sum(result["phases"].values()) == pytest.approx(result["marks"]["first chunk"], abs=0.1)
    assert {"interpreter", "imports", "tokenizer", "weights", "prompt"} <= set(result["phases"])
    for name in result["floors"]:
        assert f"\n{name} " in run.table(result)
