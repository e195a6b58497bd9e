"""The fused forward on tiny random Llama models against transformers, and what its cache holds after every step."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import LlamaForCausalLM

from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.engine.stop import Stops
from lacli.errors import LacliError, ModelUnavailable
from lacli.models.base import Rows
from lacli.models.fused import FusedConfig, FusedRunner
from lacli.models.load import load_runner
from lacli.models.prepare_folder import PreparedModel
from lacli.models.registry import spec_of_path
from tests.engine.replies import PLAIN, Reply, reply
from tests.exact.reference import greedy
from tests.exact.sources import LiarSource, OracleSource

VOCAB = 97
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
SHAPES: dict[str, dict[str, Any]] = {
    "grouped": {},
    "one-kv-head": {"num_key_value_heads": 1},
    "a-kv-head-each": {"num_key_value_heads": 4},
    "wide-heads": {"head_dim": 20},
    "biases": {"attention_bias": True, "mlp_bias": True},
    "tied": {"tie_word_embeddings": True},
    "linear-rope": {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0}},
    "llama3-rope": {
        "head_dim": 32,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 10000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    },
}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def write(folder: Path, **changes: Any) -> tuple[LlamaForCausalLM, PreparedModel]:
    """A random model as transformers has it, and as a folder of ours."""
    torch.manual_seed(3)
    model = LlamaForCausalLM(transformers.LlamaConfig(**{**SIZES, **changes})).eval()
    for name, parameter in model.named_parameters():
        parameter.data.mul_(5 if parameter.dim() > 1 else 1)
        if name.endswith("bias"):
            parameter.data.normal_()
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return model, PreparedModel(folder, spec_of_path(folder), config, (folder / "model.safetensors",), None, (), ())


def load(prepared: PreparedModel, quant: str = "none", context: int | None = None) -> FusedRunner:
    runner = load_runner(prepared, quant, threads=1, context=context)  # type: ignore[arg-type]
    assert isinstance(runner, FusedRunner)
    return runner


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> PreparedModel:
    return write(tmp_path_factory.mktemp("tiny"))[1]


def prompt_of(length: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(VOCAB), k=length)


class TestAgainstTransformers:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_logits_are_those_of_transformers(self, shape: str, tmp_path: Path) -> None:
        model, prepared = write(tmp_path, **SHAPES[shape])
        runner = load(prepared)
        ids = prompt_of(90)
        with torch.inference_mode():
            expected = model(torch.tensor([ids])).logits[0]
        assert expected.std() > 0.5  # the weights are large enough for a mistake to show
        first = runner.prefill(ids[:70])
        assert first is not None
        torch.testing.assert_close(first.logits[0], expected[69], rtol=1e-3, atol=1e-3)
        chain = tuple(range(-1, 19))
        logits = runner.forward(Rows(tuple(ids[70:]), chain, tuple(range(20)))).logits
        torch.testing.assert_close(logits, expected[70:], rtol=1e-3, atol=1e-3)

    def test_int8_is_near_float32(self, tmp_path: Path) -> None:
        _, prepared = write(tmp_path)
        ids = prompt_of(40)
        exact, rounded = load(prepared).prefill(ids), load(prepared, "int8").prefill(ids)
        assert exact is not None
        assert rounded is not None
        assert torch.cosine_similarity(exact.logits[0], rounded.logits[0], dim=0) > 0.99
        assert not torch.equal(exact.logits, rounded.logits)

    @pytest.mark.parametrize(
        "changes",
        [
            {"model_type": "mistral"},
            {"hidden_act": "gelu"},
            {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
            {"rope_scaling": {"type": "yarn", "factor": 2.0}, "rope_parameters": None},
            {"quantization_config": {"quant_method": "bitsandbytes"}},
        ],
    )
    def test_models_it_does_not_fit_are_left_to_the_generic_runner(
        self, changes: dict[str, Any], tiny: PreparedModel
    ) -> None:
        assert FusedConfig.read(tiny.config) is not None
        assert FusedConfig.read({**tiny.config, **changes}) is None


class TestLoading:
    def test_a_missing_tensor_is_named(self, tmp_path: Path) -> None:
        _, prepared = write(tmp_path)
        deeper = {**prepared.config, "num_hidden_layers": 4}
        with pytest.raises(ModelUnavailable, match=r"lack the tensor model\.layers\.3"):
            load_runner(
                PreparedModel(prepared.folder, prepared.spec, deeper, prepared.float_files, None, (), ()), "none"
            )

    @pytest.mark.parametrize("quant", ["none", "int8"])
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"num_hidden_layers": 2}, "more than the 2 layers"),
            ({"num_attention_heads": 6}, "q_proj"),
            ({"num_attention_heads": 3}, "do not divide"),
            ({"intermediate_size": 79}, "gate_proj"),
            ({"vocab_size": 96}, "embed_tokens"),
            ({"hidden_size": "48"}, "hidden_size = '48'"),
            ({"hidden_size": None}, "hidden_size = None"),
            ({"num_key_value_heads": 0}, "num_key_value_heads = 0"),
            ({"rope_parameters": {"rope_type": "linear", "factor": "x"}}, "describes no model"),
            ({"model_type": "gemma2", "hidden_size": "48"}, "cannot load .* 'hidden_size'"),
        ],
    )
    def test_a_config_that_is_not_of_these_weights_is_refused(
        self, changes: dict[str, Any], said: str, quant: str, tmp_path: Path
    ) -> None:
        _, prepared = write(tmp_path)
        edited = dataclasses.replace(prepared, config={**prepared.config, "head_dim": 12, **changes})
        (tmp_path / "config.json").write_text(json.dumps(edited.config), encoding="utf-8")
        with pytest.raises(ModelUnavailable, match=said):
            load_runner(edited, quant, threads=1)  # type: ignore[arg-type]

    def test_damaged_weights_are_called_so(self, tmp_path: Path) -> None:
        _, prepared = write(tmp_path)
        prepared.float_files[0].write_bytes(b"\xff" * 100)
        with pytest.raises(ModelUnavailable, match="damaged"):
            load_runner(prepared, "none")


class TestCache:
    def test_after_every_step_it_holds_what_a_fresh_prefill_stores(self, tiny: PreparedModel) -> None:
        runner, fresh = load(tiny), load(tiny)
        prompt = prompt_of(5)
        truth = greedy(prompt, runner, 60)
        runner.truncate(0)
        cached = CachedSequence(runner)
        sources = [LiarSource(len(prompt), truth, VOCAB), OracleSource(len(prompt), truth[:30])]
        controller = Controller(CostCurve.flat(), Limits(window=3, max_rows=20))
        text = list(prompt)
        for step in decode(prompt, cached, sources, Sampler(SamplingOptions()), Stops((), 60), controller):
            text += step.token_ids
            assert runner.length == len(text) - 1
            fresh.truncate(0)
            fresh.prefill(text[:-1])
            ours, theirs = runner._cache, fresh._cache
            for name in ("_keys", "_values"):
                kept = getattr(ours, name)[:, :, : runner.length]
                assert torch.equal(kept, getattr(theirs, name)[:, :, : runner.length])
        assert text == [*prompt, *truth]

    def test_it_grows_and_keeps_what_it_had(self, tmp_path: Path) -> None:
        """Capacity starts at 512 and doubles."""
        _, prepared = write(tmp_path, max_position_embeddings=2048)
        runner = load(prepared)
        ids = prompt_of(1100)
        before = runner.cache_bytes
        whole = runner.prefill(ids)
        assert runner.cache_bytes > before
        runner.truncate(600)
        again = runner.prefill(ids[600:])
        assert whole is not None
        assert again is not None
        assert torch.equal(whole.logits, again.logits)

    @pytest.mark.parametrize("room", [1, 2, 5, 20])
    def test_a_nearly_full_context_ends_both_ways_of_decoding_alike(self, tiny: PreparedModel, room: int) -> None:
        prompt = prompt_of(20)
        plain = reply(load(tiny, context=20 + room), prompt, 60, limits=PLAIN)
        runner = load(tiny, context=20 + room)
        guessing = OracleSource(20, [*plain.ids, *range(40)])
        done = reply(runner, prompt, 60, [guessing], limits=Limits(window=4, ngram=4))
        assert (done.ids, done.finish) == (plain.ids, plain.finish)
        assert len(done.ids) == room + 1
        assert runner.length == 20 + room

    def test_a_failed_forward_changes_nothing(self, tiny: PreparedModel) -> None:
        runner = load(tiny)
        prompt = prompt_of(10)
        truth = greedy(prompt, runner, 3)
        runner.truncate(0)
        runner.prefill(prompt)
        with pytest.raises(IndexError):
            runner.forward(Rows((3, VOCAB), (-1, 0), (0, 1)))
        assert runner.length == 10
        assert int(runner.forward(Rows((truth[0],), (-1,), (0,))).top_ids[0, 0]) == truth[1]

    def test_an_empty_prompt_is_refused(self, tiny: PreparedModel) -> None:
        for limits in (PLAIN, Limits(window=3)):
            with pytest.raises(LacliError, match="nothing to prefill"):
                reply(load(tiny), [], 5, limits=limits)


class TestWanted:
    def test_only_the_rows_asked_for_are_answered(self, tiny: PreparedModel) -> None:
        runner = load(tiny)
        runner.prefill(prompt_of(6))
        ids, parents = tuple(prompt_of(6, seed=2)), (-1, 0, 0, 2, 1, 4)
        every = runner.forward(Rows(ids, parents, tuple(range(6)))).logits
        for wanted in ((0,), (0, 3), (0, 2, 5), (0, 1, 2, 4)):
            assert torch.equal(runner.forward(Rows(ids, parents, wanted)).logits, every[list(wanted)])


class TestRowExactness:
    @pytest.mark.parametrize("threads", [1, 3, 5])
    def test_a_wide_layer_cut_among_threads_rounds_no_row_differently(self, tmp_path: Path, threads: int) -> None:
        """PyTorch gives each thread an equal share of all elements, and rounds the ends of a share in another way."""
        _, prepared = write(tmp_path, intermediate_size=11_008, num_hidden_layers=1)
        runner = load(prepared)
        ids = prompt_of(40)
        torch.set_num_threads(threads)
        try:
            expected = []
            for token_id in ids:
                expected.append(runner.forward(Rows((token_id,), (-1,), (0,))).logits[0].clone())
                runner.keep([0])
            for count in (7, 10, 16, 33, 40):
                runner.truncate(0)
                chain = Rows(tuple(ids[:count]), tuple(range(-1, count - 1)), tuple(range(count)))
                assert torch.equal(runner.forward(chain).logits, torch.stack(expected[:count])), count
        finally:
            torch.set_num_threads(1)

    def test_no_guess_and_no_window_changes_a_token(self, tmp_path: Path) -> None:
        """float32 and int8, greedy: texts of 60 tokens from prompts of 1 to 9 tokens."""
        _, prepared = write(tmp_path)

        def text(runner: FusedRunner, prompt: list[int], limits: Limits, truth: list[int]) -> Reply:
            sources = [LiarSource(len(prompt), truth, VOCAB), OracleSource(len(prompt), truth[::2])] if truth else []
            return reply(runner, prompt, 60, sources, limits=limits)

        for quant in ("none", "int8"):
            runner = load(prepared, quant)
            for length, shapes in ((1, ((0, 2), (1, 4))), (2, ((7, 2), (3, 12))), (9, ((4, 5),))):
                prompt = prompt_of(length, seed=length)
                plain = text(runner, prompt, PLAIN, []).ids
                assert plain == greedy(prompt, runner, 60)
                for window, ngram in shapes:
                    assert text(runner, prompt, Limits(window=window, ngram=ngram), plain).ids == plain
