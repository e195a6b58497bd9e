"""Weights in bitsandbytes' layout: the bytes it makes itself, read by it, by transformers, and by our own reader."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tiny_models import HIDDEN, INNER, prepare_file, write_folder, write_gguf

from lacli.cli.main import main
from lacli.errors import LacliError, ModelUnavailable
from lacli.models.gguf.read import load_tensor, read_gguf
from lacli.models.prepare import weights as prepare_weights
from lacli.models.prepare.nf4 import CODE, int8_rows, nested_scales, nf4_codes, scale_code
from lacli.models.runners import load
from lacli.models.runners.bnb_file import BnbFile, Int8Matrix, Nf4Matrix
from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.linears import Dense, Int8, Nf4, Tuner
from lacli.models.runners.fused.device.load import load_device
from lacli.models.runners.fused.device.weights import Stored
from lacli.models.runners.generic.bnb import FourBitLinear
from lacli.models.runners.generic.runner import load_generic
from lacli.models.runners.tensors import Tensors
from tests.models.families import CONFIGS

functional = pytest.importorskip("bitsandbytes.functional")

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:FutureWarning"),
]
GATE = "model.layers.1.mlp.gate_proj"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logger = logging.getLogger("bitsandbytes")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


def weight_of(rows: int, columns: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    spread = torch.rand(rows, 1, generator=generator) * 3
    return torch.randn(rows, columns, generator=generator) * spread


class TestRounding:
    """Against bitsandbytes' own on the CPU."""

    @pytest.mark.parametrize("shape", [(64, 64), (33, 100), (7, 9), (1, 64), (256, 1536), (512, 576)])
    def test_codes_and_their_scales_are_the_same_bytes(self, shape: tuple[int, int]) -> None:
        weight = weight_of(*shape)
        packed, state = functional.quantize_4bit(weight, blocksize=64, quant_type="nf4", compress_statistics=True)
        ours, maxima = nf4_codes(weight.reshape(-1))
        absmax, nested, offset = nested_scales(maxima)
        assert torch.equal(ours, packed)
        assert torch.equal(nested, state.state2.absmax)
        assert offset == state.offset.item()
        assert torch.equal(CODE, state.code)
        assert torch.equal(scale_code(), state.state2.code)
        different = absmax != state.absmax
        assert different.float().mean() < 0.01 or different.sum() == 1
        factors = nested.repeat_interleave(256)[: len(absmax)]
        code = scale_code()
        off = ((code[absmax.long()] * factors + offset) - maxima).abs()
        its = ((code[state.absmax.long()] * factors + offset) - maxima).abs()
        assert (off <= its * (1 + 1e-5) + 1e-6).all()

    def test_pieces_give_the_bytes_of_the_whole(self) -> None:
        weight = weight_of(48, 96)
        whole, maxima = nf4_codes(weight.reshape(-1))
        parts = [nf4_codes(part.reshape(-1)) for part in weight.split(16)]
        assert torch.equal(torch.cat([part[0] for part in parts]), whole)
        assert torch.equal(torch.cat([part[1] for part in parts]), maxima)

    @pytest.mark.parametrize("shape", [(64, 64), (33, 100), (1, 7)])
    def test_int8_is_the_same_bytes(self, shape: tuple[int, int]) -> None:
        weight = weight_of(*shape)
        packed, scales, _ = functional.int8_vectorwise_quant(weight.to(torch.float16))
        ours, maxima = int8_rows(weight)
        assert torch.equal(ours, packed)
        assert torch.equal(maxima, scales)

    def test_a_matrix_of_zeros_stays_one(self) -> None:
        packed, maxima = nf4_codes(torch.zeros(128))
        absmax, nested, offset = nested_scales(maxima)
        assert set(packed.flatten().tolist()) == {0x77}
        assert (scale_code()[absmax.long()] * nested + offset == 0).all()
        assert not int8_rows(torch.zeros(2, 8))[0].any()


class TestFile:
    @pytest.mark.parametrize("kind", ["F32", "Q4_0", "Q4_1", "Q5_1", "Q8_0", "BF16"])
    @pytest.mark.parametrize("architecture", ["qwen2", "llama"])
    @pytest.mark.default_cases(3)
    def test_each_linear_of_a_gguf_is_what_bitsandbytes_makes_of_it(
        self, tmp_path: Path, architecture: str, kind: str
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf", architecture, stored_as=lambda name: kind)
        prepared = prepare_file(path, "nf4")
        assert prepared.packed_file.name == "model.nf4.safetensors"
        file = BnbFile([prepared.packed_file])
        floats = torch.from_numpy(load_tensor(read_gguf(path).tensors["blk.1.ffn_gate.weight"]))
        packed, state = functional.quantize_4bit(floats, blocksize=64, quant_type="nf4", compress_statistics=True)
        found = file.matrix(GATE, INNER, HIDDEN)
        assert isinstance(found, Nf4Matrix)
        assert torch.equal(found.packed, packed)
        assert found.offset == state.offset.item()
        torch.testing.assert_close(found.dequantised(), floats, rtol=0, atol=0.2)
        made = functional.dequantize_4bit(found.packed, found.quant_state(torch.device("cpu"), torch.float32))
        torch.testing.assert_close(found.dequantised(), made, rtol=1e-6, atol=1e-7)

    def test_embeddings_and_vectors_are_bfloat16_and_int8_has_a_scale_for_each_row(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf", "qwen2")
        file = BnbFile([prepare_file(path, "bnb-int8").packed_file])
        for name in ("model.embed_tokens.weight", "model.norm.weight", "model.layers.0.self_attn.q_proj.bias"):
            assert file.tensor(name).dtype == torch.bfloat16
        found = file.matrix(GATE, INNER, HIDDEN)
        assert isinstance(found, Int8Matrix)
        floats = torch.from_numpy(load_tensor(read_gguf(path).tensors["blk.1.ffn_gate.weight"]))
        assert torch.equal(found.packed, int8_rows(floats)[0])
        torch.testing.assert_close(found.dequantised(), floats, rtol=0, atol=2e-3)

    @pytest.mark.parametrize("quant", ["nf4", "bnb-int8"])
    def test_a_matrix_is_never_whole_in_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quant: str
    ) -> None:
        whole = prepare_file(write_gguf(tmp_path / "x.gguf", "llama"), quant).packed_file.read_bytes()
        monkeypatch.setattr(prepare_weights, "_PART", 8 * HIDDEN)
        monkeypatch.setenv("LACLI_HOME", str(tmp_path / "other"))
        asked: list[int] = []
        rows = prepare_weights.pieces

        def watched(*arguments: Any) -> Iterator[np.ndarray]:
            for piece in rows(*arguments):
                asked.append(piece.size)
                yield piece

        monkeypatch.setattr("lacli.models.prepare.bnb.pieces", watched)
        again = prepare_file(tmp_path / "x.gguf", quant).packed_file.read_bytes()
        assert again == whole
        assert max(asked) <= 8 * HIDDEN

    @pytest.mark.parametrize("family", ["qwen2", "llama"])
    @pytest.mark.parametrize("quant", ["nf4", "bnb-int8"])
    def test_stock_transformers_runs_it_as_it_is(self, tmp_path: Path, family: str, quant: Any) -> None:
        prepared = prepare_file(write_folder(tmp_path / "model", family), quant)
        assert prepared.packed_file is not None
        assert prepared.packed_file.parent != prepared.folder
        before = prepared.packed_file.stat().st_mtime_ns
        ours = load_generic(prepared, quant=quant)
        expected = load_generic(prepared_as_float(prepared, quant), quant=quant)
        token_ids = [5, 17, 40, 3, 60]
        for runner in (ours, expected):
            runner.truncate(0)
        first, second = ours.prefill(token_ids), expected.prefill(token_ids)
        assert first is not None
        assert second is not None
        torch.testing.assert_close(first.logits, second.logits, rtol=0.02, atol=0.02)
        assert prepare_file(tmp_path / "model", quant).packed_file.stat().st_mtime_ns == before

    @pytest.mark.default_cases(2)
    @pytest.mark.parametrize(
        ("name", "linears"), [("gemma2", 7), ("phi3", 4), ("gemma3", 7), ("granite", 7), ("olmo2", 7)]
    )
    def test_more_families_have_their_linears_packed_once(self, tmp_path: Path, name: str, linears: int) -> None:
        folder = written(tmp_path / name, CONFIGS[name]())
        prepared = prepare_file(folder, "nf4")
        assert prepared.packed_file is not None
        file = BnbFile([prepared.packed_file])
        assert sum(each.endswith(".weight.absmax") for each in file) == 2 * linears
        assert prepare_file(folder, "int4").packed_file is None
        runner = load_generic(prepared, quant="nf4")
        assert runner.can_branch
        packed = sum(isinstance(module, FourBitLinear) for module in runner._model.modules())
        assert packed == 2 * linears


class TestOddAndStored:
    """Cases B1 and B2."""

    @pytest.mark.parametrize(("hidden", "heads"), [(72, 4), (8, 2)])
    @pytest.mark.parametrize("quant", ["nf4", "bnb-int8"])
    def test_widths_that_make_no_whole_blocks_are_right_with_one_note(
        self, tmp_path: Path, hidden: int, heads: int, quant: Any, recwarn: pytest.WarningsRecorder
    ) -> None:
        config = transformers.LlamaConfig(
            vocab_size=300,
            hidden_size=hidden,
            intermediate_size=hidden + 28,
            num_hidden_layers=1,
            num_attention_heads=heads,
        )
        folder = written(tmp_path / "odd", config)
        prepared = prepare_file(folder, quant)
        runner = load_generic(prepared, quant=quant)
        assert len(runner.notes) == 1
        assert not [each for each in recwarn if "bitsandbytes" in str(each.filename)]
        name = "model.layers.0.mlp.down_proj"
        found = BnbFile([prepared.packed_file]).matrix(name, hidden, hidden + 28)
        assert not isinstance(found, torch.Tensor)
        stored = load_file(folder / "model.safetensors")[f"{name}.weight"]
        torch.testing.assert_close(found.dequantised(), stored, rtol=0, atol=0.02)

    def test_a_checkpoint_that_is_quantised_already_runs_as_it_is_and_show_says_so(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        source = write_folder(tmp_path / "model", "llama")
        options = transformers.BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=0.0)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            source, quantization_config=options, device_map={"": "cpu"}
        )
        for path in source.iterdir():
            if path.suffix == ".safetensors":
                path.unlink()
        model.save_pretrained(source)
        texts = set()
        for quant in ("nf4", "none", "int8"):
            prepared = prepare_file(source, quant)
            assert prepared.packed_file is None
            runner = load_generic(prepared, quant=quant)  # type: ignore[arg-type]
            assert sum("stored in bitsandbytes 8-bit" in note for note in runner.notes) == 1
            scores = runner.prefill([5, 17, 40])
            assert scores is not None
            texts.add(scores.logits.numpy().tobytes())  # type: ignore[union-attr]
        assert len(texts) == 1
        capfd.readouterr()
        assert main(["models", "show", str(source), "--json"]) == 0
        shown = json.loads(capfd.readouterr().out)
        assert shown["runs_as"]["cuda"] == "bitsandbytes int8, as it is stored"
        assert shown["parameters"] == model.num_parameters()
        assert shown["stored_as"]["I8"] == 14


class TestReading:
    def test_a_checkpoint_that_bitsandbytes_stored_is_read_as_it_is(self, tmp_path: Path) -> None:
        weight = weight_of(96, 64)
        for nested in (True, False):
            packed, state = functional.quantize_4bit(weight, quant_type="nf4", compress_statistics=nested)
            tensors = {"a.weight": packed, **{f"a.weight.{key}": value for key, value in state.as_dict(True).items()}}
            save_file(tensors, tmp_path / "x.safetensors")
            found = BnbFile([tmp_path / "x.safetensors"]).matrix("a", 96, 64)
            assert isinstance(found, Nf4Matrix)
            expected = functional.dequantize_4bit(packed, state)
            torch.testing.assert_close(found.dequantised(), expected, rtol=1e-6, atol=1e-7)

    @pytest.mark.parametrize("quant", ["nf4", "bnb-int8"])
    def test_the_forward_for_devices_runs_it_without_quantising_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quant: Any
    ) -> None:
        """Blocks end where rows of 64 do, but not where those of the last matrix do, which are 96 wide."""
        prepared = prepare_file(write_folder(tmp_path / "model", "llama"), quant)
        assert prepared.packed_file is not None
        files, config = [prepared.packed_file], DeviceConfig.read(prepared.config)
        assert config is not None
        plain = load_device(
            Tensors(files), config, "none", torch.device("cpu"), stored=partial(as_floats, config, files)
        )
        monkeypatch.setattr(load, "ON_DEVICE", "cpu")
        monkeypatch.setattr(Nf4, "of", staticmethod(no_quantising))
        monkeypatch.setattr(Int8, "of", staticmethod(no_quantising))
        runner = load._on_device(prepared, quant, None, strict=False)
        assert runner is not None
        found, expected = (torch.as_tensor(each.prefill([5, 9, 2, 40, 7]).logits)[0] for each in (runner, plain))
        apart = 1e-5 if quant == "nf4" else 0.03  # int8 rounds activations, too
        assert (found - expected).norm() <= apart * expected.norm()

    def test_what_is_not_packed_is_the_tensor_itself(self, tmp_path: Path) -> None:
        save_file({"a.weight": torch.ones(4, 8)}, tmp_path / "x.safetensors")
        found = BnbFile([tmp_path / "x.safetensors"]).matrix("a", 4, 8)
        assert isinstance(found, torch.Tensor)

    @pytest.mark.parametrize("change", ["shape", "state", "block", "missing", "text"])
    def test_what_does_not_fit_is_one_line(self, tmp_path: Path, change: str) -> None:
        path = prepare_file(write_gguf(tmp_path / "x.gguf", "llama"), "nf4").packed_file
        tensors = load_file(path)
        state = f"{GATE}.weight.quant_state.bitsandbytes__nf4"
        if change == "state":
            tensors[state] = torch.zeros(8, dtype=torch.uint8)
        if change == "block":
            stored = json.loads(bytes(tensors[state].tolist())) | {"blocksize": 0}
            tensors[state] = torch.tensor(list(json.dumps(stored).encode()), dtype=torch.uint8)
        if change == "missing":
            del tensors[f"{GATE}.weight.absmax"]
        save_file(tensors, tmp_path / "y.safetensors")
        if change == "text":
            (tmp_path / "y.safetensors").write_text("no")
        with pytest.raises(ModelUnavailable):
            BnbFile([tmp_path / "y.safetensors"]).matrix(GATE, INNER + (change == "shape"), HIDDEN)

    def test_a_weight_that_is_no_number_is_refused_and_leaves_nothing(self, tmp_path: Path, sandbox: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf", "llama")
        file = read_gguf(path)
        data = bytearray(path.read_bytes())
        tensor = file.tensors["blk.0.ffn_up.weight"]
        data[tensor.offset : tensor.offset + 4] = np.float32(np.nan).tobytes()
        path.write_bytes(bytes(data))
        with pytest.raises(LacliError, match="up_proj"):
            prepare_file(path, "nf4")
        assert not list(sandbox.rglob("*.nf4.*"))


def as_floats(config: DeviceConfig, files: list[Path], tuner: Tuner) -> Stored:
    file = BnbFile(files)

    def linear(names: Sequence[str], bias: torch.Tensor | None) -> Dense | None:
        parts = [file.matrix(name, *config.sizes.shape_of(name)) for name in names]
        packed = [part.dequantised() for part in parts if not isinstance(part, torch.Tensor)]
        return Dense(torch.cat(packed), bias) if packed else None

    return linear


def no_quantising(weight: torch.Tensor, bias: torch.Tensor | None) -> Any:
    raise AssertionError("the file has it quantised")


def prepared_as_float(prepared: Any, quant: str) -> Any:
    """The same model, to be quantised by bitsandbytes while it is loaded."""
    from dataclasses import replace

    return replace(prepared, packed_file=None, quant="none")


def written(folder: Path, config: transformers.PreTrainedConfig) -> Path:
    """A folder of this configuration with random weights, and a tokenizer that fits."""
    write_folder(folder.with_name("tokenizer"))
    torch.manual_seed(3)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((folder.with_name("tokenizer") / name).read_bytes())
    return folder
