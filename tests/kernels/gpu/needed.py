"""Whether Triton is there to be tested: it is optional on a developer's machine, and never missing unnoticed in CI."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

_IN_CI = "LACLI_CI" in os.environ  # each test sees an environment without it


def need_triton() -> None:
    """Skip where the extra is not installed; fail where CI should have installed it."""
    if find_spec("triton") is not None:
        return
    if _IN_CI:
        pytest.fail("Triton is not installed, though LACLI_CI says that its tests must run")
    pytest.skip("needs the extra `triton`")
