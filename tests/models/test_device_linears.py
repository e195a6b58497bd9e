"""Which kernel multiplies when, and that each format stands for its weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from bitsandbytes.functional import dequantize_4bit, dequantize_blockwise
from torch import Tensor

from lacli import paths
from lacli.errors import LacliError, ModelUnavailable
from lacli.models.runners.fused.device import linears, tuned
from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.linears import BUCKETS, Linear, Tuner, Way, linear_of
from lacli.models.runners.fused.device.load import _CHUNKS, chunk_rows, load_device
from lacli.models.runners.fused.device.weights import Stored
from lacli.models.runners.tensors import Tensors
from tests.models.device import CPU, make
from tests.models.families import prompt_of

pytestmark = pytest.mark.usefixtures("one_thread")


def doubling(name: str, most_rows: int = 1 << 30) -> Way:
    return Way(name, lambda x: 2 * x, most_rows)


class TestChoices:
    def test_the_fastest_way_is_taken_for_each_bucket(self) -> None:
        ways = [doubling("a"), doubling("b"), doubling("c", most_rows=8)]
        speed = {id(way.run): place for place, way in enumerate(ways)}

        def timer(run: Linear, x: Tensor) -> float:
            # b for many rows, c for few as far as it goes, a never
            return {0: 5.0, 1: 1.0 if len(x) >= 16 else 9.0, 2: 3.0}[speed[id(run)]]

        chosen = Tuner(CPU, torch.float32, timer=timer).chosen(ways, 10, 4)
        assert isinstance(chosen, linears.Chosen)
        assert [chosen.names[bucket] for bucket in BUCKETS] == ["c", "c", "c", "c", "b", "b", "b", "b"]
        x = torch.randn(3, 4)
        assert torch.equal(chosen(x), 2 * x)
        assert torch.equal(chosen(torch.ones(700, 4)), torch.full((700, 4), 2.0))

    def test_matrices_of_one_shape_are_timed_once(self) -> None:
        timed: list[int] = []
        tuner = Tuner(CPU, torch.float32, timer=lambda run, x: timed.append(len(x)) or 1.0)  # type: ignore[func-returns-value]
        for _ in range(3):
            tuner.chosen([doubling("a"), doubling("b")], 10, 4)
        assert len(timed) == 2 * len(BUCKETS)
        tuner.chosen([doubling("a"), doubling("b")], 12, 4)
        assert len(timed) == 4 * len(BUCKETS)

    def test_when_its_time_is_over_the_first_that_fits_is_taken(self) -> None:
        def timer(run: Linear, x: Tensor) -> float:
            raise AssertionError("nothing may be timed")

        tuner = Tuner(CPU, torch.float32, budget_s=0.0, timer=timer)
        tuner.chosen([doubling("few", most_rows=4), doubling("any")], 10, 4)
        (choice,) = tuner.choices.values()
        assert list(choice.values()) == ["few"] * 3 + ["any"] * 5
        assert not tuner.complete

    def test_what_was_chosen_before_stays_chosen(self) -> None:
        """Or a model could round otherwise at each load."""
        ways = [doubling("a"), doubling("b")]
        first = Tuner(CPU, torch.float32, timer=lambda run, x: 1.0 if run is ways[1].run else 2.0)
        first.chosen(ways, 10, 4)
        tuned.write("a card", first.choices)

        def timer(run: Linear, x: Tensor) -> float:
            raise AssertionError("nothing may be timed")

        again = Tuner(CPU, torch.float32, timer=timer, known=tuned.read("a card")).chosen(ways, 10, 4)
        assert isinstance(again, linears.Chosen)
        assert set(again.names.values()) == {"b"}
        assert tuned.read("another card") == {}

    @pytest.mark.parametrize("change", ["not JSON", "[]", '{"10x4 torch.float32 a | b": {"1": "gone"}}'])
    def test_choices_that_cannot_be_right_are_made_again(self, change: str) -> None:
        tuned.write("a card", {})
        (paths.cache_dir() / "kernels" / tuned.name_of("a card")).write_text(change, encoding="utf-8")
        tuner = Tuner(CPU, torch.float32, timer=lambda run, x: 1.0, known=tuned.read("a card"))
        made = tuner.chosen([doubling("a"), doubling("b")], 10, 4)
        assert isinstance(made, linears.Chosen)
        assert set(made.names.values()) == {"a"}

    def test_one_way_is_not_timed(self) -> None:
        def timer(run: Linear, x: Tensor) -> float:
            raise AssertionError("nothing may be timed")

        way = doubling("a")
        assert Tuner(CPU, torch.float32, timer=timer).chosen([way], 10, 4) is way.run

    def test_one_row_and_many_quantise_activations_alike(self) -> None:
        """Or lookahead would multiply other numbers than plain decoding, which is more than rounding."""
        ways = [Way("rounds", lambda x: 2 * x, rounds_input=True), doubling("exact", most_rows=64)]

        def timer(run: Linear, x: Tensor) -> float:
            return {True: 10.0, False: len(x) / 2}[run is ways[0].run]  # alone the exact one is the faster of the two

        chosen = Tuner(CPU, torch.float32, timer=timer).chosen(ways, 10, 4)
        assert isinstance(chosen, linears.Chosen)
        assert [chosen.names[bucket] for bucket in BUCKETS] == ["exact"] * 7 + ["rounds"]
        slow = Tuner(CPU, torch.float32, timer=lambda run, x: timer(run, x) + 5.0 * (run is ways[1].run))
        other = slow.chosen(ways, 10, 4)
        assert isinstance(other, linears.Chosen)
        assert set(other.names.values()) == {"rounds"}

    @pytest.mark.parametrize("error", [RuntimeError, ValueError, LacliError, TypeError, KeyError])
    def test_a_kernel_that_fails_in_whatever_way_is_not_taken(self, error: type[Exception]) -> None:
        def fails(x: Tensor) -> Tensor:
            raise error("no such instruction")

        assert linears._cuda_ms(fails, torch.zeros(1, 4)) == math.inf

    def test_a_head_is_not_rounded_where_the_device_can(self, monkeypatch: pytest.MonkeyPatch) -> None:
        weight, x = torch.randn(40, 16).bfloat16(), torch.randn(3, 16).bfloat16()
        rounded = linears.head_of(weight)  # a CPU cannot
        assert isinstance(rounded, linears.Dense)
        assert rounded(x).dtype == torch.bfloat16
        assert isinstance(linears.head_of(weight.float()), linears.Dense)
        monkeypatch.setattr(torch, "mm", lambda left, right, out_dtype: (left.double() @ right.double()).to(out_dtype))
        found = linears.head_of(weight)
        assert isinstance(found, linears.Unrounded)
        torch.testing.assert_close(found(x), x.float() @ weight.float().T)

    @pytest.mark.parametrize(("quant", "error"), [("none", 1e-6), ("nf4", 0.2), ("bnb-int8", 0.03)])
    @pytest.mark.parametrize("rows", [1, 5, 64])
    def test_formats_are_near_the_weights_they_were_made_of(self, quant: Any, error: float, rows: int) -> None:
        generator = torch.Generator().manual_seed(1)
        weight, bias = torch.randn(96, 128, generator=generator), torch.randn(96, generator=generator)
        x = torch.randn(rows, 128, generator=generator)
        exact = torch.nn.functional.linear(x, weight, bias)
        found = linear_of(weight, bias, quant, Tuner(CPU, torch.float32))(x)
        assert found.shape == exact.shape
        assert found.dtype == x.dtype
        assert (found - exact).norm() <= error * exact.norm()

    @pytest.mark.parametrize("rows", [1, 5, 64])
    def test_matrices_of_a_file_are_joined_as_they_are(self, rows: int) -> None:
        """q, k and v are stored one by one, each with scales of its own."""
        generator = torch.Generator().manual_seed(1)
        made = [linears.Nf4.of(torch.randn(count, 128, generator=generator), None) for count in (64, 16, 16)]
        parts = [
            (each.packed, dequantize_blockwise(each.state.absmax, each.state.state2) + each.state.offset, count)
            for each, count in zip(made, (64, 16, 16), strict=True)
        ]
        bias, x = torch.randn(96, generator=generator), torch.randn(rows, 128, generator=generator)
        (way,) = linears.Nf4.joined(parts, made[0].state.code, 128, bias).ways()
        expected = torch.cat([dequantize_4bit(each.packed, each.state) for each in made])
        torch.testing.assert_close(way.run(x), torch.nn.functional.linear(x, expected, bias), rtol=1e-4, atol=1e-4)

    def test_blocks_that_reach_over_a_row_cannot_be_joined(self) -> None:
        with pytest.raises(ValueError, match="no multiple of a block"):
            linears.Nf4.joined([], torch.zeros(16), 96, None)


class TestLoading:
    def test_chunks_of_a_prompt_are_as_large_as_there_is_memory_for(self, tmp_path: Path) -> None:
        model = make("llama", tmp_path).device()._model
        assert [chunk_rows(model, free) for free in (0, 1 << 30, 1 << 50)] == [_CHUNKS[-1], _CHUNKS[0], _CHUNKS[0]]
        assert sorted({chunk_rows(model, 1 << bits) for bits in range(20, 40)}) == sorted(_CHUNKS)

    def test_weights_of_another_size_are_refused(self, tmp_path: Path) -> None:
        made = make("phi3", tmp_path)
        made.config["intermediate_size"] = 47
        with pytest.raises(ModelUnavailable, match=r"gate_up_proj\.weight is \[96, 32\]"):
            made.device()

    def test_weights_that_are_no_numbers_are_refused(self, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        made = make("gemma2", tmp_path)
        weights = load_file(made.file)
        weights["model.norm.weight"][:] = math.nan
        save_file(weights, made.file, {"format": "pt"})
        with pytest.raises(LacliError, match="not finite"):
            made.device()

    @pytest.mark.parametrize("quant", ["nf4", "bnb-int8"])
    def test_a_quantised_model_is_that_of_its_quantised_weights(self, quant: Any, tmp_path: Path) -> None:
        made = make("llama", tmp_path)
        config = DeviceConfig.read(made.config)
        assert config is not None
        runner = load_device(Tensors([made.file]), config, quant, CPU)
        plain = load_device(Tensors([made.file]), config, "none", CPU, stored=Rounded(quant, Tensors([made.file])))
        found, expected, exact = (
            torch.as_tensor(each.prefill(prompt_of(9)).logits)[0]  # type: ignore[union-attr]
            for each in (runner, plain, made.device())
        )
        # int8 rounds activations, too: by that it is about as far away as from the weights as they were
        apart = 1e-5 * expected.norm() if quant == "nf4" else 1.5 * (expected - exact).norm()
        assert 0 < apart < 0.2 * exact.norm()
        assert (found - expected).norm() <= apart


class Rounded:
    """What a loader of quantised files may give: here the weights they stand for, as floats."""

    def __init__(self, quant: str, tensors: Tensors) -> None:
        self._quant, self._tensors = quant, tensors

    def __call__(self, tuner: Tuner) -> Stored:
        return self.linear

    def linear(self, names: Sequence[str], bias: Tensor | None) -> Linear | None:
        if names[0] == "lm_head":
            return None
        weight = torch.cat([self._tensors.torch(f"{name}.weight") for name in names])
        if self._quant == "nf4":
            nf4 = linears.Nf4.of(weight, None)
            return linears.Dense(dequantize_4bit(nf4.packed, nf4.state), bias)
        int8 = linears.Int8.of(weight, None)
        return linears.Dense(int8.packed.float() * int8.scales[:, None] / 127, bias)
