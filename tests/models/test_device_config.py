"""What the forward for devices reads of config.json: rotations as transformers has them, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from lacli.models.runners.fused.device.config import DeviceConfig
from tests.models.device import CPU
from tests.models.families import CONFIGS, SWITCH, VOCAB

pytestmark = pytest.mark.usefixtures("one_thread")


class TestConfig:
    @pytest.mark.parametrize("name", ["llama-yarn", "phi3-longrope", "llama-longrope"])
    def test_scaled_rotations_are_those_of_transformers(self, name: str) -> None:
        config = CONFIGS[name]()
        read = DeviceConfig.read(config.to_dict())
        assert read is not None
        (rope,) = read.ropes
        init = ROPE_INIT_FUNCTIONS[config.rope_parameters["rope_type"]]
        near, scale = init(config, CPU, seq_len=1)
        np.testing.assert_allclose(rope.inverse, near.numpy(), rtol=1e-6)
        assert rope.scale == pytest.approx(scale)
        if rope.beyond is not None:
            np.testing.assert_allclose(rope.beyond, init(config, CPU, seq_len=SWITCH + 1)[0].numpy(), rtol=1e-6)
            assert read.switch == SWITCH

    def test_yarn_with_all_its_numbers(self) -> None:
        rope = {
            "rope_type": "yarn",
            "factor": 8.0,
            "rope_theta": 1e6,
            "original_max_position_embeddings": 64,
            "beta_fast": 16,
            "beta_slow": 2,
            "mscale": 0.7,
            "mscale_all_dim": 0.9,
        }
        config = transformers.Qwen3Config(**{**SIZES, "head_dim": 64, "rope_parameters": rope})
        read = DeviceConfig.read(config.to_dict())
        assert read is not None
        theirs, scale = ROPE_INIT_FUNCTIONS["yarn"](config, CPU)
        np.testing.assert_allclose(read.ropes[0].inverse, theirs.numpy(), rtol=1e-6)
        assert read.ropes[0].scale == pytest.approx(scale)

    def test_files_of_older_releases_say_the_same(self) -> None:
        now = DeviceConfig.read(CONFIGS["gemma3"]().to_dict())
        old = CONFIGS["gemma3"]().to_dict()
        del old["rope_parameters"], old["layer_types"]
        old |= {"rope_theta": 1e6, "rope_local_base_freq": 10000.0, "sliding_window_pattern": 2}
        then = DeviceConfig.read(old)
        assert now is not None
        assert then is not None
        assert (now.rope_of, now.sizes.windows) == (then.rope_of, then.sizes.windows)
        for ours, theirs in zip(now.ropes, then.ropes, strict=True):
            assert np.array_equal(ours.inverse, theirs.inverse)
        phi = CONFIGS["phi3-longrope"]().to_dict()
        factors = {key: phi["rope_parameters"][key] for key in ("short_factor", "long_factor")}
        older = {**phi, "rope_parameters": None, "rope_scaling": {"type": "longrope", **factors}}
        assert DeviceConfig.read(older).switch == SWITCH  # type: ignore[union-attr]

    def test_a_context_before_the_switch_has_none(self) -> None:
        config = CONFIGS["phi3-longrope"]().to_dict()
        assert DeviceConfig.read(config, SWITCH).switch == 0  # type: ignore[union-attr]
        assert DeviceConfig.read(config, SWITCH + 1).switch == SWITCH  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        "changes",
        [
            {"model_type": "gemma"},
            {"model_type": "qwen2_moe"},
            {"hidden_act": "gelu"},
            {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}},
            {"quantization_config": {"quant_method": "bitsandbytes"}},
            {"model_type": "mistral", "layer_types": ["full_attention"] * 2},
            {"head_dim": 11},
        ],
    )
    def test_models_it_is_not_for_are_left_to_the_generic_runner(self, changes: dict[str, Any]) -> None:
        config = CONFIGS["llama"]().to_dict()
        assert DeviceConfig.read(config) is not None
        assert DeviceConfig.read({**config, **changes}) is None


SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}
