"""Blocks of GGUF formats become ours without a second rounding, or with as little as there can be."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import gguf
import numpy as np
import pytest

from lacli.errors import LacliError
from lacli.kernels.packing import dequantise, quantise
from lacli.models.gguf.blocks import blocks_of, is_four_bits, kind_of
from lacli.models.gguf.read import GgufTensor, decode

ROWS, COLUMNS = 24, 512
LOSSLESS = {"Q4_0": ("q4", 1), "Q4_1": ("q4m", 2), "Q5_0": ("q8", 1), "Q5_1": ("q8m", 2), "Q8_0": ("q8", 1)}
"""The kind each becomes, and the float16 numbers its blocks begin with."""


def random_bytes(kind: str, factors: int, seed: int = 0) -> np.ndarray:
    """Rows of random blocks whose factors are numbers of a usual size."""
    random = np.random.default_rng(seed)
    block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    raw = random.integers(0, 256, (ROWS * COLUMNS // block, size), dtype=np.uint8)
    raw[:, : 2 * factors] = (random.standard_normal((len(raw), factors)) * 0.02).astype(np.float16).view(np.uint8)
    if kind == "Q8_0":
        raw[:, 2:][raw[:, 2:] == 128] = 129
    return raw.reshape(ROWS, -1)


def tensor_of(folder: Path, kind: str, raw: np.ndarray) -> GgufTensor:
    path = folder / "x.bin"
    path.write_bytes(b"head" + raw.tobytes())
    return GgufTensor("x", kind, (ROWS, COLUMNS), path, 4, raw.nbytes)


@pytest.mark.parametrize("bits", [4, 8])
class TestFormats:
    @pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1"])
    def test_blocks_of_32_are_the_same_weights_exactly(self, tmp_path: Path, kind: str, bits: Literal[4, 8]) -> None:
        raw = random_bytes(kind, LOSSLESS[kind][1])
        found = blocks_of(tensor_of(tmp_path, kind, raw), bits, np.arange(ROWS))
        assert np.array_equal(dequantise(found), gguf.dequantize(raw, gguf.GGMLQuantizationType[kind]))
        assert found.kind == (LOSSLESS[kind][0] if bits == 4 else LOSSLESS[kind][0].replace("4", "8"))

    @pytest.mark.parametrize("kind", ["Q4_K", "Q5_K"])
    def test_k_quants_lose_only_what_float16_factors_cannot_say(
        self, tmp_path: Path, kind: str, bits: Literal[4, 8]
    ) -> None:
        raw = random_bytes(kind, 2)
        weight = gguf.dequantize(raw, gguf.GGMLQuantizationType[kind])
        error = dequantise(blocks_of(tensor_of(tmp_path, kind, raw), bits, np.arange(ROWS))) - weight
        assert np.sqrt((error**2).mean()) < 4e-4 * np.sqrt((weight**2).mean())

    @pytest.mark.parametrize("kind", ["Q6_K", "IQ4_NL", "Q3_K", "MXFP4"])
    def test_other_quants_are_rounded_to_8_bits_even_where_4_are_asked_for(
        self, tmp_path: Path, kind: str, bits: Literal[4, 8]
    ) -> None:
        block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
        raw = np.random.default_rng(1).integers(0, 100, (ROWS, COLUMNS // block * size), dtype=np.uint8)
        found = blocks_of(tensor_of(tmp_path, kind, raw), bits, np.arange(ROWS))
        assert found.kind == kind_of(kind, bits) == "q8"
        assert np.array_equal(dequantise(found), dequantise(quantise(decode(raw, kind), 8)))

    def test_every_kind_is_what_was_announced(self, tmp_path: Path, bits: Literal[4, 8]) -> None:
        for kind, (_, factors) in {**LOSSLESS, "Q4_K": ("", 2), "Q5_K": ("", 2), "F16": ("", 0)}.items():
            raw = random_bytes(kind, factors) if factors else np.ones((ROWS, COLUMNS), np.float16).view(np.uint8)
            found = blocks_of(tensor_of(tmp_path, kind, raw), bits, np.arange(ROWS))
            assert found.kind == kind_of(kind, bits)

    @pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0", "Q4_K"])
    @pytest.mark.parametrize("value", [np.inf, np.nan])
    def test_factors_that_are_no_numbers_are_refused(
        self, tmp_path: Path, kind: str, value: float, bits: Literal[4, 8]
    ) -> None:
        raw = random_bytes(kind, 2 if kind in ("Q4_1", "Q4_K") else 1)
        raw[5, :2] = np.array([value], dtype=np.float16).view(np.uint8)
        if kind == "Q4_K":
            raw[5, 4:8] = 1
        with pytest.raises(LacliError, match="not a finite number"):
            blocks_of(tensor_of(tmp_path, kind, raw), bits, np.arange(ROWS))

    def test_rows_come_in_the_order_asked_for(self, tmp_path: Path, bits: Literal[4, 8]) -> None:
        tensor = tensor_of(tmp_path, "Q4_1", random_bytes("Q4_1", 2))
        whole = dequantise(blocks_of(tensor, bits, np.arange(ROWS)))
        order = np.array([7, 0, 23, 7])
        assert np.array_equal(dequantise(blocks_of(tensor, bits, order)), whole[order])


def test_8_bit_blocks_are_the_same_weights_exactly(tmp_path: Path) -> None:
    raw = random_bytes("Q8_0", 1)
    found = blocks_of(tensor_of(tmp_path, "Q8_0", raw), 8, np.arange(ROWS))
    assert np.array_equal(dequantise(found), gguf.dequantize(raw, gguf.GGMLQuantizationType.Q8_0))


def test_the_one_value_our_8_bits_do_not_have_is_rounded(tmp_path: Path) -> None:
    """-128: llama.cpp never writes it, other programs may."""
    raw = random_bytes("Q8_0", 1)
    raw[3, 2:34] = 128
    weight = decode(raw, "Q8_0")
    found = blocks_of(tensor_of(tmp_path, "Q8_0", raw), 8, np.arange(ROWS))
    assert found.values.min() == -127
    assert np.abs(dequantise(found) - weight).max() <= np.abs(weight).max() / 127 * 0.51


@pytest.mark.parametrize(("kind", "four"), [("Q4_0", True), ("Q4_K", True), ("Q5_0", False), ("F16", False)])
def test_formats_of_4_bits_are_known(kind: str, four: bool) -> None:
    assert is_four_bits(kind) == four
