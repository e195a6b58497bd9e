"""Which vocabularies have a table, making it once, and where it is kept.

Only byte-level BPE that is nothing but its letters, merges and added tokens has one. The file lies in the cache folder
and names what it was made of; one that is damaged, older, or of another tokenizer.json is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from lacli import paths
from lacli.errors import LacliError, ModelUnavailable
from lacli.models.prepare.vocabulary import embedding_rows
from lacli.models.tokens.table import TableVocabulary, packed
from lacli.models.tokens.whole import Vocabulary, WholeVocabulary, halves, load_whole, read_document
from lacli.storage import atomic, files

_FORMAT = 1
"""Raised whenever what is written changes."""
_MOST_BYTES = 1 << 28
_PLAIN = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": False,
    "ignore_merges": False,
}
"""What the model of a vocabulary with a table says of itself."""
_LEAST_FILLED = 0.5
"""Share of the ids up to the highest that are tokens: what stands in the file for the others is wasted."""
_SAMPLE = """def naïve(self, n: int = 0x1F) -> None:
    \t# It's we'll I'd DON'T\r\n\r\n        return f"{n!r:>10}"   \n
Straße Ελληνικά русский עברית العربية हिन्दी ไทย
日本語 한국어 中文，。 👩‍💻🇪🇺 \u200b\u00a0 1234567 ½ e\u0301 \x00\x7f ﬁ Ⅳ
<div class="a">&amp;</div> snake_case camelCase SCREAMING 3.14e-10 a+b==c&&d||!e ~/path/to/file.txt https://x.org?q=1#2
"""
"""A text of many scripts and signs, which a table must cut as the library does before it is kept."""


def open_vocabulary(folder: Path) -> Vocabulary:
    """The vocabulary of a model folder: from its table where there is one, or can be. Raises ModelUnavailable."""
    try:
        place = _place(folder)
        stamp = _stamp(folder)
    except (OSError, LacliError):
        return load_whole(folder)
    known = _read(place, stamp, folder)
    if known is not None:
        return known
    whole = load_whole(folder)
    with contextlib.suppress(OSError):
        _keep(place, stamp, whole)
    return whole


def table_of(whole: WholeVocabulary, head: Mapping[str, Any]) -> bytes | None:
    """The file for this vocabulary, with what it was made of as its `head`; None where it has none."""
    text = whole.document()
    document = json.loads(text)
    model, vocab = document["model"], whole.raw.get_vocab()
    if not _is_plain(model) or not whole.byte_level or not _is_simple(vocab, document["added_tokens"], model):
        return None
    ids = [vocab[token] for token in sorted(vocab, key=str.encode)]
    spelled = dict(zip(ids, sorted(map(str.encode, vocab)), strict=True))
    pairs, ranks, merged = _merges(model)
    ends = np.cumsum([len(spelled.get(index, b"")) for index in range(max(ids) + 1)])
    head = {
        **head,
        "size": whole.size,
        "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
        "cutter": json.dumps(_cutter(document, model)),
    }
    arrays = {
        "pairs": pairs,
        "ranks": ranks.astype("<u4"),
        "merged": merged.astype("<u4"),
        "ends": ends.astype("<u4"),
        "sorted": np.array(ids, "<u4"),
        "text": np.frombuffer(b"".join(spelled.get(index, b"") for index in range(max(ids) + 1)), "u1"),
    }
    data = packed(head, arrays)
    return data if _agrees(TableVocabulary(data, lambda: whole), whole) else None


def _is_plain(model: Mapping[str, Any]) -> bool:
    return all(
        model.get(key) in wanted if isinstance(wanted, tuple) else model.get(key) == wanted
        for key, wanted in _PLAIN.items()
    )


def _is_simple(vocab: Mapping[str, int], added: list[dict[str, Any]], model: Mapping[str, Any]) -> bool:
    """Whether every id has one text, and added tokens are tokens of the model as well, with the same ids."""
    own = model["vocab"]
    return (
        bool(model["merges"])
        and len(set(vocab.values())) == len(vocab) > max(vocab.values()) * _LEAST_FILLED
        and "" not in vocab
        and all(own.get(entry["content"]) == entry["id"] for entry in added)
    )


def _merges(model: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The pairs in the order of their keys, their ranks, and what they become; the last of equal ones counts, as in the
    library."""
    own = model["vocab"]
    ranked = {}
    for rank, merge in enumerate(model["merges"]):
        left, right = halves(merge)
        ranked[own[left] << 32 | own[right]] = (rank, own[left + right])
    keys = sorted(ranked)
    numbers = np.array([ranked[key] for key in keys])
    return np.array(keys, "<u8"), numbers[:, 0], numbers[:, 1]


def _cutter(document: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """The same tokenizer with the letters and the added tokens for a vocabulary, and no merges."""
    added = {entry["content"] for entry in document["added_tokens"]}
    letters = {token: index for token, index in model["vocab"].items() if len(token) == 1 or token in added}
    return {**document, "model": {**model, "vocab": letters, "merges": []}}


def _agrees(table: TableVocabulary, whole: WholeVocabulary) -> bool:
    """Whether both say the same of added tokens and of a text that has all sorts of them in it."""
    if repr(sorted(table.added.items())) != repr(sorted(whole.added.items())) or table.opening() != whole.opening():
        return False
    texts = [_SAMPLE, "a ".join(token.content for token in whole.added.values()), *_SAMPLE.split()]
    return all(table.encode(text) == whole.encode(text) for text in texts)


def _place(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return paths.cache_dir() / "tokens" / f"{name}.table"


def _stamp(folder: Path) -> list[Any]:
    """Changes with the vocabulary that the folder holds, and with who reads it."""
    found = (folder / "tokenizer.json").stat()
    rows = embedding_rows(read_document(folder / "config.json"))
    return [_FORMAT, tokenizers.__version__, found.st_size, found.st_mtime_ns, rows]


def _read(place: Path, stamp: list[Any], folder: Path) -> TableVocabulary | None:
    """The table in this file; None where there is none, it is damaged, or it was made of something else."""
    try:
        table = TableVocabulary(files.read(place, limit=_MOST_BYTES), lambda: _unchanged(folder, stamp))
        return table if table.head["stamp"] == stamp else None
    except Exception:  # what its checksum does not find, numpy and the library have words of their own for
        return None


def _unchanged(folder: Path, stamp: list[Any]) -> WholeVocabulary:
    """The whole vocabulary of a table that is in use. Raises ModelUnavailable where the folder has another one now."""
    if _stamp(folder) != stamp:
        raise ModelUnavailable(f"{folder / 'tokenizer.json'} was changed while it was in use", "start again")
    return load_whole(folder)


def _keep(place: Path, stamp: list[Any], whole: WholeVocabulary) -> None:
    data = table_of(whole, {"stamp": stamp})
    if data is not None:
        files.make_private(place.parent)
        atomic.replace(place, data, durable=False)
