"""Private parts of Typer are used in one file, so that an update of it is one file's work."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ONLY = ROOT / "lacli" / "cli" / "framework" / "typer_private.py"
PRIVATE = re.compile(
    r"typer\._|typer import _|\bclick\b.*import|import click"
    r"|\._(protected_args|opt_prefixes|short_opt|long_opt|parameter_source|meta)\b"
    r"|_(process_opts|match_long_opt|match_short_opt|resolve_context|resolve_incomplete)\b"
    r"|\btype_descriptor\b|\bdisplay_type_rich\b"
)
"""Names with an underscore, click itself, and two attributes that only Typer's own click has."""


def test_one_file_alone_uses_private_parts_of_typer() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for package in ("lacli", "lacli_tui")
        for file in sorted((ROOT / package).rglob("*.py"))
        if file != ONLY
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if PRIVATE.search(line)
    ]
    assert not found
    assert PRIVATE.search(ONLY.read_text(encoding="utf-8"))
