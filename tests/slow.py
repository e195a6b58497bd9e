"""Cases that only `pytest -m slow` runs, as CI does: near twins of quick ones, and more seeds of what is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

TEN = 10
"""So many seeds of a drawn case are tried each time."""


def slow(*values: Any) -> Any:
    """A slow set of values for `parametrize`."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_after(count: int, cases: Iterable[Any]) -> list[Any]:
    """These cases, of which those after the first `count` are slow."""
    return [case if number < count else slow(case) for number, case in enumerate(cases)]
