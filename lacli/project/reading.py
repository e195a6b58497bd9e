"""One file of a project, from bytes to token ids, in pieces so small that no other thread has to wait long.

Writes nothing: the ids stay in memory.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.project import skip
from lacli.project.tracked import MAX_FILE_BYTES, Pause, SourceFile, changed_ns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lacli.pool.secrets import Refuse
    from lacli.text.tokenizer import Tokenizer

    IdArray = NDArray[np.uint32]

_PIECE = 2_000
"""Characters tokenised at once: 2 ms, in which no other thread runs Python."""
_OVERLAP = 400
_SEAM = re.compile(r"(?<=\S\n)(?=\S)")
_FLAGS = os.O_RDONLY
for _name in ("O_CLOEXEC", "O_BINARY", "O_NONBLOCK", "O_NOFOLLOW"):
    _FLAGS |= getattr(os, _name, 0)


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held when it was read."""

    text: str
    """All of it."""
    digest: int
    """64 bits of a keyed hash of its bytes."""
    size: int
    """In bytes, at the moment of reading."""
    mtime_ns: int
    """When it was last changed, at the moment of reading."""


def read(root: Path, file: SourceFile, salt: bytes) -> Content | skip.Reason:
    """The file's text, or why it is left out."""
    try:
        descriptor = os.open(os.path.join(os.fsencode(root), file.name), _FLAGS)
    except (OSError, ValueError):
        return "unreadable"
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return "special"
        if found.st_size > MAX_FILE_BYTES:
            return "large"
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError:
        return "unreadable"
    finally:
        os.close(descriptor)
    if len(data) > MAX_FILE_BYTES:
        return "large"
    if b"\0" in data:
        return "binary"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "binary"
    return Content(text, keyed_hash(data, salt), found.st_size, changed_ns(found))


def keyed_hash(data: bytes, salt: bytes) -> int:
    """64 bits of a keyed hash: without `salt`, hashes of different indexes cannot be compared."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=salt).digest(), "little")


def holds_secret(text: str, refuse: Refuse, pause: Pause) -> bool:
    """Whether a text holds a secret, searched in overlapping pieces."""
    start = 0
    for end in _chunk_ends(text, 2 * _PIECE):
        pause()
        if refuse(text[max(0, start - _OVERLAP) : end]) is not None:
            return True
        start = end
    return False


def tokenize(text: str, tokenizer: Tokenizer, pause: Pause) -> IdArray:
    """The ids of a text, split where a tokenizer would split it anyway: at the start of a line.

    Control markers are left out, as the model itself does not write them.
    """
    import numpy as np  # deferred: who only reads a file has no ids

    ids: list[int] = []
    start = 0
    for end in _chunk_ends(text, _PIECE):
        pause()
        for part in tokenizer.split_markers(text[start:end]):
            if isinstance(part, str):
                ids += tokenizer.encode(part)
        start = end
    return np.array(ids, dtype=np.uint32)


def _chunk_ends(text: str, size: int) -> Iterator[int]:
    """The ends of pieces of about `size` characters."""
    start = 0
    while len(text) - start > 2 * size:
        seam = _SEAM.search(text, start + size, start + 2 * size)
        if seam is not None:
            start = seam.start()
        else:
            line = text.rfind("\n", start + size, start + 2 * size) + 1
            start = line or start + 2 * size
        yield start
    if start < len(text):
        yield len(text)
