"""Packed weights stand for the very numbers of bitsandbytes and of our own files."""

from __future__ import annotations

from typing import Any, Literal

import bitsandbytes.functional as bnb
import numpy as np
import pytest
import torch

from lacli.errors import LacliError
from lacli.kernels import packing
from lacli.kernels.triton.weights import from_bitsandbytes_int8, from_bitsandbytes_nf4, from_blocks


def nf4(outputs: int, columns: int, nested: bool, **options: Any) -> tuple[torch.Tensor, Any]:
    drawn = torch.randn(outputs, columns, generator=torch.Generator().manual_seed(0))
    settings = {"blocksize": 64, "quant_type": "nf4", **options}
    return bnb.quantize_4bit(drawn, compress_statistics=nested, **settings)


class TestNF4:
    @pytest.mark.parametrize("nested", [False, True])
    @pytest.mark.parametrize("columns", [128, 192])
    def test_it_is_what_bitsandbytes_says_it_is(self, nested: bool, columns: int) -> None:
        """But for the sixteen values of a code, whose two terms hold 16 bits."""
        data, state = nf4(70, columns, nested)
        packed = from_bitsandbytes_nf4(data, state)
        wanted = bnb.dequantize_4bit(data, state)
        assert torch.allclose(packed.dequantised(), wanted, rtol=2.0**-16, atol=0)
        assert packed.words.data_ptr() == data.data_ptr()  # in memory once

    def test_rounded_codes_are_bfloat16(self) -> None:
        data, state = nf4(8, 64, False)
        packed = from_bitsandbytes_nf4(data, state, rounded=True)
        rounded = state.code.to(torch.bfloat16).float()
        codes = torch.stack((data.view(-1) >> 4, data.view(-1) & 15), 1).view(8, 64)
        assert torch.equal(packed.dequantised(), rounded[codes.long()] * state.absmax.view(8, 1))

    def test_scales_of_a_tile_that_is_not_whole_are_zero(self) -> None:
        packed = from_bitsandbytes_nf4(*nf4(4, 192, True))
        assert packed.scales.shape == (4, 4)
        assert not packed.scales[:, 3].any()

    @pytest.mark.parametrize("options", [{"quant_type": "fp4"}, {"blocksize": 128}])
    def test_anything_else_is_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(LacliError, match="not NF4 in blocks of 64"):
            from_bitsandbytes_nf4(*nf4(4, 256, False, **options))


class TestBlocks:
    @pytest.mark.parametrize("minima", [False, True])
    @pytest.mark.parametrize("columns", [128, 160])
    @pytest.mark.parametrize("bits", [4, 8])
    def test_they_are_what_our_files_say_they_are(self, minima: bool, columns: int, bits: Literal[4, 8]) -> None:
        made = packing.quantise(np.random.default_rng(0).standard_normal((37, columns)).astype(np.float32), bits)
        blocks = packing.Blocks(made.values, made.scales, made.scales[::-1].copy() if minima else None, bits)
        assert torch.equal(from_blocks(blocks).dequantised(), torch.from_numpy(packing.dequantise(blocks)))

    def test_eight_columns_sixteen_apart_share_a_word(self) -> None:
        values = np.arange(128, dtype=np.uint8)[None] // 16
        blocks = packing.Blocks(values, np.ones((1, 4), np.float16), None, 4)
        assert from_blocks(blocks).words.tolist() == [[0x76543210] * 16]

    def test_a_block_that_is_not_whole_is_refused(self) -> None:
        with pytest.raises(LacliError, match="40 columns are no whole blocks"):
            from_blocks(packing.quantise(np.ones((2, 40), np.float32), 8))


class TestInt8:
    def test_it_is_what_bitsandbytes_says_it_is(self) -> None:
        values, maxima, _ = bnb.int8_vectorwise_quant(torch.randn(9, 48).half())
        packed = from_bitsandbytes_int8(values, maxima)
        assert torch.equal(packed.dequantised(), values.float() * (maxima / 127)[:, None])
        assert packed.nbytes == 9 * 48 + 9 * 4

    def test_rows_that_are_not_whole_loads_are_refused(self) -> None:
        with pytest.raises(LacliError, match="no multiple of 16"):
            from_bitsandbytes_int8(torch.zeros(2, 40, dtype=torch.int8), torch.ones(2))
