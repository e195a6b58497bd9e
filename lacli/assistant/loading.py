"""From settings to a loaded model: fetched, prepared, with its tokenizer, runner, cost curve and first guesses.

PyTorch is imported only where it computes: on CUDA, for families our C step does not serve, and without the C library.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.assistant.base import Report
from lacli.assistant.loaded import Loaded, LoadedModel
from lacli.assistant.project import located, open_project
from lacli.config import Settings
from lacli.errors import UsageError
from lacli.events import Loading, Notice
from lacli.models.base import BucketedRunner

if TYPE_CHECKING:
    from lacli.models.base import Quant, Runner
    from lacli.models.prepare.prepare import PreparedModel
    from lacli.models.progress import Progress
    from lacli.models.spec import ModelSpec
    from lacli.text.tokenizer import Tokenizer


def load(settings: Settings, report: Report) -> Loaded:
    """Fetch, prepare and load what `settings` name, and open its project."""
    settings = located(settings)
    return open_project(load_model(settings, report), settings, report)


def load_model(settings: Settings, report: Report) -> LoadedModel:
    """Fetch, prepare and load the model that `settings` name."""
    from lacli.models.registry.registry import also_here, load_registry

    spec = load_registry().resolve(settings.model)
    _context(settings, spec.context, spec.alias)  # before anything is fetched, where it is known so early
    if ambiguous := also_here(spec, settings.model):
        report(Notice(ambiguous))
    report(Loading("load"))
    started = time.perf_counter()
    _let_openmp_sleep()
    with _without_garbage_collection():
        from lacli.assistant import first_guesses
        from lacli.assistant.cost_cache import cost_curve, known_pace, timed_variant
        from lacli.engine.cost import CostCurve
        from lacli.engine.sequence import CachedSequence
        from lacli.models.registry.refusal import refuse_too_large
        from lacli.models.runners.load import choose_device, load_runner, needs_torch
        from lacli.text.tokenizer import Tokenizer

    import_ms = _since(started)
    device = choose_device(settings.device)
    quant = _quant(settings, spec, device, report)
    refuse_too_large(spec, settings.context, quant, device)
    prepared = _prepare(spec, quant, settings.offline, report)
    report(Loading("load"))
    context = _context(settings, prepared.spec.context, prepared.spec.alias)
    if needs_torch(prepared, prepared.quant, device, context):
        import_ms += _import_torch()
    started = time.perf_counter()
    tokenizer = Tokenizer.load(prepared.folder)
    runner = load_runner(prepared, prepared.quant, device, settings.threads, context, settings.strict)
    missing = _missing_kernels(runner.kernel, device, prepared.quant)
    for note in (*runner.notes, *_not_strict(settings, runner, device), *missing):
        report(Notice(note))
    cached = CachedSequence(runner)
    guesses = settings.lookahead and runner.can_branch
    timed = timed_variant(prepared.quant, device, runner.kernel, settings.threads)
    stepped = timed_variant(prepared.quant, device, _steps(runner), settings.threads)
    curve = cost_curve(runner, prepared.folder.name, stepped, device) if guesses else CostCurve.flat()
    known = first_guesses.known_or_made(prepared, runner, tokenizer, report) if guesses else first_guesses.NONE
    return LoadedModel(
        prepared=prepared,
        tokenizer=tokenizer,
        cached=cached,
        curve=curve,
        primer=known.primer,
        device=device,
        import_ms=import_ms,
        load_ms=_since(started),
        pace=known_pace(prepared.folder.name, timed, device),
        ngrams=known.ngrams,
    )


def describe(settings: Settings, report: Report) -> tuple[PreparedModel, Tokenizer, int]:
    """Model, tokenizer and context of `settings` without weights or torch; a model that is not there yet is made."""
    from lacli.models.prepare.prepare import described
    from lacli.models.registry.registry import load_registry
    from lacli.text.tokenizer import Tokenizer

    spec = load_registry().resolve(settings.model)
    quant = _quant(settings, spec, "cpu" if settings.device == "auto" else settings.device, report)
    prepared = described(spec, quant, _progress(report), settings.offline)
    context = _context(settings, prepared.spec.context, prepared.spec.alias)
    return prepared, Tokenizer.load(prepared.folder), context or prepared.spec.context


def _context(settings: Settings, most: int, model: str) -> int | None:
    """The bound to load with: as asked, else the model's, which is never exceeded; None where none is known."""
    if settings.context is not None and most and settings.context > most:
        raise UsageError(
            f"--ctx {settings.context} is more than the {most} tokens {model} was made for", f"give at most {most}"
        )
    return settings.context or most or None


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """A block of imports: its objects last as long as the program, so they are never searched for garbage, neither now
    nor later. With PyTorch's that takes a third of a second before the first token."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def _let_openmp_sleep() -> None:
    """Let OpenMP's threads sleep while they wait for each other, where others want the cores: other programs, or the
    threads of our own kernels, which take turns with OpenMP's in models that transformers runs.

    Spinning is a third faster for PyTorch alone on an idle machine, and ten times slower with more to do than cores.
    """
    from lacli.kernels.library import library

    busy = library() is not None
    with contextlib.suppress(OSError, AttributeError):  # no load average on Windows
        busy = busy or os.getloadavg()[0] > (os.cpu_count() or 1)
    if busy:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _import_torch() -> float:
    """Import it, and return how many milliseconds that took."""
    started = time.perf_counter()
    if threading.current_thread() is not threading.main_thread():
        _preload_torch()
    with _without_garbage_collection():
        import torch  # noqa: F401
    return _since(started)


def _preload_torch() -> None:
    """Map PyTorch's largest library before it is imported, with the interpreter free meanwhile: an import holds it, and
    in a chat no key that is typed would show for so long. Where it fails, the import does it.
    """
    if sys.platform != "linux" or "torch" in sys.modules:
        return
    import ctypes
    import importlib.util

    spec = importlib.util.find_spec("torch")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder, "lib", "libtorch_cpu.so")
        if file.is_file():
            system = ctypes.CDLL(None)  # called through it, and not by it, dlopen runs without the interpreter's lock
            system.dlopen.argtypes, system.dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
            system.dlopen(os.fsencode(file), os.RTLD_NOW)


def _quant(settings: Settings, spec: ModelSpec, device: str, report: Report) -> Quant | None:
    from lacli.models.registry.choice import on_device

    asked = settings.quant or spec.fixed_quant
    quant, note = on_device(asked, device)  # type: ignore[arg-type]  # checked by the option
    if note:
        report(Notice(note))
    return quant


def _prepare(spec: ModelSpec, quant: Quant | None, offline: bool, report: Report) -> PreparedModel:
    from lacli.models.prepare.prepare import prepare

    prepared = prepare(spec, quant, _progress(report), offline)
    for note in prepared.notes:
        report(Notice(note))
    return prepared


def _progress(report: Report) -> Callable[[Progress], None]:
    """Progress of fetching and preparing as events."""

    def progress(step: Progress) -> None:
        if step.text:
            report(Notice(step.text))
        if step.stage != "note":
            report(Loading(step.stage, step.done, step.total))

    return progress


def _steps(runner: Runner) -> str:
    """What the times of steps depend on: on CUDA our own forward has others than transformers, and others in one shape
    than in many."""
    if not isinstance(runner, BucketedRunner):
        return runner.kernel
    return "strict" if runner.chains_only else "graphs"


def _not_strict(settings: Settings, runner: Runner, device: str) -> tuple[str, ...]:
    """A line where --strict was asked for and cannot be kept."""
    if not settings.strict or device == "cpu" or (isinstance(runner, BucketedRunner) and runner.chains_only):
        return ()
    return ("--strict has no effect: on CUDA this kind of model runs on stock transformers",)


def _missing_kernels(kernel: str, device: str, quant: str) -> tuple[str, ...]:
    """One line where PyTorch does what our C kernels could, which is much slower; none where that was asked for."""
    from lacli.kernels.library import why_not

    could = device == "cpu" and quant in ("int4", "int8", "none") and os.name == "posix"
    if kernel != "torch" or not could or os.environ.get("LACLI_KERNEL") or not (why := why_not()):
        return ()
    return (f"{why}; PyTorch runs instead, several times slower",)


def _since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)
