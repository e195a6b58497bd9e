"""A GGUF file's vocabulary rewritten as tokenizer.json, so that ids equal the model's own.

transformers' reader ignores `tokenizer.ggml.pre` and so cuts words wrongly for many models; here the cuts follow the
name. Pure: metadata in, text out; reads and writes no file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lacli.errors import ModelUnavailable
from lacli.models.gguf.pretokenizers import DEFAULT, KNOWN, PreTokenizer

_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 2, 3, 4, 5, 6  # values of tokenizer.ggml.token_type
_NO_PIECES = (_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE)
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # what SentencePiece writes for a blank
_LONGEST = 1024
"""Characters of a token: how it may be made of two others is tried at each of them."""
_Value = TypeVar("_Value", str, int, float)
_OTHER_FILE = "take another GGUF file of this model, or its Hugging Face folder"


@dataclass(frozen=True, slots=True)
class GgufTokenizer:
    """What a prepared folder needs to tokenise."""

    tokenizer_json: str
    """For the `tokenizers` library."""
    tokenizer_config: dict[str, Any]
    """Names of the special tokens and whether BOS is added, as in tokenizer_config.json."""
    chat_template: str | None
    """Jinja source, where the file has one."""
    notes: tuple[str, ...]
    """Assumptions the user should know of, a line each."""
    eos_ids: tuple[int, ...] = ()
    """End-of-sequence ids the file names (sequence, turn and message end), those outside the vocabulary left out."""


def build_tokenizer(fields: Mapping[str, Any]) -> GgufTokenizer:
    """Translate the `tokenizer.*` keys of a GGUF file (plain Python values)."""
    kind = str(fields.get("tokenizer.ggml.model", "missing"))
    types = [*_list(fields, "token_type", int)]
    tokens = _tokens(fields, types)
    types += [1] * (len(tokens) - len(types))
    notes: list[str] = []
    ids = _special_ids(fields, len(tokens), notes)
    if kind == "gpt2":
        pre = _pre_tokenizer(fields.get("tokenizer.ggml.pre"), notes)
        body = _byte_level(tokens, _list(fields, "merges", str), pre)
        add_bos = bool(fields.get("tokenizer.ggml.add_bos_token", pre.add_bos))
    elif kind == "llama":
        prefix = bool(fields.get("tokenizer.ggml.add_space_prefix", True))
        unknown = ids.get("unknown", types.index(_UNKNOWN) if _UNKNOWN in types else None)
        body = _sentence_piece(tokens, types, _list(fields, "scores", float), unknown, prefix)
        add_bos = bool(fields.get("tokenizer.ggml.add_bos_token", True))
    else:
        raise ModelUnavailable(
            f"the GGUF file's tokenizer is of kind {kind[:80]!r}, which lacli does not know", _OTHER_FILE
        )
    bos = ids.get("bos")
    add_bos = add_bos and bos is not None
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(tokens, types),
        **body,
        "post_processor": _begin_with(tokens[bos], bos) if add_bos and bos is not None else None,
    }
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": add_bos,
        "clean_up_tokenization_spaces": False,
        **{_CONFIG_NAMES[key]: tokens[i] for key, i in ids.items() if key in _CONFIG_NAMES},
    }
    template = fields.get("tokenizer.chat_template")
    return GgufTokenizer(
        json.dumps(document, ensure_ascii=False, separators=(",", ":")),
        config,
        template if isinstance(template, str) and template.strip() else None,
        tuple(notes),
        tuple(dict.fromkeys(ids[key] for key in ("eos", "eot", "eom") if key in ids)),
    )


_CONFIG_NAMES = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}


def _tokens(fields: Mapping[str, Any], types: Sequence[int]) -> list[str]:
    """The vocabulary's texts, each once, as tokenizer.json maps text to id.

    Of several owners of a text the last one keeps it, as in llama.cpp: text becomes its id. A control token goes before
    others, or the template could not write it. The rest get other names; `Tokenizer` knows what they stand for.
    """
    names = _list(fields, "tokens", str)
    if not names:
        raise ModelUnavailable("the GGUF file has no vocabulary (tokenizer.ggml.tokens)", _OTHER_FILE)
    if max(map(len, names)) > _LONGEST:
        raise ModelUnavailable(f"the GGUF file has a token of more than {_LONGEST} characters", _OTHER_FILE)
    owners = {name: index for index, name in enumerate(names)}
    owners.update(
        {name: index for index, (name, kind) in enumerate(zip(names, types, strict=False)) if kind == _CONTROL}
    )
    return [name if owners[name] == index else f"[duplicate {index}] {name}" for index, name in enumerate(names)]


def _list(fields: Mapping[str, Any], key: str, kind: type[_Value]) -> list[_Value]:
    """A list of the metadata; empty where there is none. Raises ModelUnavailable for what is no list of this kind."""
    found = fields.get(f"tokenizer.ggml.{key}") or []
    if not isinstance(found, list) or not set(map(type, found)) <= {kind}:
        raise ModelUnavailable(
            f"the GGUF file's tokenizer.ggml.{key} is of another type than {kind.__name__}", _OTHER_FILE
        )
    return found


def _special_ids(fields: Mapping[str, Any], vocab_size: int, notes: list[str]) -> dict[str, int]:
    """The ids the file names, by purpose."""
    ids: dict[str, int] = {}
    for key in ("bos", "eos", "eot", "eom", "unknown", "padding"):
        value = fields.get(f"tokenizer.ggml.{key}_token_id")
        if value is None:
            continue
        if isinstance(value, int) and 0 <= value < vocab_size:
            ids[key] = value
        elif value != 0xFFFFFFFF:  # -1 as the file stores it: deliberately none
            notes.append(f"the GGUF file's {key} token id {value} is outside its vocabulary and is ignored")
    return ids


def _pre_tokenizer(name: Any, notes: list[str]) -> PreTokenizer:
    if isinstance(name, str) and name in KNOWN:
        return KNOWN[name]
    if not name:
        found = "does not say how text is cut before tokenising (no tokenizer.ggml.pre)"
    elif name == "default":
        found = "names only the default way to cut text before tokenising (tokenizer.ggml.pre)"
    else:
        found = f"names the unknown pre-tokenizer {str(name)[:80]!r}"
    notes.append(
        f"the GGUF file {found}; llama.cpp's default is assumed, so replies may be worse than the model's best"
    )
    return DEFAULT


def _byte_level(tokens: Sequence[str], merges: Sequence[str], pre: PreTokenizer) -> dict[str, Any]:
    if not merges:
        raise ModelUnavailable("the GGUF file has no merges (tokenizer.ggml.merges)", _OTHER_FILE)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    cuts: list[dict[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in pre.patterns
    ]
    vocab = {token: index for index, token in enumerate(tokens)}
    pairs = []
    for merge in merges:
        at = merge.find(" ", 1)  # a merge's left half may itself be a blank
        pair = [merge[:at], merge[at + 1 :]]
        if at > 0 and pair[0] in vocab and pair[1] in vocab and pair[0] + pair[1] in vocab:
            pairs.append(pair)
    return {
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*cuts, byte_level]},
        "decoder": byte_level,
        # no unk_token: text the vocabulary lacks must never turn into a control id
        "model": _bpe(vocab, pairs, None, byte_fallback=False, ignore_merges=pre.ignore_merges),
    }


def _sentence_piece(
    tokens: Sequence[str], types: Sequence[int], scores: Sequence[float], unknown: int | None, prefix: bool
) -> dict[str, Any]:
    if not scores or len(scores) != len(tokens):
        raise ModelUnavailable("the GGUF file has no score for each token (tokenizer.ggml.scores)", _OTHER_FILE)
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    normalizers = [{"type": "Prepend", "prepend": _SPACE}, replace] if prefix else [replace]
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    vocab = {token: index for index, token in enumerate(tokens)}
    return {
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *strip,
            ],
        },
        "model": _bpe(
            vocab,
            _merges_from_scores(vocab, types, scores),
            tokens[unknown] if unknown is not None else None,
            byte_fallback=True,
            ignore_merges=False,
        ),
    }


def _merges_from_scores(vocab: Mapping[str, int], types: Sequence[int], scores: Sequence[float]) -> list[list[str]]:
    """SentencePiece joins the neighbours whose union scores best; the same order as a list of merges.

    Control, byte, unused and user-defined tokens are never made of pieces of text.
    """
    plain = {token for token, index in vocab.items() if types[index] not in _NO_PIECES}
    ranked: list[tuple[float, int, int, str, str]] = []
    for token in plain:
        score = float(scores[vocab[token]])
        for at in range(1, len(token)):
            left, right = token[:at], token[at:]
            if left in plain and right in plain:
                ranked.append((-score, vocab[left], vocab[right], left, right))
    ranked.sort()
    return [[left, right] for _, _, _, left, right in ranked]


def _bpe(
    vocab: dict[str, int], merges: list[list[str]], unknown: str | None, *, byte_fallback: bool, ignore_merges: bool
) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": byte_fallback,
        "byte_fallback": byte_fallback,
        "ignore_merges": ignore_merges,
        "vocab": vocab,
        "merges": merges,
    }


def _added_tokens(tokens: Sequence[str], types: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {
            "id": index,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": types[index] != _USER_DEFINED,
        }
        for index, token in enumerate(tokens)
        if types[index] in (_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED) and token
    ]


def _begin_with(token: str, token_id: int) -> dict[str, Any]:
    bos = {"SpecialToken": {"id": token, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [bos, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [bos, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {token: {"id": token, "ids": [token_id], "tokens": [token]}},
    }
