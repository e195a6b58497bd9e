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
    "an AWS key": re.compile(
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b|(?i:secret_?access_?key)\W{1,6}[A-Za-z0-9/+]{38,}"
    ),
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

# A name that says its value is secret, unless it goes on to say that the value is about one (token_type, key_file).
_NAMED = (
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth(?!or))"
    r"(?!\w{0,20}(?:type|name|endpoint|ur[il]|ids?|field|header|file|path|kind|class|scheme|format|regex|pattern|prefix|label|"
    r"hint|errors?|message|count|limit|length|size)\b)\w{0,20}"
)
_ASSIGNED = (
    # .env, shell: NAME=value, anywhere
    re.compile(
        r"\b[A-Z0-9_]{0,40}(?:PASS|PWD|SECRET|TOKEN|KEY|CREDENTIALS?|AUTH)[A-Z0-9_]{0,20}="
        r"([^\s'\"(){}\[\]<>$,;=]{6,})"
    ),
    # YAML, ini: to the end of the line and without quotes, where only a digit or a sign tells a value from a variable
    re.compile(
        rf"(?im)^[ \t]*[\w.-]{{0,40}}{_NAMED}[ \t]{{0,8}}[:=][ \t]{{0,8}}"
        r"(?=[^\s]{0,64}[\d!#%&*+/@^~-])([^\s'\"(){}\[\]<>$,;:=][^\s'\"(){}\[\]<>$,;]{5,})[ \t]*$"
    ),
    # code, JSON
    re.compile(
        rf"(?i){_NAMED}['\"]?\]?\s{{0,3}}(?::=|[:=])\s{{0,3}}[rbfu]?"
        r"(?:'([^'\n]{6,})'|\"([^\"\n]{6,})\"|`([^`\n]{6,})`)"
    ),
)
_STAND_IN = re.compile(
    r"(?i)^(?:x{3,}|\*{3,}|\.{3,}|your|my[-_]|the[-_]|some|example|sample|dummy|fake|test|change[-_]?me|placeholder|"
    r"none|null|true|false|todo|insert|enter|required|optional|string|password|secret|token|self\.|os\.|env|process\.|"
    r"str\b|int\b|https?:)|^[\[{<$%(]"
)

_RUN = re.compile(r"[A-Za-z0-9_+=-]{20,}")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_WORDLIKE = re.compile(r"[A-Z]?[a-z]{4,}|[A-Z]{5,}")
_TURN = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[A-Z])(?=[0-9])")

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
    for pattern in _ASSIGNED:
        for match in pattern.finditer(text):
            value = next(group for group in match.groups() if group is not None)
            if not _STAND_IN.search(value) and len(set(value)) > 3:
                return "a password or key that is spelt out"
    if any(_is_random(run[0]) for run in _RUN.finditer(text)):
        return "a string that looks random"
    return None


def _is_random(run: str) -> bool:
    """Whether a run of key characters is too uneven to be a name or a number.

    Measured on 15,097 pieces of 25 lines of Python that the limits were not chosen on: `refuse` drops 0.56 %, about
    half of the random-looking ones for a hexadecimal digest. Of random strings in running text it finds 92 to 99 % in
    base 62 and base 64 from 20 characters on, but only three quarters of those in lower case letters and digits.
    """
    if (found := _HEX.search(run)) is not None:
        return _entropy(found[0]) > 3.0
    run = run.strip("=+-_")
    if len(run) < 20 or _entropy(run) < 3.4 or _UUID.fullmatch(run):
        return False
    turns, in_words = len(_TURN.findall(run)), sum(len(word) for word in _WORDLIKE.findall(run))
    return any(letter.isdigit() for letter in run) and turns >= 0.25 * len(run) and in_words < 0.6 * len(run)


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
