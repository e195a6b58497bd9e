"""A log in a folder that does not exist yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.sessions.store import SessionStore


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
def told() -> list[str]:
    """What the store reported."""
    return []


@pytest.fixture
def store(file: Path, told: list[str]) -> SessionStore:
    return SessionStore(file, lambda notice: told.append(notice.text))
