"""The successor table a model starts with: its likely next tokens on a short text of our own, learned once and kept.

Without it the table knows nothing in the first replies of a project, when it is needed most (a frozen table for the
cold start, as in Cacheback, arXiv 2511.21699; ours is made by the model it serves, so that it fits any model). The text
is `primer.txt`, in sections, the most useful first.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lacli.models.base import not_finite
from lacli.pool.table import sound
from lacli.pool.update import TableRows
from lacli.storage import atomic, files

if TYPE_CHECKING:
    from lacli.drafts.successor import SuccessorTable
    from lacli.models.base import Runner
    from lacli.text.tokenizer import Tokenizer

BUDGET_S = 10.0
ENOUGH = 2000
"""Tokens from which on the gain of further ones is small."""
_TRIES = 3  # a busy machine, or a slow one, gets no further in the time it has
_ROWS = 64  # of a forward: as many as are known to be exact by row
_MOST_BYTES = 64 << 20


def text() -> str:
    """The primer."""
    return (resources.files("lacli.assistant") / "primer.txt").read_text(encoding="utf-8")


def version() -> str:
    """Changes with the text."""
    return hashlib.sha256(text().encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True, eq=False)
class Primer:
    """What was learned so far."""

    table: SuccessorTable
    done: int
    """Tokens of the text the model has been run over."""
    tries: int = 1

    @property
    def wants_more(self) -> bool:
        """Whether a later process should go on."""
        return self.done < ENOUGH and self.tries < _TRIES


def learn(
    runner: Runner,
    tokenizer: Tokenizer,
    report: Callable[[int, int], None],
    known: Primer | None = None,
    budget_s: float = BUDGET_S,
) -> Primer:
    """Run the model over the sections, continuing after what is `known`, as far as the time allows; leaves the cache
    empty.

    A section that is continued in its middle is read from its beginning, so that its rest has the same context as in
    one go. report(done, total): tokens.
    """
    from lacli.drafts.successor import SuccessorSource
    from lacli.models.base import Rows

    source = SuccessorSource()
    sections = [tokenizer.encode(section.strip("\n")) for section in text().split("\n%%\n")]
    total, passed = sum(map(len, sections)), 0
    done = start = known.done if known is not None else 0
    deadline = time.perf_counter() + budget_s
    for token_ids in sections:
        runner.truncate(0)
        before = -1
        whole_section_known = passed + len(token_ids) <= start
        for place in range(0, min(len(token_ids), runner.context_size - 1), _ROWS):
            part = token_ids[place : place + _ROWS]
            passed += len(part)
            if whole_section_known:
                continue
            if time.perf_counter() > deadline:
                break
            count = len(part)
            scores = runner.forward(Rows(tuple(part), tuple(range(-1, count - 1)), tuple(range(count))))
            if not np.isfinite(scores.top_logits[:, 0]).all():  # such rows name no tokens to learn
                raise not_finite()
            if passed > start:
                pairs = zip([before, *part], part, strict=False)
                source.learn(pairs, scores.top_ids.tolist(), scores.top_logits.tolist())
                done = passed
                report(done, total)
            runner.keep(range(count))
            before = part[-1]
    runner.truncate(0)
    keys, followers, weights = source.changes()
    if known is None:
        return Primer((keys, followers, weights), done)
    older = known.table
    table = (
        np.concatenate([older[0], keys]),
        np.concatenate([older[1], followers]),
        np.concatenate([older[2], weights]),
    )
    return Primer(table, done, known.tries + 1)


def load(file: Path, vocab_size: int) -> Primer | None:
    """What `save` wrote; None if there is nothing sound for this vocabulary."""
    try:
        stream = io.BytesIO(files.read(file, limit=_MOST_BYTES))
        with np.load(stream, allow_pickle=False) as stored:
            keys, followers, weights = stored["keys"], stored["followers"], stored["weights"]
            done, tries = (int(number) for number in stored["progress"])
    except Exception:  # zipfile, zlib, numpy and its parser of headers each have their own words for damage
        return None
    from lacli.drafts.successor import SUCCESSORS

    count = keys.size // 2
    shaped = keys.shape == (count, 2) and followers.shape == weights.shape == (count, SUCCESSORS)
    if not shaped or (keys.dtype, followers.dtype, weights.dtype) != (np.uint32, np.uint32, np.uint8):
        return None
    known = sound(TableRows(keys, followers, weights), vocab_size)
    return Primer((keys, followers, weights), done, tries) if len(known.keys) == count else None


def save(file: Path, primer: Primer) -> None:
    """Keep it in the cache; a cache that cannot be written is learned again."""
    keys, followers, weights = primer.table
    stored = io.BytesIO()
    progress = np.array([primer.done, primer.tries])
    np.savez_compressed(stored, keys=keys, followers=followers, weights=weights, progress=progress)
    with contextlib.suppress(OSError):
        files.make_private(file.parent)
        atomic.replace(file, stored.getvalue())
