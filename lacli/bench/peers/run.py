"""`python -m lacli.bench.peers`: lacli beside llama.cpp, ik_llama.cpp and transformers, in one go, taking turns.

Peers are set up in virtual environments of their own, from wheels, in the cache folder. All run the same GGUF, the
default model's or that of -m, with a thread for each physical core, greedily, on the same prompt ids. Prints a table in
Markdown; `--out` keeps the samples. Lives here: the order of things. `field` knows the contestants,
`rounds` the measuring, `table` what it comes to.

The default model is measured in eight bits, too, and, where nothing is left out, compared with the bars that lacli is
held to. Another one is measured as it is. One of 1.5 billion parameters takes some twenty minutes on two cores with
`--quick`, less with `--only reading,edit`.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lacli.bench.machine import machine, machine_line
from lacli.bench.peers.field import QUANTS, SPECULATIONS, Field, entries, processes
from lacli.bench.peers.process import Failed, Worker, command_of
from lacli.bench.peers.rounds import Plan, measure_reading, measure_replies, measure_steps
from lacli.bench.peers.setup import IK, XLLAMACPP
from lacli.bench.peers.start import cold_starts
from lacli.bench.peers.table import OURS, Results, lines, record
from lacli.errors import LacliError, UsageError

FULL = Plan({"code": 5, "edit": 4, "edit-ref": 3}, 128, 3, 7, 5, 2, 3)
QUICK = Plan({"code": 2, "edit": 1, "edit-ref": 1}, 48, 1, 3, 3, 1)
_STARTS = 5
_SHAPE_REPEATS = 15

SECTIONS = ("starts", "shape", "steps", "reading", *FULL.cases)
"""What `--only` takes."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is measured."""

    model: str | None = None
    """None is the default one."""
    quick: bool = False
    sections: Sequence[str] = SECTIONS

    @property
    def plan(self) -> Plan:
        """How much of it."""
        plan = QUICK if self.quick else FULL
        return replace(plan, cases={suite: count for suite, count in plan.cases.items() if suite in self.sections})


def measure(wanted: Wanted, progress: Progress) -> Results:
    """All of it. Raises LacliError where lacli itself cannot run; what peers lack is in the results."""
    from lacli.models.registry.limits import cores

    plan, speculations = wanted.plan, SPECULATIONS[:2] if wanted.quick else SPECULATIONS
    gguf, is_default = _gguf(wanted.model)
    quants = QUANTS if is_default else QUANTS[:1]
    threads = cores()
    taking = [entry for entry in entries(speculations, quants) if entry.takes_part(wanted.sections)]
    failures: dict[str, str] = {}
    starts, shape = [], {}
    if "starts" in wanted.sections:
        starts = _starts(1 if wanted.quick else _STARTS, wanted.model, failures, progress)
    if "shape" in wanted.sections and is_default:
        shape = _shape(threads, 3 if wanted.quick else _SHAPE_REPEATS, failures, progress)
    known = processes(str(gguf), threads, plan.max_tokens, plan.cases, speculations, wanted.model)
    needed = {entry.process for entry in taking}
    field = Field({name: process for name, process in known.items() if name in needed}, progress)
    steps, reading, samples = [], [], []
    try:
        field.start_all()
        ours = field.loaded.get(OURS)
        if taking and ours is None:
            raise LacliError(f"lacli itself cannot be measured: {field.failures[OURS]}")
        if "steps" in wanted.sections:
            steps = measure_steps(field, taking, plan, progress)
        if ours is not None:
            if "reading" in wanted.sections:
                reading = measure_reading(field, taking, ours["reading"], plan, progress)
            samples = measure_replies(field, taking, ours["tasks"], plan, progress)
    finally:
        field.close()
    builds = {name: loaded["build"] for name, loaded in field.loaded.items() if loaded.get("build")}
    with_bars = is_default and set(SECTIONS) <= set(wanted.sections)
    return Results(
        taking, samples, steps, shape, starts, {**failures, **field.failures}, builds, field.idle, reading, with_bars
    )


def _gguf(model: str | None) -> tuple[Path, bool]:
    """The file that all run, and whether it is the default model's. Raises UsageError for a model of another kind."""
    from lacli.models.fetch.fetch import ensure_local
    from lacli.models.registry.registry import load_registry

    registry = load_registry()
    spec = registry.resolve(model)
    if spec.kind != "gguf":
        raise UsageError(f"{spec.alias} is no GGUF, which is what the peers read", "give the path of a .gguf file")
    return ensure_local(spec, lambda step: None), spec.alias == registry.default


def _starts(count: int, model: str | None, failures: dict[str, str], progress: Progress) -> list[tuple[float, float]]:
    progress("cold starts")
    try:
        return cold_starts(count, model)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        failures["cold start"] = str(error)
        return []


def _shape(threads: int, repeats: int, failures: dict[str, str], progress: Progress) -> dict[str, dict[str, Any]]:
    found = {}
    for quant in ("int4", "int8"):
        progress(f"1.5B shape, {quant}")
        try:
            worker = Worker(command_of(sys.executable, "shape"))
            try:
                found[quant] = worker.ask("measure", quant=quant, threads=threads, repeats=repeats)
            finally:
                worker.close()
        except Failed as error:
            failures[f"1.5B shape, {quant}"] = str(error)
    return found


def head(started: float, load: Sequence[str], model: str | None = None) -> list[str]:
    """Where, when and of what it was measured. load: the load averages before and after."""
    from lacli.models.registry.limits import cores

    facts = machine()
    facts["torch_threads"] = cores()  # of the contestants, which is what counts
    peers = ", ".join(package.title for package in (XLLAMACPP, IK))
    minutes = (time.time() - started) / 60
    return [
        f"{machine_line(facts)}; {peers}; {_alias(model) or 'default model'}",
        f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(started))}, {minutes:.0f} minutes, "
        f"load average {load[0]} before, {load[1]} after",
        "",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.peers", description="lacli beside its peers.")
    parser.add_argument("--quick", action="store_true", help="a few prompts, to see that all of them run")
    parser.add_argument("--out", type=Path, help="folder to write peers-MACHINE-DATE.json to")
    parser.add_argument("-m", "--model", help="a GGUF, as for lacli; the default model where it is left away")
    parser.add_argument("--only", help=f"some of {','.join(SECTIONS)}")
    options = parser.parse_args(arguments)
    started, before = time.time(), _load()

    def progress(text: str) -> None:
        print(f"{time.time() - started:5.0f} s  {text}", file=sys.stderr, flush=True)

    try:
        results = measure(Wanted(options.model, options.quick, _sections(options.only)), progress)
    except LacliError as error:
        print(f"{error}: {error.hint}" if error.hint else error, file=sys.stderr)
        return error.exit_code
    text = [*head(started, (before, _load()), options.model), *lines(results)]
    print("\n".join(text))
    if options.out is not None:
        facts = machine()
        options.out.mkdir(parents=True, exist_ok=True)
        document = {
            "quick": options.quick,
            "model": _alias(options.model),
            "machine": facts,
            "head": text[:2],
            **record(results),
        }
        file = options.out / f"{file_stem(str(facts['cpu']), int(facts['cores']), started, options.model)}.json"
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"written to {file}", file=sys.stderr)
    return 0


def _sections(only: str | None) -> Sequence[str]:
    if only is None:
        return SECTIONS
    wanted = [word.strip() for word in only.split(",")]
    unknown = next((word for word in wanted if word not in SECTIONS), None)
    if unknown is not None:
        raise UsageError(f"--only knows no {unknown!r}", f"choose of {', '.join(SECTIONS)}")
    return wanted


def _alias(model: str | None) -> str:
    """A model's name without its folder; empty for the default one."""
    return Path(model).name.removesuffix(".gguf") if model else ""


def file_stem(cpu: str, cores: int, when: float, model: str | None = None) -> str:
    """`peers-MACHINE-DATE`, with the model's name where it is not the default one."""
    machine_name = re.sub(r"[^a-z0-9]+", "-", f"{cpu} {cores} cores".lower()).strip("-")
    name = f"{_alias(model)}-".lower() if model else ""
    return f"peers-{name}{machine_name}-{time.strftime('%Y-%m-%d', time.localtime(when))}"


def _load() -> str:
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except (OSError, AttributeError):  # Windows has none
        return "unknown"
