"""The fused forwards on tiny random models against transformers, and what their cache holds after every step.

Every test runs with our C kernels and with PyTorch's.
"""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import PreTrainedModel

from lacli.drafts.base import Sources
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.engine.stop import Stops
from lacli.errors import LacliError, ModelUnavailable
from lacli.models.base import Rows, Runner, Scores
from lacli.models.prepare.folder import PreparedModel
from lacli.models.registry.registry import spec_of_path
from lacli.models.runners import load as load_module
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.fused.runner import FusedRunner
from lacli.models.runners.generic.runner import GenericRunner
from lacli.models.runners.load import load_runner
from lacli.models.runners.native.runner import NativeRunner
from lacli.models.runners.tensors import Tensors
from tests.engine.replies import PLAIN, Reply, reply
from tests.exact.reference import greedy
from tests.exact.sources import LiarSource, OracleSource
from tests.models.kernels import KERNELS, Fused, choose, logits_of, set_threads, stored
from tests.slow import slow

pytestmark = pytest.mark.usefixtures("one_thread")

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
    "qwen2-tied": {"model_type": "qwen2", "tie_word_embeddings": True},
    "qwen2": {"model_type": "qwen2"},
    "qwen2-linear-rope": {
        "model_type": "qwen2",
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6},
    },
    "qwen3": {"model_type": "qwen3", "head_dim": 16},
    "qwen3-biases": {"model_type": "qwen3", "head_dim": 20, "attention_bias": True, "tie_word_embeddings": True},
    "mistral": {"model_type": "mistral", "head_dim": 8, "sliding_window": None},
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
WINDOWS: dict[str, dict[str, Any]] = {
    "mistral": {"model_type": "mistral", "sliding_window": 20},
    "mistral-of-one": {"model_type": "mistral", "sliding_window": 1},
    "mistral-of-a-block": {"model_type": "mistral", "sliding_window": 16},
    "qwen2": {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 20, "max_window_layers": 1},
    "qwen3": {
        "model_type": "qwen3",
        "head_dim": 16,
        "use_sliding_window": True,
        "sliding_window": 33,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
}


@pytest.fixture(autouse=True, params=KERNELS)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    choose(request.param, monkeypatch)
    return str(request.param)


def write(folder: Path, model_type: str = "llama", **changes: Any) -> tuple[PreTrainedModel, PreparedModel]:
    """A random model as transformers has it, and as a folder of ours."""
    torch.manual_seed(3)
    config = transformers.AutoConfig.for_model(model_type, **{**SIZES, **changes})
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for name, parameter in model.named_parameters():
        parameter.data.mul_(5 if parameter.dim() > 1 else 1)
        if name.endswith("bias"):
            parameter.data.normal_()
        if "norm" in name:
            parameter.data.uniform_(0.5, 1.5)
    model.save_pretrained(folder)
    stored_config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    file = folder / "model.safetensors"
    return model, PreparedModel(folder, spec_of_path(folder), stored_config, (file,), None, (), ())


def load(prepared: PreparedModel, quant: str = "none", context: int | None = None) -> Fused:
    runner = load_runner(prepared, quant, threads=1, context=context)  # type: ignore[arg-type]
    assert isinstance(runner, FusedRunner if load_module.library() is None else NativeRunner)
    return runner


def copied(scores: Scores | None) -> torch.Tensor:
    """The logits, safe from the next forward."""
    assert scores is not None
    return logits_of(scores).clone()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> PreparedModel:
    return write(tmp_path_factory.mktemp("tiny"))[1]


def prompt_of(length: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(VOCAB), k=length)


def check(model: PreTrainedModel, runner: Runner) -> None:
    """Prefill and a chain of rows against one forward of transformers."""
    ids = prompt_of(90)
    with torch.inference_mode():
        expected = model(torch.tensor([ids])).logits[0]
    assert expected.std() > 0.5  # the weights are large enough for a mistake to show
    torch.testing.assert_close(copied(runner.prefill(ids[:70]))[0], expected[69], rtol=1e-3, atol=1e-3)
    chain = tuple(range(-1, 19))
    found = logits_of(runner.forward(Rows(tuple(ids[70:]), chain, tuple(range(20)))))
    torch.testing.assert_close(found, expected[70:], rtol=1e-3, atol=1e-3)


class TestAgainstTransformers:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_logits_are_those_of_transformers(self, shape: str, tmp_path: Path) -> None:
        model, prepared = write(tmp_path, **SHAPES[shape])
        check(model, load(prepared))

    @pytest.mark.parametrize("shape", WINDOWS)
    def test_so_are_those_of_sliding_windows(self, shape: str, tmp_path: Path, kernel: str) -> None:
        model, prepared = write(tmp_path, **WINDOWS[shape])
        runner = load_runner(prepared, "none", threads=1)
        assert isinstance(runner, NativeRunner if kernel == "native" else GenericRunner)
        check(model, runner)

    @pytest.mark.parametrize("stored_as", [torch.bfloat16, torch.float16])
    def test_half_precision_files_are_read_as_they_are(self, stored_as: torch.dtype, tmp_path: Path) -> None:
        model, prepared = write(tmp_path, model_type="qwen2")
        model.to(stored_as).save_pretrained(tmp_path)
        # Read back: rounding the model has rounded its rotary frequencies too.
        check(type(model).from_pretrained(tmp_path, dtype=torch.float32).eval(), load(prepared))

    @pytest.mark.parametrize("shape", ["grouped", "qwen2", "qwen3", "mistral"])
    def test_a_greedy_reply_is_that_of_transformers(self, shape: str, tmp_path: Path) -> None:
        model, prepared = write(tmp_path, **SHAPES[shape])
        prompt = prompt_of(12)
        expected = model.generate(
            torch.tensor([prompt]), max_new_tokens=60, do_sample=False, eos_token_id=None, pad_token_id=0
        )
        assert greedy(prompt, load(prepared), 60) == expected[0, 12:].tolist()

    def test_int8_is_near_float32(self, tmp_path: Path) -> None:
        _, prepared = write(tmp_path)
        ids = prompt_of(40)
        exact, rounded = (copied(load(prepared, quant).prefill(ids)) for quant in ("none", "int8"))
        assert torch.cosine_similarity(exact[0], rounded[0], dim=0) > 0.99
        assert not torch.equal(exact, rounded)

    @pytest.mark.parametrize(
        "changes",
        [
            {"model_type": "gemma2"},
            {"model_type": "mistral", "layer_types": ["full_attention"] * 3},
            {"partial_rotary_factor": 0.5},
            {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
            {"head_dim": 11},
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
            ({"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}, "describes no model"),
            ({"rms_norm_eps": "small"}, "rms_norm_eps = 'small'"),
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

    @pytest.mark.parametrize(("method", "broken"), [("is_packed", None), ("floats", lambda self, name: None)])
    def test_a_bug_of_ours_is_not_called_a_bad_model(
        self, method: str, broken: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would send the user to fetch a sound model again, and hide the line that is wrong."""
        _, prepared = write(tmp_path)
        monkeypatch.setattr(Tensors, method, broken)
        with pytest.raises((AttributeError, TypeError)):
            load_runner(prepared, "none", threads=1)

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
        for step in decode(prompt, cached, Sources(sources), Sampler(SamplingOptions()), Stops((), 60), controller):
            text += step.token_ids
            assert runner.length == len(text) - 1
            fresh.truncate(0)
            fresh.prefill(text[:-1])
            for ours, theirs in zip(*(stored(each, 0, runner.length) for each in (runner, fresh)), strict=True):
                assert torch.equal(ours, theirs)
        assert text == [*prompt, *truth]

    def test_it_grows_and_keeps_what_it_had(self, tmp_path: Path) -> None:
        """Capacity starts at 512 and doubles."""
        _, prepared = write(tmp_path, max_position_embeddings=2048)
        runner = load(prepared)
        ids = prompt_of(1100)
        before = runner.cache_bytes
        whole = copied(runner.prefill(ids))
        assert runner.cache_bytes > before
        runner.truncate(600)
        assert torch.equal(copied(runner.prefill(ids[600:])), whole)

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
        every = copied(runner.forward(Rows(ids, parents, tuple(range(6)))))
        for wanted in ((0,), (0, 3), (0, 2, 5), (0, 1, 2, 4)):
            assert torch.equal(logits_of(runner.forward(Rows(ids, parents, wanted))), every[list(wanted)])


class TestRowExactness:
    @pytest.mark.parametrize("threads", [1, 3, 5])
    def test_a_wide_layer_cut_among_threads_rounds_no_row_differently(self, tmp_path: Path, threads: int) -> None:
        """PyTorch gives each thread an equal share of all elements, and rounds the ends of a share in another way."""
        _, prepared = write(tmp_path, intermediate_size=11_008, num_hidden_layers=1)
        runner = load(prepared)
        ids = prompt_of(40)
        set_threads(runner, threads)
        try:
            expected = []
            for token_id in ids:
                expected.append(logits_of(runner.forward(Rows((token_id,), (-1,), (0,))))[0].clone())
                runner.keep([0])
            for count in (7, 10, 16, 33, 40):
                runner.truncate(0)
                chain = Rows(tuple(ids[:count]), tuple(range(-1, count - 1)), tuple(range(count)))
                assert torch.equal(logits_of(runner.forward(chain)), torch.stack(expected[:count])), count
        finally:
            set_threads(runner, 1)

    @pytest.mark.parametrize("shape", ["grouped", slow("qwen3-biases"), "window"])
    @pytest.mark.parametrize("quant", ["none", "int8", "int4"])
    @pytest.mark.default_cases(1)
    def test_no_guess_and_no_window_changes_a_token(self, quant: str, shape: str, tmp_path: Path, kernel: str) -> None:
        """Greedy: texts of 60 tokens from prompts of 1 to 9 tokens."""
        if shape == "window" and kernel == "torch":
            pytest.skip("left to the generic runner")
        _, prepared = write(tmp_path, **(WINDOWS["mistral"] if shape == "window" else SHAPES[shape]))
        runner = load(prepared, quant)

        def text(prompt: list[int], limits: Limits, truth: list[int]) -> Reply:
            sources = [LiarSource(len(prompt), truth, VOCAB), OracleSource(len(prompt), truth[::2])] if truth else []
            return reply(runner, prompt, 60, sources, limits=limits)

        for length, shapes in ((1, ((0, 2), (1, 4))), (2, ((7, 2), (3, 12))), (9, ((4, 5),))):
            prompt = prompt_of(length, seed=length)
            plain = text(prompt, PLAIN, []).ids
            assert plain == greedy(prompt, runner, 60)
            for window, ngram in shapes:
                assert text(prompt, Limits(window=window, ngram=ngram), plain).ids == plain
