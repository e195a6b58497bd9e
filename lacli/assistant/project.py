"""What a loaded model needs for a project: its pool, its files, what was read of it, and the sources that draft from
them. One model serves several projects in turn."""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lacli import paths
from lacli.assistant.base import Report
from lacli.assistant.kept_prompts import open_kept
from lacli.assistant.loaded import Loaded, LoadedModel
from lacli.config import Settings
from lacli.errors import LacliError, UsageError
from lacli.events import Notice

if TYPE_CHECKING:
    from lacli.drafts.base import Sources
    from lacli.drafts.ngrams import Ngrams
    from lacli.drafts.successor import SuccessorTable
    from lacli.engine.controller import Limits
    from lacli.pool.secrets import Refuse
    from lacli.pool.store import Caps, Pool
    from lacli.project.files import ProjectFiles
    from lacli.text.tokenizer import Tokenizer


def located(settings: Settings) -> Settings:
    """The same settings with the folder that they leave open: the current one. Raises UsageError where that is gone."""
    if settings.folder is not None:
        return settings
    try:
        return replace(settings, folder=Path.cwd())
    except FileNotFoundError:
        raise UsageError("the current folder no longer exists", "change to another folder") from None


def open_project(model: LoadedModel, settings: Settings, report: Report) -> Loaded:
    """What the model needs for the project of these settings, which are `located`: its pool, its files, what was read
    of it."""
    from lacli.drafts.base import Sources
    from lacli.engine.controller import Controller

    started = time.perf_counter()
    folder = settings.folder
    assert folder is not None
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
        load_ms=model.load_ms + 1000 * (time.perf_counter() - started),
        files=_project_files(settings, folder, model.tokenizer, sources),
        kept=open_kept(settings, pool, model.cached, model.prepared),
        primer=model.primer,
        pace=model.pace,
        ngrams=model.ngrams,
    )


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


def _open_pool(
    settings: Settings, folder: Path, tokenizer: Tokenizer, vocab_size: int, model: str, report: Report
) -> Pool | None:
    """The project's pool; without one nothing but speed is lost, so every failure is a notice."""
    if not settings.pool:
        return None
    from lacli.pool.store import open_pool
    from lacli.project.root import pool_key, project_root

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
    pool.refuse = _refuser(root)
    report_notices(pool, report)
    return pool


def _refuser(root: Path) -> Refuse:
    """What judges the texts of this project; its patterns take some milliseconds, which no prompt has to wait for."""

    @functools.cache
    def known() -> Refuse:
        from lacli.project.values import project_refuser

        return project_refuser(root)

    return lambda text, wary=False: known()(text, wary)


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
