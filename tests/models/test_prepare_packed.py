"""Packed variants of a prepared model: what is stored, in how many bits, and exactly which weights."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file as stored_in
from safetensors.numpy import save_file
from tiny_models import HIDDEN, prepare_file, vocabulary, write_folder, write_gguf

from lacli.errors import LacliError
from lacli.kernels.packing import KINDS, Blocks, Kind, dequantise, quantise, unpack
from lacli.models.prepare import folder as prepare_folder
from lacli.models.prepare import weights as prepare_weights
from lacli.models.prepare.prepare import prepare
from lacli.models.progress import Progress
from lacli.models.registry.registry import spec_of_path
from lacli.paths import models_dir


def matrix(stored: dict[str, np.ndarray], stem: str, kind: Kind, shape: tuple[int, ...]) -> Blocks:
    return unpack(stored[f"{stem}.{kind}"], kind, *shape)


def mixed(name: str) -> str:
    """What a usual 4-bit file looks like: finer embeddings, and one finer linear."""
    return {"token_embd.weight": "Q8_0", "blk.1.ffn_down.weight": "Q5_1", "blk.0.attn_v.weight": "Q8_0"}.get(
        name, "Q4_1" if "ffn" in name else "Q4_0"
    )


class TestPackedVariants:
    """The bytes themselves are test_packing.py's and test_gguf_blocks.py's."""

    @pytest.mark.parametrize(("quant", "bits", "kind"), [("int8", 8, "q8"), ("int4", 4, "q4m")])
    def test_linears_of_a_float_source_are_rounded_once(
        self, tmp_path: Path, quant: str, bits: Literal[4, 8], kind: Kind
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf", "qwen2")
        floats = stored_in(prepare_file(path).float_files[0])
        stored = stored_in(prepare_file(path, quant).packed_file)
        for name in ("model.layers.1.mlp.down_proj", "model.layers.0.self_attn.q_proj"):
            weight = floats[f"{name}.weight"]
            found, expected = matrix(stored, name, kind, weight.shape), quantise(weight, bits)
            assert np.array_equal(dequantise(found), dequantise(expected))

    @pytest.mark.parametrize("quant", ["int8", "int4"])
    def test_embeddings_have_8_bits_a_tied_head_is_not_stored_and_the_rest_is_float(
        self, tmp_path: Path, quant: str
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf", "qwen2")
        floats = stored_in(prepare_file(path).float_files[0])
        stored = stored_in(prepare_file(path, quant).packed_file)
        assert {name.rpartition(".")[2] for name in stored if "embed" in name} == {"q8"}
        assert not any("lm_head" in name for name in (*stored, *floats))
        assert not any(name.endswith("_proj.weight") for name in stored)
        for name in ("model.norm.weight", "model.layers.0.self_attn.q_proj.bias"):
            assert stored[name].dtype == np.float32
            assert np.array_equal(stored[name], floats[name])

    @pytest.mark.parametrize("quant", ["int8", "int4"])
    def test_a_head_of_its_own_is_stored_with_8_bits(self, tmp_path: Path, quant: str) -> None:
        head = np.random.default_rng(3).standard_normal((len(vocabulary()), HIDDEN)).astype(np.float32)
        path = write_gguf(tmp_path / "x.gguf", extra={"output.weight": head})
        stored = stored_in(prepare_file(path, quant).packed_file)
        found = matrix(stored, "lm_head", "q8", head.shape)
        assert np.array_equal(dequantise(found), dequantise(quantise(head, 8)))

    @pytest.mark.parametrize("quant", ["int8", "int4"])
    @pytest.mark.parametrize("architecture", ["llama", "qwen2"])
    def test_blocks_of_the_source_are_taken_as_they_are(self, tmp_path: Path, quant: str, architecture: str) -> None:
        """Also where llama.cpp reordered the rows of a head."""
        path = write_gguf(tmp_path / "x.gguf", architecture, stored_as=mixed)
        floats = stored_in(prepare_file(path).float_files[0])
        stored = stored_in(prepare_file(path, quant).packed_file)
        packed = [name for name in stored if name.rpartition(".")[2] in KINDS]
        assert len(packed) == 2 * 7 + 1
        for name in packed:
            stem, _, kind = name.rpartition(".")
            weight = floats[f"{stem}.weight"]
            assert np.array_equal(dequantise(matrix(stored, stem, kind, weight.shape)), weight), name  # type: ignore[arg-type]

    def test_what_a_4_bit_file_keeps_finer_stays_so_in_int4(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf", stored_as=mixed)
        stored = stored_in(prepare_file(path, "int4").packed_file)
        assert "model.layers.1.mlp.down_proj.q8m" in stored
        assert "model.layers.0.self_attn.v_proj.q8" in stored
        assert "model.layers.1.self_attn.v_proj.q4" in stored
        assert "model.layers.0.mlp.down_proj.q4m" in stored

    def test_a_file_in_8_bits_can_be_asked_for_in_4(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf", stored_as=lambda name: "Q8_0")
        stored = stored_in(prepare_file(path, "int4").packed_file)
        assert "model.layers.1.self_attn.v_proj.q4m" in stored
        assert "model.embed_tokens.q8" in stored

    def test_tensors_lie_where_a_memory_map_can_use_them(self, tmp_path: Path) -> None:
        path = prepare_file(write_gguf(tmp_path / "x.gguf"), "int8").packed_file
        count = int.from_bytes(path.read_bytes()[:8], "little")
        table = json.loads(path.read_bytes()[8 : 8 + count])
        assert (8 + count) % 64 == 0
        for name, entry in table.items():
            if name != "__metadata__":
                assert entry["data_offsets"][0] % (64 if entry["dtype"] == "U8" else 4) == 0

    @pytest.mark.parametrize("quant", ["none", "int8", "int4"])
    def test_as_much_room_is_asked_for_as_is_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quant: str
    ) -> None:
        asked: list[int] = []
        monkeypatch.setattr(prepare_folder, "require_space", lambda folder, needed: asked.append(needed))
        prepared = prepare_file(write_gguf(tmp_path / "x.gguf", stored_as=mixed), quant)
        taken = sum(file.stat().st_size for file in prepared.folder.iterdir())
        assert 0 <= taken - asked[0] < 8000  # the header and the record

    def test_a_matrix_is_packed_a_few_rows_at_a_time(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write_gguf(tmp_path / "x.gguf", stored_as=mixed)
        whole = prepare_file(path, "int4").packed_file.read_bytes()
        shutil.rmtree(models_dir())
        monkeypatch.setattr(prepare_weights, "_PART", 2000)
        assert prepare_file(path, "int4").packed_file.read_bytes() == whole

    def test_a_weight_that_is_no_number_is_named_and_nothing_is_left(self, tmp_path: Path) -> None:
        values = np.ones((len(vocabulary()), HIDDEN), dtype=np.float32)
        values[200, 3] = np.nan
        path = write_gguf(tmp_path / "x.gguf", extra={"output.weight": values})
        with pytest.raises(LacliError, match=r"lm_head.weight cannot be packed") as caught:
            prepare_file(path, "int4")
        assert caught.value.hint
        assert [path.name for path in models_dir().rglob("*-f*") if path.suffix != ".lock"] == []

    def test_how_far_it_is_is_told(self, tmp_path: Path) -> None:
        told: list[Progress] = []
        prepare(spec_of_path(write_gguf(tmp_path / "x.gguf")), "int4", told.append)
        steps = [(step.done, step.total) for step in told if step.stage == "prepare"]
        assert steps == [(done, steps[0][1]) for done in range(steps[0][1] + 1)]

    def test_torch_is_not_needed(self, tmp_path: Path) -> None:
        code = (
            "import sys; from pathlib import Path; from lacli.models.prepare.prepare import prepare;"
            "from lacli.models.registry.registry import spec_of_path;"
            "prepare(spec_of_path(Path(sys.argv[1])), 'int4', lambda step: None); sys.exit('torch' in sys.modules)"
        )
        path = write_gguf(tmp_path / "x.gguf", stored_as=mixed)
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class TestHuggingFaceFolders:
    @pytest.mark.parametrize(("quant", "bits", "kind"), [("int8", 8, "q8"), ("int4", 4, "q4m")])
    def test_get_packed_weights_in_the_cache(self, tmp_path: Path, quant: str, bits: Literal[4, 8], kind: Kind) -> None:
        folder = write_folder(tmp_path / "model")
        before = sorted(path.name for path in folder.iterdir())
        prepared = prepare_file(folder, quant)
        assert prepared.packed_file.is_relative_to(models_dir())
        assert prepared.quant == quant
        assert prepared.float_files == (folder / "model.safetensors",)
        assert sorted(path.name for path in folder.iterdir()) == before
        stored, floats = stored_in(prepared.packed_file), stored_in(folder / "model.safetensors")
        for name, rounded in (("model.layers.0.mlp.gate_proj", kind), ("model.embed_tokens", "q8")):
            weight = floats[f"{name}.weight"]
            expected = quantise(weight, bits if rounded == kind else 8)
            assert np.array_equal(dequantise(matrix(stored, name, rounded, weight.shape)), dequantise(expected))  # type: ignore[arg-type]

    @pytest.mark.parametrize("tied", [True, False])
    def test_a_head_of_its_own_is_kept_whatever_the_config_says(self, tmp_path: Path, tied: bool) -> None:
        folder = write_folder(tmp_path / "model", tie_word_embeddings=tied)
        tensors = stored_in(folder / "model.safetensors")
        save_file({**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"] * 2}, folder / "model.safetensors")
        stored = stored_in(prepare_file(folder, "int8").packed_file)
        head, embedding = (
            matrix(stored, name, "q8", tensors["model.embed_tokens.weight"].shape)
            for name in ("lm_head", "model.embed_tokens")
        )
        assert np.array_equal(dequantise(head), 2 * dequantise(embedding))


def test_bfloat16_is_rounded_as_torch_does() -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)
    bits[:4] = 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x7FFFFFFF
    values = bits.view(np.float32)
    expected = torch.from_numpy(values.copy()).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    found = prepare_weights.bfloat16(values)
    number = ~np.isnan(values)
    assert np.array_equal(found[number], expected[number])
    assert np.isnan((found.astype(np.uint32) << 16).view(np.float32)[~number]).all()
