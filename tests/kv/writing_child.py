"""A process that stores what it has read, one text after the other, until it is killed. For tests of just that.

`python -m tests.kv.writing_child FOLDER CAP TEXTS`: says "ready" once it begins; ends after so many texts.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from lacli.kv.store import Caps, KvStore

SEED = b"a model"
SLOW_MS = 100.0
BLOCKS = 6


class LargeCache:
    """Some kilobytes a position, so that writing takes a while; told apart by position and token."""

    position_bytes = 4096

    def __init__(self, token_ids: list[int]) -> None:
        self.token_ids = list(token_ids)
        self.data: list[bytes] = []

    def kv_bytes(self, first: int, count: int) -> bytes:
        places = range(first, first + count)
        return b"".join(struct.pack("<II", place, self.token_ids[place]) * 512 for place in places)

    def put_kv_bytes(self, first: int, count: int, data: memoryview) -> None:
        assert len(self.data) * 64 == first
        self.data.append(bytes(data))


def text(number: int) -> list[int]:
    """The ids of one of the texts; they share a beginning of two blocks."""
    return [place if place < 128 else place + 7 * number for place in range(64 * BLOCKS + 1)]


def main(folder: str, cap: int, texts: int) -> None:
    store = KvStore(Path(folder), SEED, Caps(cap, cap))
    print("ready", flush=True)
    for number in range(texts):
        store.keep(LargeCache(text(number)), text(number), SLOW_MS)
    print(*store.notices, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
