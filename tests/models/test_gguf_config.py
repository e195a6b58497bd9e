"""GGUF metadata becomes the same model that transformers and llama.cpp make of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from tiny_models import HEADS, HIDDEN, prepare_file, write_gguf

from lacli.errors import ModelUnavailable
from lacli.models.gguf.config import float32_as_written, plan, read_config
from lacli.models.gguf.read import read_gguf


def config_of(path: Path, **options: object) -> dict[str, object]:
    return read_config(read_gguf(write_gguf(path / "x.gguf", **options)))[0]  # type: ignore[arg-type]


class TestAgainstTransformers:
    """Their loader is another reading of the same files."""

    @pytest.mark.parametrize(("architecture", "head_dim"), [("llama", 16), ("qwen2", 16), ("qwen3", 128)])
    @pytest.mark.parametrize("kind", ["F32", "Q8_0"])
    def test_all_weights_and_logits_are_equal(
        self, tmp_path: Path, architecture: str, head_dim: int, kind: str
    ) -> None:
        from transformers import AutoModelForCausalLM

        path = write_gguf(tmp_path / "x.gguf", architecture, head_dim=head_dim, stored_as=lambda name: kind)
        theirs = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="x.gguf", dtype=torch.float32)
        ours = AutoModelForCausalLM.from_pretrained(prepare_file(path).folder, dtype=torch.float32)
        expected, found = theirs.state_dict(), ours.state_dict()
        assert expected.keys() == found.keys()
        for name, tensor in expected.items():
            assert torch.equal(tensor, found[name]), name
        ids = torch.tensor([[1, 40, 41, 7, 99]])
        with torch.inference_mode():
            assert torch.equal(theirs(ids).logits, ours(ids).logits)

    @pytest.mark.parametrize("quant", ["none", "int8"])
    def test_other_architectures_go_through_their_loader_and_are_written_by_us(
        self, tmp_path: Path, quant: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        from transformers import AutoModelForCausalLM

        path = write_gguf(tmp_path / "x.gguf", "starcoder2")
        theirs = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="x.gguf", dtype=torch.float32)
        capfd.readouterr()
        prepared = prepare_file(path, quant)
        assert capfd.readouterr() == ("", "")
        assert prepared.packed_file is None
        ours = AutoModelForCausalLM.from_pretrained(prepared.folder, dtype=torch.float32)
        ids = torch.tensor([[1, 40, 41, 7, 99]])
        with torch.inference_mode():
            assert torch.equal(theirs(ids).logits, ours(ids).logits)

    def test_qwen3_heads_may_be_wider_than_the_model(self, tmp_path: Path) -> None:
        """Where their reader ignores the head size and fails."""
        from transformers import AutoModelForCausalLM

        path = write_gguf(tmp_path / "x.gguf", "qwen3", head_dim=32)
        prepared = prepare_file(path)
        assert prepared.config["head_dim"] == 32
        model = AutoModelForCausalLM.from_pretrained(prepared.folder)
        assert model.model.layers[0].self_attn.q_proj.weight.shape == (HEADS * 32, HIDDEN)


class TestRope:
    def test_linear_scaling(self, tmp_path: Path) -> None:
        fields = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
        rope = config_of(tmp_path, fields=fields)["rope_parameters"]
        assert rope == {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}

    def test_yarn(self, tmp_path: Path) -> None:
        fields = {
            "qwen2.rope.scaling.type": "yarn",
            "qwen2.rope.scaling.factor": 4.0,
            "qwen2.rope.scaling.original_context_length": 64,
        }
        rope = config_of(tmp_path, architecture="qwen2", fields=fields)["rope_parameters"]
        expected = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}
        assert rope == expected

    def test_unknown_scaling_is_refused_by_name(self, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable, match="banana"):
            config_of(tmp_path, fields={"llama.rope.scaling.type": "banana"})

    @staticmethod
    def llama3_factors(theta: float, head_dim: int, factor: float) -> list[float]:
        """As llama.cpp's converter computes them, low 1, high 4, trained on 8192."""
        made = []
        for index in range(0, head_dim, 2):
            wavelength = 2 * math.pi * theta ** (index / head_dim)
            smooth = min(1.0, max(0.0, (8192 / wavelength - 1) / 3))
            made.append(1 / ((1 - smooth) / factor + smooth))
        return made

    def test_frequency_factors_of_llama3_give_its_four_numbers_back(self, tmp_path: Path) -> None:
        factors = self.llama3_factors(500000.0, 16, 32.0)
        fields = {"llama.rope.freq_base": 500000.0}
        rope = config_of(tmp_path, fields=fields, extra={"rope_freqs.weight": factors})["rope_parameters"]
        assert rope == {
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        }

    @pytest.mark.parametrize("arbitrary", [True, False])
    def test_frequency_factors_divide_the_frequencies_in_the_loaded_model(
        self, tmp_path: Path, arbitrary: bool
    ) -> None:
        from transformers import AutoModelForCausalLM

        made = self.llama3_factors(10000.0, 16, 8.0)
        factors = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.5, 8.0] if arbitrary else made
        path = write_gguf(tmp_path / "x.gguf", extra={"rope_freqs.weight": factors})
        rotary = AutoModelForCausalLM.from_pretrained(prepare_file(path).folder).model.rotary_emb
        plain = 1.0 / 10000.0 ** (torch.arange(0, 16, 2) / 16)
        assert torch.allclose(rotary.inv_freq, plain / torch.tensor(factors), rtol=1e-5)
        assert rotary.attention_scaling == 1.0

    def test_factors_of_the_wrong_number_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable, match=r"rope_freqs\.weight"):
            config_of(tmp_path, extra={"rope_freqs.weight": [1.0, 2.0]})


class TestMissingAndOddKeys:
    def test_a_missing_context_is_assumed_with_a_note(self, tmp_path: Path) -> None:
        file = read_gguf(write_gguf(tmp_path / "x.gguf", drop=("llama.context_length",)))
        config, notes = read_config(file)
        assert config["max_position_embeddings"] == 2048
        assert any("context_length" in note for note in notes)

    def test_a_missing_vocabulary_size_is_read_from_the_embeddings(self, tmp_path: Path) -> None:
        assert config_of(tmp_path, drop=("llama.vocab_size",))["vocab_size"] == 260

    @pytest.mark.parametrize("key", ["block_count", "embedding_length", "attention.head_count"])
    def test_keys_nobody_can_guess_are_named(self, tmp_path: Path, key: str) -> None:
        with pytest.raises(ModelUnavailable, match=f"llama.{key}"):
            config_of(tmp_path, drop=(f"llama.{key}",))

    def test_absent_tensors_are_named(self, tmp_path: Path) -> None:
        file = read_gguf(write_gguf(tmp_path / "x.gguf", drop=("blk.1.ffn_up.weight",)))
        with pytest.raises(ModelUnavailable, match=r"blk\.1\.ffn_up\.weight"):
            plan(file, read_config(file)[0])

    def test_tensors_of_an_unknown_variant_are_named_and_not_dropped(self, tmp_path: Path) -> None:
        file = read_gguf(write_gguf(tmp_path / "x.gguf", extra={"blk.0.attn_sub_norm.weight": [1.0] * HIDDEN}))
        with pytest.raises(ModelUnavailable, match="attn_sub_norm"):
            plan(file, read_config(file)[0])

    def test_shapes_that_do_not_fit_the_metadata_are_named(self, tmp_path: Path) -> None:
        file = read_gguf(write_gguf(tmp_path / "x.gguf", fields={"llama.feed_forward_length": 97}))
        with pytest.raises(ModelUnavailable, match="ffn_gate"):
            plan(file, read_config(file)[0])

    def test_mixtures_of_experts_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable, match="mixture-of-experts"):
            config_of(tmp_path, fields={"llama.expert_count": 8})

    def test_an_architecture_nobody_knows_is_named(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf", declared="nosuch")
        with pytest.raises(ModelUnavailable, match="nosuch"):
            prepare_file(path)


def test_numbers_stored_as_float32_come_back_as_they_were_written() -> None:
    assert float32_as_written(9.999999747378752e-06) == 1e-05
    assert float32_as_written(1000000.0) == 1e6
    assert float32_as_written(0.0) == 0.0
