"""What a pool must not store: replies that contain a secret, and the tails of repetition loops. Pure; used by `store`.

A pool holds the model's text, readable by whoever can read the file. A reply that seems to contain a secret is
therefore dropped whole: a false alarm costs a little speed, and masking would teach n-grams that nobody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lacli.pool.secret_formats import issued
from lacli.pool.secret_names import spelt_out
from lacli.pool.secret_random import AT_THE_END, LONE, USUAL, WARY, has_every_class, is_mixed, looks_random

_LINE_GOES_ON = re.compile(r"\\\r?\n[ \t]{0,80}")
_STRING_GOES_ON = re.compile(
    r"(?<=[A-Za-z0-9+/=_-])([\"'])[ \t]{0,8}[+.&]?[ \t]{0,8}(?:\r?\n[ \t]{0,80})?[+.&]?[ \t]{0,8}[rbfu]?\1"
    r"(?=[A-Za-z0-9+/=_-])"
)

_LONGEST_WORD = 200
_LAST_WORD = re.compile(r"[^\s'\"`]{11,}\Z")
_LEAST_PART = 10
_SEPARATOR = re.compile("[:=]")
_DIGIT = re.compile("[0-9]")
_HEX_DIGITS = re.compile(r"[0-9a-f]{12,}\Z")

_LONGEST_PERIOD = 512
_LEAST_REPEATS = 4
_LEAST_LOOP = 32
_SLACK = 8
"""Tokens that may follow a loop at the end of a reply: the end-of-turn marker, a cut-off last round."""


class Refuse(Protocol):
    """A function that names the secret in a text: `refuse`, or one that knows further secrets."""

    def __call__(self, text: str, wary: bool = False) -> str | None:
        """See `refuse`."""
        ...


def refuse(text: str, wary: bool = False) -> str | None:
    """The kind of secret that the text seems to contain, or None. Prepend the rest of the line that the text continues.

    `wary`: where a secret is known to be about, as in a reply to a prompt with one; also finds half a key.
    """
    joined = _STRING_GOES_ON.sub("", _LINE_GOES_ON.sub("", text))
    for version in (text,) if joined == text else (text, joined):
        found = issued(version)
        if found is not None:
            return found
        if spelt_out(version):
            return "a password or key that is spelt out"
        if looks_random(version, WARY if wary else USUAL) or _ends_in_a_part(version):
            return "a string that looks random"
    return None


def _ends_in_a_part(text: str) -> bool:
    """Whether the last word may be the beginning of a key, or of a password, that a budget or Ctrl-C cut off."""
    last = _LAST_WORD.search(text[-_LONGEST_WORD:].rstrip())
    if last is None:
        return False
    password = _SEPARATOR.split(last[0])[-1]
    digits = _HEX_DIGITS.search(last[0])
    return (
        looks_random(last[0], AT_THE_END)
        or (last[0].isalnum() and looks_random(last[0], LONE))
        or (digits is not None and is_mixed(digits[0]))
        or (len(password) >= _LEAST_PART and _DIGIT.search(password) is not None and has_every_class(password))
    )


def loops(token_ids: Sequence[int] | NDArray[np.int64]) -> int | None:
    """How many tokens to keep of a reply that ends in a repetition loop, including its first round; else None.

    A loop is a stretch repeated at least four times, over at least 32 tokens, up to a few tokens before the end.
    """
    ids = np.asarray(token_ids)
    total = len(ids)
    if total < _LEAST_LOOP:
        return None
    keep: int | None = None
    for period in range(1, min(_LONGEST_PERIOD, total // _LEAST_REPEATS) + 1):
        ids_differ = ids[period:] != ids[:-period]
        breaks = np.flatnonzero(ids_differ)
        # Stretches without a break that end within the slack.
        starts = np.concatenate(([0], breaks + 1))
        ends = np.concatenate((breaks, [total - period]))
        recent = ends >= total - period - _SLACK
        repeated = (ends - starts)[recent] + period
        long_enough = repeated >= max(_LEAST_REPEATS * period, _LEAST_LOOP)
        if long_enough.any():
            first = int(starts[recent][long_enough].min()) + period
            keep = first if keep is None else min(keep, first)
    return keep
