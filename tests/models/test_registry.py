"""models.toml is data and is checked as data; `-m` takes a name, a hub id, a folder or a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.errors import ModelUnavailable, UsageError
from lacli.models.registry import load_registry, registry_files, shipped_file
from lacli.models.spec import Problem

GOOD = """
default = "tiny"
[models.tiny]
title = "Tiny"
kind = "hf"
context = 2048
style = "chat"
licence = "MIT"
parameters = 1000
sources = [{ kind = "hub", repo = "someone/tiny" }]
"""


def problems_of(path: Path, text: str | bytes) -> list[Problem]:
    file = path / "models.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    found: list[Problem] = []
    load_registry([file], found)
    return found


class TestShippedFile:
    def test_has_no_mistakes(self) -> None:
        found: list[Problem] = []
        load_registry([shipped_file()], found)
        assert found == []

    def test_its_default_is_the_wheel_with_both_hashes(self) -> None:
        spec = load_registry([shipped_file()]).resolve(None)
        assert spec.alias == "smollm2-135m"
        assert spec.sources[0].bytes == 98_362_432
        assert spec.sources[0].wheel_sha256.startswith("bcc81830")
        assert spec.sources[0].sha256.startswith("b179c952")
        assert "demonstration" in spec.note

    @pytest.mark.parametrize("alias", sorted(load_registry([shipped_file()]).models))
    def test_each_model_is_whole(self, alias: str) -> None:
        spec = load_registry([shipped_file()]).models[alias]
        assert spec.licence
        assert spec.context >= 2048
        assert spec.parameters > 1_000_000
        assert spec.stop_tokens
        if spec.fim:
            assert len({spec.fim.prefix, spec.fim.suffix, spec.fim.middle}) == 3
            assert spec.fim.stop


class TestMistakes:
    def test_a_good_file_has_none(self, tmp_path: Path) -> None:
        assert problems_of(tmp_path, GOOD) == []

    @pytest.mark.parametrize("key", ["title", "kind", "context", "style", "licence", "parameters", "sources"])
    def test_a_missing_key_is_named(self, tmp_path: Path, key: str) -> None:
        text = "\n".join(line for line in GOOD.splitlines() if not line.startswith(f"{key} "))
        found = problems_of(tmp_path, text)
        assert any(item.key == f"models.tiny.{key}" and "missing" in item.text for item in found)

    def test_an_unknown_key_comes_with_the_nearest_known_one(self, tmp_path: Path) -> None:
        (found,) = problems_of(tmp_path, GOOD.replace("style =", "stop_tokes = []\nstyle ="))
        assert found.key == "models.tiny.stop_tokes"
        assert "stop_tokens" in found.hint
        assert GOOD.splitlines()[found.line - 1].startswith("style")

    def test_an_unknown_quantisation_comes_with_the_known_ones(self, tmp_path: Path) -> None:
        (found,) = problems_of(tmp_path, GOOD.replace("style =", 'quant = "int3"\nstyle ='))
        assert "int3" in found.text
        assert "nf4" in found.hint

    @pytest.mark.parametrize(
        ("old", "new", "key"),
        [
            ("2048", '"2048"', "context"),
            ("2048", "-1", "context"),
            ("1000", "true", "parameters"),
            ('"chat"', '"talk"', "style"),
            ('"MIT"', "7", "licence"),
            ("someone/tiny", "tiny", "sources[0].repo"),
            ("someone/tiny", "../etc", "sources[0].repo"),
            ('"hub"', '"ftp"', "sources[0].kind"),
            ('[{ kind = "hub", repo = "someone/tiny" }]', "[]", "sources"),
            ("1000", '1000\nfim = { prefix = "<P>", suffix = "" , middle = "<M>" }', "fim.suffix"),
            ("1000", '1000\nfim = { prefix = "<P>", middle = "<M>" }', "fim.suffix"),
            ("1000", '1000\nstop_tokens = ["a", ""]', "stop_tokens"),
        ],
    )
    def test_a_wrong_value_names_its_key(self, tmp_path: Path, old: str, new: str, key: str) -> None:
        found = problems_of(tmp_path, GOOD.replace(old, new))
        assert f"models.tiny.{key}" in [item.key for item in found]

    def test_a_syntax_error_names_file_and_line(self, tmp_path: Path) -> None:
        (found,) = problems_of(tmp_path, GOOD + '\ntitle = "x')
        assert f"models.toml:{GOOD.count(chr(10)) + 2}: no valid TOML" in str(found)

    def test_a_byte_order_mark_is_no_mistake_and_utf16_is_said_to_be(self, tmp_path: Path) -> None:
        assert problems_of(tmp_path, b"\xef\xbb\xbf" + GOOD.encode()) == []
        assert "UTF-8" in problems_of(tmp_path, GOOD.encode("utf-16"))[0].text

    def test_a_default_that_does_not_exist_is_named(self, tmp_path: Path) -> None:
        (found,) = problems_of(tmp_path, GOOD.replace('default = "tiny"', 'default = "tini"'))
        assert "tiny" in found.hint

    def test_without_a_list_to_collect_them_the_first_is_raised(self, tmp_path: Path) -> None:
        file = tmp_path / "models.toml"
        file.write_text(GOOD.replace("licence", "license"))
        with pytest.raises(UsageError) as caught:
            load_registry([file])
        assert "models.tiny.license" in caught.value.message
        assert "licence" in caught.value.hint


class TestUserFile:
    def test_is_merged_over_the_shipped_one(self, sandbox: Path) -> None:
        own = sandbox / "config" / "models.toml"
        own.parent.mkdir(parents=True)
        own.write_text(GOOD)
        registry = load_registry()
        assert registry.resolve(None).alias == "tiny"
        assert registry.origins["tiny"] == own
        assert "smollm2-135m" in registry.models

    def test_replaces_a_model_whole(self, sandbox: Path) -> None:
        own = sandbox / "config" / "models.toml"
        own.parent.mkdir(parents=True)
        own.write_text(GOOD.replace("tiny]", "smollm2-135m]").replace('default = "tiny"', ""))
        assert load_registry().resolve(None).title == "Tiny"

    def test_a_folder_in_its_place_is_said(self, sandbox: Path) -> None:
        (sandbox / "config" / "models.toml").mkdir(parents=True)
        with pytest.raises(UsageError, match=r"models\.toml"):
            load_registry()

    def test_without_one_only_the_shipped_file_is_read(self) -> None:
        assert registry_files() == [shipped_file()]


class TestResolve:
    def test_a_hub_id_of_a_known_model_is_that_model(self) -> None:
        spec = load_registry().resolve("Qwen/Qwen2.5-Coder-7B-Instruct")
        assert spec.alias == "qwen2.5-coder-7b"

    def test_an_unknown_name_comes_with_the_nearest_one(self) -> None:
        with pytest.raises(ModelUnavailable) as caught:
            load_registry().resolve("smolm2-135m")
        assert "smollm2-135m" in caught.value.hint

    def test_a_folder_and_a_file_become_models_of_their_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "my-model").mkdir()
        (tmp_path / "x.gguf").touch()
        monkeypatch.chdir(tmp_path)
        registry = load_registry()
        for name, kind in [("./my-model", "hf"), ("my-model", "hf"), ("x.gguf", "gguf"), ("./x.gguf", "gguf")]:
            spec = registry.resolve(name)
            assert spec.kind == kind
            assert spec.path == tmp_path / Path(name).name

    def test_an_alias_wins_over_a_folder_of_the_same_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "smollm2-135m").mkdir()
        monkeypatch.chdir(tmp_path)
        assert load_registry().resolve("smollm2-135m").path is None

    def test_absent_paths_and_other_files_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable, match="does not exist"):
            load_registry().resolve(str(tmp_path / "no.gguf"))
        (tmp_path / "a.txt").touch()
        with pytest.raises(UsageError, match="neither a folder nor"):
            load_registry().resolve(str(tmp_path / "a.txt"))

    @pytest.mark.parametrize("before", ["", "./", "a/"])
    def test_a_name_longer_than_a_path_may_be_is_no_model(self, before: str) -> None:
        with pytest.raises(ModelUnavailable):
            load_registry().resolve(before + "x" * 5000)

    def test_an_empty_name_is_not_the_current_folder(self) -> None:
        with pytest.raises(UsageError, match="the name of the model is empty"):
            load_registry().resolve(" ")
