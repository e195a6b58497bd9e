"""What config.json leaves out is what transformers takes, and windows are those of its layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from lacli.errors import ModelUnavailable
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.rotary import RotaryTable

FAMILIES = ("llama", "qwen2", "qwen3", "mistral")
LEAST: dict[str, Any] = {
    "hidden_size": 4096,
    "intermediate_size": 64,
    "num_hidden_layers": 30,
    "num_attention_heads": 32,
    "vocab_size": 100,
    "max_position_embeddings": 8192,
}


def read(context: int | None = None, **changes: Any) -> FusedConfig:
    found = FusedConfig.read({**LEAST, **changes}, context)
    assert found is not None
    return found


class TestDefaults:
    @pytest.mark.parametrize("family", FAMILIES)
    def test_sizes_that_are_not_given(self, family: str) -> None:
        theirs = transformers.AutoConfig.for_model(family, **LEAST)
        ours = read(model_type=family)
        assert ours.kv_heads == theirs.num_key_value_heads
        assert ours.head_dim == (getattr(theirs, "head_dim", None) or 4096 // 32)
        assert ours.norm_eps == theirs.rms_norm_eps
        assert ours.rope == {"rope_type": "default", "rope_theta": theirs.rope_parameters["rope_theta"]}

    def test_given_ones_are_taken(self) -> None:
        ours = read(model_type="qwen3", num_key_value_heads=4, head_dim=64, rms_norm_eps=1e-5, rope_theta=5e5)
        assert (ours.kv_heads, ours.head_dim, ours.norm_eps, ours.rope["rope_theta"]) == (4, 64, 1e-5, 5e5)
        assert read(context=100, model_type="llama").context_size == 100

    @pytest.mark.parametrize("family", FAMILIES)
    def test_only_qwen3_normalises_heads(self, family: str) -> None:
        assert read(model_type=family).head_norms == (family == "qwen3")


class TestWindows:
    @pytest.mark.parametrize("family", FAMILIES)
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"sliding_window": 50},
            {"sliding_window": None},
            {"sliding_window": 50, "use_sliding_window": True},
            {"sliding_window": 50, "use_sliding_window": True, "max_window_layers": 7},
            {"use_sliding_window": True, "max_window_layers": 7},
            {"use_sliding_window": False, "sliding_window": 50, "max_window_layers": 0},
        ],
    )
    def test_each_layer_has_the_one_of_transformers(self, family: str, changes: dict[str, Any]) -> None:
        theirs = transformers.AutoConfig.for_model(family, **LEAST, **changes)
        window = getattr(theirs, "sliding_window", None) if family != "llama" else None
        kinds = getattr(theirs, "layer_types", None) or ["sliding_attention"] * 30
        expected = tuple((window or 0) if kind == "sliding_attention" else 0 for kind in kinds)
        assert read(model_type=family, **changes).windows == expected

    def test_one_as_long_as_the_context_is_none(self) -> None:
        changes: dict[str, Any] = {"model_type": "mistral", "sliding_window": 4096}
        assert set(read(**changes).windows) == {4096}
        assert set(read(context=4096, **changes).windows) == {0}
        assert set(read(context=4097, **changes).windows) == {4096}

    @pytest.mark.parametrize("window", [0, -1, "4096", 2.5, True])
    def test_one_that_is_no_size_is_refused(self, window: Any) -> None:
        with pytest.raises(ModelUnavailable, match="sliding_window"):
            read(model_type="mistral", sliding_window=window)

    def test_kinds_of_too_few_layers_are_refused(self) -> None:
        with pytest.raises(ModelUnavailable, match="2 layers of 30"):
            read(model_type="qwen2", use_sliding_window=True, layer_types=["full_attention"] * 2)


class TestRotary:
    def test_the_table_is_the_same_however_it_grew(self) -> None:
        config = read(model_type="llama", head_dim=20, num_hidden_layers=1)
        at_once, bit_by_bit = RotaryTable(config), RotaryTable(config)
        at_once.reserve(5001)
        for positions in (1, 512, 513, 700, 2047, 3000, 5001):
            bit_by_bit.reserve(positions)
            assert len(bit_by_bit.cosine) >= positions
        for name in ("cosine", "sine"):
            assert np.array_equal(getattr(at_once, name)[:5001], getattr(bit_by_bit, name)[:5001])

    def test_it_is_that_of_transformers(self) -> None:
        theirs = transformers.AutoConfig.for_model("llama", **{**LEAST, "head_dim": 64})
        cosine, sine = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(theirs)(
            torch.zeros(1), torch.arange(8192)[None]
        )
        table = RotaryTable(read(model_type="llama", head_dim=64))
        table.reserve(8192)
        np.testing.assert_allclose(table.cosine, cosine[0, :, :32].numpy(), atol=1e-6)
        np.testing.assert_allclose(table.sine, sine[0, :, :32].numpy(), atol=1e-6)
