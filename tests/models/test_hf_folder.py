"""Hugging Face folders that are not what they seem are refused in one sentence; nothing of theirs is run."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import edit_json, write_folder

from lacli.errors import LacliError, ModelUnavailable, UsageError
from lacli.models.hf.folder import missing_files, read_folder


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LACLI_HOME", str(tmp_path_factory.mktemp("home")))
        return write_folder(tmp_path_factory.mktemp("hf") / "model")


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "model"))


def split(folder: Path) -> list[str]:
    """Turn model.safetensors into two shards and an index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    halves = [names[: len(names) // 2], names[len(names) // 2 :]]
    mapping = {}
    for shard, half in zip(shards, halves, strict=True):
        save_file({name: tensors[name] for name in half}, folder / shard)
        mapping |= dict.fromkeys(half, shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": mapping}))
    return shards


def remap(folder: Path, shard: str, other: str) -> None:
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"] = {name: other if file == shard else file for name, file in index["weight_map"].items()}
    path.write_text(json.dumps(index))


def refusal(folder: Path, kind: type[LacliError] = ModelUnavailable) -> LacliError:
    with pytest.raises(kind) as caught:
        read_folder(folder)
    assert caught.value.hint
    assert type(caught.value) is kind
    return caught.value


class TestWhole:
    def test_single_files_and_shards_give_the_same_tensors(self, folder: Path) -> None:
        single = read_folder(folder)
        split(folder)
        sharded = read_folder(folder)
        assert single.tensors.keys() == sharded.tensors.keys()
        assert single.parameters == sharded.parameters > 0
        assert missing_files(folder) == []

    def test_safetensors_are_taken_beside_an_older_pickle(self, folder: Path) -> None:
        (folder / "pytorch_model.bin").write_bytes(b"\x80")
        assert read_folder(folder).shards == (folder / "model.safetensors",)


class TestIndexThatLies:
    def test_absent_shards_are_listed(self, folder: Path) -> None:
        shards = split(folder)
        (folder / shards[1]).unlink()
        assert shards[1] in refusal(folder).message
        assert missing_files(folder) == [shards[1]]

    @pytest.mark.parametrize("where", ["../out.safetensors", "absolute", "..", "sub/../../out.safetensors"])
    def test_paths_outside_the_folder_are_a_usage_error(self, folder: Path, where: str) -> None:
        shards = split(folder)
        outside = folder.parent / "out.safetensors"
        shutil.copyfile(folder / shards[1], outside)
        remap(folder, shards[1], str(outside) if where == "absolute" else where)
        assert refusal(folder, UsageError).exit_code == 2

    @pytest.mark.parametrize("single", [True, False])
    def test_links_to_the_outside_are_a_usage_error(self, folder: Path, single: bool) -> None:
        name = "model.safetensors" if single else split(folder)[1]
        outside = folder.parent / "out.safetensors"
        shutil.move(folder / name, outside)
        (folder / name).symlink_to(outside)
        assert "outside the folder" in refusal(folder, UsageError).message

    def test_links_of_the_hubs_cache_are_inside(self, folder: Path, tmp_path: Path) -> None:
        snapshot = tmp_path / "models--o--n" / "snapshots" / "abc"
        blobs = tmp_path / "models--o--n" / "blobs"
        snapshot.mkdir(parents=True)
        blobs.mkdir()
        for index, path in enumerate(sorted(folder.iterdir())):
            shutil.move(path, blobs / str(index))
            (snapshot / path.name).symlink_to(Path("../../blobs") / str(index))
        assert read_folder(snapshot).tensors
        (snapshot / "model.safetensors").resolve().unlink()
        assert missing_files(snapshot) == ["model.safetensors"]

    def test_a_tensor_that_is_not_in_its_shard_is_named(self, folder: Path) -> None:
        split(folder)
        path = folder / "model.safetensors.index.json"
        index = json.loads(path.read_text())
        index["weight_map"]["model.extra.weight"] = "model-00001-of-00002.safetensors"
        path.write_text(json.dumps(index))
        assert "model.extra.weight" in refusal(folder).message

    def test_an_index_and_a_single_file_that_disagree_are_refused(self, folder: Path) -> None:
        split(folder)
        save_file({"other": torch.zeros(1)}, folder / "model.safetensors")
        assert "index" in refusal(folder).message


class TestOtherKinds:
    def test_an_adapter_names_its_base_model(self, folder: Path) -> None:
        for name in ("config.json", "model.safetensors"):
            (folder / name).unlink()
        edit_json(folder / "adapter_config.json", base_model_name_or_path="someone/base-1b")
        error = refusal(folder)
        assert "someone/base-1b" in error.message
        assert "merge" in error.hint

    def test_a_training_checkpoint_is_named(self, folder: Path) -> None:
        (folder / "config.json").unlink()
        (folder / "optimizer.pt").touch()
        assert "training checkpoint" in refusal(folder).message

    def test_pickles_are_never_opened(self, folder: Path, tmp_path: Path) -> None:
        canary = tmp_path / "canary"

        class Bomb:
            def __reduce__(self) -> tuple[object, tuple[str, ...]]:
                return (Path.touch, (canary,))  # type: ignore[return-value]

        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))
        error = refusal(folder)
        assert "pickle" in error.message
        assert "safetensors" in error.hint
        assert not canary.exists()

    def test_names_in_other_letters_are_said(self, folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "model.SAFETENSORS")
        if not (folder / "model.safetensors").exists():  # not where the file system ignores case
            assert "model.SAFETENSORS" in refusal(folder).message

    def test_a_folder_with_a_gguf_says_to_name_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "x.Q4_0.gguf").touch()
        assert "x.Q4_0.gguf" in refusal(tmp_path).hint

    def test_a_repository_of_the_hubs_cache_says_which_folder(self, tmp_path: Path) -> None:
        (tmp_path / "snapshots").mkdir()
        assert "snapshots" in refusal(tmp_path).hint

    def test_an_empty_folder_has_no_config(self, tmp_path: Path) -> None:
        assert "no config.json" in refusal(tmp_path).message

    @pytest.mark.parametrize("method", ["awq", "gptq", "fp8", "nosuch"])
    def test_quantised_checkpoints_name_their_method(self, folder: Path, method: str) -> None:
        edit_json(folder / "config.json", quantization_config={"quant_method": method})
        assert method in refusal(folder).message

    def test_packed_matrices_without_a_word_in_the_config_are_named(self, folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        tensors["model.layers.0.mlp.up_proj.weight"] = torch.zeros(4, 4, dtype=torch.uint8)
        save_file(tensors, folder / "model.safetensors")
        assert "U8" in refusal(folder).message

    def test_code_of_the_folder_is_not_run(self, folder: Path, tmp_path: Path) -> None:
        canary = tmp_path / "canary"
        (folder / "modeling_own.py").write_text(f"open({str(canary)!r}, 'w')\n")
        mapping = {"AutoConfig": "modeling_own.Config", "AutoModelForCausalLM": "modeling_own.Model"}
        edit_json(folder / "config.json", auto_map=mapping)
        assert any("auto_map" in note for note in read_folder(folder).notes)
        edit_json(folder / "config.json", model_type="own-kind")
        assert "own code" in refusal(folder).message
        assert not canary.exists()


class TestDamage:
    @pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
    def test_truncated_weights_are_incomplete_downloads(self, folder: Path, share: float) -> None:
        path = folder / "model.safetensors"
        data = path.read_bytes()
        path.write_bytes(data[: int(share * len(data))])
        assert "incomplete" in refusal(folder).message

    def test_a_git_lfs_pointer_is_named(self, folder: Path) -> None:
        pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
        (folder / "model.safetensors").write_bytes(pointer)
        assert "Git LFS" in refusal(folder).message

    def test_a_damaged_header_is_named(self, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes((5).to_bytes(8, "little") + b"{oops" + bytes(50))
        assert "damaged header" in refusal(folder).message

    def test_broken_json_names_its_file(self, folder: Path) -> None:
        (folder / "config.json").write_text('{"model_type": ')
        assert "config.json" in refusal(folder).message

    def test_a_missing_tokenizer_is_named(self, folder: Path) -> None:
        (folder / "tokenizer.json").unlink()
        assert "tokenizer.json" in refusal(folder).message


class TestTemplate:
    def test_the_file_wins_over_the_config(self, folder: Path) -> None:
        edit_json(folder / "tokenizer_config.json", chat_template="other")
        assert "im_start" in str(read_folder(folder).chat_template)

    def test_a_list_of_templates_gives_its_default(self, folder: Path) -> None:
        (folder / "chat_template.jinja").unlink()
        named = [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]
        edit_json(folder / "tokenizer_config.json", chat_template=named)
        assert read_folder(folder).chat_template == "D"

    def test_none_is_none(self, folder: Path) -> None:
        (folder / "chat_template.jinja").unlink()
        assert read_folder(folder).chat_template is None
