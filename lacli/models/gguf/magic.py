"""How a GGUF file is told from others: by its first bytes, as caches name files by hash and without a suffix.

Imports nothing heavy.
"""

from __future__ import annotations

import os
from pathlib import Path

MAGIC = b"GGUF"


def is_gguf(path: str | Path) -> bool:
    """Whether this is a file that begins as GGUF does. Never waits: what is no regular file is not opened."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as handle:
            return handle.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False
