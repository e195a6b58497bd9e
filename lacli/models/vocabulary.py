"""A vocabulary beside the embedding it is for: tokens that were added later may have no row there.

Called by whatever prepares a model, and by the tokenizer, which does without such tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMED = 3
"""Tokens that a note names."""


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
