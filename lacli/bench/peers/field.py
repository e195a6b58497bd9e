"""Who takes part, and in what: contestants, their processes, and which of them can be asked.

A contestant that cannot be had, or fails, is struck off with its reason; the rest go on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from lacli.bench.peers.process import Failed, Worker, command_of
from lacli.bench.peers.setup import IK, XLLAMACPP, NotInstalled, Package, python_of

SCENES = {"code": "code", "similar": "code", "replay": "code", "edit": "edit", "edit-ref": "edit-ref"}
"""Scenes by the suite their prompts come from. similar: the session has answered other prompts of the suite; replay:
this very one."""
SPECULATIONS = ("ngram-cache", "ngram-mod", "ngram-simple", "ngram-map-k", "ngram-map-k4v")
"""Of llama.cpp's server, all that take no second model."""
QUANTS = ("default", "int8")
"""Ways lacli quantises."""


@dataclass(frozen=True, slots=True)
class Process:
    """How a contestant's process is started and loaded."""

    module: str
    """Of lacli.bench."""
    load: Mapping[str, Any]
    """Arguments of its order `load`."""
    package: Package | None = None
    """What its environment holds; None is lacli's own."""
    remembers: bool = False
    """Whether it keeps what it has seen, so that it must be started anew for a cold round."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table."""

    label: str
    """Unique."""
    family: str
    """lacli, llama.cpp, ik_llama.cpp or transformers"""
    process: str
    """Name of its process; several entries may share one."""
    ways: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments of `generate` by scene; what is not here is not measured."""
    speculates: bool = False
    steps: bool = False
    """Whether T(M) is measured."""
    reads: bool = False
    """Whether the reading of prompts is."""

    def takes_part(self, sections: Collection[str]) -> bool:
        """Whether any of these is measured of it: suites, steps, reading."""
        suites = {SCENES[scene] for scene in self.ways}
        return bool(
            suites & set(sections) or (self.steps and "steps" in sections) or (self.reads and "reading" in sections)
        )


def entries(speculations: tuple[str, ...] = SPECULATIONS, quants: tuple[str, ...] = QUANTS) -> list[Entry]:
    """All contestants."""
    plain: dict[str, Mapping[str, Any]] = {"code": {}, "edit": {}, "edit-ref": {}}
    again = {**plain, "replay": {}}
    found = []
    for quant in quants:
        ways = {"code": "cold", "similar": "similar", "replay": "replay", "edit": "cold", "edit-ref": "cold"}
        found += [
            Entry(
                f"lacli {quant} plain",
                "lacli",
                f"lacli {quant}",
                {scene: {"way": "plain"} for scene in plain},
                steps=True,
                reads=True,
            ),
            Entry(
                f"lacli {quant}", "lacli", f"lacli {quant}", {scene: {"way": way} for scene, way in ways.items()}, True
            ),
        ]
    found += [
        Entry("llama.cpp plain", "llama.cpp", "llama.cpp", plain, reads=True),
        *(Entry(f"llama.cpp {name}", "llama.cpp", f"llama.cpp {name}", again, True) for name in speculations),
        Entry("llama.cpp llama_decode", "llama.cpp", "llama.cpp llama_decode", steps=True),
        Entry("ik_llama.cpp plain", "ik_llama.cpp", "ik_llama.cpp", plain, steps=True, reads=True),
    ]
    for label, lookup in (("plain", False), ("prompt lookup", True)):
        ways_of = {scene: {"lookup": lookup} for scene in plain}
        found.append(
            Entry(f"transformers {label}", "transformers", "transformers", ways_of, lookup, not lookup, not lookup)
        )
    return found


def processes(
    gguf: str,
    threads: int,
    max_tokens: int,
    cases: Mapping[str, int],
    speculations: tuple[str, ...],
    model: str | None = None,
) -> dict[str, Process]:
    """By name; lacli's first. model: as lacli is told it; `gguf` is its file."""
    common = {"gguf": gguf, "threads": threads}
    ours = {"threads": threads, "max_tokens": max_tokens, "cases": dict(cases), "model": model}
    found = {
        "lacli default": Process("lacli", {**ours, "quant": None}),
        "lacli int8": Process("lacli", {**ours, "quant": "int8"}),
        "llama.cpp": Process("server", {**common, "speculation": ""}, XLLAMACPP),
    }
    for name in speculations:
        found[f"llama.cpp {name}"] = Process("server", {**common, "speculation": name}, XLLAMACPP, True)
    found["llama.cpp llama_decode"] = Process("llama", {**common, "package": "xllamacpp"}, XLLAMACPP)
    found["ik_llama.cpp"] = Process("llama", {**common, "package": "ik_llama_cpp"}, IK)
    found["transformers"] = Process("transformers", common)
    return found


class Field:
    """The running processes."""

    def __init__(self, wanted: Mapping[str, Process], progress: Callable[[str], None]) -> None:
        self._wanted = wanted
        self._progress = progress
        self._workers: dict[str, Worker] = {}
        self._own_cpu: dict[str, float] = {}
        self._own_s: dict[str, float] = {}
        self._since: dict[str, tuple[float, float]] = {}
        self.loaded: dict[str, dict[str, Any]] = {}
        """What each said when it was loaded."""
        self.failures: dict[str, str] = {}
        """By process, why it is not, or no longer, there."""
        self.idle: dict[str, float] = {}
        """By process, the processor seconds it took each second that others were asked."""

    def start(self, name: str) -> None:
        """Start and load a process; a failure is noted."""
        process = self._wanted[name]
        self._progress(f"starting {name}")
        worker = None
        try:
            python = str(python_of(process.package)) if process.package else sys.executable
            worker = Worker(command_of(python, process.module))
            self.loaded[name] = worker.ask("load", **process.load)
        except (Failed, NotInstalled) as error:
            self.failures[name] = str(error)
            if worker is not None:
                worker.close()
            return
        self._workers[name] = worker
        self._own_cpu[name] = self._own_s[name] = 0.0
        self._since[name] = (time.perf_counter(), worker.cpu_seconds())

    def start_all(self) -> None:
        """Start each."""
        for name in self._wanted:
            self.start(name)

    def renew(self, needed: Collection[str]) -> None:
        """End all but these, and begin those anew that keep what they have seen."""
        for name in list(self._workers):
            if name not in needed:
                self.stop(name)
            elif self._wanted[name].remembers:
                self.stop(name)
                self.start(name)

    def runs(self, name: str) -> bool:
        """Whether it can be asked."""
        return name in self._workers

    def ask(self, name: str, do: str, **arguments: Any) -> dict[str, Any] | None:
        """Its answer; None, and the reason noted, where it failed."""
        if name not in self._workers:
            return None
        worker = self._workers[name]
        started, cpu = time.perf_counter(), worker.cpu_seconds()
        try:
            answer = worker.ask(do, **arguments)
        except Failed as error:
            self.failures[name] = f"{do}: {error}"
            self._workers.pop(name).close()
            return None
        self._own_cpu[name] += worker.cpu_seconds() - cpu
        self._own_s[name] += time.perf_counter() - started
        return answer

    def stop(self, name: str) -> None:
        """End it, and note what it took while it was not asked."""
        worker = self._workers.pop(name, None)
        if worker is None:
            return
        begun, cpu = self._since[name]
        waited = time.perf_counter() - begun - self._own_s[name]
        spent = worker.cpu_seconds() - cpu - self._own_cpu[name]
        if waited > 0:
            self.idle[name] = max(self.idle.get(name, 0.0), max(0.0, spent) / waited)
        worker.close()

    def close(self) -> None:
        """End all."""
        for name in list(self._workers):
            self.stop(name)
