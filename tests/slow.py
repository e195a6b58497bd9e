"""Cases that only `pytest -m slow` runs, as CI does: near twins of quick ones, and more seeds of what is drawn."""

from __future__ import annotations

from typing import Any

import pytest

TEN = 10
"""So many seeds of a drawn case are tried each time."""


def slow(*values: Any) -> Any:
    """A slow set of values for `parametrize`; `default_cases(n)` marks all but the first n cases of a test."""
    return pytest.param(*values, marks=pytest.mark.slow)
