"""Which of a project's files are never drafted from, judged by name and content. Pure.

Secrets in the content are judged by `pool.secrets`, not here.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Literal

Reason = Literal["ignored", "secret", "generated", "binary", "large", "link", "special", "unreadable", "over the cap"]
"""Why a file is left out: its own word in `lacli pool build`."""

_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", ".password-store"})
_SECRET_NAMES = (
    ".env",
    ".env.*",
    ".env[-_]*",
    "*.env",
    ".envrc",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.gpg",
    "*.pgp",
    "*.asc",
    "*.age",
    "*.crt",
    "*.cer",
    "*.der",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc*",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".dockerconfigjson",
    ".vault*",
    "vault_pass*",
    "credential",
    "credentials*",
    "*[-_.]credentials.*",
    "secret.*",
    "secrets",
    "secrets.*",
    "*[-_.]secret.*",
    "*[-_.]secrets.*",
    "client_secret*",
    "service[-_]account*.json",
    "*.tfvars",
    "*.tfvars.json",
    "*.tfstate*",
    "kubeconfig*",
    "*_history",
)
_GENERATED_FOLDERS = frozenset(
    {"node_modules", "bower_components", "vendor", "third_party", "third-party", "site-packages", "venv", ".venv"}
    | {"dist", "__pycache__", ".git", ".hg", ".svn", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
_GENERATED_NAMES = (
    "*.lock",
    "*.lockb",
    "*-lock.json",
    "*-lock.yaml",
    "npm-shrinkwrap.json",
    "go.sum",
    "*.min.*",
    "*-min.js",
    "*.bundle.js",
    "*.map",
    "*_pb2.py",
    "*_pb2.pyi",
    "*_pb2_grpc.py",
    "*.pb.go",
    "*.pb.cc",
    "*.pb.h",
    "*.g.dart",
    "*.freezed.dart",
    "*.designer.cs",
    "*.generated.*",
    "*.snap",
    "*.ipynb",
    "*.csv",
    "*.tsv",
    "*.jsonl",
    "*.svg",
)
_BINARY_ENDINGS = re.compile(
    r".*\.(?:png|jpe?g|gif|webp|ico|bmp|pdf|zip|gz|tgz|bz2|xz|zst|7z|tar|[jw]ar|whl|exe|dll|so|dylib|a|o|obj|class|pyc|"
    r"woff2?|ttf|otf|eot|mp[34]|mov|avi|webm|wav|ogg|db|sqlite3?|parquet|np[yz]|pth?|safetensors|gguf|onnx|bin|dat|pkl)"
)


def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))


_SECRET = _any_of(_SECRET_NAMES)
_GENERATED = _any_of(_GENERATED_NAMES)

_SAYS_GENERATED = re.compile(
    r"@generated|DO NOT EDIT|(?i:auto-?generated|generated (?:by|from|with) (?!hand)|this file (?:is|was) generated)"
)
_HEAD_LINES = 8
_LONGEST_LINE = 1_000
_MEAN_LINE = 160


def by_name(name: str) -> Reason | None:
    """Why a file is left out by its name, relative to the project and with slashes; None if it is not."""
    *folders, last = name.lower().split("/")
    if _SECRET.match(last) or not _SECRET_FOLDERS.isdisjoint(folders):
        return "secret"
    if _GENERATED.match(last) or not _GENERATED_FOLDERS.isdisjoint(folders):
        return "generated"
    return "binary" if _BINARY_ENDINGS.fullmatch(last) else None


def skips_folder(name: str) -> bool:
    """Whether a walk need not enter a folder of this (last) name."""
    return name.lower() in _SECRET_FOLDERS or name.lower() in _GENERATED_FOLDERS


def by_text(text: str) -> Reason | None:
    """Why a file is left out by its content; None if it is not."""
    head = text[:2_000].split("\n", _HEAD_LINES)[:_HEAD_LINES]
    if any(_SAYS_GENERATED.search(line) for line in head):
        return "generated"
    lines = text.split("\n")
    if max(map(len, lines)) > _LONGEST_LINE or len(text) > _MEAN_LINE * len(lines) + 2_000:
        return "generated"  # minified, or data
    return None
