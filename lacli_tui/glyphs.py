"""The characters that charts and frames are drawn with: fine ones, or ASCII if the terminal has no others. Pure."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """A set of characters, each one cell wide."""

    levels: str
    """From empty to full, bottom up: the top cell of a column."""
    parts: str
    """From empty to full, left to right: the last cell of a bar."""
    between: str
    """Between the values of a line."""
    dots: str
    """For something left out or still to come."""
    about: str
    """Before an approximate value."""
    times: str
    plain: bool
    """Whether this is the ASCII set."""
    speck: str
    """A place in a chart without a value yet."""


FINE = Glyphs(" ▁▂▃▄▅▆▇█", " ▏▎▍▌▋▊▉█", "·", "…", "≈", "×", False, "·")
PLAIN = Glyphs(" .:-=+*#", " -=", "|", "~", "~", "x", True, ".")


def is_ascii_terminal(environment: Mapping[str, str] = os.environ, encoding: str | None = None) -> bool:
    """Whether the terminal cannot be relied on to draw more than ASCII."""
    if encoding is None:
        encoding = getattr(sys.__stdout__, "encoding", None) or "ascii"
    narrow = encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "utf8sig", "utf16", "utf32")
    return narrow or environment.get("TERM", "") in ("linux", "dumb", "vt100", "vt220", "cons25")


def glyphs(plain: bool) -> Glyphs:
    return PLAIN if plain else FINE


_LIKE = str.maketrans("…›→·−–—“”‘’×≈•✓", "~>>|---\"\"''x~**")


def to_terminal(text: str) -> str:
    """Replace the special characters of our own texts by ASCII, cell for cell, if the terminal needs that."""
    return text.translate(_LIKE) if is_ascii_terminal() else text
