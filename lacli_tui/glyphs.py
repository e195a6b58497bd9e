"""The characters that charts and frames are drawn with: fine ones, or ASCII where a terminal has no others. Pure."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set; every character is one cell wide."""

    levels: str
    """From nothing to a full cell, bottom up: what a column ends with."""
    parts: str
    """The same from the left to the right: what a bar ends with."""
    between: str
    """Stands between values of a line."""
    dots: str
    """Something was left out, or goes on."""
    about: str
    """Before a value that is not exact."""
    times: str
    plain: bool
    """Whether it is the ASCII one."""
    speck: str
    """A place in a chart where nothing is yet."""


FINE = Glyphs(" ▁▂▃▄▅▆▇█", " ▏▎▍▌▋▊▉█", "·", "…", "≈", "×", False, "·")
PLAIN = Glyphs(" .:-=+*#", " -=", "|", "~", "~", "x", True, ".")


def is_ascii_terminal(environment: Mapping[str, str] = os.environ, encoding: str | None = None) -> bool:
    """Whether a terminal cannot be relied on to draw more than ASCII."""
    if encoding is None:
        encoding = getattr(sys.__stdout__, "encoding", None) or "ascii"
    narrow = encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "utf8sig", "utf16", "utf32")
    return narrow or environment.get("TERM", "") in ("linux", "dumb", "vt100", "vt220", "cons25")


def glyphs(plain: bool) -> Glyphs:
    """The set for a terminal."""
    return PLAIN if plain else FINE


_LIKE = str.maketrans("…›→·−–—“”‘’×≈•✓", "~>>|---\"\"''x~**")


def to_terminal(text: str) -> str:
    """Our own words with signs that every terminal has, where this one may have no others; cell for cell."""
    return text.translate(_LIKE) if is_ascii_terminal() else text
