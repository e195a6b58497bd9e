"""What comes from pipes and files as text, and how it is shown to the model beside an instruction.

Pure: bytes and text in, text and notes out.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Sequence

from lacli.events import Attachment
from lacli.text.fences import longer_than_any

MOST_BYTES = 1 << 26
"""Beyond every model's context by far: what has more is not read, and a stream without end does not fill the memory."""
CHARACTERS_A_TOKEN = 12
"""Far above what vocabularies reach on text and code: a text of more characters for each token does not fit."""
_UNDECODED = re.compile("[\udc80-\udcff]")


def text_of(data: bytes, name: str) -> tuple[str, str | None]:
    """Bytes from outside as text, and a note where they were not what they should be.

    UTF-8 whatever the locale (UTF-16 or UTF-32 where its mark says so). A byte that is not UTF-8 is read as Latin-1,
    which is what it nearly always is; where Latin-1 has only a control character U+FFFD stands for it.
    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first begins as UTF-16's mark does
        return data.decode("utf-32", "replace"), None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), None
    data = data.removeprefix(codecs.BOM_UTF8)
    with contextlib.suppress(UnicodeDecodeError):  # nearly always, and much quicker
        return data.decode(), None
    text = data.decode("utf-8", "surrogateescape")
    text, count = _UNDECODED.subn(_latin_1, text)
    if not count:
        return text, None
    return text, f"{name} is not all UTF-8: {count} byte{'s were' if count > 1 else ' was'} read as Latin-1"


def composed(words: str, attachments: Sequence[Attachment]) -> str:
    """What the model is shown of a message: each attachment in a fence with its label, then the words.

    The words come last, as small models obey the last line. One attachment alone is shown as it is, without a fence.
    """
    parts = [each for each in attachments if each.text.strip()]
    if not parts:
        return words
    if len(parts) == 1 and not words.strip():
        return parts[0].text
    shown = "\n\n".join(fenced(each.text, each.label) for each in parts)
    return f"{shown}\n\n{words}" if words.strip() else shown


def fenced(content: str, label: str) -> str:
    """Content in a fence that is longer than any run of its character in there, so that nothing inside ends it."""
    fence = longer_than_any(content)
    body = content.rstrip("\n")  # blanks at the end of its last line are part of it: edits compare line by line
    return f"{fence}{' '.join(label.split())}\n{body}\n{fence}"


def _latin_1(escaped: re.Match[str]) -> str:
    byte = ord(escaped[0]) - 0xDC00
    return chr(byte) if byte >= 0xA0 else "\N{REPLACEMENT CHARACTER}"
