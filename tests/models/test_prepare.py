"""Prepared folders: made once, whole or not at all, anew when the source changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import psutil
import pytest
import torch
from safetensors.numpy import load_file as stored_in
from safetensors.torch import load_file, save_file
from tiny_models import HIDDEN, edit_json, prepare_file, vocabulary, write_folder, write_gguf

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory
from lacli.kernels.packing import KINDS, Blocks, Kind, dequantise, quantise, unpack
from lacli.models import disk, prepare_folder, prepare_weights
from lacli.models.choice import on_device
from lacli.models.fetch import Progress
from lacli.models.inventory import presence, remove
from lacli.models.prepare import prepare
from lacli.models.registry import spec_of_path
from lacli.paths import models_dir

CHILD = """
import sys, time
from pathlib import Path
from lacli.models import prepare_weights
from lacli.models.prepare import prepare
from lacli.models.registry import spec_of_path
write = prepare_weights._Writer._write
def slow(*arguments):
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
    write(*arguments)
prepare_weights._Writer._write = slow
told = lambda step: print(step.stage, flush=True)
print("ready", prepare(spec_of_path(Path(sys.argv[1])), sys.argv[3], told).folder)
"""


def child(path: Path, pause_s: float, quant: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), str(pause_s), quant],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


def leftovers() -> list[str]:
    return [path.name for path in models_dir().rglob("*") if ".tmp-" in path.name]


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
        assert list(models_dir().glob("[!.]*-f*")) == []
        assert leftovers() == []

    def test_how_far_it_is_is_told(self, tmp_path: Path) -> None:
        told: list[Progress] = []
        prepare(spec_of_path(write_gguf(tmp_path / "x.gguf")), "int4", told.append)
        steps = [(step.done, step.total) for step in told if step.stage == "prepare"]
        assert steps == [(done, steps[0][1]) for done in range(steps[0][1] + 1)]

    def test_torch_is_not_needed(self, tmp_path: Path) -> None:
        code = (
            "import sys; from pathlib import Path; from lacli.models.prepare import prepare;"
            "from lacli.models.registry import spec_of_path;"
            "prepare(spec_of_path(Path(sys.argv[1])), 'int4', lambda step: None); sys.exit('torch' in sys.modules)"
        )
        path = write_gguf(tmp_path / "x.gguf", stored_as=mixed)
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class TestChoice:
    """No quantisation asked for."""

    @pytest.mark.parametrize(("kind", "quant"), [("Q4_0", "int4"), ("Q5_1", "int8"), ("F32", "int8")])
    def test_a_source_in_4_bits_is_int4_and_others_int8(self, tmp_path: Path, kind: str, quant: str) -> None:
        path = write_gguf(tmp_path / "x.gguf", stored_as=lambda name: kind if "blk" in name else "Q8_0")
        for _ in range(2):  # made, and found there
            prepared = prepare_file(path, None)
            assert prepared.quant == quant
            assert prepared.packed_file.name == f"model.{quant}.safetensors"

    @pytest.mark.parametrize("folder", [True, False])
    def test_int4_is_taken_where_int8_does_not_fit_and_the_user_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
    ) -> None:
        path = write_folder(tmp_path / "model") if folder else write_gguf(tmp_path / "x.gguf")
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10_000))
        prepared = prepare_file(path, None)
        assert prepared.quant == "int4"
        assert any("free memory" in note for note in prepared.notes)
        assert prepare_file(path, "int8").quant == "int8"

    @pytest.mark.parametrize(
        ("asked", "device", "runs"),
        [
            (None, "cuda", "nf4"),
            ("int4", "cuda", "nf4"),
            ("int8", "cuda", "bnb-int8"),
            ("none", "cuda", "none"),
            (None, "cpu", None),
            ("int4", "cpu", "int4"),
        ],
    )
    def test_names_of_the_cpu_mean_bitsandbytes_on_cuda(self, asked: Any, device: str, runs: str | None) -> None:
        quant, note = on_device(asked, device)
        assert quant == runs
        assert bool(note) == (asked is not None and quant != asked)


def test_bfloat16_is_rounded_as_torch_does() -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)
    bits[:4] = 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x7FFFFFFF
    values = bits.view(np.float32)
    expected = torch.from_numpy(values.copy()).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    found = prepare_weights._bfloat16(values)
    number = ~np.isnan(values)
    assert np.array_equal(found[number], expected[number])
    assert np.isnan((found.astype(np.uint32) << 16).view(np.float32)[~number]).all()


class TestOlderFormats:
    def folders(self, path: Path) -> dict[str, Path]:
        """Folders that an older and a newer lacli made of the same file."""
        made = prepare_file(path).folder
        stem = made.name.removesuffix("-f3")
        found = {name: made.with_name(f"{stem}-{name}") for name in ("f1", "f2", "f9")}
        for name, folder in found.items():
            shutil.copytree(made, folder)
            edit_json(folder / "prepared.json", format=int(name[1:]))
            folder.with_name(f".{folder.name}.lock").touch()
        shutil.rmtree(made)
        return found

    def test_are_not_read_and_go_when_the_source_is_prepared_anew(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        found = self.folders(path)
        other = prepare_file(write_gguf(tmp_path / "y.gguf", seed=1)).folder
        assert prepare_file(path, "int4").folder.name.endswith("-f3")
        assert [name for name, folder in found.items() if folder.exists()] == ["f9"]
        assert not found["f2"].with_name(f".{found['f2'].name}.lock").exists()
        assert other.exists()

    def test_are_counted_and_removed_by_name(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        found = self.folders(path)
        here = presence(spec_of_path(path))
        assert here.prepared == ()
        assert here.byte_size > found["f1"].joinpath("model.safetensors").stat().st_size
        assert remove(spec_of_path(path)) == here.byte_size
        assert not any(folder.exists() for folder in found.values())


class TestOnce:
    def test_a_second_start_reads_what_is_there(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        first = prepare_file(path)
        made = first.float_files[0].stat().st_mtime_ns
        second = prepare_file(path)
        assert second.folder == first.folder
        assert second.float_files[0].stat().st_mtime_ns == made

    def test_the_other_variant_is_added_to_the_same_folder(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        first, second = prepare_file(path, "none"), prepare_file(path, "int8")
        assert first.folder == second.folder
        assert second.packed_file is not None
        assert second.float_files == first.float_files

    def test_a_large_source_is_hashed_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        prepare_file(path)
        monkeypatch.setattr(disk, "file_hash", lambda *_: pytest.fail("hashed again"))
        prepare_file(path)

    def test_the_same_content_under_another_name_is_not_prepared_again(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        copy = tmp_path / "y.gguf"
        shutil.copyfile(path, copy)
        assert prepare_file(path).folder == prepare_file(copy).folder

    def test_a_replaced_source_is_prepared_anew_even_with_the_same_size_and_time(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf", seed=0)
        first = prepare_file(path)
        before = path.stat()
        write_gguf(path, seed=1)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
        assert prepare_file(path).folder != first.folder

    def test_two_first_runs_at_once_prepare_once(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        running = [child(path, 0.05, "int4"), child(path, 0.05, "int4")]
        told = [each.communicate(timeout=120)[0] for each in running]
        assert all(each.returncode == 0 for each in running)
        assert len({text.splitlines()[-1] for text in told}) == 1
        assert sum("writing" in text for text in told) == 1
        assert leftovers() == []


class TestAllOrNothing:
    def test_without_a_place_to_write_the_remedy_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        (tmp_path / "file").touch()
        monkeypatch.setenv("LACLI_HOME", str(tmp_path / "file" / "home"))
        with pytest.raises(ModelUnavailable) as caught:
            prepare_file(path)
        assert "LACLI_HOME" in caught.value.hint

    @pytest.mark.parametrize("quant", ["none", "int4"])
    def test_a_kill_leaves_nothing_that_loads_and_the_next_run_clears_it(self, tmp_path: Path, quant: str) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        victim = child(path, 0.2, quant)
        assert victim.stdout is not None
        while "writing" not in victim.stdout.readline():
            time.sleep(0.01)
        victim.kill()
        victim.communicate()
        assert leftovers()
        assert list(models_dir().glob("[!.]*-f*")) == []
        prepared = prepare_file(path, quant)
        assert load_file(prepared.packed_file or prepared.float_files[0])
        assert leftovers() == []

    @pytest.mark.parametrize("quant", ["none", "int4"])
    def test_a_damaged_folder_is_made_again(self, tmp_path: Path, quant: str) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        prepared = prepare_file(path, quant)
        weights = prepared.packed_file or prepared.float_files[0]
        whole = weights.read_bytes()
        with weights.open("r+b") as handle:
            handle.truncate(1000)
        again = prepare_file(path, quant)
        assert weights.read_bytes() == whole
        (prepared.folder / "tokenizer.json").unlink()
        again = prepare_file(path, quant)
        assert weights.read_bytes() == whole
        assert (again.folder / "tokenizer.json").is_file()

    @pytest.mark.parametrize(
        ("name", "old", "new"),
        [
            ("config.json", "num_attention_heads", "num_attention_hands"),
            ("config.json", "{", "["),
            ("tokenizer.json", "}", ""),
            ("chat_template.jinja", "message", "massage"),
            ("prepared.json", '"eos_ids": [', '"eos_ids": ["x",'),
            ("prepared.json", '"format"', '"form"'),
        ],
    )
    def test_a_folder_that_somebody_edited_is_made_again(self, tmp_path: Path, name: str, old: str, new: str) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        prepared = prepare_file(path)
        file = prepared.folder / name
        made = file.read_text(encoding="utf-8")
        assert old in made
        file.write_text(made.replace(old, new), encoding="utf-8")
        again = prepare_file(path)
        assert file.read_text(encoding="utf-8") == made
        assert (again.config, again.eos_ids) == (prepared.config, prepared.eos_ids)

    def test_a_refused_source_leaves_no_folder(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf", drop=("blk.1.ffn_up.weight",))
        with pytest.raises(ModelUnavailable):
            prepare_file(path)
        assert list(models_dir().glob("[!.]*-f*")) == []
        assert leftovers() == []

    @pytest.mark.parametrize("quant", ["none", "int8", "int4"])
    def test_as_much_room_is_asked_for_as_is_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quant: str
    ) -> None:
        asked: list[int] = []
        monkeypatch.setattr(prepare_folder, "require_space", lambda folder, needed: asked.append(needed))
        prepared = prepare_file(write_gguf(tmp_path / "x.gguf", stored_as=mixed), quant)
        taken = sum(file.stat().st_size for file in prepared.folder.iterdir())
        assert 0 <= taken - asked[0] < 8000  # the header and the record

    def test_a_full_disk_is_said_before_anything_is_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1_000_000))
        with pytest.raises(OutOfMemory) as caught:
            prepare_file(path)
        assert "1 MB free" in caught.value.message
        assert str(models_dir()) in caught.value.message
        assert leftovers() == []


class TestFacts:
    def test_context_and_style_come_from_the_file(self, tmp_path: Path) -> None:
        prepared = prepare_file(write_gguf(tmp_path / "x.gguf"))
        assert prepared.spec.context == 128
        assert prepared.spec.style == "chat"
        bare = prepare_file(write_gguf(tmp_path / "y.gguf", drop=("tokenizer.chat_template",)))
        assert bare.spec.style == "base"
        assert bare.chat_template is None

    def test_notes_are_given_at_each_start(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf", drop=("llama.context_length",))
        assert prepare_file(path).notes == prepare_file(path).notes != ()

    def test_ends_are_the_files_and_the_templates(self, tmp_path: Path) -> None:
        assert prepare_file(write_gguf(tmp_path / "x.gguf")).eos_ids == (2,)
        wrong = write_gguf(tmp_path / "y.gguf", fields={"tokenizer.ggml.eos_token_id": 0})
        assert prepare_file(wrong).eos_ids == (0, 2)


class TestHuggingFaceFolders:
    def test_are_used_where_they_lie(self, tmp_path: Path) -> None:
        folder = write_folder(tmp_path / "model")
        prepared = prepare_file(folder)
        assert prepared.folder == folder
        assert prepared.float_files == (folder / "model.safetensors",)
        assert prepared.packed_file is None
        assert prepared.quant == "none"

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

    def test_run_in_8_bits_where_nothing_is_said(self, tmp_path: Path) -> None:
        assert prepare_file(write_folder(tmp_path / "model"), None).quant == "int8"

    @pytest.mark.parametrize("tied", [True, False])
    def test_a_head_is_stored_only_where_it_is_not_tied(self, tmp_path: Path, tied: bool) -> None:
        folder = write_folder(tmp_path / "model", tie_word_embeddings=tied)
        tensors = load_file(folder / "model.safetensors")
        save_file({**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"] * 2}, folder / "model.safetensors")
        stored = stored_in(prepare_file(folder, "int8").packed_file)
        assert ("lm_head.q8" in stored) != tied

    def test_without_a_place_for_packed_weights_the_folder_is_used_as_it_is(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_folder(tmp_path / "model")
        (tmp_path / "file").touch()
        monkeypatch.setenv("LACLI_HOME", str(tmp_path / "file" / "home"))
        prepared = prepare_file(folder, "int8")
        assert prepared.packed_file is None
        assert prepared.quant == "int8"
        assert prepared.float_files == (folder / "model.safetensors",)
        assert any("at each start" in note for note in prepared.notes)

    def test_a_copied_folder_of_packed_weights_works_by_itself(self, tmp_path: Path) -> None:
        made = prepare_file(write_gguf(tmp_path / "x.gguf"), "int8")
        copy = tmp_path / "copy"
        shutil.copytree(made.folder, copy)
        (copy / "generation_config.json").unlink()
        prepared = prepare_file(copy, "int8")
        assert prepared.eos_ids == (2,)
        assert prepared.packed_file == copy / "model.int8.safetensors"
        assert prepare_file(copy, None).quant == "int8"
        for quant in ("none", "int4"):
            with pytest.raises(ModelUnavailable, match="int8 weights only"):
                prepare_file(copy, quant)

    def test_a_copied_folder_may_hold_both_packed_forms(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        prepare_file(path, "int8")
        copy = tmp_path / "copy"
        shutil.copytree(prepare_file(path, "int4").folder, copy)
        for quant in ("int4", "int8"):
            assert prepare_file(copy, quant).packed_file == copy / f"model.{quant}.safetensors"

    @pytest.mark.parametrize(
        ("written", "expected"), [(0, (0, 2)), ([0, 2], (0, 2)), (None, (2,)), (-1, (2,)), (9999, (2,))]
    )
    def test_ends_are_the_union_of_all_files(self, tmp_path: Path, written: object, expected: tuple[int, ...]) -> None:
        folder = write_folder(tmp_path / "model")
        edit_json(folder / "generation_config.json", eos_token_id=written)
        prepared = prepare_file(folder)
        assert prepared.eos_ids == expected
        assert any("outside the vocabulary" in note for note in prepared.notes) == (written in (-1, 9999))

    def test_ends_are_found_without_a_generation_config(self, tmp_path: Path) -> None:
        folder = write_folder(tmp_path / "model")
        (folder / "generation_config.json").unlink()
        edit_json(folder / "config.json", eos_token_id=0)
        assert prepare_file(folder).eos_ids == (0, 2)
