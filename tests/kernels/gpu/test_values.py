"""Products of the Triton kernels, in its interpreter, against float64."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kernels.gpu.interpreted_cases import Case, Outcome
from tests.kernels.gpu.needed import need_triton

ROOT = Path(__file__).resolve().parents[3]
CLOSE = 1e-5
ROUNDED = 2.0**-8
"""What the sixteen values of a code may lose as bfloat16, relatively."""
QUICK = (
    Case("nf4", 640, 69, 7, 2),
    Case("nf4-plain", 320, 133, 16),
    Case("nf4-rounded", 320, 69, 1),
    Case("int4", 384, 133, 33),
    Case("int4-symmetric", 352, 69, 7, 2),
    Case("int8", 384, 133, 16),
    Case("int8", 592, 133, 64, 3),
    Case("int8-blocks", 160, 69, 1),
    Case("int8-blocks-minima", 288, 133, 16),
)
"""Two tiles of outputs and a rest; 320, 352 and 592 columns are no whole number of tiles."""
TABLE = [
    Case(kind, columns, 69 if rows < 16 or (rows > 32 and kind == "nf4") else 133, rows, values_only=True)
    for kind in ("nf4", "int4", "int8")
    for columns in (1536, 8960, 3584, 18944)
    for rows in ((1, 7, 16, 33, 64) if columns < 8000 else (1, 16, 64))
]
"""The layers of 1.5B and 7B models. 7 and 33 rows run the code of 1 and 64; of long columns, which take most of two
minutes, they are left out."""


def outcomes(cases: Sequence[Case]) -> list[Outcome]:
    """Computed in another process, as interpreting is decided when kernels are defined."""
    need_triton()
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.gpu.interpreted", json.dumps(cases)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [Outcome(*each) for each in json.loads(done.stdout.splitlines()[-1])]


def faults(case: Case, outcome: Outcome) -> list[str]:
    """What is wrong with a product, in words."""
    rounded = case.kind == "nf4-rounded"
    found = {
        f"is {outcome.error:.2g} off": not rounded and outcome.error > CLOSE,
        # so that the line above would notice a kernel that rounds codes where it should not
        f"is {outcome.error:.2g} off, not as rounded codes are": rounded and not 10 * CLOSE < outcome.error <= ROUNDED,
        f"is {outcome.own_error:.2g} off what its weights say": outcome.own_error > CLOSE,
        "lets a row change with the others": not outcome.apart,
        "is another number as bfloat16": not outcome.half,
    }
    return [f"{case} {words}" for words, wrong in found.items() if wrong]


@pytest.mark.triton
def test_products_are_right_and_exact_by_row() -> None:
    """To the last bits of float32. One test, as one process computes all."""
    assert not [words for case, outcome in zip(QUICK, outcomes(QUICK), strict=True) for words in faults(case, outcome)]


@pytest.mark.slow
@pytest.mark.triton
def test_so_are_those_of_every_row_count_and_every_layer_of_real_models() -> None:
    """Dealt to two processes by how long they take."""
    dealt = sorted(TABLE, key=lambda case: case.columns, reverse=True)
    parts = [dealt[first::2] for first in range(2)]
    with ThreadPoolExecutor(2) as pool:
        found = [outcome for part in pool.map(outcomes, parts) for outcome in part]
    cases = [case for part in parts for case in part]
    assert not [words for case, outcome in zip(cases, found, strict=True) for words in faults(case, outcome)]


def test_a_fault_is_noticed() -> None:
    good = Outcome(1e-6, 1e-6, True, True)
    assert not faults(QUICK[0], good)
    assert faults(QUICK[0], good._replace(error=2e-5))
    assert faults(QUICK[0]._replace(kind="nf4-rounded"), good)
    for wrong in ({"own_error": 2e-5}, {"apart": False}, {"half": False}):
        assert len(faults(QUICK[0], good._replace(**wrong))) == 1
