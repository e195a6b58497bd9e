"""How the log stores a text: as valid Unicode, and of a huge one only the beginning and the end. Pure.

A resumed conversation shows the model the same shortened text, with the mark of the cut, and never the whole again.
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 200_000
"""Per text. Usual contexts hold less, so what a model saw of a text is nearly always stored whole."""
_HEAD_SHARE = 0.75
_TITLE_CHARACTERS = 100
_SURROGATES = re.compile("[\ud800-\udfff]")


def valid_unicode(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD and surrogate pairs joined."""
    if _SURROGATES.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clipped(text: str) -> str:
    """The text as the log stores it."""
    text = valid_unicode(text)
    if len(text) <= MOST_CHARACTERS:
        return text
    head = int(MOST_CHARACTERS * _HEAD_SHARE)
    tail = MOST_CHARACTERS - head
    return f"{text[:head]}\n[... {len(text) - MOST_CHARACTERS:,} characters are not kept ...]\n{text[-tail:]}"


def title(question: str) -> str:
    """The first words of a question, on one line; of several paragraphs the first, where what is wanted stands."""
    start = valid_unicode(question[: 8 * _TITLE_CHARACTERS]).strip()
    words = " ".join(start.partition("\n\n")[0].split())
    if len(words) <= _TITLE_CHARACTERS:
        return words
    cut = words[:_TITLE_CHARACTERS]
    return (cut.rsplit(" ", 1)[0] if " " in cut[_TITLE_CHARACTERS // 2 :] else cut) + "..."
