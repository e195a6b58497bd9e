"""The compile gate: every Triton kernel in every tiling becomes good machine code for every target, without a device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.bench import kernel_table
from lacli.bench.kernel_table import Kernel
from lacli.kernels.triton import listing
from lacli.kernels.triton.targets import HOPPER, SHARED_BYTES
from lacli.kernels.triton.weights import TILE
from tests.kernels.triton.needed import need_triton

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.slow, pytest.mark.triton]


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Triton, compiling anew."""
    need_triton()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        patch.delenv("TRITON_INTERPRET", raising=False)
        yield


@pytest.fixture(scope="module")
def kernels(compiler: None) -> list[Kernel]:
    return kernel_table.compiled()


def named(kernels: list[Kernel]) -> list[str]:
    return [f"sm_{each.capability} {each.variant} {each.tiling}" for each in kernels]


class TestMachineCode:
    def test_it_is_there_for_all_targets(self, kernels: list[Kernel]) -> None:
        assert {each.capability for each in kernels} == set(SHARED_BYTES)
        assert all(each.loop for each in kernels)

    def test_no_register_is_spilled(self, kernels: list[Kernel]) -> None:
        spilled = [each for each in kernels if each.stack_bytes or listing.count(each.whole, "STL", "LDL")]
        assert not named(spilled)

    def test_shared_memory_suffices(self, kernels: list[Kernel]) -> None:
        assert not named([each for each in kernels if each.shared_bytes > SHARED_BYTES[each.capability]])

    def test_weights_are_loaded_16_bytes_at_a_time(self, kernels: list[Kernel]) -> None:
        def needed(each: Kernel) -> float:
            bits = 8 if each.variant == "int8" else 4
            return each.tiling.outputs * TILE * bits / 8 / 16 / 32 / each.tiling.warps

        assert not named([each for each in kernels if listing.wide_loads(each.loop) < needed(each)])

    def test_no_load_of_the_loop_is_waited_for(self, kernels: list[Kernel]) -> None:
        """All go to shared memory while earlier tiles are multiplied."""
        assert not named([each for each in kernels if listing.count(each.loop, "LDG.")])

    def test_tensor_cores_multiply(self, kernels: list[Kernel]) -> None:
        def instruction(each: Kernel) -> str:
            return "HGMMA.64x" if each.capability == HOPPER else "HMMA.16816.F32.BF16"

        assert not named([each for each in kernels if not listing.count(each.loop, instruction(each))])

    def test_the_table_of_the_documentation_is_that_of_the_version_it_names(self, kernels: list[Kernel]) -> None:
        import triton

        documented = kernel_table.documented((ROOT / "docs/gpu-kernels.md").read_text(encoding="utf-8"))
        if f"Triton {triton.__version__}," not in documented:
            pytest.skip(f"the table is of another version than {triton.__version__}")
        assert documented == kernel_table.table(kernels)


@pytest.mark.parametrize("capability", SHARED_BYTES)
def test_the_small_kernels_load_wide_and_spill_nothing(compiler: None, capability: int) -> None:
    from lacli.kernels.triton.compile import sums

    shares, blocks = sums(capability)
    assert listing.wide_loads(listing.instructions(shares.listing))
    assert shares.stack_bytes == blocks.stack_bytes == 0


def test_columns_that_are_no_whole_tiles_spill_nothing_either(compiler: None) -> None:
    from lacli.kernels.triton.compile import VARIANTS, product
    from lacli.kernels.triton.targets import tilings

    for variant in VARIANTS:
        for tiling in tilings(variant.format, 86):
            assert product(variant, tiling, 86, even=False).stack_bytes == 0, (variant.name, tiling)
