"""A byte-level BPE vocabulary as a file that is used as it lies there: ready in milliseconds, for short texts.

The library cuts the text as ever, with a tokenizer of the same normaliser, added tokens and pre-tokeniser whose model
knows single letters only; what is merged in each word is read from a sorted table of pairs. Texts that would take that
longer than loading the whole vocabulary does are left to the whole one.

Lives here: reading the file, and encoding with it. May not: decide which vocabularies have such a form, write it
(`make` does both).
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from lacli.models.tokens.whole import WholeVocabulary

MAGIC = b"LACLITOK"
SECTIONS: dict[str, str] = {
    "pairs": "<u8",
    "ranks": "<u4",
    "merged": "<u4",
    "ends": "<u4",
    "sorted": "<u4",
    "text": "u1",
}
"""The arrays in the file, in this order: pairs of ids (left << 32 | right) by size, the rank of each and the id it
becomes; where the text of each id ends; the ids in the order of their texts; the texts."""
_HEAD = 20
"""Bytes of magic, checksum, length of the header."""
_MOST_LETTERS = 40_000
"""Letters of new words after which the whole vocabulary is loaded: merging so many here takes as long as that."""
_CALL_LETTERS = 20
"""Letters that the fixed costs of a call are worth."""
_LONGEST_WORD = 256
"""One merge a round for all words at once: a longer one takes too many rounds."""
_NEVER = np.uint64(0xFFFFFFFF)


class Damaged(ValueError):
    """The file is not as it was written."""


def packed(head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a file."""
    counts = {name: len(arrays[name]) for name in SECTIONS}
    text = json.dumps({**head, "counts": counts}).encode()
    text += b" " * (-(_HEAD + len(text)) % 8)
    body = b"".join([len(text).to_bytes(8, "little"), text, *(arrays[name].tobytes() for name in SECTIONS)])
    return MAGIC + zlib.crc32(body).to_bytes(4, "little") + body


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `packed` was given. Raises Damaged."""
    if data[:8] != MAGIC or zlib.crc32(memoryview(data)[12:]) != int.from_bytes(data[8:12], "little"):
        raise Damaged("it is not as it was written")
    end = _HEAD + int.from_bytes(data[12:_HEAD], "little")
    head = json.loads(data[_HEAD:end])
    arrays = {}
    for name, kind in SECTIONS.items():
        arrays[name] = np.frombuffer(data, kind, head["counts"][name], end)
        end += arrays[name].nbytes
    return head, arrays


class TableVocabulary:
    """A vocabulary read from such a file. `load` loads the whole of it, when it is needed."""

    def __init__(self, data: bytes, load: Callable[[], WholeVocabulary]) -> None:
        """Raises Damaged."""
        self.head, arrays = unpacked(data)
        self._pairs, self._ranks, self._merged = arrays["pairs"], arrays["ranks"], arrays["merged"]
        self._ends, self._sorted, self._text = arrays["ends"], arrays["sorted"], arrays["text"]
        self._cutter = WholeVocabulary(tokenizers.Tokenizer.from_str(self.head["cutter"]))
        self.added = self._cutter.added
        self.size: int = self.head["size"]
        self._load = load
        self._left = _MOST_LETTERS
        self._merged_words: dict[Sequence[int], Sequence[int]] = {}
        """What became of the words so far: texts that are asked about in parts, or again, have few new ones."""

    @cached_property
    def _whole(self) -> WholeVocabulary:
        return self._load()

    @property
    def byte_level(self) -> bool:
        """See `Vocabulary`."""
        return self._cutter.byte_level

    def opening(self) -> list[int]:
        """See `Vocabulary`."""
        return self._cutter.opening()

    def document(self) -> str:
        """See `Vocabulary`."""
        return self._whole.document()

    def fingerprint(self) -> str | None:
        """See `Vocabulary`."""
        return str(self.head["fingerprint"])

    def id_to_token(self, token_id: int) -> str | None:
        """See `Vocabulary`."""
        found = self._bytes_of(token_id) if 0 <= token_id < len(self._ends) else b""
        return found.decode() or None

    def token_to_id(self, token: str) -> int | None:
        """See `Vocabulary`."""
        wanted = token.encode("utf-8", "surrogatepass")
        place = bisect_left(self._sorted, wanted, key=self._bytes_of)
        found = int(self._sorted[place]) if place < len(self._sorted) else None
        return found if found is not None and self._bytes_of(found) == wanted else None

    def _bytes_of(self, token_id: int) -> bytes:
        start = self._ends[token_id - 1] if token_id else 0
        return self._text[start : self._ends[token_id]].tobytes()

    def encode(self, text: str) -> list[int]:
        """See `Vocabulary`."""
        self._left -= _CALL_LETTERS
        if len(text) > _MOST_LETTERS or self._left < 0:
            return self._whole.encode(text)
        cut = self._cutter.raw.encode(text, add_special_tokens=False)
        words = [
            tuple(item[1] for item in word) for _, word in groupby(zip(cut.word_ids, cut.ids, strict=True), _first)
        ]
        new = [word for word in dict.fromkeys(words) if len(word) > 1 and word not in self._merged_words]
        self._left -= sum(map(len, new))
        if self._left < 0 or max(map(len, new), default=0) > _LONGEST_WORD:
            return self._whole.encode(text)
        self._merged_words.update(zip(new, self._merge(new), strict=True))
        return [token_id for word in words for token_id in self._merged_words.get(word, word)]

    def _merge(self, words: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Each word with its letters merged: the pair of the lowest rank first, of equal ones the leftmost, until no
        two neighbours are a pair. One merge of every word in a round."""
        result: list[Sequence[int]] = list(words)
        left = list(range(len(words)))
        while left:
            ids = np.array([each for index in left for each in result[index]], dtype=np.uint64)
            starts = np.array([0, *accumulate(len(result[index]) for index in left)])
            ranks, found = self._ranked(ids)
            ranks[starts[1:] - 1] = _NEVER  # the last letter of a word has no right neighbour in it
            places = np.arange(len(ids), dtype=np.uint64)
            best = np.minimum.reduceat(ranks << np.uint64(32) | places, starts[:-1])
            going = (best >> np.uint64(32) != _NEVER).tolist()
            chosen = (best & np.uint64(0xFFFFFFFF)).astype(np.int64)
            made, at = self._merged[found[chosen]].tolist(), (chosen - starts[:-1]).tolist()
            for index, goes_on, place, new in zip(left, going, at, made, strict=True):
                if goes_on:
                    word = result[index]
                    result[index] = (*word[:place], new, *word[place + 2 :])
            left = [index for index, goes_on in zip(left, going, strict=True) if goes_on and len(result[index]) > 1]
        return result

    def _ranked(self, ids: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The rank of each id with the one behind it, _NEVER where they are no pair, and where that pair stands."""
        keys = ids << np.uint64(32)
        keys[:-1] |= ids[1:]
        found = np.minimum(np.searchsorted(self._pairs, keys), len(self._pairs) - 1)
        return np.where(self._pairs[found] == keys, self._ranks[found], _NEVER).astype(np.uint64), found


def _first(item: tuple[int | None, int]) -> int | None:
    return item[0]
