"""What a vocabulary's tokens are to a model: some end a reply by their name, some have no row in the embedding."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

_NAMED = 3
"""Tokens that a note names."""
_ENDS = (
    *("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "</s>", "<eos>", "[EOS]"),
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<end_of_utterance>"),
    *("<|EOT|>", "<EOT>", "_<EOT>", "[EOT]", "<|return|>", "<|call|>", "<|calls|>", "<|flush|>"),
)
"""What llama.cpp takes for the end of a text, a turn or a message by its name alone: not every model's files list all
that it was trained to end with."""


def is_harmony(control: Container[str]) -> bool:
    """Whether one reply of this vocabulary's model is several messages, each with an end (the format of gpt-oss)."""
    return "<|return|>" in control and "<|call|>" in control


def ends_by_name(control: Mapping[str, int]) -> tuple[int, ...]:
    """The ids of control tokens that end a reply by what they are called."""
    ends_message_only = ("<|end|>",) if is_harmony(control) else ()
    return tuple(control[text] for text in _ENDS if text in control and text not in ends_message_only)


def embedding_rows(config: Mapping[str, Any]) -> int | None:
    """How many ids a model has a row for, by its config.json; None where that does not say."""
    text = config.get("text_config")
    rows = config.get("vocab_size", text.get("vocab_size") if isinstance(text, dict) else None)
    return rows if isinstance(rows, int) and rows > 0 else None


def rowless(vocabulary: Mapping[str, int], rows: int) -> tuple[str, ...]:
    """A line for the user where the vocabulary has tokens that the model has no row for."""
    beyond = sorted((index, text) for text, index in vocabulary.items() if index >= rows)
    if not beyond:
        return ()
    named = ", ".join(repr(text) for _, text in beyond[:_NAMED]) + (", …" if len(beyond) > _NAMED else "")
    tokens = "a token of the vocabulary has" if len(beyond) == 1 else f"{len(beyond)} tokens of the vocabulary have"
    return (f"{tokens} no row in the model's embedding and cannot be used ({named}); other tokens spell such text",)
