"""Learns the successor table a model starts with: its likely next tokens on a short text of our own.

Without it the table knows nothing in the first replies of a project, when it is needed most (a frozen table for the
cold start, as in Cacheback, arXiv 2511.21699; ours is made by the model it serves, so that it fits any model). The text
is `primer.txt`, in sections, the most useful first. When it is learned and where it is kept: `first_guesses`.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from lacli.models.base import not_finite
from lacli.pool.table import sound
from lacli.pool.update import TableRows

if TYPE_CHECKING:
    from lacli.drafts.successor import SuccessorTable
    from lacli.models.base import Runner
    from lacli.text.tokenizer import Tokenizer

ENOUGH = 2000
"""Tokens from which on the gain of further ones is small."""
_ROWS = 64  # of a forward: as many as are known to be exact by row


def text() -> str:
    """The primer."""
    return (resources.files("lacli.assistant") / "primer.txt").read_text(encoding="utf-8")


def version() -> str:
    """Changes with the text."""
    return hashlib.sha256(text().encode()).hexdigest()[:8]


def learn(
    runner: Runner, tokenizer: Tokenizer, report: Callable[[int, int], None], most: int | None = None
) -> SuccessorTable:
    """Run the model over the sections, at most the first `most` tokens of them; leaves the cache empty.

    report(done, total): tokens.
    """
    from lacli.drafts.successor import SuccessorSource
    from lacli.models.base import Rows

    source = SuccessorSource()
    sections = [tokenizer.encode(section.strip("\n")) for section in text().split("\n%%\n")]
    total, done = sum(map(len, sections)), 0
    total = total if most is None else min(most, total)
    report(0, total)
    for token_ids in sections:
        runner.truncate(0)
        before = -1
        for place in range(0, min(len(token_ids), runner.context_size - 1), _ROWS):
            part = token_ids[place : place + _ROWS][: total - done]
            if not part:
                break
            count = len(part)
            scores = runner.forward(Rows(tuple(part), tuple(range(-1, count - 1)), tuple(range(count))))
            if not np.isfinite(scores.top_logits[:, 0]).all():  # such rows name no tokens to learn
                raise not_finite()
            pairs = zip([before, *part], part, strict=False)
            source.learn(pairs, scores.top_ids.tolist(), scores.top_logits.tolist())
            done += count
            report(done, total)
            runner.keep(range(count))
            before = part[-1]
    runner.truncate(0)
    return source.changes()


def encode(table: SuccessorTable) -> bytes:
    """The bytes of a file, for `decode`."""
    keys, followers, weights = table
    stored = io.BytesIO()
    np.savez_compressed(stored, keys=keys, followers=followers, weights=weights)
    return stored.getvalue()


def decode(data: bytes, vocab_size: int) -> SuccessorTable | None:
    """What `encode` wrote; None if it is not sound for this vocabulary."""
    from lacli.drafts.successor import SUCCESSORS

    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            keys, followers, weights = stored["keys"], stored["followers"], stored["weights"]
    except Exception:  # zipfile, zlib, numpy and its parser of headers each have their own words for damage
        return None
    count = keys.size // 2
    shaped = keys.shape == (count, 2) and followers.shape == weights.shape == (count, SUCCESSORS)
    if not shaped or (keys.dtype, followers.dtype, weights.dtype) != (np.uint32, np.uint32, np.uint8):
        return None
    known = sound(TableRows(keys, followers, weights), vocab_size)
    return (keys, followers, weights) if len(known.keys) == count else None
