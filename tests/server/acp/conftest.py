"""A project that a conversation is about."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The top of a repository, with a file."""
    project = tmp_path / "my project"
    for name in ("objects", "refs"):
        (project / ".git" / name).mkdir(parents=True)
    (project / ".git" / "HEAD").touch()
    (project / "a.py").write_text("a = 1\n")
    return project
