"""`pytest tests/golden --update-golden` writes the expected files anew."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/expected/ as the program is now")
