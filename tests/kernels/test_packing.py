"""Packed matrices: the very bytes lacli.h describes, there and back without a loss, and rounding within half a step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lacli.errors import LacliError
from lacli.kernels.packing import (
    KINDS,
    Blocks,
    Kind,
    dequantise,
    nbytes,
    pack,
    quantise,
    stride,
    unpack,
    widen,
)

SIZES = [(1, 1), (16, 32), (17, 33), (5, 64), (40, 31), (33, 160)]


def random_blocks(kind: Kind, rows: int, columns: int, seed: int = 0) -> Blocks:
    random = np.random.default_rng(seed)
    count = -(-columns // 32)
    four = kind.startswith("q4")
    low, high = (0, 16) if four else (-127, 128)
    return Blocks(
        random.integers(low, high, (rows, columns)).astype(np.uint8 if four else np.int8),
        random.standard_normal((rows, count)).astype(np.float16),
        random.standard_normal((rows, count)).astype(np.float16) if kind.endswith("m") else None,
        4 if four else 8,
    )


def same(first: Blocks, second: Blocks) -> bool:
    if (first.minima is None) != (second.minima is None) or first.bits != second.bits:
        return False
    pairs = [(first.values, second.values), (first.scales, second.scales)]
    if first.minima is not None and second.minima is not None:
        pairs.append((first.minima, second.minima))
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def weight_at(data: np.ndarray, kind: Kind, columns: int, row: int, column: int) -> float:
    """One weight read byte by byte, as the header tells it."""
    count = -(-columns // 32)
    panel, lane = data[row // 16], row % 16
    block, inside = divmod(column, 32)
    if kind.startswith("q4"):
        half, rest = divmod(inside, 16)
        byte = panel[((block * 4 + rest // 4) * 16 + lane) * 4 + rest % 4]
        q = int(byte >> 4 if half else byte & 15) - (8 if kind == "q4" else 0)
        at = count * 256
    else:
        q = int(panel[((block * 8 + inside // 4) * 16 + lane) * 4 + inside % 4]) - 128
        at = count * 512
    factor = at + (block * 16 + lane) * 2
    scale = float(panel[factor : factor + 2].view(np.float16)[0])
    factor += count * 32
    return scale * q + (float(panel[factor : factor + 2].view(np.float16)[0]) if kind.endswith("m") else 0.0)


@pytest.mark.parametrize(("kind", "size"), list(itertools.product(KINDS, SIZES)))
class TestPacking:
    def test_goes_there_and_back(self, kind: Kind, size: tuple[int, int]) -> None:
        blocks = random_blocks(kind, *size)
        assert same(unpack(pack(blocks), kind, *size), blocks)

    def test_has_the_size_that_is_announced(self, kind: Kind, size: tuple[int, int]) -> None:
        data = pack(random_blocks(kind, *size))
        assert data.shape[1] == stride(kind, size[1])
        assert data.shape[1] % 64 == 0
        assert data.nbytes == nbytes(kind, *size)

    def test_puts_every_weight_where_the_header_says(self, kind: Kind, size: tuple[int, int]) -> None:
        blocks = random_blocks(kind, *size)
        data, weights = pack(blocks), dequantise(blocks)
        for row, column in itertools.islice(np.ndindex(*size), 0, None, 7):
            assert weight_at(data, kind, size[1], row, column) == pytest.approx(float(weights[row, column]), abs=1e-5)

    def test_fills_up_with_scales_of_zero(self, kind: Kind, size: tuple[int, int]) -> None:
        panels = -(-size[0] // 16)
        padded = unpack(pack(random_blocks(kind, *size)), kind, panels * 16, size[1])
        assert not padded.scales[size[0] :].any()
        assert padded.minima is None or not padded.minima[size[0] :].any()


class TestPackingByParts:
    @pytest.mark.parametrize("kind", KINDS)
    def test_panels_packed_one_by_one_are_the_matrix(self, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
        blocks = random_blocks(kind, 75, 96)
        whole = pack(blocks)
        parts = [
            pack(
                Blocks(
                    blocks.values[first : first + 32],
                    blocks.scales[first : first + 32],
                    None if blocks.minima is None else blocks.minima[first : first + 32],
                    blocks.bits,
                )
            )
            for first in range(0, 75, 32)
        ]
        assert np.array_equal(np.concatenate(parts), whole)
        monkeypatch.setattr("lacli.kernels.packing._WORKING_VALUES", 2000)  # less than two panels at a time
        assert np.array_equal(pack(blocks), whole)
        assert same(unpack(whole, kind, 75, 96), blocks)

    def test_a_matrix_of_the_wrong_size_is_refused(self) -> None:
        data = pack(random_blocks("q8", 20, 64))
        with pytest.raises(LacliError, match="20 x 96"):
            unpack(data, "q8", 20, 96)


class TestQuantising:
    @pytest.mark.parametrize("bits", [4, 8])
    @pytest.mark.parametrize("columns", [32, 70])
    def test_is_off_by_half_a_step_at_most(self, bits: int, columns: int) -> None:
        weight = np.random.default_rng(1).standard_normal((50, columns)).astype(np.float32)
        blocks = quantise(weight, bits)  # type: ignore[arg-type]
        step = np.repeat(blocks.scales.astype(np.float32), 32, axis=1)[:, :columns]
        assert (np.abs(dequantise(blocks) - weight) <= step * 0.5 + 2e-3).all()
        assert blocks.kind == {4: "q4m", 8: "q8"}[bits]
        assert blocks.values.min() >= (0 if bits == 4 else -127)

    def test_what_is_quantised_already_stays_as_it_is(self) -> None:
        once = dequantise(quantise(np.random.default_rng(2).standard_normal((20, 64)).astype(np.float32), 8))
        again = dequantise(quantise(once, 8))
        assert np.abs(once - again).max() <= np.abs(once).max() * 2**-11

    @pytest.mark.parametrize("bits", [4, 8])
    def test_blocks_of_zeros_and_of_one_value(self, bits: int) -> None:
        weight = np.zeros((3, 64), dtype=np.float32)
        weight[1], weight[2, 32:] = 0.25, -3
        assert np.allclose(dequantise(quantise(weight, bits)), weight, rtol=2**-10)  # type: ignore[arg-type]
        assert not dequantise(quantise(weight, bits))[0].any()  # type: ignore[arg-type]

    @pytest.mark.parametrize("bits", [4, 8])
    @pytest.mark.parametrize("size", [1e-7, 1e-6, 1e-5, 1e-3, 1e4, 6e4])
    def test_scales_at_the_ends_of_float16_cut_nothing_off(self, bits: int, size: float) -> None:
        weight = np.random.default_rng(3).uniform(-size, size, (40, 64)).astype(np.float32)
        steps = 254 if bits == 8 else 15
        error = np.abs(dequantise(quantise(weight, bits)) - weight).max()  # type: ignore[arg-type]
        assert error <= 2 * size / steps * 0.51 + size * 2**-10 + 2**-24

    @pytest.mark.parametrize("bits", [4, 8])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_weights_that_are_no_numbers_are_refused(self, bits: int, value: float) -> None:
        weight = np.ones((20, 40), dtype=np.float32)
        weight[17, 39] = value
        with pytest.raises(LacliError, match="not a finite number"):
            quantise(weight, bits)  # type: ignore[arg-type]

    @pytest.mark.parametrize("bits", [4, 8])
    def test_weights_beyond_float16_scales_are_refused(self, bits: int) -> None:
        with pytest.raises(LacliError, match="too large"):
            quantise(np.full((1, 32), -1e8, dtype=np.float32), bits)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["q4", "q4m"])
def test_four_bits_widened_to_eight_are_the_same_weights(kind: Kind) -> None:
    blocks = random_blocks(kind, 18, 96)
    wide = widen(blocks)
    assert wide.kind == kind.replace("4", "8")
    assert np.array_equal(dequantise(wide), dequantise(blocks))
    assert widen(wide) is wide
