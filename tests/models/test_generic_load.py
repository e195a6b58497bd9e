"""Stock models from folders: every quantisation exact by row on a CPU, and clear words for what cannot be loaded."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn

from lacli.drafts.base import Sources
from lacli.drafts.lookup import PromptSource
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.engine.stop import Stops
from lacli.errors import LacliError, ModelUnavailable, UsageError
from lacli.models.base import Quant, Rows, Runner
from lacli.models.prepare.prepare import PreparedModel, prepare
from lacli.models.registry.registry import load_registry
from lacli.models.runners.generic import bnb
from lacli.models.runners.generic.placement import placement
from lacli.models.runners.generic.runner import GenericRunner, load_generic
from lacli.models.runners.quant import Int8Linear, PackedLinear
from tests.exact.reference import greedy
from tests.exact.sources import LiarSource, OracleSource
from tests.models import families
from tests.models.kernels import KERNELS, choose, logits_of, needed
from tests.slow import slow

VOCAB = 160
QUANTS: tuple[Quant, ...] = ("none", "int8", "int4", "nf4", "bnb-int8")

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:FutureWarning"),
]


def _sizes(**changes: Any) -> dict[str, Any]:
    return {
        "vocab_size": VOCAB,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 256,
        "bos_token_id": 1,
        "eos_token_id": None,
        "pad_token_id": 0,
        **changes,
    }


CONFIGS: dict[str, Callable[[], transformers.PreTrainedConfig]] = {
    "qwen2": lambda: transformers.Qwen2Config(**_sizes(num_key_value_heads=2), tie_word_embeddings=True),
    "gemma2": lambda: transformers.Gemma2Config(
        **_sizes(num_key_value_heads=2), head_dim=16, sliding_window=6, query_pre_attn_scalar=16
    ),
    "gpt-neox": lambda: transformers.GPTNeoXConfig(**_sizes()),
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=VOCAB, n_embd=64, n_layer=2, n_head=4, n_positions=256, bos_token_id=1, eos_token_id=None
    ),
    "odd-widths": lambda: transformers.LlamaConfig(
        **_sizes(num_key_value_heads=2, hidden_size=72, intermediate_size=100), head_dim=18
    ),
}


def write_folder(folder: Path, config: transformers.PreTrainedConfig) -> PreparedModel:
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(5)
    model.save_pretrained(folder)
    return as_prepared(folder)


def as_prepared(folder: Path) -> PreparedModel:
    """A folder as `prepare` hands it over, without a registry around it."""
    return PreparedModel(
        folder=folder,
        spec=load_registry().resolve(None),
        config={},
        float_files=(folder / "model.safetensors",),
        packed_file=None,
        eos_ids=(),
        notes=(),
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], PreparedModel]:
    made: dict[str, PreparedModel] = {}

    def folder(name: str) -> PreparedModel:
        if name not in made:
            made[name] = write_folder(tmp_path_factory.mktemp("models") / name, CONFIGS[name]())
        return made[name]

    return folder


class TestSpread:
    """A model over two devices. Here the second one is accelerate's disk: its layers are brought by the same hooks that
    carry activations from card to card, and its weights are nowhere else."""

    @pytest.mark.parametrize("name", ["qwen2", "gemma2"])
    def test_it_says_what_the_same_model_on_one_device_says(
        self,
        name: str,
        folders: Callable[[str], PreparedModel],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        asked: list[bool] = []

        def fake(device: str, *, spread: bool) -> dict[str, Any]:
            asked.append(spread)
            if not spread:
                return {"device_map": {"": "cpu"}}
            second = dict.fromkeys(("model.layers.1", "model.norm"), "disk")
            first = dict.fromkeys(("model.embed_tokens", "model.rotary_emb", "model.layers.0", "lm_head"), "cpu")
            return {"device_map": first | second, "offload_folder": str(tmp_path)}

        monkeypatch.setattr("lacli.models.runners.generic.load.placement", fake)
        one = load_generic(folders(name), quant="none", device="cuda")
        two = load_generic(folders(name), quant="none", device="cuda", spread=True)
        assert asked == [False, True]
        assert any(parameter.is_meta for parameter in two._model.parameters())
        assert two.can_branch
        assert two.notes == (*one.notes, "the model is spread over all cards and runs without graphs")
        tree = Rows((5, 9, 7, 3, 9, 8), (-1, 0, 0, 1, 2, 3), tuple(range(6)))
        for runner in (one, two):
            runner.prefill([3, 4, 5, 6, 7, 8, 9, 10])
            runner.forward(tree)
            runner.keep([0, 1, 3])
        assert torch.equal(torch.as_tensor(one.forward(tree).logits), torch.as_tensor(two.forward(tree).logits))

    def test_weights_leave_room_on_each_card_and_none_are_placed_elsewhere(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda card: (1000 * (card + 1), 4000))
        assert placement("cuda", spread=False) == {"device_map": {"": "cuda"}}
        assert placement("cuda", spread=True) == {"device_map": "auto", "max_memory": {0: 850, 1: 1700}}


def rows_that_differ(runner: GenericRunner) -> int:
    """Rows of trees, behind a prompt prefilled in other chunks, whose bits are not those of one row a step."""
    generator = random.Random(4)
    prompt = generator.choices(range(2, runner.vocab_size), k=20)
    token_ids = generator.choices(range(2, runner.vocab_size), k=36)
    runner.truncate(0)
    runner.prefill(prompt)
    expected = []
    for token_id in token_ids:
        expected.append(logits_of(runner.forward(Rows((token_id,), (-1,), (0,))))[0])
        runner.keep([0])
    runner.truncate(0)
    for start in range(0, len(prompt), 7):
        runner.prefill(prompt[start : start + 7])
    differ = done = 0
    while done < len(token_ids):
        ids, parents, path = [token_ids[done]], [-1], [0]
        for token_id in token_ids[done + 1 : done + generator.randint(1, 9)]:
            for _ in range(generator.randrange(3)):
                ids.append(generator.randrange(2, runner.vocab_size))
                parents.append(generator.randrange(len(ids) - 1))
            ids.append(token_id)
            parents.append(path[-1])
            path.append(len(ids) - 1)
        logits = logits_of(runner.forward(Rows(tuple(ids), tuple(parents), tuple(range(len(ids))))))
        differ += sum(not torch.equal(logits[row], expected[done + step]) for step, row in enumerate(path))
        runner.keep(path)
        done += len(path)
    return differ


def by_lookahead(runner: Runner, prompt: Sequence[int], reply: Sequence[int]) -> list[int]:
    sources = [OracleSource(len(prompt), reply), LiarSource(len(prompt), reply, runner.vocab_size), PromptSource()]
    controller = Controller(CostCurve.flat(), Limits(window=3, max_rows=16))
    runner.truncate(0)
    sampler, stops = Sampler(SamplingOptions()), Stops((), len(reply))
    steps = decode(prompt, CachedSequence(runner), Sources(sources), sampler, stops, controller)
    return [token_id for step in steps for token_id in step.token_ids]


class TestRowsAreExact:
    @pytest.mark.parametrize("quant", [slow("none"), "int8", "int4", "nf4", slow("bnb-int8")])
    @pytest.mark.parametrize("name", CONFIGS)
    @pytest.mark.default_cases(4)
    def test_a_row_has_the_same_bits_in_any_company(
        self, folders: Callable[[str], PreparedModel], name: str, quant: Quant
    ) -> None:
        runner = load_generic(folders(name), quant=quant)
        assert runner.can_branch
        assert rows_that_differ(runner) == 0
        prompt = list(range(5, 17))
        reply = greedy(prompt, runner, 16)
        assert by_lookahead(runner, prompt, reply) == reply

    @pytest.mark.default_cases(1)
    @pytest.mark.parametrize("quant", ["none", "int8"])
    @pytest.mark.parametrize("name", sorted(families.CONFIGS, key=lambda name: name != "gpt-oss"))
    def test_so_it_has_in_every_family_also_where_no_width_is_one_of_whole_vectors(
        self, tmp_path: Path, name: str, quant: Quant
    ) -> None:
        runner = load_generic(write_folder(tmp_path / name, families.CONFIGS[name]()), quant=quant)
        assert runner.can_branch
        assert rows_that_differ(runner) == 0

    @pytest.mark.parametrize("quant", ["int8", "int4"])
    @pytest.mark.parametrize("name", ["qwen2", "gpt2"])
    def test_so_it_has_without_our_kernels(
        self, folders: Callable[[str], PreparedModel], name: str, quant: Quant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        choose("torch", monkeypatch)
        runner = load_generic(folders(name), quant=quant)
        assert runner.kernel == "torch"
        assert any(isinstance(module, Int8Linear) for module in runner._model.modules())
        assert rows_that_differ(runner) == 0

    @pytest.mark.parametrize("quant", ["int8", "int4"])
    def test_our_kernels_run_where_they_are_there(self, folders: Callable[[str], PreparedModel], quant: Quant) -> None:
        runner = load_generic(folders("gpt2"), quant=quant)
        assert runner.kernel == needed().isa
        linears = {name: module for name, module in runner._model.named_modules() if isinstance(module, PackedLinear)}
        assert len(linears) == 2 * 4 + 1
        kinds = {name: linear._matrix.kind for name, linear in linears.items()}
        assert kinds.pop("lm_head") == "q8"
        assert set(kinds.values()) == {"q8" if quant == "int8" else "q4m"}

    @pytest.mark.parametrize("quant", ["int8", "int4", "nf4", "bnb-int8"])
    def test_quantised_logits_are_near_the_float_ones(
        self, folders: Callable[[str], PreparedModel], quant: Quant
    ) -> None:
        prompt = list(range(3, 40))
        exact = load_generic(folders("qwen2"), quant="none").prefill(prompt)
        coarse = load_generic(folders("qwen2"), quant=quant).prefill(prompt)
        assert exact is not None
        assert coarse is not None
        assert (
            0
            < (logits_of(exact) - logits_of(coarse)).norm() / logits_of(exact).norm()
            < (0.6 if quant in ("nf4", "int4") else 0.15)
        )


@pytest.mark.slow
@pytest.mark.parametrize("quant", ["nf4", "bnb-int8"])
def test_the_default_model_in_bitsandbytes_says_the_same_with_and_without_lookahead(
    model_home: Path, monkeypatch: pytest.MonkeyPatch, quant: Quant
) -> None:
    monkeypatch.setenv("LACLI_HOME", str(model_home))
    prepared = prepare(load_registry().resolve(None), quant, lambda progress: None)
    runner = load_generic(prepared, quant=quant)
    assert runner.notes == (bnb.SLOW_ON_CPU,)
    prompt = [1604, 3675, 28, 2775, 4035, 198, 284]
    reply = greedy(prompt, runner, 5)
    assert len(set(reply)) > 2
    assert by_lookahead(runner, prompt, reply) == reply


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("quant", ["int8", "int4"])
@pytest.mark.default_cases(2)
def test_the_prepared_file_is_used_as_it_is(
    model_home: Path, kernel: str, quant: Quant, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lacli.models.runners.load import load_runner

    monkeypatch.setenv("LACLI_HOME", str(model_home))
    choose(kernel, monkeypatch)
    prepared = prepare(load_registry().resolve(None), quant, lambda progress: None)
    assert prepared.packed_file is not None
    ours, fused = load_generic(prepared, quant=quant), load_runner(prepared, quant)
    assert ours.kernel == fused.kernel
    assert not any(type(module) is nn.Linear for module in ours._model.modules())
    prompt = [1604, 3675, 28, 2775, 4035, 198, 284]
    generic_scores, fused_scores = ours.prefill(prompt), fused.prefill(prompt)
    assert generic_scores is not None
    assert fused_scores is not None
    assert (logits_of(generic_scores) - logits_of(fused_scores)).norm() / logits_of(fused_scores).norm() < 0.02
    assert generic_scores.top_ids[0, 0] == fused_scores.top_ids[0, 0]


class TestRefusals:
    @pytest.fixture
    def broken(self, folders: Callable[[str], PreparedModel], tmp_path: Path) -> PreparedModel:
        """A copy of a good folder to be damaged."""
        return as_prepared(Path(shutil.copytree(folders("qwen2").folder, tmp_path / "broken")))

    def _edit(self, prepared: PreparedModel, **changes: Any) -> None:
        file = prepared.folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))

    def test_a_missing_tensor_is_named_not_made_up(self, broken: PreparedModel) -> None:
        tensors = load_file(broken.float_files[0])
        del tensors["model.norm.weight"]
        save_file(tensors, broken.float_files[0], {"format": "pt"})
        with pytest.raises(ModelUnavailable, match=r"lack model\.norm\.weight"):
            load_generic(broken, quant="none")

    def test_tensors_of_another_shape_are_refused(self, broken: PreparedModel) -> None:
        self._edit(broken, intermediate_size=96)
        with pytest.raises(ModelUnavailable, match="do not fit its config"):
            load_generic(broken, quant="none")

    def test_a_pickle_is_never_opened(self, broken: PreparedModel, tmp_path: Path) -> None:
        class Canary:
            def __reduce__(self) -> tuple[Any, ...]:
                return Path.touch, (tmp_path / "canary",)

        broken.float_files[0].unlink()
        torch.save({"model.norm.weight": Canary()}, broken.folder / "pytorch_model.bin")
        with pytest.raises(ModelUnavailable):
            load_generic(broken, quant="none")
        assert not (tmp_path / "canary").exists()

    def test_code_in_the_folder_is_never_run(self, broken: PreparedModel, tmp_path: Path) -> None:
        self._edit(broken, model_type="own", auto_map={"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"})
        (broken.folder / "own.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w')")
        with pytest.raises(ModelUnavailable, match="needs code of its own"):
            load_generic(broken, quant="none")
        assert not (tmp_path / "canary").exists()

    @pytest.mark.parametrize("method", ["awq", "gptq", "fp8", "nosuch"])
    def test_another_stored_quantisation_is_named(self, broken: PreparedModel, method: str) -> None:
        self._edit(broken, quantization_config={"quant_method": method})
        with pytest.raises(ModelUnavailable, match=f"stored in {method}"):
            load_generic(broken, quant="nf4")

    def test_an_encoder_decoder_is_no_decoder(self, broken: PreparedModel) -> None:
        (broken.folder / "config.json").write_text(json.dumps({"model_type": "t5", "is_encoder_decoder": True}))
        with pytest.raises(ModelUnavailable, match="cannot load"):
            load_generic(broken, quant="none")

    def test_wanted_cuda_is_never_silently_a_cpu(
        self, folders: Callable[[str], PreparedModel], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(UsageError, match="CUDA") as caught:
            load_generic(folders("qwen2"), quant="nf4", device="cuda")
        assert "--quant int8" in caught.value.hint

    def test_a_missing_bitsandbytes_is_named(
        self, folders: Callable[[str], PreparedModel], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bnb, "find_spec", lambda name: None if name == "bitsandbytes" else object())
        with pytest.raises(UsageError, match="needs bitsandbytes, not installed"):
            load_generic(folders("qwen2"), quant="nf4")


class TestUnusualModels:
    @pytest.mark.parametrize("options", [{"load_in_8bit": True}, {"load_in_4bit": True}])
    def test_a_bitsandbytes_checkpoint_is_used_as_stored(
        self, folders: Callable[[str], PreparedModel], tmp_path: Path, options: dict[str, bool]
    ) -> None:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folders("qwen2").folder,
            quantization_config=transformers.BitsAndBytesConfig(**options),
            device_map={"": "cpu"},
        )
        model.save_pretrained(tmp_path)
        runner = load_generic(as_prepared(tmp_path), quant="int8")
        assert "used as it is" in runner.notes[0]
        assert rows_that_differ(runner) == 0

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("name", families.PLAIN)
    def test_a_model_that_cannot_branch_is_loaded_and_says_so(self, tmp_path: Path, name: str) -> None:
        runner = load_generic(write_folder(tmp_path / name, families.PLAIN[name]()), quant="int8")
        assert not runner.can_branch
        assert [note for note in runner.notes if "one token at a time" in note]
        assert len(greedy(list(range(5, 9)), runner, 3)) == 3

    @pytest.mark.filterwarnings("ignore")
    def test_a_model_whose_layers_cannot_be_replaced_runs_as_it_is(self, tmp_path: Path) -> None:
        config = transformers.MambaConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, state_size=4)
        prepared = write_folder(tmp_path / "mamba", config)
        runner = load_generic(prepared, quant="int8")
        assert not runner.can_branch
        assert [note for note in runner.notes if "cannot be quantised" in note]
        assert [note for note in runner.notes if "one token at a time" in note]
        with pytest.raises(LacliError):
            runner.forward(Rows((1, 2), (-1, 0), (0,)))

    @pytest.mark.parametrize(
        "config",
        [
            lambda: transformers.MixtralConfig(**_sizes(num_key_value_heads=2), num_local_experts=4),
            lambda: transformers.GptOssConfig(
                **_sizes(num_key_value_heads=2),
                num_local_experts=4,
                head_dim=16,
                sliding_window=6,
                rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
            ),
        ],
        ids=["mixtral", "gpt-oss"],
    )
    def test_rows_of_a_mixture_of_experts_are_exact_too(
        self, tmp_path: Path, config: Callable[[], transformers.PreTrainedConfig]
    ) -> None:
        runner = load_generic(write_folder(tmp_path / "moe", config()), quant="none")
        assert runner.can_branch
        assert rows_that_differ(runner) == 0
        prompt = list(range(5, 17))
        reply = greedy(prompt, runner, 12)
        assert by_lookahead(runner, prompt, reply) == reply
