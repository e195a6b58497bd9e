"""What docs/json.md says that JSON holds, and what a value does hold: paths of keys, `stats.rows` or `pools[].path`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "json.md"
_ANY = ".*"
"""Stands behind an object whose keys are names, and for them."""


def sections() -> dict[str, set[str]]:
    """The keys of each section. A link to another section stands for its keys, behind what stands before the link."""
    parts = re.split(r"^## (.+)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found: dict[str, set[str]] = {}
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        found[title] = set()
        for prefix, link, key in re.findall(r"^\| (?:(?:`(.+)` )?\[.+\]\(#(.+)\)|`(.+?)`) \|", body, re.MULTILINE):
            found[title] |= {prefix + each for each in found[link.capitalize()]} if link else {key}
    return found


def keys_of(value: Any, documented: set[str], path: str = "") -> set[str]:
    """The keys of an object, of all there are in its lists; where nothing is, or what is there is documented as .*,
    the key itself."""
    if path + _ANY in documented:
        return {path + _ANY}
    if isinstance(value, dict):
        parts = [(f"{path}.{key}" if path else key, item) for key, item in value.items()]
    else:
        parts = [(f"{path}[]", item) for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    found = set().union(*(keys_of(item, documented, key) for key, item in parts)) or {path}
    return {key for key in found if not any(each.startswith((f"{key}.", f"{key}[]")) for each in documented)}
