"""Prepared folders: made once, whole or not at all, anew when the source changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import edit_json, prepare_file, write_folder, write_gguf

from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models import disk
from lacli.models.quant import quantise_rows
from lacli.paths import models_dir

CHILD = """
import sys, time
from pathlib import Path
from lacli.models import prepare_weights
from lacli.models.prepare import prepare
from lacli.models.registry import spec_of_path
write = prepare_weights._Writer.put
def slow(self, name, tensor):
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
    write(self, name, tensor)
prepare_weights._Writer.put = slow
print("ready", prepare(spec_of_path(Path(sys.argv[1])), "none", lambda step: print(step.stage, flush=True)).folder)
"""


def child(path: Path, pause_s: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), str(pause_s)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )


def leftovers() -> list[str]:
    return [path.name for path in models_dir().rglob("*") if ".tmp-" in path.name]


class TestInt8Variant:
    @pytest.fixture
    def pair(self, tmp_path: Path) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        path = write_gguf(tmp_path / "x.gguf", "qwen2")
        floats = load_file(prepare_file(path).float_files[0])
        return floats, load_file(prepare_file(path, "int8").int8_file)

    def test_linears_are_int8_rows_with_scales(self, pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
        floats, stored = pair
        for name in ("model.layers.1.mlp.down_proj", "model.layers.0.self_attn.q_proj"):
            weight, scale = quantise_rows(floats[f"{name}.weight"])
            assert torch.equal(stored[f"{name}.weight"], weight)
            assert torch.equal(stored[f"{name}.scale"], scale)

    def test_a_tied_head_is_stored_and_embeddings_norms_and_biases_are_not_quantised(
        self, pair: tuple[dict[str, Any], dict[str, Any]]
    ) -> None:
        floats, stored = pair
        embedding = floats["model.embed_tokens.weight"]
        assert torch.equal(stored["lm_head.weight"], quantise_rows(embedding)[0])
        assert torch.equal(stored["model.embed_tokens.weight"], embedding.to(torch.bfloat16))
        assert stored["model.norm.weight"].dtype == torch.float32
        assert torch.equal(
            stored["model.layers.0.self_attn.q_proj.bias"], floats["model.layers.0.self_attn.q_proj.bias"]
        )
        assert "lm_head.weight" not in floats

    def test_tensors_lie_where_a_memory_map_can_use_them(self, tmp_path: Path) -> None:
        path = prepare_file(write_gguf(tmp_path / "x.gguf"), "int8").int8_file
        count = int.from_bytes(path.read_bytes()[:8], "little")
        table = json.loads(path.read_bytes()[8 : 8 + count])
        widths = {"F32": 4, "BF16": 2, "I8": 1}
        assert (8 + count) % 64 == 0
        for name, entry in table.items():
            if name != "__metadata__":
                assert entry["data_offsets"][0] % widths[entry["dtype"]] == 0
        assert table["model.layers.0.mlp.up_proj.weight"]["data_offsets"][0] % 64 == 0


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
        assert second.int8_file is not None
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
        running = [child(path, 0.05), child(path, 0.05)]
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

    def test_a_kill_leaves_nothing_that_loads_and_the_next_run_clears_it(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        victim = child(path, 0.2)
        assert victim.stdout is not None
        while "writing" not in victim.stdout.readline():
            time.sleep(0.01)
        victim.kill()
        victim.communicate()
        assert leftovers()
        assert list(models_dir().glob("[!.]*-f*")) == []
        prepared = prepare_file(path)
        assert load_file(prepared.float_files[0])
        assert leftovers() == []

    def test_a_damaged_folder_is_made_again(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        prepared = prepare_file(path)
        with prepared.float_files[0].open("r+b") as handle:
            handle.truncate(1000)
        (prepared.folder / "tokenizer.json").unlink()
        again = prepare_file(path)
        assert load_file(again.float_files[0])
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
        assert prepared.int8_file is None

    def test_get_an_int8_variant_in_the_cache(self, tmp_path: Path) -> None:
        folder = write_folder(tmp_path / "model")
        before = sorted(path.name for path in folder.iterdir())
        prepared = prepare_file(folder, "int8")
        assert prepared.int8_file is not None
        assert prepared.int8_file.is_relative_to(models_dir())
        assert sorted(path.name for path in folder.iterdir()) == before
        stored, floats = load_file(prepared.int8_file), load_file(folder / "model.safetensors")
        name = "model.layers.0.mlp.gate_proj"
        assert torch.equal(stored[f"{name}.weight"], quantise_rows(floats[f"{name}.weight"])[0])
        assert "lm_head.scale" in stored

    def test_without_a_place_for_the_int8_variant_the_folder_is_used_as_it_is(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_folder(tmp_path / "model")
        (tmp_path / "file").touch()
        monkeypatch.setenv("LACLI_HOME", str(tmp_path / "file" / "home"))
        prepared = prepare_file(folder, "int8")
        assert prepared.int8_file is None
        assert prepared.float_files == (folder / "model.safetensors",)
        assert any("at each start" in note for note in prepared.notes)

    def test_a_copied_int8_folder_works_by_itself(self, tmp_path: Path) -> None:
        made = prepare_file(write_gguf(tmp_path / "x.gguf"), "int8")
        copy = tmp_path / "copy"
        shutil.copytree(made.folder, copy)
        (copy / "generation_config.json").unlink()
        prepared = prepare_file(copy, "int8")
        assert prepared.eos_ids == (2,)
        assert prepared.int8_file == copy / "model.int8.safetensors"
        with pytest.raises(ModelUnavailable, match="int8 weights only"):
            prepare_file(copy, "none")

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
