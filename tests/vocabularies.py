"""Small vocabularies for tests: what a GGUF file would say of them, and the tokenizer made from that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import tokenizers

from lacli.models.gguf.tokenizer import build_tokenizer
from lacli.text.tokenizer import Tokenizer

MARKERS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def letter_of(byte: int) -> str:
    """The letter that byte-level vocabularies write for a byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in printable:
        return chr(byte)
    return chr(256 + [other for other in range(256) if other not in printable].index(byte))


def spelled(text: str) -> str:
    """A text in the letters of byte-level vocabularies."""
    return "".join(map(letter_of, text.encode()))


def byte_level(
    merges: Sequence[tuple[str, str]] = (), lacking: Collection[int] = (), pre: str = "smollm", **more: Any
) -> dict[str, Any]:
    """A byte-level vocabulary: three markers, a token per byte, one more for each merge."""
    tokens = [*MARKERS, *(letter_of(byte) for byte in range(256) if byte not in lacking)]
    pairs = [(spelled(left), spelled(right)) for left, right in merges] or [(spelled("t"), spelled("h"))]
    tokens += [left + right for left, right in pairs]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3] * len(MARKERS) + [1] * (len(tokens) - len(MARKERS)),
        "tokenizer.ggml.merges": [f"{left} {right}" for left, right in pairs],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        **{f"tokenizer.ggml.{key}": value for key, value in more.items()},
    }


def sentence_piece(pieces: Sequence[str], **more: Any) -> dict[str, Any]:
    """A SentencePiece vocabulary with byte fallback; the earlier a piece, the better it scores."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256, *[1] * len(pieces)],
        "tokenizer.ggml.scores": [0.0] * 259 + [-float(index) for index in range(len(pieces))],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        **{f"tokenizer.ggml.{key}": value for key, value in more.items()},
    }


def made(fields: dict[str, Any]) -> Tokenizer:
    """The tokenizer a prepared folder with these fields would give."""
    built = build_tokenizer(fields)
    return Tokenizer(tokenizers.Tokenizer.from_str(built.tokenizer_json), built.tokenizer_config)
