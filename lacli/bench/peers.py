"""`python -m lacli.bench.peers`: lacli beside llama.cpp, ik_llama.cpp and transformers, in one go, taking turns.

Peers are set up in virtual environments of their own, from wheels, in the cache folder. All run the default model's
GGUF with a thread for each physical core, greedily, on the same prompt ids. Prints a table in Markdown; `--out` keeps
the samples. Lives here: the order of things. `peers_field` knows the contestants, `peers_rounds` the measuring,
`peers_table` what it comes to.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lacli.bench.machine import machine, machine_line
from lacli.bench.peers_field import SPECULATIONS, Field, entries, processes
from lacli.bench.peers_process import Failed, Worker, command_of
from lacli.bench.peers_rounds import Plan, measure_replies, measure_steps
from lacli.bench.peers_setup import IK, XLLAMACPP
from lacli.bench.peers_start import cold_starts
from lacli.bench.peers_table import OURS, Results, lines, record
from lacli.errors import LacliError

FULL = Plan({"code": 5, "edit": 4, "edit-ref": 3}, 128, 3, 7, 5, 2)
QUICK = Plan({"code": 2, "edit": 1, "edit-ref": 1}, 48, 1, 3, 3, 1)
_STARTS = 5
_SHAPE_REPEATS = 15

Progress = Callable[[str], None]


def measure(quick: bool, progress: Progress) -> Results:
    """All of it. Raises LacliError where lacli itself cannot run; what peers lack is in the results."""
    from lacli.models.fetch import ensure_local
    from lacli.models.limits import cores
    from lacli.models.registry import load_registry

    plan, speculations = (QUICK, SPECULATIONS[:2]) if quick else (FULL, SPECULATIONS)
    threads = cores()
    gguf = ensure_local(load_registry().resolve(None), lambda step: None)
    taking = entries(speculations)
    failures: dict[str, str] = {}
    starts = _starts(1 if quick else _STARTS, failures, progress)
    shape = _shape(threads, 3 if quick else _SHAPE_REPEATS, failures, progress)
    field = Field(processes(str(gguf), threads, plan.max_tokens, plan.cases, speculations), progress)
    try:
        field.start_all()
        ours = field.loaded.get(OURS)
        if ours is None:
            raise LacliError(f"lacli itself cannot be measured: {field.failures[OURS]}")
        steps = measure_steps(field, taking, plan, progress)
        samples = measure_replies(field, taking, ours["tasks"], plan, progress)
    finally:
        field.close()
    builds = {name: loaded["build"] for name, loaded in field.loaded.items() if loaded.get("build")}
    return Results(taking, samples, steps, shape, starts, {**failures, **field.failures}, builds, field.idle)


def _starts(count: int, failures: dict[str, str], progress: Progress) -> list[tuple[float, float]]:
    progress("cold starts")
    try:
        return cold_starts(count)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        failures["cold start"] = str(error)
        return []


def _shape(threads: int, repeats: int, failures: dict[str, str], progress: Progress) -> dict[str, dict[str, Any]]:
    found = {}
    for quant in ("int4", "int8"):
        progress(f"1.5B shape, {quant}")
        try:
            worker = Worker(command_of(sys.executable, "peers_shape"))
            try:
                found[quant] = worker.ask("measure", quant=quant, threads=threads, repeats=repeats)
            finally:
                worker.close()
        except Failed as error:
            failures[f"1.5B shape, {quant}"] = str(error)
    return found


def head(started: float, load: Sequence[str]) -> list[str]:
    """Where and when it was measured. load: the load averages before and after."""
    from lacli.models.limits import cores

    facts = machine()
    facts["torch_threads"] = cores()  # of the contestants, which is what counts
    peers = ", ".join(package.title for package in (XLLAMACPP, IK))
    minutes = (time.time() - started) / 60
    return [
        f"{machine_line(facts)}; {peers}",
        f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(started))}, {minutes:.0f} minutes, "
        f"load average {load[0]} before, {load[1]} after",
        "",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.peers", description="lacli beside its peers.")
    parser.add_argument("--quick", action="store_true", help="a few prompts, to see that all of them run")
    parser.add_argument("--out", type=Path, help="folder to write peers-MACHINE-DATE.json to")
    options = parser.parse_args(arguments)
    started, before = time.time(), _load()

    def progress(text: str) -> None:
        print(f"{time.time() - started:5.0f} s  {text}", file=sys.stderr, flush=True)

    try:
        results = measure(options.quick, progress)
    except LacliError as error:
        print(f"{error}: {error.hint}" if error.hint else error, file=sys.stderr)
        return error.exit_code
    text = [*head(started, (before, _load())), *lines(results)]
    print("\n".join(text))
    if options.out is not None:
        facts = machine()
        options.out.mkdir(parents=True, exist_ok=True)
        document = {"quick": options.quick, "machine": facts, "head": text[:2], **record(results)}
        file = options.out / f"{file_stem(str(facts['cpu']), int(facts['cores']), started)}.json"
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"written to {file}", file=sys.stderr)
    return 0


def file_stem(cpu: str, cores: int, when: float) -> str:
    """`peers-MACHINE-DATE`"""
    machine_name = re.sub(r"[^a-z0-9]+", "-", f"{cpu} {cores} cores".lower()).strip("-")
    return f"peers-{machine_name}-{time.strftime('%Y-%m-%d', time.localtime(when))}"


def _load() -> str:
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except (OSError, AttributeError):  # Windows has none
        return "unknown"


if __name__ == "__main__":
    sys.exit(main())
