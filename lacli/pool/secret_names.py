"""Secrets recognisable by the name of the value: in assignments of any language, credential files, command lines.

Pure; used by `secrets`. The name is found first; the weaker the evidence of name and syntax, the stricter the check of
the value. Every pattern is bounded.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lacli.pool.secret_random import NAMED, WARY, is_mixed, looks_random

_STRONG = (
    r"pass(?:word|wd|phrase|code)?|pwd|psw|secrets?|tokens?|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|"
    r"credentials?|auth(?!or)|requirepass|masterauth|psk|mnemonic|connection[_-]?string"
)
_WEAK = (
    r"key|dsn|cookie|session|salt|seed|signature|bearer|license|webhook|pin|hash|client[_-]?id|sas|encrypted|login|user"
)
_NAME = re.compile(rf"(?:({_STRONG})|{_WEAK})([\w-]{{0,24}})")
"""Matched on the lower-cased text."""
_STRONG_IN = re.compile(_STRONG)

# A name whose ending says that the value only describes a secret.
_ABOUT = re.compile(
    r"\w{0,20}(?:type|name|endpoint|ur[il]|ids?|field|header|file|path|kind|class|scheme|format|regex|pattern|prefix|label|"
    r"hint|errors?|message|count|limit|length|size)$"
)
_BETWEEN = re.compile(
    r"[\"'`*)\]]{0,4}(?:"
    r"(?P<assigned>[ \t]{0,40}(?:=>|:=|[:=])[ \t]{0,8}\\?(?:\n[ \t]{0,40})?"
    r"|[ \t]{0,3}(?:\n[ \t]{0,40}|[ \t])value[\"']?[ \t]{0,3}[:=][ \t]{0,3})"
    r"|(?P<told>[ \t]{0,3}[,(>=|][ \t]{0,3}|[ \t]{1,4}(?:is|to|was|with|of)\b:?[ \t]{1,3}|[ \t]{1,8}"
    r"|[ \t]{0,3}==[ \t]{0,3}))[*]{0,3}"
)
_QUOTED = re.compile(
    r"[rbfuLN@$]{0,2}(?:\\?\"([^\"\n]{6,256})(?:\"|\Z)|'([^'\n]{6,256})(?:'|\Z)|`{1,3}([^`\n]{6,256})(?:`|\Z))"
)
_BARE = re.compile(r"[^\s'\"`,;(){}\[\]<>|&]{6,256}")
_TO_LINE_END = re.compile(r"[ \t]*(?:\n|\Z|#)")
_SHELL = re.compile(r"[A-Z0-9_]{1,40}=\Z")
_STAND_IN = re.compile(
    r"(?i)^(?:x{3,}|\*{3,}|\.{3,}|your|my[-_]|the[-_]|some|example|sample|dummy|fake|test|change[-_]?me|placeholder|"
    r"none|null|true|false|todo|insert|enter|required|optional|string|password|secret|token|self\.|os\.|env|process\.|"
    r"str\b|int\b|https?:)|^[\[{<$%(]"
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{6,12}")
_PLAINLY_A_KEY = re.compile(
    r"(?=[0-9a-f]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{16,}|(?=[0-9A-F]*[A-F])(?=[A-F]*[0-9])[0-9A-F]{16,}"
)
_SIGN = re.compile(r"[\d!#%&*+/@^~-]")

# A lower-case literal, and the pattern for what follows on a command line or in a credential file.
_PLACES = (
    ("mysql", r"(?i)mysql\w*(?:\.exe)?\b[^\n|;]{0,160}?\s-p['\"]?([^\s'\"]{4,})"),
    ("maria", r"(?i)mariadb\w*\b[^\n|;]{0,160}?\s-p['\"]?([^\s'\"]{4,})"),
    ("sshpass", r"(?i)sshpass\s{1,4}-p\s{0,4}['\"]?([^\s'\"]{4,})"),
    ("redis-cli", r"(?i)redis-cli\b[^\n|;]{0,160}?\s-a\s{0,4}['\"]?([^\s'\"]{4,})"),
    ("sqlcmd", r"(?i)sqlcmd\b[^\n|;]{0,160}?\s-p\s{0,4}['\"]?([^\s'\"]{4,})"),
    ("ldap", r"(?i)ldap\w+\b[^\n|;]{0,160}?\s-w\s{0,4}['\"]?([^\s'\"]{4,})"),
    ("docker login", r"(?i)docker login\b[^\n|;]{0,160}?\s-p\s{0,4}['\"]?([^\s'\"]{4,})"),
    ("mongo", r"(?i)mongo\w*\b[^\n|;]{0,160}?\s-p\s{0,4}['\"]?([^\s'\"]{6,})"),
    ("7z ", r"(?i)7za?\b[^\n|;]{0,80}?\s-p['\"]?([^\s'\"]{6,})"),
    ("zip -", r"(?i)zip\b[^\n|;]{0,80}?\s-P\s{0,4}['\"]?([^\s'\"]{6,})"),
    (
        "curl",
        r"curl\b[^\n|;]{0,160}?\s(?:-u|--user|--proxy-user)[ =]{0,3}['\"]?[\w.@+-]{0,64}:(?!\d{1,5}\b)([^\s'\"]{4,})",
    ),
    ("smbclient", r"(?i)smbclient\b[^\n|;]{0,160}?\s-U\s{0,4}['\"]?[\w.\\-]{0,64}%([^\s'\"]{4,})"),
    ("htpasswd", r"(?i)htpasswd\s{1,4}-\w{0,6}b\w{0,6}\s{1,4}(?:\S{1,80}\s{1,4}){1,2}['\"]?([^\s'\"]{6,})"),
    ("passin", r"(?i)-passin\s{1,4}['\"]?pass:([^\s'\"]{4,})"),
    ("passout", r"(?i)-passout\s{1,4}['\"]?pass:([^\s'\"]{4,})"),
    ("net use", r"(?i)net use\b[^\n]{0,120}?/user:\S{1,64}\s{1,4}(\S{6,})"),
    ("chpasswd", r"(?i)echo\s{1,4}['\"]?\w{1,32}:([^\s'\"]{6,})['\"]?\s{0,4}\|\s{0,4}(?:sudo )?chpasswd"),
    ("sudo -", r"(?i)echo\s{1,4}['\"]?([^\s'\"]{6,})['\"]?\s{0,4}\|\s{0,4}sudo -\w{0,4}S"),
    ("identified", r"(?i)identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?(?:by|as)\s{1,4}['\"]([^\s'\"]{4,})"),
    ("login", r"(?i)\blogin\s{1,8}\S{1,80}\s{1,8}password\s{1,8}(\S{4,})"),
    ("user_add", r"(?i)add_user\s{1,4}\S{1,64}\s{1,4}['\"]?([^\s'\"]{6,})"),
    ("add_user", r"(?i)add_user\s{1,4}\S{1,64}\s{1,4}['\"]?([^\s'\"]{6,})"),
    ("change_password", r"(?i)change_password\s{1,4}\S{1,64}\s{1,4}['\"]?([^\s'\"]{6,})"),
    (":5432:", r"[\w.*-]{1,80}:5432:[\w*-]{1,64}:[\w-]{1,64}:(\S{4,})"),
)
_COMPILED = tuple((literal, re.compile(pattern)) for literal, pattern in _PLACES)


def spelt_out(text: str) -> bool:
    """Whether the text contains the name of a secret followed by a value that is one."""
    lower = text.lower()
    if len(lower) != len(text):  # lower-casing changes the length of a few letters, which would shift offsets
        lower = text.translate(_TO_LOWER)
    in_doubt: tuple[dict[str, None], dict[str, None]] = ({}, {})
    end = 0
    for name in _NAME.finditer(lower):
        if name.start() < end:
            continue
        value = _value_of(text, name)
        if value is None:
            continue
        if value.is_secret:
            return True
        in_doubt[value.is_strong][value.text] = None
        if len(value.text) > _LONG:
            end = value.end
    if any(_PLAINLY_A_KEY.match(value) for values in in_doubt for value in values):
        return True
    if any(_UUID.match(value) or is_mixed(value) for value in in_doubt[True]):
        return True
    if any(values and looks_random(" ".join(values), limits) for values, limits in zip(in_doubt, _LIMITS, strict=True)):
        return True
    return any(literal in lower and _stands(pattern, text) for literal, pattern in _COMPILED)


_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_LIMITS = (WARY, NAMED)
_LONG = 64
"""Values from this length on are judged as a whole; names inside them are not looked at."""


class _Value(NamedTuple):
    """The value behind a name."""

    text: str
    end: int
    is_strong: bool
    """Whether the name says plainly that the value is secret."""
    is_secret: bool
    """Whether the syntax leaves no doubt."""


def _value_of(text: str, name: re.Match[str]) -> _Value | None:
    between = _BETWEEN.match(text, name.end())
    if between is None:
        return None
    about = _ABOUT.match(name[2]) is not None
    is_strong = not about and (name[1] is not None or _STRONG_IN.search(name[2]) is not None)
    assigned = between["assigned"] is not None and not about
    quoted = _QUOTED.match(text, between.end())
    if quoted is not None:
        value = next(group for group in quoted.groups() if group is not None)
        return None if _is_stand_in(value) else _Value(value, quoted.end(), is_strong, assigned and is_strong)
    bare = _BARE.match(text, between.end())
    if bare is None or _is_stand_in(bare[0]):
        return None
    value = bare[0].rstrip("*.")
    in_shell = assigned and _SHELL.search(text, max(0, name.start() - 40), between.end()) is not None
    if in_shell and (is_strong or name[0].startswith("key")):
        return _Value(value, bare.end(), is_strong, "$" not in value)
    ends_line = assigned and is_strong and _TO_LINE_END.match(text, bare.end()) is not None
    return _Value(value, bare.end(), is_strong, ends_line and _SIGN.search(value) is not None)


def _is_stand_in(value: str) -> bool:
    return _STAND_IN.search(value) is not None or len(set(value)) <= 3


def _stands(pattern: re.Pattern[str], text: str) -> bool:
    return any(not _is_stand_in(value) for value in pattern.findall(text))
