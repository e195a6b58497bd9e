"""Characters that are not seen and yet change what is: the order of text beside them, or where a line ends. Pure.

What is shown of them stands for each as `<U+202E>`, so that code reads as it runs; what goes to a file or a pipe keeps
them. Joiners and variation selectors stay, as scripts and emoji need them.
"""

from __future__ import annotations

import re

_INVISIBLE = re.compile(
    "["
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions
    "\u2028\u2029"  # ends of lines
    "\u180e\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb"  # nothing at all
    "\U000e0000-\U000e007f"  # a second, unseen ASCII
    "]"
)

_ACTS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def marked(text: str) -> str:
    """The text with `<U+202E>` and the like in the place of each of them."""
    return text if text.isascii() else _INVISIBLE.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def signed(text: str) -> str:
    """The same where each must stay a single character: U+FFFD."""
    return text if text.isascii() else _INVISIBLE.sub("\ufffd", text)


def can_be_typed(name: str) -> bool:
    """Whether a name may be offered: none that has control characters, which act, or is not UTF-8."""
    return not _ACTS.search(name)


def escaped(json: str) -> str:
    """A JSON document with its own escapes for them, which mean the same."""
    return json if json.isascii() else _INVISIBLE.sub(lambda found: _escape(found[0]), json)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
