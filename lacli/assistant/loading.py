"""From settings to everything a reply needs: model, tokenizer, runner, cost curve, draft sources, pool.

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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from lacli import paths
from lacli.assistant.base import Report
from lacli.assistant.kept_prompts import KeptPrompts, open_kept
from lacli.config import Settings
from lacli.errors import LacliError, UsageError
from lacli.events import Loading, Notice

if TYPE_CHECKING:
    from lacli.drafts.base import Sources
    from lacli.drafts.ngrams import Ngrams
    from lacli.drafts.successor import SuccessorTable
    from lacli.engine.controller import Controller, Limits
    from lacli.engine.cost import CostCurve
    from lacli.engine.sequence import CachedSequence
    from lacli.models.base import Quant
    from lacli.models.prepare.prepare import PreparedModel
    from lacli.models.progress import Progress
    from lacli.models.spec import ModelSpec
    from lacli.pool.store import Caps, Pool
    from lacli.project.files import ProjectFiles
    from lacli.text.tokenizer import Tokenizer

_Source = TypeVar("_Source")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory, without anything of a project."""

    prepared: PreparedModel
    tokenizer: Tokenizer
    cached: CachedSequence
    """Its KV cache, which all projects take turns with."""
    curve: CostCurve
    primer: SuccessorTable | None
    """What every successor table starts with; None with --no-lookahead, or if the model cannot branch."""
    device: str
    import_ms: float
    """Time to import the engine, and PyTorch where it computes."""
    load_ms: float
    """Time from the prepared folder to the first possible forward, imports not counted."""
    ngrams: Ngrams | None = None
    """The n-gram table of its tokenizer; None where that was left out, and with the primer."""


@dataclass(slots=True)
class Loaded:
    """A model together with a project: all that a reply needs."""

    prepared: PreparedModel
    tokenizer: Tokenizer
    cached: CachedSequence
    controller: Controller
    sources: Sources
    pool: Pool | None
    """None without a project, with --no-pool, or if it cannot be opened."""
    quant: str
    device: str
    import_ms: float
    """Time to import the engine, and PyTorch where it computes."""
    load_ms: float
    """Time from the prepared folder to the first possible forward, imports not counted."""
    files: ProjectFiles | None = None
    """Watches the project's files in the background; None if none are read."""
    kept: KeptPrompts | None = None
    """What was read before in this project; None where that is not kept."""
    primer: SuccessorTable | None = None
    """What the successor table started with; None with --no-lookahead, or if the model cannot branch."""
    ngrams: Ngrams | None = None
    """The n-gram table of its tokenizer, if there is one."""

    def source(self, kind: type[_Source]) -> _Source | None:
        """The source of this class, if it is in use."""
        return next((source for source in self.sources.all() if isinstance(source, kind)), None)

    def close(self) -> None:
        """Stop what runs in the background."""
        if self.files is not None:
            self.files.close()


def load(settings: Settings, report: Report) -> Loaded:
    """Fetch, prepare and load what `settings` name, and open its project."""
    settings = located(settings)
    return open_project(load_model(settings, report), settings, report)


def located(settings: Settings) -> Settings:
    """The same for a folder by name. Raises UsageError where that would be the current one and it is gone."""
    return replace(settings, folder=settings.folder or _current_folder())


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
        from lacli.assistant.cost_cache import cost_curve
        from lacli.engine.cost import CostCurve
        from lacli.engine.sequence import CachedSequence
        from lacli.models.runners.load import choose_device, load_runner, needs_torch
        from lacli.text.tokenizer import Tokenizer

    import_ms = _since(started)
    device = choose_device(settings.device)
    quant = _quant(settings, spec, device, report)
    prepared = _prepare(spec, quant, settings.offline, report)
    report(Loading("load"))
    context = _context(settings, prepared.spec.context, prepared.spec.alias)
    if needs_torch(prepared, prepared.quant, device, context):
        import_ms += _import_torch()
    started = time.perf_counter()
    tokenizer = Tokenizer.load(prepared.folder)
    runner = load_runner(prepared, prepared.quant, device, settings.threads, context)
    for note in (*runner.notes, *_missing_kernels(runner.kernel, device, prepared.quant)):
        report(Notice(note))
    cached = CachedSequence(runner)
    variant = f"{prepared.quant}-{device}-{runner.kernel}"
    guesses = settings.lookahead and runner.can_branch
    timed = f"{variant}-{settings.threads or 0}"
    curve = cost_curve(runner, prepared.folder.name, timed, device) if guesses else CostCurve.flat()
    from lacli.assistant import first_guesses

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
        ngrams=known.ngrams,
    )


def open_project(model: LoadedModel, settings: Settings, report: Report) -> Loaded:
    """What the model needs for the project that `settings` name: its pool, its files, what was read of it."""
    from lacli.drafts.base import Sources
    from lacli.engine.controller import Controller

    started = time.perf_counter()
    folder = settings.folder or _current_folder()
    limits = _limits(settings)
    alias, vocab_size = model.prepared.spec.alias, model.cached.runner.vocab_size
    pool = _open_pool(settings, folder, model.tokenizer, vocab_size, alias, report)
    sources = _sources(pool, model.primer, model.ngrams) if limits.lookahead else Sources()
    return Loaded(
        prepared=model.prepared,
        tokenizer=model.tokenizer,
        cached=model.cached,
        controller=Controller(model.curve, limits),
        sources=sources,
        pool=pool,
        quant=model.prepared.quant,
        device=model.device,
        import_ms=model.import_ms,
        load_ms=model.load_ms + _since(started),
        files=_project_files(settings, folder, model.tokenizer, sources),
        kept=open_kept(settings, pool, model.cached, model.prepared),
        primer=model.primer,
        ngrams=model.ngrams,
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


def _missing_kernels(kernel: str, device: str, quant: str) -> tuple[str, ...]:
    """One line where PyTorch does what our C kernels could, which is much slower; none where that was asked for."""
    from lacli.kernels.library import why_not

    could = device == "cpu" and quant in ("int4", "int8", "none") and os.name == "posix"
    if kernel != "torch" or not could or os.environ.get("LACLI_KERNEL") or not (why := why_not()):
        return ()
    return (f"{why}; PyTorch runs instead, several times slower",)


def _limits(settings: Settings) -> Limits:
    from lacli.engine.controller import Limits

    default = Limits()
    return Limits(
        lookahead=settings.lookahead,
        window=default.window if settings.window is None else settings.window,
        ngram=default.ngram if settings.ngram is None else settings.ngram,
        guesses=default.guesses if settings.guesses is None else settings.guesses,
        max_rows=default.max_rows,
    )


def _sources(pool: Pool | None, primed: SuccessorTable | None, ngrams: Ngrams | None) -> Sources:
    """The sources with what is known already in them."""
    from lacli.drafts.sources import new_sources

    tables = [primed] if primed is not None else []
    if pool is None:
        return new_sources((), tables, {}, ngrams=ngrams)
    learned = pool.table()
    if learned is not None:
        tables.append((learned.keys, learned.followers, learned.weights))
    return new_sources(list(pool.segments()), tables, pool.calibration(), files=True, ngrams=ngrams)


def _project_files(settings: Settings, folder: Path, tokenizer: Tokenizer, sources: Sources) -> ProjectFiles | None:
    """The project's files, read by a thread of their own into the source that drafts from them."""
    from lacli.drafts.lookup import FilesSource

    source = next((source for source in sources.drafts if isinstance(source, FilesSource)), None)
    if source is None:
        return None
    from lacli.project.files import ProjectFiles

    files = ProjectFiles()
    files.start(folder, tokenizer, source.replace, _writes(settings))
    return files


def _current_folder() -> Path:
    """Where the user stands, which may be gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder no longer exists", "change to another folder") from None


def _open_pool(
    settings: Settings, folder: Path, tokenizer: Tokenizer, vocab_size: int, model: str, report: Report
) -> Pool | None:
    """The project's pool; without one nothing but speed is lost, so every failure is a notice."""
    if not settings.pool:
        return None
    from lacli.pool.store import open_pool
    from lacli.project.root import pool_key, project_root
    from lacli.project.values import project_refuser

    try:
        root = project_root(folder)
        if root is None:
            return None
        key = pool_key(root, tokenizer.fingerprint)
        mode: Literal["learn", "read"] = "learn" if _writes(settings) else "read"
        pool = open_pool(key, paths.pools_dir(), mode, vocab_size, model, caps(settings))
    except (LacliError, OSError) as error:
        report(Notice(f"no pool in this run: {error}"))
        return None
    pool.refuse = project_refuser(root)
    report_notices(pool, report)
    return pool


def caps(settings: Settings) -> Caps:
    """How much may be kept of one project and of all."""
    from lacli.pool.store import Caps

    default = Caps()
    return Caps(
        default.project_bytes if settings.pool_mb is None else round(settings.pool_mb * 1_000_000),
        default.total_bytes if settings.pools_mb is None else round(settings.pools_mb * 1_000_000),
    )


def _writes(settings: Settings) -> bool:
    """Whether anything of the project may be put on the disk."""
    return settings.learn and settings.pool_mb != 0 and settings.pools_mb != 0


def report_notices(pool: Pool, report: Report) -> None:
    """Report the pool's notices, each once."""
    for notice in pool.notices:
        report(Notice(notice))
    pool.notices.clear()


def _since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)
