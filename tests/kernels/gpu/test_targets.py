"""Which configurations a product gets."""

from __future__ import annotations

from typing import get_args

import pytest
import torch

from lacli.kernels.triton.targets import MOST_ROWS, SHARED_BYTES, Target, configurations, shares, tilings
from lacli.kernels.triton.weights import Format, PackedWeight

FORMATS: tuple[Format, ...] = get_args(Format)
EMPTY = torch.empty(0)


def weight(stored_as: Format, outputs: int = 3584, columns: int = 3584) -> PackedWeight:
    return PackedWeight(stored_as, outputs, columns, EMPTY, EMPTY)


@pytest.mark.parametrize("capability", SHARED_BYTES)
@pytest.mark.parametrize("stored_as", FORMATS)
class TestConfigurations:
    def test_every_number_of_rows_has_one_that_holds_them(self, stored_as: Format, capability: int) -> None:
        for rows in range(1, MOST_ROWS + 1):
            offered = configurations(weight(stored_as), rows, Target(capability, 60))
            assert offered
            assert {each.tiling.rows >= rows for each in offered} == {True}

    def test_the_split_of_the_columns_is_the_same_for_all(self, stored_as: Format, capability: int) -> None:
        """It alone decides the order of sums."""
        offered = [configurations(weight(stored_as), rows, Target(capability, 60)) for rows in (1, 7, 16, 33, 64)]
        assert len({each.shares for some in offered for each in some}) == 1

    def test_no_more_rows_than_needed_are_computed(self, stored_as: Format, capability: int) -> None:
        buckets = sorted({tiling.rows for tiling in tilings(stored_as, capability)})
        for below, bucket in zip([0, *buckets], buckets, strict=False):
            offered = configurations(weight(stored_as), below + 1, Target(capability, 60))
            assert {each.tiling.rows for each in offered} == {bucket}


def test_hopper_has_tiles_of_whole_warp_groups_only() -> None:
    """Smaller ones would take an older instruction, whose bits may differ."""
    assert all(tiling.outputs % 64 == 0 and tiling.warps == 4 for tiling in tilings("nf4", 90))


def test_wide_tiles_come_first_where_they_are_enough() -> None:
    def first(processors: int) -> int:
        return configurations(weight("int4", outputs=8192), 16, Target(86, processors))[0].tiling.outputs

    assert first(28) == 128
    assert first(60) == 64


def test_nothing_is_offered_beyond_what_is_checked() -> None:
    assert not configurations(weight("int4"), MOST_ROWS + 1, Target(86, 28))
    assert not configurations(weight("int4"), 1, Target(75, 40))
    assert not Target(100, 148).supported


@pytest.mark.parametrize(
    ("outputs", "tiles", "processors", "wanted"),
    [
        (18944, 28, 28, 1),  # programs enough
        (3584, 148, 128, 5),
        (512, 28, 132, 7),  # no share under four tiles
        (64, 3, 132, 1),
    ],
)
def test_columns_are_split_until_the_device_is_busy(outputs: int, tiles: int, processors: int, wanted: int) -> None:
    assert shares(outputs, tiles, processors) == wanted
