"""Tells randomly generated strings from the names, words and numbers of code. Pure.

Each character is scored with the log-likelihood ratio of a random string over one of seven alphabets to code, given the
two characters before it. The maximum sum over any stretch decides (CUSUM), so it does not matter what text adjoins a
key, and one pass finds it.
"""

from __future__ import annotations

import base64
import math
import re
import string
import zlib
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacli.pool.secret_letters import LETTERS, LEVELS, SHAPES

_OTHER, _SIGN, _DIGIT, _LOWER, _UPPER = range(5)
_NATS = 16
"""Sums are integers in sixteenths of a nat."""
_NEVER = -150 * _NATS
"""Score that resets any sum: a sum that survived it would have exceeded every limit before."""
_AT_ONCE = 1 << 16
"""Characters processed at once, so that sums stay within 32 bits and memory is bounded."""
_NO_LETTER = len(LEVELS)
_KINDS = 2 * (_NO_LETTER + 1)
"""Number of kinds of a character: the level of its letter or none, times whether it is a hex digit."""

# Share of each character class in random strings over each alphabet.
_ALPHABETS = (
    {_LOWER: 26 / 64, _UPPER: 26 / 64, _DIGIT: 10 / 64, _SIGN: 2 / 64},
    {_LOWER: 26 / 36, _DIGIT: 10 / 36},
    {_LOWER: 1.0},
    {_UPPER: 26 / 36, _DIGIT: 10 / 36},
    {_UPPER: 1.0},
)
_HEXADECIMAL = ({_LOWER: 6 / 16, _DIGIT: 10 / 16}, {_UPPER: 6 / 16, _DIGIT: 10 / 16})
_CLASS_SIZE = {_SIGN: 2, _DIGIT: 10, _LOWER: 26, _UPPER: 26}

_UUID = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")
_HEX = re.compile(r"[0-9a-f]{20,}|[0-9A-F]{20,}")
_RUN = re.compile(r"[A-Za-z0-9_+/=-]{8,}")
_WORD = re.compile(r"[A-Za-z0-9]{8,}")
_TURN = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_CLASSES = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))
_SIGNS = re.compile(r"[!#%^*~+&@$]")
_CODE = re.compile(r"[()\[\]{}<>,;.:|\\/=\s]")
_LEAST_STRETCH = 8
_OVERLAP = 256
_HEX_TURN = re.compile(r"[0-9][A-Fa-f]|[A-Fa-f][0-9]")


class Limits(NamedTuple):
    """Thresholds from which a stretch counts as random."""

    stretch: int
    """Least length of the stretch with the maximum sum."""
    word: int
    """Length of a run of letters and digits around the stretch from which the stretch may be shorter."""
    nats: float
    hex_turns: int
    """Alternations between digits and letters that distinguish 20 or more hex digits from a number."""


USUAL = Limits(stretch=14, word=16, nats=8.0, hex_turns=3)
"""Validated on the half of the standard library and site-packages that was not counted."""
WARY = Limits(stretch=11, word=12, nats=5.0, hex_turns=3)
"""For replies to a prompt that contains a secret, and wherever a key is to be expected."""
AT_THE_END = Limits(stretch=11, word=12, nats=6.0, hex_turns=3)
"""For the last word of a reply, where a budget or Ctrl-C may have cut a key off."""
LONE = Limits(stretch=15, word=18, nats=3.0, hex_turns=3)
"""For a last word without signs, of the length of half a key."""
NAMED = Limits(stretch=9, word=9, nats=3.0, hex_turns=2)
"""For a value whose name says that it is secret."""


def looks_random(text: str, limits: Limits = USUAL) -> bool:
    """Whether a stretch of the text seems random. A UUID on its own is a name, and does not count."""
    words = dict.fromkeys(_RUN.findall(_UUID.sub(" ", text)))
    runs = " ".join([word for word in words if len(word) >= limits.stretch])
    for start in range(0, len(runs), _AT_ONCE - _OVERLAP):
        if _has_random_stretch(runs[start : start + _AT_ONCE], limits):
            return True
    return any(len(_HEX_TURN.findall(run[0])) >= limits.hex_turns for run in _HEX.finditer(runs))


def is_mixed(value: str) -> bool:
    """Whether a word looks like a password: digits between letters, not only after them, or all character classes."""
    return len(_TURN.findall(value)) >= 2 or has_every_class(value)


def has_every_class(value: str) -> bool:
    """Whether a sign stands with two classes of letters and digits, and nothing that code puts between words."""
    return sum(part.search(value) is not None for part in _CLASSES) >= 2 and bool(
        _SIGNS.search(value) and _CODE.search(value) is None
    )


def _has_random_stretch(runs: str, limits: Limits) -> bool:
    totals = _totals(runs)
    over = totals - np.minimum.accumulate(totals, axis=1) > limits.nats * _NATS
    if not over.any():
        return False
    least = np.minimum.accumulate(totals, axis=1)
    starts = np.maximum.accumulate(np.where(totals == least, np.arange(totals.shape[1]), 0), axis=1)
    rows, ends = np.nonzero(over)
    lengths = ends - starts[rows, ends]
    if (lengths >= limits.stretch).any():
        return True
    around = np.zeros(len(runs) + 1, np.int64)
    for word in _WORD.finditer(runs):
        around[word.start() + 1 : word.end() + 1] = word.end() - word.start()
    return bool(((around[ends] >= limits.word) & (lengths >= _LEAST_STRETCH)).any())


def _totals(runs: str) -> NDArray[np.int32]:
    """For each alphabet the prefix sums of the scores: [alphabets, characters + 1]."""
    gains, (classes, letters), costs = _tables()
    raw = np.frombuffer(runs.encode("ascii", "replace"), np.uint8)
    own, letter = classes[raw], letters[raw]
    before, earlier = _shifted(own, 1), _shifted(own, 2)
    # A capital after a lower-case letter begins a word, and so does a letter after a non-letter.
    fresh = (before < _LOWER) | ((before == _LOWER) & (own == _UPPER))
    short = fresh | (earlier < _LOWER) | ((earlier == _LOWER) & (before == _UPPER))
    short |= (before == _UPPER) & (own == _LOWER)
    previous = np.where(fresh, 0, _shifted(letter, 1))
    second = np.where(short, 0, _shifted(letter, 2))
    level = costs[(second * 27 + previous) * 27 + letter]
    is_hex = (own == _DIGIT) | ((letter >= 1) & (letter <= 6))
    index = ((earlier * 5 + before) * 5 + own) * _KINDS + level * 2 + is_hex
    totals = np.zeros((len(gains), len(runs) + 1), np.int32)
    np.cumsum(gains[:, index], axis=1, out=totals[:, 1:])
    return totals


def _shifted(values: NDArray[np.int64], by: int) -> NDArray[np.int64]:
    shifted = np.zeros_like(values)
    shifted[by:] = values[:-by]
    return shifted


@cache
def _tables() -> tuple[NDArray[np.int32], tuple[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]:
    """Tables: score per alphabet by classes and kind; class and letter of each byte; level of each letter triple."""
    classes, letters = np.zeros(256, np.int64), np.zeros(256, np.int64)
    for group, characters in (
        (_SIGN, "_-+/="),
        (_DIGIT, string.digits),
        (_LOWER, string.ascii_lowercase),
        (_UPPER, string.ascii_uppercase),
    ):
        codes = np.frombuffer(characters.encode(), np.uint8)
        classes[codes] = group
        if group >= _LOWER:
            letters[codes] = np.arange(1, 27)
    packed = np.frombuffer(zlib.decompress(base64.b85decode(LETTERS)), np.uint8)
    levels = (packed[:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    costs = np.full((27 * 27, 27), _NO_LETTER, np.int64)
    costs[:, 1:] = levels.reshape(-1)[: 27 * 27 * 26].reshape(27 * 27, 26)
    return _gains(), (classes, letters), costs.reshape(-1)


def _gains() -> NDArray[np.int32]:
    shapes = (np.frombuffer(SHAPES.encode(), np.uint8).astype(np.float64) - ord("A")) / 4
    gains = np.full((len(_ALPHABETS) + len(_HEXADECIMAL), 25, 5, _KINDS), float(_NEVER))
    for row, shares in enumerate(_ALPHABETS + _HEXADECIMAL):
        for own, share in shares.items():
            for kind in range(_KINDS):
                level, is_hex = divmod(kind, 2)
                spelling = LEVELS[level] / _NATS if level < _NO_LETTER else math.log(_CLASS_SIZE[own])
                if row < len(_ALPHABETS):
                    chance = math.log(share / _CLASS_SIZE[own])
                elif is_hex:
                    chance = -math.log(16)
                else:
                    continue
                gains[row, :, own, kind] = np.clip((shapes.reshape(25, 5)[:, own] + spelling + chance), -9, 3) * _NATS
    return np.round(gains).astype(np.int32).reshape(len(gains), -1)
