"""Finds the chat template of a model folder. Rendering is `lacli.models.hf.chat_template`'s."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lacli.errors import ModelUnavailable
from lacli.models.hf.chat_template import ChatTemplate

__all__ = ["ChatTemplate", "load_template"]


def load_template(folder: Path, registered: str = "") -> ChatTemplate | None:
    """The folder's own template: chat_template.jinja first, as in transformers, then chat_template.json, then
    tokenizer_config.json (of several named ones the default).

    Where it has none, that of the model's registry entry (`registered`); None for base models.
    """
    jinja = folder / "chat_template.jinja"
    try:
        if jinja.is_file():
            return _template(jinja.read_text("utf-8-sig"), jinja)
        for name in ("chat_template.json", "tokenizer_config.json"):
            path = folder / name
            if not path.is_file():
                continue
            content = json.loads(path.read_text("utf-8-sig"))
            source = _default_of(content.get("chat_template") if isinstance(content, dict) else None)
            if source is not None:
                return _template(source, path)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"the chat template of {folder} cannot be read ({error})", "fetch or prepare the model again"
        ) from error
    return _template(registered, Path("models.toml"))


def _template(source: str, path: Path) -> ChatTemplate | None:
    return ChatTemplate(source, str(path)) if source.strip() else None


def _default_of(value: Any) -> str | None:
    """A template is a text, a list of named ones, or a mapping of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        value = {entry.get("name"): entry.get("template") for entry in value if isinstance(entry, dict)}
    if isinstance(value, dict) and value:
        chosen = value.get("default", next(iter(value.values())))
        return chosen if isinstance(chosen, str) else None
    return None
