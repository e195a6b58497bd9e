"""A vocabulary as the `tokenizers` library has it: the one that says what is right, and takes long to load.

Its loading is a quarter of a second for 150,000 tokens: every token and every merge is parsed, copied and hashed, with
the interpreter held meanwhile. `table` has the form that needs none of that.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import tokenizers

from lacli.errors import ModelUnavailable
from lacli.models.prepare.vocabulary import embedding_rows

REMEDY = "fetch or prepare the model again"


class Vocabulary(Protocol):
    """What a `lacli.text.tokenizer.Tokenizer` needs to know of its tokens."""

    @property
    def added(self) -> dict[int, tokenizers.AddedToken]:
        """Tokens that are cut out of a text before anything else is, by id."""

    @property
    def size(self) -> int:
        """How many tokens there are, added ones included."""

    @property
    def byte_level(self) -> bool:
        """Whether tokens are written in the letters that stand for bytes."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text; markers in it are taken for what they are."""

    def opening(self) -> list[int]:
        """Ids that the vocabulary itself puts around an empty text."""

    def token_to_id(self, token: str) -> int | None:
        """The id of a token as the vocabulary writes it."""

    def id_to_token(self, token_id: int) -> str | None:
        """A token as the vocabulary writes it."""

    def document(self) -> str:
        """All of it as the library writes it, a tokenizer.json without its layout."""

    def fingerprint(self) -> str | None:
        """The hash of `document`, where it is known without making that."""


class WholeVocabulary:
    """The library's own."""

    def __init__(self, raw: tokenizers.Tokenizer) -> None:
        raw.no_truncation()
        raw.no_padding()
        self.raw = raw
        self.added: dict[int, tokenizers.AddedToken] = raw.get_added_tokens_decoder()

    @property
    def size(self) -> int:
        """See `Vocabulary`."""
        return int(self.raw.get_vocab_size())

    @cached_property
    def byte_level(self) -> bool:
        """See `Vocabulary`."""
        decoder = self.raw.decoder
        return decoder is not None and b'"ByteLevel"' in decoder.__getstate__()

    def encode(self, text: str) -> list[int]:
        """See `Vocabulary`."""
        return list(self.raw.encode(text, add_special_tokens=False).ids)

    def opening(self) -> list[int]:
        """See `Vocabulary`."""
        return list(self.raw.encode("", add_special_tokens=True).ids)

    def token_to_id(self, token: str) -> int | None:
        """See `Vocabulary`."""
        return self.raw.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        """See `Vocabulary`."""
        return self.raw.id_to_token(token_id)

    def document(self) -> str:
        """See `Vocabulary`."""
        return str(self.raw.to_str())

    def fingerprint(self) -> str | None:
        """See `Vocabulary`."""
        return None


def load_whole(folder: Path) -> WholeVocabulary:
    """Read tokenizer.json of a folder, less the tokens that config.json leaves without a row in the embedding.

    Raises ModelUnavailable.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelUnavailable(f"{folder} has no tokenizer.json", "use a model folder that carries one")
    try:
        raw = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise ModelUnavailable(f"{path} cannot be read ({error})", REMEDY) from error
    rows = embedding_rows(read_document(folder / "config.json"))
    highest = max([raw.get_vocab_size() - 1, *raw.get_added_tokens_decoder()])
    if rows is not None and highest >= rows:
        raw = tokenizers.Tokenizer.from_str(json.dumps(_without_tokens_from(rows, json.loads(raw.to_str()))))
    return WholeVocabulary(raw)


def read_document(path: Path) -> dict[str, Any]:
    """A JSON object beside a model; empty where there is none."""
    try:
        config = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{path} cannot be read ({error})", REMEDY) from error
    return config if isinstance(config, dict) else {}


def halves(merge: Any) -> list[str]:
    """The halves of a merge, which older files write as one text."""
    return merge if isinstance(merge, list) else merge.split(" ", 1)


def _without_tokens_from(rows: int, document: dict[str, Any]) -> dict[str, Any]:
    """A tokenizer.json without the ids from `rows` on."""
    model, vocab = document["model"], document["model"]["vocab"]
    if isinstance(vocab, dict):
        model["vocab"] = {token: index for token, index in vocab.items() if index < rows}
        gone = vocab.keys() - model["vocab"].keys()
    else:
        model["vocab"] = vocab[:rows]
        gone = {token for token, _ in vocab[rows:]}
    if "merges" in model:
        model["merges"] = [pair for pair in map(halves, model["merges"]) if not gone & {*pair, "".join(pair)}]
    if model.get("unk_token") in gone:
        model["unk_token"] = None
    beyond = [entry for entry in document["added_tokens"] if entry["id"] >= rows]
    document["added_tokens"] = [entry for entry in document["added_tokens"] if entry["id"] < rows]
    if any(json.dumps(entry["content"]) in json.dumps(document["post_processor"]) for entry in beyond):
        document["post_processor"] = None
    return document
