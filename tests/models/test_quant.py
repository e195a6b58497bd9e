"""The quantised linears: how weights are rounded, that rows stand alone, and that a kernel that lies is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lacli.errors import LacliError
from lacli.kernels import packing
from lacli.models.runners.packed import packed_matrix
from lacli.models.runners.quant import (
    FloatLinear,
    Int8Linear,
    PackedLinear,
    QuantLinear,
    quantise_rows,
    self_test,
)
from tests.models.kernels import needed


def weight_of(outputs: int, inputs: int, seed: int = 0) -> Tensor:
    return torch.randn(outputs, inputs, generator=torch.Generator().manual_seed(seed))


def input_of(rows: int, inputs: int) -> Tensor:
    return torch.randn(rows, inputs, generator=torch.Generator().manual_seed(1))


def int8(weight: Tensor, bias: Tensor | None = None) -> Int8Linear:
    return Int8Linear(*quantise_rows(weight), bias, weight.shape[1])


def packed(bits: Literal[4, 8], weight: Tensor, bias: Tensor | None = None) -> PackedLinear:
    added = None if bias is None else bias.numpy()
    return PackedLinear(needed(), packed_matrix(weight.numpy(), bits, added))


def packed8(weight: Tensor, bias: Tensor | None = None) -> PackedLinear:
    return packed(8, weight, bias)


def packed4(weight: Tensor, bias: Tensor | None = None) -> PackedLinear:
    return packed(4, weight, bias)


Kind = Callable[[Tensor], QuantLinear]
KINDS: tuple[Kind, ...] = (int8, FloatLinear, packed8, packed4)


class TestQuantiseRows:
    def test_every_row_uses_the_whole_range(self) -> None:
        quantised, scale = quantise_rows(weight_of(40, 64))
        assert quantised.dtype == torch.int8
        assert scale.dtype == torch.bfloat16
        assert (quantised.abs().amax(dim=1) >= 126).all()  # the scale is rounded to bfloat16
        assert quantised.min() >= -127

    def test_no_weight_moves_by_more_than_half_a_step(self) -> None:
        weight = weight_of(40, 64)
        quantised, scale = quantise_rows(weight)
        back = quantised.float() * scale.float()[:, None]
        inside = quantised.abs() < 127
        assert ((back - weight).abs() <= 0.5001 * scale.float()[:, None])[inside].all()
        # The largest of a row may lose what rounding the scale down takes.
        assert ((back - weight).abs() <= 0.75 * scale.float()[:, None]).all()

    def test_a_row_of_zeros_stays_zero_and_finite(self) -> None:
        weight = weight_of(3, 32)
        weight[1] = 0
        quantised, scale = quantise_rows(weight)
        assert not quantised[1].any()
        assert scale[1] > 0

    @pytest.mark.parametrize("inputs", [1, 31, 32, 33, 72])
    def test_width_is_padded_with_zeros_to_what_the_kernel_can_read(self, inputs: int) -> None:
        quantised, _ = quantise_rows(weight_of(5, inputs))
        assert quantised.shape == (5, -(-inputs // 32) * 32)
        assert not quantised[:, inputs:].any()
        assert quantised.is_contiguous()


class TestLinears:
    @pytest.mark.parametrize("inputs", [8, 36, 72, 576])
    @pytest.mark.parametrize("biased", [False, True])
    def test_int8_is_the_product_with_the_rounded_weights(self, inputs: int, biased: bool) -> None:
        weight, x = weight_of(48, inputs), input_of(9, inputs)
        bias = weight_of(1, 48, seed=2)[0] if biased else None
        quantised, scale = quantise_rows(weight)
        rounded = quantised[:, :inputs].double() * scale.double()[:, None]
        expected = x.bfloat16().double() @ rounded.T + (0 if bias is None else bias)
        result = int8(weight, bias)(x)
        assert result.dtype == torch.float32
        torch.testing.assert_close(result.double(), expected, rtol=1e-2, atol=2e-2 * inputs**0.5)

    @pytest.mark.parametrize("bits", [4, 8])
    @pytest.mark.parametrize("inputs", [8, 36, 72, 576])
    @pytest.mark.parametrize("biased", [False, True])
    def test_packed_is_the_product_with_the_rounded_weights_and_inputs(
        self, bits: Literal[4, 8], inputs: int, biased: bool
    ) -> None:
        weight, x = weight_of(50, inputs), input_of(9, inputs)
        bias = weight_of(1, 50, seed=2)[0] if biased else None
        rounded = torch.from_numpy(packing.dequantise(packing.quantise(weight.numpy(), bits))).double()
        blocks = nn.functional.pad(x, (0, -inputs % 32)).reshape(9, -1, 32)
        scale = blocks.abs().amax(dim=2, keepdim=True) / 127
        near = (torch.round(blocks / scale) * scale).reshape(9, -1)[:, :inputs].double()
        expected = near @ rounded.T + (0 if bias is None else bias)
        result = packed(bits, weight, bias)(x)
        assert result.dtype == torch.float32
        torch.testing.assert_close(result.double(), expected, rtol=1e-4, atol=1e-4 * inputs**0.5)
        assert torch.cosine_similarity(
            result.double(), x.double() @ weight.double().T + (bias if biased else 0)
        ).min() > (0.99 if bits == 8 else 0.95)

    def test_packed_rows_may_be_many(self) -> None:
        weight = weight_of(4096 + 40, 32)
        matrix = packed_matrix(weight.numpy(), 8)
        whole = packing.pack(packing.quantise(weight.numpy(), 8))
        assert np.array_equal(matrix._kept[0], whole)

    def test_packed_takes_and_gives_other_precisions(self) -> None:
        linear, x = packed8(weight_of(20, 64)), input_of(3, 64)
        half = linear(x.to(torch.bfloat16))
        assert half.dtype == torch.bfloat16
        assert torch.equal(half, linear(x.to(torch.bfloat16).float()).to(torch.bfloat16))
        with pytest.raises(RuntimeError, match="casts activations"):
            linear(x.to(torch.int8))

    @pytest.mark.parametrize("biased", [False, True])
    def test_float_is_the_product(self, biased: bool) -> None:
        weight, x = weight_of(48, 72), input_of(9, 72)
        bias = weight_of(1, 48, seed=2)[0] if biased else None
        expected = x.double() @ weight.double().T + (0 if bias is None else bias)
        torch.testing.assert_close(FloatLinear(weight, bias)(x).double(), expected, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("kind", KINDS)
    def test_leading_dimensions_and_strides_do_not_matter(self, kind: Kind) -> None:
        linear = kind(weight_of(20, 64))
        x = input_of(12, 64)
        flat = linear(x)
        assert torch.equal(linear(x.view(3, 4, 64)), flat.view(3, 4, 20))
        wide = torch.cat([x, x], dim=1)
        assert torch.equal(linear(wide[:, :64]), flat)
        assert torch.equal(linear(x[0]), flat[0])

    @pytest.mark.parametrize("kind", KINDS)
    # The linears of the default model: qkv, output, gate and up, down; and widths that need padding.
    @pytest.mark.parametrize("shape", [(960, 576), (576, 576), (3072, 576), (576, 1536), (96, 40), (7, 200)])
    def test_a_row_has_the_same_bits_alone_and_among_63_others(self, kind: Kind, shape: tuple[int, int]) -> None:
        linear = kind(weight_of(*shape))
        x = input_of(64, shape[1])
        together = linear(x)
        for rows in (1, 2, 3, 7, 16, 33, 63):
            assert torch.equal(linear(x[:rows]), together[:rows]), rows
            assert torch.equal(linear(x[64 - rows :]), together[64 - rows :]), rows
        scattered = torch.tensor([40, 3, 3, 17])
        assert torch.equal(linear(x[scattered]), together[scattered])


class TestSelfTest:
    @pytest.mark.parametrize("kind", KINDS)
    def test_passes_what_is_exact(self, kind: Kind) -> None:
        self_test(kind(weight_of(64, 96)))

    def test_finds_a_kernel_whose_rows_depend_on_each_other(self) -> None:
        class Shared(FloatLinear):
            def forward(self, x: Tensor) -> Tensor:
                return super().forward(x) * (1 + 1e-6 * x.shape[0])

        with pytest.raises(LacliError, match=r"Shared kernel of PyTorch .* is not exact by row") as caught:
            self_test(Shared(weight_of(64, 96)))
        assert "--quant" in caught.value.hint

    @pytest.mark.parametrize("fault", [float("nan"), float("inf")])
    def test_finds_a_kernel_that_gives_no_numbers(self, fault: float) -> None:
        class Broken(FloatLinear):
            def forward(self, x: Tensor) -> Tensor:
                return super().forward(x) + fault

        with pytest.raises(LacliError, match="wrong results"):
            self_test(Broken(weight_of(64, 96)))

    def test_finds_a_kernel_of_the_wrong_shape(self) -> None:
        class Short(FloatLinear):
            def forward(self, x: Tensor) -> Tensor:
                return super().forward(x)[:, :-1]

        with pytest.raises(LacliError, match="wrong results"):
            self_test(Short(weight_of(64, 96)))
