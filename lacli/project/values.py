"""The project's own secrets: the values in its `.env` and other ignored settings, so that no reply that contains one
is stored. They stay in memory; nothing is written.

Only a few small files are searched, for a short time: `pool.secrets.refuse` still judges the rest by its looks.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from lacli.pool import secrets
from lacli.pool.secrets import Refuse
from lacli.project.root import git_output
from lacli.storage import files as disk

_MAX_FILES = 64
_MAX_FILE_BYTES = 64 << 10
_MAX_VALUES = 512
_MAX_ENTRIES = 4_000
_MAX_DEPTH = 3
_WAIT_S = 0.5
_SHORTEST, _LONGEST = 6, 500
_AGAIN_S = 5.0

_ENV_FILE = re.compile(r"\.env.*|.*\.env|\.envrc|\.flaskenv", re.IGNORECASE)
_SECRET_FILE = re.compile(
    r"\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.htpasswd|\.git-credentials|.*\.tfvars(?:\.json)?|"
    r"(?:.*[-_.])?(?:secrets?|credentials?)(?:\.(?:json|ya?ml|toml|ini|cfg|conf|properties|xml|te?xt))?",
    re.IGNORECASE,
)
_SETTINGS_FILE = re.compile(r".*\.(?:ini|cfg|conf|toml|ya?ml|json|properties)", re.IGNORECASE)
_SETTINGS_CODE = re.compile(r".*(?:local|private|secret|prod|config|settings).*\.(?:py|js|ts|rb|php)", re.IGNORECASE)
_SAMPLE = re.compile(r".*[-_.](?:example|sample|template|dist|schema)(?:\..*)?", re.IGNORECASE)
_ENTERED_NEVER = frozenset({".git", "node_modules", "vendor", "venv", ".venv", "__pycache__", "site-packages", ".tox"})

_ASSIGNMENT = re.compile(
    r"""^\s*(?:export\s+|set\s+|-\s+)?["']?(?P<key>[\w.\-/:@]+?)["']?\s*(?:=>|:=|[:=])\s*"""
    r"""(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<bare>[^\s#;,][^#\n]*?))\s*(?:[,;]|\s\#.*)?\s*$"""
)
_NETRC = re.compile(r"(?:\bpassword\s+|_(?:auth[Tt]oken|auth|password)\s*=\s*)(\S+)")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=_-]{20,}")
_NAMED_SECRET = re.compile(
    r"pass(?:word|wd|phrase)?|pwd|secret|token|key|credential|auth|salt|pin\b|dsn|webhook", re.IGNORECASE
)
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^\s:/@]*:([^\s/@]+)@")
_PLAIN = re.compile(
    r"[+-]?[\d_.,:]+(?:[a-z]{1,3})?|(?:\.{0,2}|~)/[\w./*\-]*|[A-Za-z]:\\.*|[a-z][a-z0-9+.-]*://[^\s@]*|\$\{?\w+\}?|<.*>|"
    r"[\w.+-]+@[\w.-]+|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|local|internal|py|js|json|txt|log|db|sqlite3?)(?::\d+)?|"
    r"localhost(?::\d+)?",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z]+(?:[-_. ,/:]+[A-Za-z]+)*\d?")
_COMMON = re.compile(
    r"passw(?:or)?d|secret|change[-_]?me|postgres|default|example|localhost|development|production|staging|testing|"
    r"username|root1234|123456\d*|your[-_].*|my[-_]?password|placeholder|required|optional|database|mysql|sqlite|enabled|"
    r"disabled|public|private|string|number|boolean",
    re.IGNORECASE,
)


def secret_values(root: Path) -> frozenset[str]:
    """Values of the `.env` files and ignored settings below `root` that a reply must not be kept with."""
    values: set[str] = set()
    until = time.monotonic() + _WAIT_S
    for path in _files(root):
        if time.monotonic() > until:
            break
        try:
            text = disk.read(path, limit=_MAX_FILE_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
        trusted = bool(_ENV_FILE.fullmatch(path.name) or _SECRET_FILE.fullmatch(path.name))
        for value in secrets_in(text, trusted, quoted_only=bool(_SETTINGS_CODE.fullmatch(path.name))):
            values.add(value)
            if len(values) >= _MAX_VALUES:
                return frozenset(values)
    return frozenset(values)


def secrets_in(text: str, trusted: bool, quoted_only: bool = False) -> Iterator[str]:
    """The values of one file; of other settings than `.env` and the like only those whose name says secret.

    `quoted_only` is for code, where what is not in quotes is no value.
    """
    for line in text.splitlines():
        found = _ASSIGNMENT.match(line) if len(line) <= _LONGEST else None
        yield from (value for value in _NETRC.findall(line) if trusted and _counts(value, named=True))
        if found is None:
            yield from (run for run in _KEY_LINE.findall(line) if trusted and any(c.isdigit() for c in run))
            continue
        value = next(group for group in (found["double"], found["single"], found["bare"]) if group is not None).strip()
        if quoted_only and found["bare"] is not None:
            continue
        named = bool(_NAMED_SECRET.search(found["key"]))
        for inner in _URL_PASSWORD.findall(value):
            if _counts(inner, named=True):
                yield inner
        if (trusted or named) and _counts(value, named):
            yield value


def _counts(value: str, named: bool) -> bool:
    """Whether a value is a secret rather than a word, number, path or address that any reply may contain."""
    if not _SHORTEST <= len(value) <= _LONGEST or _COMMON.fullmatch(value) or len(set(value)) < 4:
        return False
    if _PLAIN.fullmatch(value):
        return named and value.isdigit() and len(value) >= 8
    if _WORDS.fullmatch(value):  # one that is all letters is believed to be a word, unless it is named a secret
        return named and " " not in value and len(value) >= 8
    return True


def _files(root: Path) -> list[Path]:
    """Files to look into: of that name anywhere near the top, and other small settings that git ignores."""
    found = {path: None for path in _walk(root) if not _SAMPLE.fullmatch(path.name)}
    ignored = git_output(
        root, ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"], _WAIT_S
    )
    for name in (ignored or b"")[: 1 << 20].split(b"\0"):
        path = root / os.fsdecode(name)
        settings = _SETTINGS_FILE.fullmatch(path.name) or _SETTINGS_CODE.fullmatch(path.name)
        if settings and not name.endswith(b"/") and not _SAMPLE.fullmatch(path.name):
            found[path] = None
    return list(found)[:_MAX_FILES]


def _walk(root: Path) -> Iterator[Path]:
    waiting: list[tuple[str, int]] = [(str(root), 0)]
    seen, until = 0, time.monotonic() + _WAIT_S
    while waiting:
        folder, depth = waiting.pop(0)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > _MAX_ENTRIES or time.monotonic() > until:
                return
            if _is_folder(entry):
                if depth < _MAX_DEPTH and entry.name not in _ENTERED_NEVER:
                    waiting.append((entry.path, depth + 1))
            elif _ENV_FILE.fullmatch(entry.name) or _SECRET_FILE.fullmatch(entry.name):
                yield Path(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def refuser(values: Collection[str]) -> Refuse:
    """As `secrets.refuse`, and refusing what holds one of `values`."""
    wanted = tuple(values)

    def refuse(text: str, wary: bool = False) -> str | None:
        if any(value in text for value in wanted):
            return "a value of the project's own settings"
        return secrets.refuse(text, wary)

    return refuse


def project_refuser(root: Path) -> Refuse:
    """A `refuser` with the values of the project at `root`: read at the first call, and again when they may be old.

    So neither the start of a run nor a reply waits for them, and a secret added during a chat is known at its end.
    """
    known: Refuse = secrets.refuse
    read_s = -_AGAIN_S

    def refuse(text: str, wary: bool = False) -> str | None:
        nonlocal known, read_s
        if time.monotonic() - read_s >= _AGAIN_S:
            known = refuser(secret_values(root))
            read_s = time.monotonic()
        return known(text, wary)

    return refuse
