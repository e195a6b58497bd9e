"""What was read once, kept on disk for the next process: when the KV store is used, and when it must not be.

It holds what was asked in another form, so it follows the log as well as the pool: nothing is kept with `--no-log`,
`--no-pool` or after `lacli logs off`, and nothing of a prompt or reply in which something looks like a secret.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lacli import __version__, paths
from lacli.config import Settings
from lacli.kv.blocks import POSITIONS

if TYPE_CHECKING:
    from lacli.engine.sequence import CachedSequence
    from lacli.kv.store import KvStore
    from lacli.models.prepare.prepare import PreparedModel
    from lacli.pool.store import Pool


class KeptPrompts:
    """The store of one project, for the KV caches of one model."""

    def __init__(self, store: KvStore, pool: Pool) -> None:
        self._store = store
        self._pool = pool

    @property
    def store(self) -> KvStore:
        """What is kept, for who asks how much of a prompt is."""
        return self._store

    def restore(self, cached: CachedSequence, prompt: Sequence[int]) -> None:
        """Take what is stored of a prompt into a KV cache where that is more than it holds."""
        whole = cached.begin(prompt) // POSITIONS * POSITIONS
        if not self._store.has_behind(prompt, whole):
            return
        cached.begin(prompt[: whole + 1])
        try:
            self._store.restore(cached.runner, prompt, whole)  # type: ignore[arg-type]  # see `open_kept`
        finally:  # there may be memory for a part of it only
            cached.grown(prompt[whole : cached.runner.length])

    def refuses(self, *texts: str) -> bool:
        """Whether nothing of a prompt and a reply with these texts is to be stored: where something looks like a
        secret, and while the log is off, which it may be since this was opened."""
        from lacli.sessions import switch

        return not switch.is_on() or any(map(self._pool.refuse, texts))

    def keep(
        self, cached: CachedSequence, token_ids: Sequence[int], prompt_text: str, text: str, ms_per_token: float
    ) -> None:
        """After a reply: store what the cache holds of these ids, whose texts are looked through for secrets.

        What else it holds, such as a try that was given up, is not stored. `ms_per_token`: what reading takes; 0 where
        that is not known.
        """
        from lacli.engine.sequence import common

        if self.refuses(prompt_text, text):
            return
        pace = ms_per_token or self._store.ms_per_token
        if pace:
            held = cached.ids
            self._store.keep(cached.runner, held[: common(held, token_ids)], pace)  # type: ignore[arg-type]
        self._pool.notices.extend(self._store.notices)
        self._store.notices.clear()


def open_kept(
    settings: Settings, pool: Pool | None, cached: CachedSequence, prepared: PreparedModel
) -> KeptPrompts | None:
    """What is kept of the pool's project for this model; None where nothing is to be, or only PyTorch computes."""
    if pool is None or cached.runner.kernel == "torch":
        return None
    store = kv_store(settings, pool.key.root, prepared)
    return None if store is None else KeptPrompts(store, pool)


def kv_store(settings: Settings, root: Path, prepared: PreparedModel) -> KvStore | None:
    """The store of the project with this root for what our kernels compute; None where nothing is to be kept."""
    from lacli.kv.store import Caps, KvStore
    from lacli.project.root import project_id
    from lacli.sessions import switch

    kept = settings.keep_prompts and settings.learn and settings.kv_mb != 0 and settings.kvs_mb != 0
    if not kept or not switch.is_on():
        return None
    caps = Caps.of_megabytes(settings.kv_mb, settings.kvs_mb)
    return KvStore(paths.kv_dir() / project_id(root), arithmetic(prepared), caps)


def arithmetic(prepared: PreparedModel) -> bytes:
    """All that decides about a bit of a KV cache but its ids. Which instruction set computes does not: all of them give
    the same."""
    from lacli.kernels.library import ABI

    files = [prepared.packed_file] if prepared.packed_file is not None else list(prepared.float_files)
    weights = [(file.name, (found := file.stat()).st_size, found.st_mtime_ns) for file in files]
    described = [__version__, ABI, prepared.folder.name, prepared.quant, prepared.config, weights]
    return json.dumps(described, sort_keys=True).encode()
