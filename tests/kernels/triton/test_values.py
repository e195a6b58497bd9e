"""Products of the Triton kernels, in its interpreter, against float64."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kernels.triton.interpreted_cases import Case, Outcome
from tests.kernels.triton.needed import need_triton

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
)
"""Two tiles of outputs and a rest; 320, 352 and 592 columns are no whole number of tiles."""
TABLE = [
    Case(kind, columns, 69 if rows < 16 else 133, rows)
    for kind in ("nf4", "int4", "int8")
    for columns in (1536, 8960, 3584, 18944)
    for rows in (1, 7, 16, 33, 64)
]
"""The layers of 1.5B and 7B models."""


def outcomes(cases: list[Case]) -> list[Outcome]:
    """Computed in another process, as interpreting is decided when kernels are defined."""
    need_triton()
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.triton.interpreted", json.dumps(cases)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [Outcome(*each) for each in json.loads(done.stdout.splitlines()[-1])]


@pytest.fixture(scope="module")
def quick() -> dict[Case, Outcome]:
    return dict(zip(QUICK, outcomes(list(QUICK)), strict=True))


@pytest.mark.triton
class TestProducts:
    @pytest.mark.parametrize("case", [case for case in QUICK if case.kind != "nf4-rounded"], ids=str)
    def test_they_are_right_to_the_last_bits_of_float32(self, quick: dict[Case, Outcome], case: Case) -> None:
        assert quick[case].error <= CLOSE

    @pytest.mark.parametrize("case", QUICK, ids=str)
    def test_they_multiply_by_what_the_weights_say_they_are(self, quick: dict[Case, Outcome], case: Case) -> None:
        assert quick[case].own_error <= CLOSE

    def test_rounded_codes_differ_by_their_rounding_alone(self, quick: dict[Case, Outcome]) -> None:
        """So the test above would notice a kernel that rounds codes where it should not."""
        error = next(outcome.error for case, outcome in quick.items() if case.kind == "nf4-rounded")
        assert 10 * CLOSE < error <= ROUNDED

    @pytest.mark.parametrize("case", QUICK, ids=str)
    def test_a_row_keeps_its_bits_whatever_the_others_hold(self, quick: dict[Case, Outcome], case: Case) -> None:
        assert quick[case].apart

    @pytest.mark.parametrize("case", QUICK, ids=str)
    def test_a_product_has_the_same_bits_each_time(self, quick: dict[Case, Outcome], case: Case) -> None:
        assert quick[case].again


@pytest.mark.slow
@pytest.mark.triton
def test_every_row_count_and_every_layer_of_real_models_is_right() -> None:
    """Dealt to two processes by how long they take."""
    dealt = sorted(TABLE, key=lambda case: case.columns, reverse=True)
    parts = [dealt[first::2] for first in range(2)]
    with ThreadPoolExecutor(2) as pool:
        found = [outcome for part in pool.map(outcomes, parts) for outcome in part]
    cases = [case for part in parts for case in part]
    assert not {case: outcome for case, outcome in zip(cases, found, strict=True) if outcome.error > CLOSE}
    assert all(outcome.apart and outcome.again for outcome in found)
