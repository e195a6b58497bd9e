"""Writes docs/commands.md and docs/configuration.md from the code: `python -m lacli.cli.reference [--check]`.

A test runs the check, so that the documents cannot fall behind.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs"


def main(arguments: Sequence[str]) -> int:
    """Write the documents, or with --check say which are stale and return 1."""
    stale = {name: text for name, text in documents().items() if _text(DOCS / name) != text}
    only_checks = "--check" in arguments
    for name, text in stale.items():
        if not only_checks:
            DOCS.mkdir(exist_ok=True)
            (DOCS / name).write_text(text, encoding="utf-8", newline="\n")
        sys.stderr.write(f"docs/{name} {'is stale' if only_checks else 'written'}\n")
    return int(bool(stale) and only_checks)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def documents() -> dict[str, str]:
    """The text of each document."""
    from lacli.cli.reference import commands, configuration

    return {"commands.md": commands.document(), "configuration.md": configuration.document()}
