"""What a new method is to belong to. Pure."""

from __future__ import annotations

import re
from collections import Counter

from lacli.edits.tree.outline import Outline

_METHOD = re.compile(r"\b(?:methods?|getters?|setters?)\b", re.IGNORECASE)


def owner(name: str, instruction: str, before: Outline | None) -> str:
    """The class or type that a new method of this name is said to be of: "a method peek to Stack"; else nothing."""
    at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", instruction)
    if at is None or before is None or not _METHOD.search(instruction[: at.start()]):
        return ""
    classes = {each.name for each in before.definitions if each.kind == "class"}
    places = re.finditer(
        r"\b(?:to|of|in|on|into)\s+(?:the\s+)?(?:(?:class|struct|type|interface)\s+)?`?([A-Za-z_]\w*)",
        instruction[at.end() :],
    )
    return next((each[1] for each in places if each[1] in classes), "")


def receiver(name: str, instruction: str, before: Outline | None) -> str:
    """The receiver of a new method of Go, as the others of its type have it; nothing where it is none, or has none."""
    of = owner(name, instruction, before)
    if not of or before is None:
        return ""
    receivers = Counter(each.receiver for each in before.definitions if each.path[:-1] == (of,) and each.receiver)
    return receivers.most_common(1)[0][0] if receivers else ""
