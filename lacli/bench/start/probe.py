"""The measured process: `lacli ask` with its functions wrapped from outside as their modules are imported.

Lives here: what is wrapped, and what of its time is its own. Imports nothing but the standard library, or it would
change what it measures.
"""

from __future__ import annotations

import importlib
import importlib.abc
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

IMPORTS = "imports"
WRAPPED = {
    "lacli.models.registry.registry": {"load_registry": "registry"},
    "lacli.assistant.loading": {"_prepare": "prepared folder"},
    "lacli.assistant.first_guesses": {"known_or_made": "first guesses"},
    "lacli.assistant.project": {
        "_open_pool": "pool",
        "_sources": "draft sources",
        "_project_files": "draft sources",
        "open_kept": "KV store",
    },
    "lacli.kernels.library": {"library": "C library"},
    "lacli.text.tokenizer": {"Tokenizer.load": "tokenizer"},
    "lacli.models.runners.load": {"load_runner": "weights"},
    "lacli.assistant.cost_cache": {"cost_curve": "cost curve"},
    "lacli.assistant.kept_prompts": {"KeptPrompts.restore": "KV store"},
    "lacli.assistant.reply": {"build_prompt": "prompt"},
}
"""Module and function to the phase its time belongs to, less what others of these and imports take in it."""
FIRST_CHUNK = ("lacli.kernels.library", "Library.forward")
FIRST_TEXT = ("lacli.assistant.reply", "Reply.take")
MARKS = {FIRST_CHUNK: "first chunk", FIRST_TEXT: "first token"}


Times = tuple[float, float]
"""Seconds on the clock, and seconds of the processor in the thread that answers: on a busy machine only these count."""


class Recorder(importlib.abc.MetaPathFinder):
    """Time per phase until the first chunk of the prompt is computed."""

    def __init__(self, started: float) -> None:
        """started: when the process was asked for, on the system's monotonic clock."""
        self._started = started
        self._open: list[Times] = []
        """For each phase under way, the time in it that belongs to others."""
        self._thread = threading.get_ident()
        self.phases: dict[str, Times] = {}
        self.marks: dict[str, Times] = {}
        self.modules: list[str] = []

    def mark(self, name: str) -> None:
        """Something happened now, for the first time."""
        wall, cpu = _now()
        self.marks.setdefault(name, (wall - self._started, cpu))

    @contextmanager
    def phase(self, name: str) -> Any:
        """Count the block to a phase, if it runs in the thread that answers and before the first chunk."""
        if threading.get_ident() != self._thread or "first chunk" in self.marks:
            yield
            return
        began = _now()
        self._open.append((0.0, 0.0))
        try:
            yield
        finally:
            spent = _minus(_now(), began)
            own = _minus(spent, self._open.pop())
            if self._open:
                self._open[-1] = _plus(self._open[-1], spent)
            if "first chunk" not in self.marks:
                self.phases[name] = _plus(self.phases.get(name, (0.0, 0.0)), own)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What the other finders find, with its execution timed and its functions wrapped."""
        with self.phase(IMPORTS):
            others = (finder for finder in sys.meta_path if finder is not self)
            spec: Any = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def timed(module: Any) -> None:
            if threading.get_ident() == self._thread:
                self.modules.append(name)
            with self.phase(IMPORTS):
                execute(module)
            self._wrap(module, name)

        with suppress(AttributeError):  # of what is built in, whose loader is a class
            spec.loader.exec_module = timed
        return spec

    def _wrap(self, module: Any, name: str) -> None:
        for function, phase in WRAPPED.get(name, {}).items():
            _replace(module, function, partial(self.phase, phase))
        for (home, function), mark in MARKS.items():
            if home == name:
                _replace(module, function, partial(self._marked, mark))

    @contextmanager
    def _marked(self, name: str) -> Any:
        if name == "first chunk":
            self.mark(name)
            yield
        else:
            yield
            self.mark(name)


def _now() -> Times:
    return time.monotonic(), time.thread_time()


def _plus(one: Times, other: Times) -> Times:
    return one[0] + other[0], one[1] + other[1]


def _minus(one: Times, other: Times) -> Times:
    return one[0] - other[0], one[1] - other[1]


def _replace(module: Any, function: str, around: Callable[[], AbstractContextManager[Any]]) -> None:
    """Have a function, or a method `Class.name`, run inside such a block."""
    *owners, last = function.split(".")
    owner = module
    for each in owners:
        owner = getattr(owner, each)
    found = vars(owner)[last]
    inner = found.__func__ if isinstance(found, classmethod) else found

    def wrapped(*arguments: Any, **more: Any) -> Any:
        with around():
            return inner(*arguments, **more)

    setattr(owner, last, classmethod(wrapped) if isinstance(found, classmethod) else wrapped)


def main(arguments: Sequence[str]) -> int:
    """arguments: when the process was asked for, the file for the numbers, and those of `lacli`."""
    began, out, *rest = arguments
    recorder = Recorder(float(began))
    recorder.mark("interpreter")
    sys.meta_path.insert(0, recorder)
    with recorder.phase(IMPORTS):
        program = importlib.import_module("lacli.cli.main")  # the process stands in for the program: above all floors
    code: int = program.main(rest)
    compiled = [getattr(sys.modules[name], "__cached__", None) for name in recorder.modules if name in sys.modules]
    numbers = {"phases": recorder.phases, "marks": recorder.marks, "compiled": [each for each in compiled if each]}
    Path(out).write_text(json.dumps(numbers), encoding="utf-8")
    return code
