"""Launches, as far as they go without a device: what is handed to Triton compiles, and once for each tiling."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.gpu.needed import need_triton

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import json, sys
import numpy as np, torch, triton
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction

class Driver:
    "A device that is there until something runs."
    def get_current_target(self): return GPUTarget("cuda", 86, 32)
    def get_current_device(self): return 0
    def get_current_stream(self, device=None): return 0
    def get_active_torch_device(self): return torch.device("cpu")

triton.runtime.driver.set_active(Driver())
run, made = JITFunction.run, []
def compile_only(self, *arguments, grid, warmup, **options):
    made.append((self.__name__, id(run(self, *arguments, grid=grid, warmup=True, **options))))
JITFunction.run = compile_only

from lacli.kernels import packing
from lacli.kernels.triton import small_m, weights
drawn = np.random.default_rng(0).standard_normal((192, 1024)).astype(np.float32)
blocks = packing.quantise(drawn, 4)
plain = packing.Blocks(blocks.values, blocks.scales, None, 4)
wide = packing.quantise(drawn, 8)
rows = weights.from_bitsandbytes_int8(torch.zeros(192, 1024, dtype=torch.int8), torch.ones(192))
for weight in (weights.from_blocks(blocks), weights.from_blocks(plain), weights.from_blocks(wide), rows):
    for count in (1, 2, 7, 8):
        y = small_m.matmul(torch.zeros(count, 1024, dtype=torch.bfloat16), weight)
        assert y.shape == (count, 192) and y.dtype == torch.bfloat16
print(json.dumps(made))
"""


@pytest.mark.slow
@pytest.mark.triton
def test_all_row_counts_of_a_tiling_are_one_kernel(tmp_path: Path) -> None:
    """One row, or eight, must not be a kernel of their own: it would be compiled while a reply waits."""
    need_triton()
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    made = [tuple(each) for each in json.loads(done.stdout.splitlines()[-1])]
    kernels = {name: len({number for other, number in made if other == name}) for name, _ in made}
    assert kernels == {"add_blocks": 1, "int4": 2, "int8_blocks": 1, "int8": 1, "add_shares": 1}


@pytest.mark.triton
def test_what_does_not_fit_is_refused_before_anything_is_launched() -> None:
    need_triton()
    import torch

    from lacli.kernels.triton.small_m import matmul
    from lacli.kernels.triton.weights import from_bitsandbytes_int8

    weight = from_bitsandbytes_int8(torch.zeros(32, 64, dtype=torch.int8), torch.ones(32))
    for x in (torch.zeros(1, 64), torch.zeros(65, 64).bfloat16(), torch.zeros(0, 64).bfloat16(), torch.zeros(64)):
        with pytest.raises(ValueError, match="not bfloat16"):
            matmul(x, weight)
