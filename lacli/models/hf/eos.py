"""Which token ids end a reply: the union of what config, generation config, tokenizer and chat template say.

Any of those files may be wrong or absent on its own, and a model whose end token is missed invents the user's next
turn. Pure but for rendering the template in a sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from lacli.errors import ModelUnavailable

_MARK = "lacli-turn-end-probe"


def end_ids(
    *,
    named: Mapping[str, object],
    tokens: Iterable[str | None],
    vocabulary: Mapping[str, int],
    vocab_size: int,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Ascending ids and notes.

    `named` maps a file's name to its `eos_token_id` (an id, a list of ids, or None); `tokens` are end tokens by text.
    """
    ids: set[int] = set()
    wrong: list[str] = []
    for name, value in named.items():
        for item in value if isinstance(value, list) else [value]:
            if item is None:
                continue
            if isinstance(item, int) and not isinstance(item, bool) and 0 <= item < vocab_size:
                ids.add(item)
            else:
                wrong.append(f"{item!r} ({name})")
    ids.update(
        vocabulary[token] for token in tokens if token is not None and vocabulary.get(token, vocab_size) < vocab_size
    )
    notes = (f"end token ids outside the vocabulary are ignored: {', '.join(wrong)}",) if wrong else ()
    return tuple(sorted(ids)), notes


def token_text(value: object) -> str | None:
    """The text of a token as tokenizer_config.json writes it: a string, or a table with `content`."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else None


def vocabulary_of(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """Piece to id from a parsed tokenizer.json, added tokens included."""
    model = tokenizer.get("model") or {}
    vocab = model.get("vocab") or {}
    pieces = dict(vocab) if isinstance(vocab, dict) else {entry[0]: index for index, entry in enumerate(vocab)}
    pieces.update(markers_of(tokenizer))
    return pieces


def markers_of(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """The added tokens of a parsed tokenizer.json: control markers and the like."""
    return {token["content"]: token["id"] for token in tokenizer.get("added_tokens") or ()}


def control_of(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """Those of `markers_of` that the file calls special."""
    return {token["content"]: token["id"] for token in tokenizer.get("added_tokens") or () if token.get("special")}


def turn_end(template: str | None, markers: Mapping[str, int], special: Mapping[str, str]) -> str | None:
    """The marker the chat template writes after an assistant's turn, or None.

    Found by rendering, not by looking for known spellings. `special` holds bos_token, eos_token and the like.
    """
    if not template:
        return None
    rendered = next((text for parts in (False, True) if _MARK in (text := _rendered(template, special, parts))), None)
    if rendered is None:
        return None
    rest = rendered.rpartition(_MARK)[2].lstrip()
    found = [marker for marker in markers if rest.startswith(marker)]
    return max(found, key=len) if found else None


def _rendered(template: str, special: Mapping[str, str], parts: bool) -> str:
    from lacli.models.hf.chat_template import ChatTemplate, Refused

    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": _MARK}]
    try:
        return ChatTemplate(template, "").render(messages, special, datetime.now(), reply_follows=False, parts=parts)
    except (ModelUnavailable, Refused):  # whatever is wrong with it is told when a prompt is made
        return ""
