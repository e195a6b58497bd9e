"""What a pool must never keep: replies that hold a secret, and the tails of repetition loops. Pure; used by `store`.

A pool is the model's own text, readable by whoever can read the file. So a whole reply is dropped when it seems to hold
a secret: a wrong alarm costs a little speed, and masking would teach n-grams nobody wrote.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_FORMATS = {
    "a private key": re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|PuTTY-User-Key-File-\d"),
    "an AWS key": re.compile(r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    "a GitLab token": re.compile(r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{16,}"),
    "a Slack token": re.compile(
        r"\bxox[a-z]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T"
    ),
    "an API key": re.compile(
        r"\b(?:sk|pk|rk)[-_](?:ant-|proj-|or-|live_|test_|svcacct-)[A-Za-z0-9_-]{12,}"
        r"|\bsk-[A-Za-z0-9]{20,}|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}"
        r"|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-AgE[A-Za-z0-9_-]{16,}|\bdop_v1_[a-f0-9]{32,}"
        r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bgsk_[A-Za-z0-9]{20,}|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"
        r"|\bshp(?:at|ss|ca)_[a-fA-F0-9]{20,}|\bAccountKey=[A-Za-z0-9+/]{20,}|\b\d{8,10}:AA[A-Za-z0-9_-]{32,}"
    ),
    "a JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}"),
    "a password in a URL": re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"<>{}$]{0,64}:[^\s/@'\"<>{}$*]{3,128}@"),
    "an authorisation header": re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/_.=-]{20,}"),
}

_NAMED = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth)"
# NAME=value and NAME: value as in .env and YAML files: no quotes, no code, to the end of the line.
_ASSIGNED_BARE = re.compile(
    rf"(?im)^[ \t]*(?:export[ \t]+)?[\w.-]{{0,40}}{_NAMED}[\w.-]{{0,20}}(?:=|:[ \t])[ \t]*"
    r"([^\s'\"(){}\[\]<>$,;]{6,})[ \t]*$"
)
_ASSIGNED_QUOTED = re.compile(
    rf"(?i){_NAMED}\w{{0,20}}['\"]?\]?\s{{0,3}}(?::=|[:=])\s{{0,3}}[rbfu]?(['\"`])([^'\"`\n]{{6,}})\1"
)
_STAND_IN = re.compile(
    r"(?i)^(?:x{3,}|\*{3,}|\.{3,}|your|my[-_]|the[-_]|some|example|sample|dummy|fake|test|change[-_]?me|placeholder|"
    r"none|null|true|false|todo|insert|enter|required|optional|string|password|secret|token|self\.|os\.|env|process\.|"
    r"str\b|int\b)"
    r"|[{<$%]|\s"
)

_RUN = re.compile(r"[A-Za-z0-9_+=-]{20,}")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
_WORDLIKE = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}")

_LONGEST_PERIOD = 512
_LEAST_REPEATS = 4
_LEAST_LOOP = 32
_SLACK = 8
"""Tokens that may follow a loop at the end of a reply: the end-of-turn marker, a cut-off last round."""


def refuse(text: str) -> str | None:
    """What secret the text seems to hold, or None. Give it with the rest of the line that it continues."""
    for name, pattern in _FORMATS.items():
        if pattern.search(text):
            return name
    for pattern in (_ASSIGNED_BARE, _ASSIGNED_QUOTED):
        for match in pattern.finditer(text):
            value = match[match.lastindex or 0]
            if not _STAND_IN.search(value) and len(set(value)) > 3 and _is_value(value, pattern is _ASSIGNED_BARE):
                return "a password or key that is spelt out"
    if any(_is_random(run[0]) for run in _RUN.finditer(text)):
        return "a string that looks random"
    return None


def _is_value(value: str, bare: bool) -> bool:
    """Without quotes only what no variable, call or type is named: with a digit or a sign in it."""
    return not bare or bool(re.search(r"\d|[^\w.]", value))


def _is_random(run: str) -> bool:
    """Whether a run of key characters is too uneven to be a name, a path or a number."""
    if (found := _HEX.search(run)) is not None:
        return _entropy(found[0]) > 3.0
    run = run.strip("=+-_")
    if len(run) < 20 or _entropy(run) < 3.6:
        return False
    digit_runs = len(re.findall(r"\d+", run))
    in_words = sum(len(word) for word in _WORDLIKE.findall(run))
    if re.fullmatch(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", run) or run.isdigit():
        return False  # a UUID names something, and a long number is no key
    return digit_runs >= 3 and in_words < 0.5 * len(run)


def _entropy(text: str) -> float:
    """Bits per character, by the text's own frequencies."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def loops(token_ids: Sequence[int] | NDArray[np.int64]) -> int | None:
    """How many tokens to keep of a reply that ends in a repetition loop, its first round included; else None.

    A loop is one stretch repeated at least four times over at least 32 tokens, up to a few tokens before the end.
    """
    ids = np.asarray(token_ids)
    total = len(ids)
    if total < _LEAST_LOOP:
        return None
    keep: int | None = None
    for period in range(1, min(_LONGEST_PERIOD, total // _LEAST_REPEATS) + 1):
        ids_differ = ids[period:] != ids[:-period]
        breaks = np.flatnonzero(ids_differ)
        # Stretches between breaks; the ones that end within the slack.
        starts = np.concatenate(([0], breaks + 1))
        ends = np.concatenate((breaks, [total - period]))
        recent = ends >= total - period - _SLACK
        repeated = (ends - starts)[recent] + period
        long_enough = repeated >= max(_LEAST_REPEATS * period, _LEAST_LOOP)
        if long_enough.any():
            first = int(starts[recent][long_enough].min()) + period
            keep = first if keep is None else min(keep, first)
    return keep
