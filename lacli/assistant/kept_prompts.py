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
    """The store of one project, for one KV cache."""

    def __init__(self, store: KvStore, pool: Pool, cached: CachedSequence) -> None:
        self._store = store
        self._pool = pool
        self._cached = cached

    @property
    def store(self) -> KvStore:
        """What is kept, for who asks how much of a prompt is."""
        return self._store

    def restore(self, prompt: Sequence[int]) -> int:
        """Take what is stored of a prompt into the KV cache where that is more than it holds; tokens gained by it."""
        cached, held = self._cached, self._cached.begin(prompt)
        whole = held // POSITIONS * POSITIONS
        if not self._store.has_behind(prompt, whole):
            return 0
        cached.begin(prompt[: whole + 1])
        now = self._store.restore(cached.runner, prompt, whole)  # type: ignore[arg-type]  # see `open_kept`
        cached.grown(prompt[whole:now])
        return now - held

    def keep(self, token_ids: Sequence[int], prompt_text: str, text: str, ms_per_token: float) -> None:
        """After a reply: store what the cache holds of these ids, whose texts are looked through for secrets.

        What else it holds, such as a try that was given up, is not stored. `ms_per_token`: what reading takes; 0 where
        that is not known.
        """
        from lacli.engine.sequence import common

        if self._pool.refuse(prompt_text) or self._pool.refuse(text):
            return
        if ms_per_token:
            held = self._cached.ids
            shown = held[: common(held, token_ids)]
            self._store.keep(self._cached.runner, shown, ms_per_token)  # type: ignore[arg-type]
        self._pool.notices.extend(self._store.notices)
        self._store.notices.clear()


def open_kept(
    settings: Settings, pool: Pool | None, cached: CachedSequence, prepared: PreparedModel
) -> KeptPrompts | None:
    """What is kept of the pool's project for this model; None where nothing is to be, or only PyTorch computes."""
    if pool is None or cached.runner.kernel == "torch":
        return None
    store = kv_store(settings, pool.key.root, prepared)
    return None if store is None else KeptPrompts(store, pool, cached)


def kv_store(settings: Settings, root: Path, prepared: PreparedModel) -> KvStore | None:
    """The store of the project with this root for what our kernels compute; None where nothing is to be kept."""
    from lacli.kernels.library import ABI
    from lacli.kv.store import Caps, KvStore
    from lacli.project.root import project_id
    from lacli.sessions import switch

    kept = settings.keep_prompts and settings.learn and settings.kv_mb != 0 and settings.kvs_mb != 0
    if not kept or not switch.is_on():
        return None
    caps = Caps.of_megabytes(settings.kv_mb, settings.kvs_mb)
    files = [prepared.packed_file] if prepared.packed_file is not None else list(prepared.float_files)
    weights = [(file.name, (found := file.stat()).st_size, found.st_mtime_ns) for file in files]
    # All that decides about a bit of it. Which instruction set computes does not: all of them give the same.
    seed = json.dumps(
        [__version__, ABI, prepared.folder.name, prepared.quant, prepared.config, weights], sort_keys=True
    )
    return KvStore(paths.kv_dir() / project_id(root), seed.encode(), caps)
