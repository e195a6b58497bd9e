"""Makes text harmless for the terminal: control characters are shown as pictures, or removed from pastes. Pure."""

from __future__ import annotations

import re

from lacli.text.invisible import marked, signed

_CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC and other strings
    r"|\x1b[()*+][0-9A-Za-z]"  # a set of characters
)
"""Complete sequences only: of an unfinished one just the escape is removed, so that no text is lost."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """Replace control characters, but for tabs and line ends, by pictures, invisible characters by marks, and lone
    surrogates by U+FFFD."""
    text = text.replace("\r\n", "\n").translate(_CONTROLS)
    return text if text.isascii() else marked(text.encode("utf-8", "replace").decode())


def visible_in_place(text: str) -> str:
    """The same character by character, for text that is edited."""
    if text.isascii() and text.isprintable():
        return text
    return signed(text.translate(_CONTROLS)).encode("utf-8", "replace").decode()


def clean_paste(text: str) -> str:
    """With \n as line end, without complete escape sequences and control characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", _SEQUENCE.sub("", text)) if _CONTROL.search(text) else text
