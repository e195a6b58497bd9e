"""What both streams must know of terminals: whether there is one, and how to keep foreign text from steering it.

No side effects; streams are only asked what they are.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Any

from lacli.text.invisible import marked

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"  # other escapes
)
_UNFINISHED = re.compile(
    r"(?:\x1b|(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*\x1b?|\x1b[ -/]+)\Z"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_EMOJI_STYLE = "\ufe0f"
_HELD_BACK = 256
"""An unfinished sequence longer than this is no sequence: text must not vanish behind a stray introducer."""


def is_terminal(stream: Any) -> bool:
    """Whether this stream is a terminal; a missing or closed one is not."""
    try:
        return bool(stream is not None and stream.isatty())
    except (ValueError, OSError):
        return False


def can_redraw(stream: Any) -> bool:
    """Whether a line on this terminal can be drawn over."""
    if not is_terminal(stream) or os.environ.get("TERM", "") == "dumb":
        return False
    return os.name != "nt" or "WT_SESSION" in os.environ or "TERM" in os.environ


def wants_colour(stream: Any, choice: str) -> bool:
    """Whether colours go to this stream: `choice` of --color, then NO_COLOR, then FORCE_COLOR, then what it is."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("FORCE_COLOR", "0") not in ("", "0") or can_redraw(stream)


def columns(stream: Any) -> int:
    """The width of this terminal."""
    return size(stream)[0]


def size(stream: Any) -> tuple[int, int]:
    """Columns and lines of this terminal."""
    try:
        found = os.get_terminal_size(stream.fileno())
        return found.columns or 80, found.lines or 24  # 0 if the size was never set
    except (OSError, ValueError, AttributeError):
        return 80, 24


def cells(character: str) -> int:
    """How many columns a character takes, a tab left out; rather one too many where terminals differ."""
    if character == _EMOJI_STYLE:  # makes a narrow sign wide, in some terminals
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def column_after(column: int, text: str, width: int | None = None) -> int:
    """Where the cursor is after a text without newlines, near enough to know what fits on a line of this width."""
    if text.isascii() and "\t" not in text and (width is None or column + len(text) <= width):
        return column + len(text)
    for character in text:
        if character == "\t":
            column = (column // 8 + 1) * 8 if width is None else min(width - 1, (column // 8 + 1) * 8)
        elif taken := cells(character):
            column = taken if width is not None and column + taken > width else column + taken
    return column


def sanitize(text: str) -> str:
    """The text without control characters and escape sequences, and with a mark for what is not seen; tab and newline
    stay."""
    return marked(_CONTROL.sub("", _SEQUENCE.sub("", text)))


class StreamSanitizer:
    """`sanitize` for text that comes in pieces: a sequence split between two of them is still recognised."""

    def __init__(self) -> None:
        self._held = ""

    def push(self, text: str) -> str:
        """The part of the text that may be shown now."""
        text = _SEQUENCE.sub("", self._held + text)
        self._held = ""
        unfinished = _UNFINISHED.search(text)
        if unfinished and len(unfinished[0]) <= _HELD_BACK:
            self._held = unfinished[0]
            text = text[: unfinished.start()]
        return marked(_CONTROL.sub("", text))

    def finish(self) -> str:
        """Release what was held back at the end of the text."""
        held, self._held = self._held, ""
        return sanitize(held)
