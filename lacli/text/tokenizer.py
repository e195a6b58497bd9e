"""Text to ids and back on the `tokenizers` library, without transformers.

What a user writes never becomes a control id here: only `control=True`, or an id handed to `encode_segments`, does.
Reads files, writes none.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers

from lacli.models.prepare.vocabulary import ends_by_name, is_harmony
from lacli.models.tokens.make import open_vocabulary
from lacli.models.tokens.whole import Vocabulary, WholeVocabulary, halves, read_document
from lacli.text.stream import TextStream
from lacli.text.thoughts import MARKS

_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # what SentencePiece vocabularies write for a blank
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# added tokens that some vocabularies forget to mark as special although they steer the model
_MARKER = re.compile(r"<[|｜].*[|｜]>|</?fim[-_].*>|<(?:repo_?name|file_sep|start_of_turn|end_of_turn)>", re.DOTALL)
_DUPLICATE = re.compile(r"\[duplicate (\d+)\] ")  # how gguf_tokenizer names a second owner of a text
_SURROGATE = re.compile("[\ud800-\udfff]")


def _byte_letters() -> dict[str, int]:
    """The letter byte-level vocabularies write for each byte (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(256 + index): byte for index, byte in enumerate(others)}


_BYTE_OF_LETTER = _byte_letters()


class Tokenizer:
    """A model's vocabulary with the words it was trained to cut text into."""

    def __init__(self, vocabulary: Vocabulary | tokenizers.Tokenizer, config: dict[str, Any] | None = None) -> None:
        if isinstance(vocabulary, tokenizers.Tokenizer):
            vocabulary = WholeVocabulary(vocabulary)
        self._vocabulary: Vocabulary = vocabulary
        self._added = vocabulary.added
        self._bytes: dict[int, bytes] = {}
        self._shown: dict[str, bool] = {}
        self.specials = _special_texts(config or {})
        """Texts of the named special tokens (`bos_token`, `eos_token`, …), as chat templates want them."""
        self.control_ids = frozenset(
            index for index, token in self._added.items() if token.special or _MARKER.fullmatch(token.content)
        )
        """Ids that steer the model; never made from a user's text."""
        self._markers = {self._added[index].content: index for index in self.control_ids}
        self._typed = _any_of(self._markers)
        self.vocab_size = max([vocabulary.size, *(index + 1 for index in self._added)])
        """Ids the vocabulary knows; a model's output head may have more rows."""
        self.bos_id = self.id_of(self.specials.get("bos_token", ""))
        self.eos_id = self.id_of(self.specials.get("eos_token", ""))
        self.adds_bos = self._adds_bos(config or {})
        """True where the model expects every prompt to begin with `bos_id`."""
        self.speaks_harmony = is_harmony(self._markers)
        """Whether one reply is several messages, each with an end of its own."""
        self.end_ids = ends_by_name(self._markers)
        """Control tokens that end a reply by what they are called."""

    @classmethod
    def load(cls, folder: Path) -> Tokenizer:
        """Read tokenizer.json and tokenizer_config.json of a prepared or Hugging Face folder.

        Tokens without a row in the model's embedding, as config.json has it, are left out: what they stand for is
        spelled by others.
        """
        return cls(open_vocabulary(folder), read_document(folder / "tokenizer_config.json"))

    @cached_property
    def fingerprint(self) -> str:
        """Changes with word cuts, vocabulary, merges and added tokens: 64 hex digits that name what ids mean.

        Taken from the library's own serialisation, so that the file's layout does not matter.
        """
        known = self._vocabulary.fingerprint()
        return known or hashlib.sha256(self._vocabulary.document().encode()).hexdigest()

    def id_of(self, marker: str) -> int | None:
        """The id of a token by its exact text as the vocabulary writes it, None where it is not one token."""
        return self._vocabulary.token_to_id(marker) if marker else None

    def text_of(self, token_id: int) -> str:
        """The vocabulary's own spelling of an id, control tokens too; for showing prompts."""
        return self._vocabulary.id_to_token(token_id) or ""

    def encode(self, text: str, control: bool = False) -> list[int]:
        """Ids of `text`, without BOS. Control markers in it stay text unless `control`."""
        text = _SURROGATE.sub(_REPLACEMENT, text)
        if control:
            return self._vocabulary.encode(text)
        return self.encode_segments([text])

    def encode_segments(self, segments: Sequence[str | int]) -> list[int]:
        """Ids of a text given in pieces: a str is text whatever it looks like, an int is that control id.

        Neighbouring texts are tokenised together. Where no text holds a control marker the result is what the
        vocabulary gives for the whole.
        """
        texts = [_SURROGATE.sub(_REPLACEMENT, part) if isinstance(part, str) else part for part in segments]
        wanted = [part for part in texts if isinstance(part, int)]
        if not self._typed or not any(isinstance(part, str) and self._typed.search(part) for part in texts):
            whole = "".join(part if isinstance(part, str) else self._added[part].content for part in texts)
            ids = self._vocabulary.encode(whole)
            if [index for index in ids if index in self.control_ids] == wanted:
                return ids
        fenced, names, owners = self._fenced
        whole = "".join(part if isinstance(part, str) else names[part] for part in texts)
        return [owners.get(index, index) for index in fenced.encode(whole, add_special_tokens=False).ids]

    def split_markers(self, text: str) -> list[str | int]:
        """`text` in pieces, its control markers as their ids: for text that is trusted, such as a template's."""
        parts: list[str | int] = []
        end = 0
        for found in self._typed.finditer(text) if self._typed else ():
            parts += [text[end : found.start()], self._markers[found[0]]]
            end = found.end()
        return [part for part in (*parts, text[end:]) if part != ""]

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of these ids as a reply shows it: control tokens have none, a cut-off last character is dropped."""
        stream = TextStream(self)
        return stream.push(token_ids) + stream.finish()

    def spelled(self, token_ids: Iterable[int]) -> str:
        """The text of these ids with control tokens as the vocabulary writes them; for showing prompts."""
        shown, stream = "", TextStream(self)
        for token_id in token_ids:
            if token_id in self.control_ids:
                shown += stream.finish() + self.text_of(token_id)
                stream = TextStream(self)
            else:
                shown += stream.push([token_id])
        return shown + stream.finish()

    def token_bytes(self, token_id: int) -> bytes:
        """What an id adds to a reply; nothing for special tokens and ids outside the vocabulary."""
        found = self._bytes.get(token_id)
        if found is None:
            found = self._bytes[token_id] = self._spell(token_id)
        return found

    def unshowable(self, text: str) -> int:
        """How many characters of `text` the vocabulary cannot represent, so that the model never sees them."""
        return sum(count for character, count in Counter(text).items() if not self._shows(character))

    def unseen(self, text: str) -> str:
        """The characters of `text` that the vocabulary cannot represent, each once."""
        return "".join(character for character in dict.fromkeys(text) if not self._shows(character))

    def _shows(self, character: str) -> bool:
        found = self._shown.get(character)
        if found is None:
            encoded = b"".join(map(self._spell, self._vocabulary.encode(character)))
            found = self._shown[character] = character.encode("utf-8", "replace") in encoded
        return found

    def _spell(self, token_id: int) -> bytes:
        added = self._added.get(token_id)
        if added is not None:
            content = added.content if self._vocabulary.byte_level else added.content.replace(_SPACE, " ")
            return b"" if added.special and added.content not in MARKS else content.encode()
        token = self._vocabulary.id_to_token(token_id)
        if token is None:
            return b""
        duplicate = _DUPLICATE.match(token)
        if duplicate is not None and int(duplicate[1]) == token_id:
            token = token[duplicate.end() :]
        if self._vocabulary.byte_level:
            return b"".join(
                bytes([_BYTE_OF_LETTER[letter]]) if letter in _BYTE_OF_LETTER else letter.encode() for letter in token
            )
        if (byte := _BYTE_TOKEN.fullmatch(token)) is not None:
            return bytes([int(byte[1], 16)])
        return token.replace(_SPACE, " ").encode()

    @cached_property
    def _fenced(self) -> tuple[tokenizers.Tokenizer, dict[int, str], dict[int, int]]:
        """The same vocabulary whose control markers have unguessable names: what a user types cannot meet them.

        Made only when a text does hold a marker, since it takes as long as loading.
        """
        document = json.loads(self._vocabulary.document())
        nonce = secrets.token_hex(16)
        names = {index: f"\ue000{nonce}:{index}\ue001" for index in self.control_ids}
        for entry in document["added_tokens"]:
            entry["content"] = names.get(entry["id"], entry["content"])
        _rename(document["model"], {self._added[index].content: name for index, name in names.items()})
        document["post_processor"] = None  # it names tokens by their old texts
        fenced = tokenizers.Tokenizer.from_str(json.dumps(document))
        owners = {}
        for index, token in self._added.items():
            new = fenced.token_to_id(names.get(index, token.content))
            if new is not None:
                owners[new] = index
        return fenced, names, owners

    def _adds_bos(self, config: dict[str, Any]) -> bool:
        if self.bos_id is None:
            return False
        told = config.get("add_bos_token")
        if isinstance(told, bool):
            return told
        return self._vocabulary.opening()[:1] == [self.bos_id]


def _rename(model: dict[str, Any], names: dict[str, str]) -> None:
    """Give control tokens their new names in the model's own vocabulary, too: some can make them of pieces of text."""
    vocab = model["vocab"]
    if isinstance(vocab, dict):
        model["vocab"] = {names.get(token, token): index for token, index in vocab.items()}
    else:
        model["vocab"] = [[names.get(token, token), score] for token, score in vocab]
    if "merges" in model:
        model["merges"] = [pair for pair in map(halves, model["merges"]) if not names.keys() & {*pair, "".join(pair)}]
    if model.get("unk_token") in names:
        model["unk_token"] = names[model["unk_token"]]


def _special_texts(config: dict[str, Any]) -> dict[str, str]:
    texts = {}
    for key in ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"):
        value = config.get(key)
        if isinstance(value, dict):
            value = value.get("content")
        if isinstance(value, str) and value:
            texts[key] = value
    return texts


def _any_of(markers: Iterable[str]) -> re.Pattern[str] | None:
    spelled = sorted(map(re.escape, markers), key=len, reverse=True)
    return re.compile("|".join(spelled)) if spelled else None
