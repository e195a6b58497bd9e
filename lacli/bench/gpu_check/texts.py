"""Texts of a real model on the device: tokens per step cold and replayed, speed against plain, where they part."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lacli.assistant.base import ignore
from lacli.assistant.loading import load
from lacli.bench import report
from lacli.bench.exact import compare
from lacli.bench.machine import machine
from lacli.bench.measure import measure
from lacli.bench.modes import COMPARED, MEASURED
from lacli.bench.runner import Bench
from lacli.bench.suites import load_suites
from lacli.config import Settings

_MODES = ("plain", "cold", "warm-replay")
_CASES = 4


def texts(model: str, device: str, tokens: int) -> dict[str, Any]:
    """The suite of code, its first prompts. The project's pool is neither read nor written."""
    loaded = load(Settings(model=model, device=device, pool=False), ignore)
    try:
        bench = Bench(loaded, tokens)
        cases = load_suites("code", _CASES)
        runs = measure(bench, cases, _quiet, [mode for mode in MEASURED if mode.name in _MODES])
        found = compare(bench, cases[:1], _quiet, [mode for mode in COMPARED if not mode.sampled], explained=True)
        return {
            "model": loaded.prepared.spec.alias,
            "quant": loaded.quant,
            "machine": machine(),
            "curve_ms": loaded.controller.cost.points,
            "modes": report.figures(runs),
            "texts": found.texts,
            "differences": [asdict(each) for each in found.differences],
        }
    finally:
        loaded.close()


def _quiet(text: str) -> None:
    """The report comes at the end."""
