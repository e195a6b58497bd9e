"""The project's pool beside a remote: replies teach it, and it gives texts to guess from.

Only where the tokenizer of the remote's model is here: without it a pool would hold ids that nobody can read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Finished
from lacli.remote.known import KnownModel

if TYPE_CHECKING:
    from lacli.pool.store import Pool

_GRAM = 4
"""Tokens in a row that a prompt and an earlier reply share where one may be about the other."""
_MOST_TOKENS = 4_096
"""Of a prediction: what a server drafts from, not what it reads."""


class ProjectPool:
    """The pool for the tokenizer of one remote's model; empty where that is not known, or where pools are off."""

    def __init__(self, settings: Settings, known: KnownModel, note: Callable[[str], None]) -> None:
        self._settings, self._known, self._note = settings, known, note
        self._asked = False

    @property
    def size(self) -> int:
        """Tokens in it, as far as it was opened."""
        return self._pool.size if self._asked and self._pool is not None else 0

    def prediction(self, prompt: str) -> str:
        """Earlier replies that share most with this prompt, the likeliest last."""
        self._asked = True
        tokenizer = self._known.tokenizer
        if self._pool is None or tokenizer is None:
            return ""
        asked = _grams(tokenizer.encode(prompt))
        rated = []
        for place, segment in enumerate(self._pool.segments()):
            ids = [int(each) for each in segment]
            rated.append((len(asked & _grams(ids)), place, ids))
        chosen: list[list[int]] = []
        for shared, _, ids in sorted(rated, reverse=True):
            if not shared or sum(map(len, chosen)) + len(ids) > _MOST_TOKENS:
                break
            chosen.insert(0, ids)
        return "\n".join(map(tokenizer.decode, chosen))

    def learn(self, finished: Finished, prompt: str, line: str = "") -> None:
        """Keep what a reply to this prompt said; a failure is a note. `line`: what a completion goes on with, where a
        key may have begun."""
        self._asked = True
        tokenizer, pool = self._known.tokenizer, self._pool
        if pool is None or tokenizer is None or not pool.learns or not finished.text:
            return
        from lacli.pool.update import PoolUpdate

        ids = tuple(tokenizer.encode(finished.text))
        pool.learn(PoolUpdate(ids, line + finished.text, prompt, totals=finished.stats.totals()))
        for notice in pool.notices:
            self._note(notice)
        pool.notices.clear()

    @cached_property
    def _pool(self) -> Pool | None:
        settings, tokenizer, spec = self._settings, self._known.tokenizer, self._known.spec
        if not settings.pool or tokenizer is None or spec is None or self._known.folder is None:
            return None
        from lacli import paths
        from lacli.assistant.project import caps
        from lacli.pool.store import open_pool
        from lacli.project.root import pool_key, project_root
        from lacli.project.values import project_refuser

        try:
            root = project_root(settings.folder or Path.cwd())
            if root is None:
                return None
            writes = settings.learn and settings.pool_mb != 0 and settings.pools_mb != 0
            pool = open_pool(
                pool_key(root, tokenizer.fingerprint),
                paths.pools_dir(),
                "learn" if writes else "read",
                _rows(self._known.folder, tokenizer.vocab_size),
                spec.alias,
                caps(settings),
            )
        except (LacliError, OSError) as error:
            self._note(f"no pool in this run: {error}")
            return None
        pool.refuse = project_refuser(root)
        return pool


def _rows(folder: Path, least: int) -> int:
    """Rows of the model's head, which a pool's ids stay below."""
    try:
        rows = json.loads((folder / "config.json").read_text("utf-8")).get("vocab_size")
    except (OSError, ValueError, AttributeError):
        rows = None
    return rows if type(rows) is int and rows > 0 else least


def _grams(token_ids: Sequence[int]) -> set[tuple[int, ...]]:
    return {tuple(token_ids[at : at + _GRAM]) for at in range(len(token_ids) - _GRAM + 1)}
