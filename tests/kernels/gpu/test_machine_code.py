"""The compile gate: every Triton kernel, tiling and target gives good machine code, without a device."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lacli.bench import kernel_table
from lacli.bench.kernel_table import Kernel
from lacli.kernels.triton import listing
from lacli.kernels.triton.targets import HOPPER, SHARED_BYTES, Tiling, tilings
from lacli.kernels.triton.weights import TILE
from tests.kernels.gpu.needed import need_triton

ROOT = Path(__file__).resolve().parents[3]


def faults(kernel: Kernel) -> list[str]:
    """What a kernel lacks, in words."""
    tiling = kernel.tiling
    bits = 8 if kernel.variant.startswith("int8") else 4
    wide = tiling.outputs * TILE * bits / 8 / 16 / (32 * tiling.warps)  # that load all weights of a tile
    tensor = "HGMMA.64x" if kernel.capability == HOPPER else "HMMA.16816.F32.BF16"
    found = {
        "spills registers": kernel.stack_bytes or listing.count(kernel.whole, "STL", "LDL"),
        "needs more shared memory than there is": kernel.shared_bytes > SHARED_BYTES[kernel.capability],
        "loads weights less than 16 bytes at a time": listing.wide_loads(kernel.loop) < wide,
        "waits for a load in its loop": listing.count(kernel.loop, "LDG."),
        "leaves the tensor cores idle": not listing.count(kernel.loop, tensor),
        "takes small numbers for zero": any(".FTZ" in name for name in kernel.loop),  # nibbles are such
        "rounds between a product and its sum": listing.count(kernel.loop, "FADD"),  # others round once: other bits
    }
    return [f"sm_{kernel.capability} {kernel.variant} {tiling} {words}" for words, wrong in found.items() if wrong]


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton, compiling anew."""
    need_triton()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)


@pytest.mark.slow
@pytest.mark.triton
def test_every_product_is_good_machine_code_on_every_target_and_the_documented_table_is_of_it(compiler: None) -> None:
    """One test, as compiling all takes a minute."""
    import triton

    kernels = kernel_table.compiled()
    assert {each.capability for each in kernels} == set(SHARED_BYTES)
    assert not [words for each in kernels for words in faults(each)]
    orders: dict[tuple[int, str], set[tuple[str, ...]]] = {}
    for each in kernels:
        orders.setdefault((each.capability, each.variant), set()).add(each.order)
    assert {len(found) for found in orders.values()} == {1}, orders  # all tilings add the same columns at a time
    documented = kernel_table.documented((ROOT / "docs/gpu-kernels.md").read_text(encoding="utf-8"))
    if f"Triton {triton.__version__}," in documented:
        assert documented == kernel_table.table(kernels)


@pytest.mark.slow
@pytest.mark.triton
@pytest.mark.parametrize("capability", SHARED_BYTES)
def test_the_small_kernels_load_wide_and_spill_nothing(compiler: None, capability: int) -> None:
    from lacli.kernels.triton.compile import sums

    shares, blocks = sums(capability)
    assert listing.wide_loads(listing.instructions(shares.listing))
    assert shares.stack_bytes == blocks.stack_bytes == 0


@pytest.mark.slow
@pytest.mark.triton
def test_columns_that_are_no_whole_tiles_spill_nothing_either(compiler: None) -> None:
    from lacli.kernels.triton.compile import VARIANTS, product

    for variant in VARIANTS:
        for tiling in (tilings(variant.format, 86)[0], tilings(variant.format, 86)[-1]):
            assert product(variant, tiling, 86, even=False).stack_bytes == 0, (variant.name, tiling)


class TestTheGate:
    GOOD = Kernel(
        *("int4", 0.5625, 86, Tiling(64, 16, 4, 3), 100, 0, 30_000, ()),
        loop=Counter({"LDGSTS.E.BYPASS.128": 2, "HMMA.16816.F32.BF16": 16, "FFMA": 46}),
        whole=Counter(),
    )

    def test_passes_what_is_good(self) -> None:
        assert not faults(self.GOOD)

    @pytest.mark.parametrize(
        "worse",
        [
            {"stack_bytes": 8},
            {"whole": Counter({"STL.64": 1})},
            {"shared_bytes": 102_000},
            {"loop": Counter({"LDGSTS.E.64": 4, "HMMA.16816.F32.BF16": 16})},
            {"loop": GOOD.loop + Counter({"LDG.E.64": 1})},
            {"loop": GOOD.loop + Counter({"FADD": 1})},
            {"loop": GOOD.loop + Counter({"FFMA.FTZ": 1})},
            {"loop": Counter({"LDGSTS.E.BYPASS.128": 2, "FFMA": 64})},
            {"capability": HOPPER},
        ],
        ids=lambda worse: next(iter(worse)),
    )
    def test_notices_each_fault(self, worse: dict[str, Any]) -> None:
        assert len(faults(replace(self.GOOD, **worse))) == 1


class TestTheBound:
    def test_is_that_of_the_busiest_unit(self) -> None:
        """32 times 2,048 products on 256 a clock are 256 clocks, and 64 instructions on four schedulers are 16."""
        kernel = replace(TestTheGate.GOOD, loop=Counter({"HMMA.16816.F32.BF16": 32, "FFMA": 32}))
        arriving = 0.5625 * 64 * 128 * 28 * 1.777 / 360
        assert kernel.bound == pytest.approx(arriving / (4 * 256))
        assert kernel.instructions_per_weight == 1.0

    def test_is_never_more_than_all(self) -> None:
        assert replace(TestTheGate.GOOD, loop=Counter({"FFMA": 4})).bound == 1.0
