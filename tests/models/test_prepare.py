"""Prepared folders: made once, whole or not at all, anew when the source changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file
from tiny_models import edit_json, prepare_file, write_folder, write_gguf

from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models.fetch import disk
from lacli.models.prepare.folder import find_folder
from lacli.models.registry.inventory import presence, remove
from lacli.models.registry.registry import spec_of_path
from lacli.paths import models_dir

CHILD = """
import sys, time
from pathlib import Path
from lacli.models.prepare.file import Writer
from lacli.models.prepare.prepare import prepare
from lacli.models.registry.registry import spec_of_path
write = Writer._write
def slow(*arguments):
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
    write(*arguments)
Writer._write = slow
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

    @pytest.mark.slow
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

    def test_run_in_8_bits_where_nothing_is_said(self, tmp_path: Path) -> None:
        assert prepare_file(write_folder(tmp_path / "model"), None).quant == "int8"

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


def test_a_folder_of_models_that_cannot_be_searched_is_a_model_that_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def denied(folder: Path, pattern: str) -> list[Path]:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "glob", denied)
    with pytest.raises(ModelUnavailable, match="Permission denied") as raised:
        find_folder("0" * 64)
    assert "LACLI_HOME" in raised.value.hint
