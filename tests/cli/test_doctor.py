"""`lacli doctor`, `lacli models default` and `fit`: what they find, and what they say to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lacli.cli.doctor import deep
from lacli.models.registry import machine
from lacli.shared import health
from tests.cli.conftest import Scripted

TORCH = {"version": "2.13.0+cpu", "cuda": False}


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch is not really imported."""
    monkeypatch.setattr(health, "probe_torch", lambda: TORCH)
    monkeypatch.setattr(machine, "graphics_memory", lambda: None)


def found(scripted: Scripted, code: int = 0, options: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """The checks by name."""
    result = scripted.run(["doctor", "--json", *options])
    assert result.code == code, result.out
    assert result.err == ""
    return {check["name"]: check for check in json.loads(result.out)["checks"]}


def test_a_computer_without_the_model_is_warned_of_the_first_wait(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, sandbox: Path
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    checks = found(scripted)
    assert checks["model"]["state"] == "warn"
    assert checks["model"]["fix"] == "lacli models pull smollm2-135m"
    assert checks["python"]["state"] == checks["torch"]["state"] == checks["config"]["state"] == "ok"
    assert list(sandbox.iterdir()) == []


def test_each_check_is_a_line_and_the_remedy_below_it(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    lines = scripted.run(["doctor"]).out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("warn  model"))
    assert lines[at + 1].strip() == "lacli models pull smollm2-135m"


def test_offline_without_the_model_fails(scripted: Scripted) -> None:
    assert found(scripted, code=1)["model"]["state"] == "fail"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("config", "temprature = 1\n", "config.toml:1: there is no key 'temprature'"),
        ("config", "model = 'x\n", "config.toml:1: not valid TOML"),
        ("models", "nonsense = 1\n", "nonsense"),
    ],
)
def test_a_broken_file_fails_and_is_named(
    scripted: Scripted, sandbox: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, words: str
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    (sandbox / "config").mkdir()
    (sandbox / "config" / f"{name}.toml").write_text(text)
    checks = found(scripted, code=1)
    check = checks["config" if name == "config" else "registry"]
    assert check["state"] == "fail"
    assert words in check["text"]


def test_a_torch_that_cannot_be_imported_fails(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "probe_torch", lambda: {"error": "ImportError: libtorch.so"})
    assert "libtorch.so" in found(scripted, code=1)["torch"]["text"]


def test_a_graphics_card_without_bitsandbytes_is_a_warning(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    card = {"version": "2.13", "cuda": True, "name": "H200", "free": 10**11, "total": 10**11}
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(health, "probe_torch", lambda: card | {"bitsandbytes_error": "no library"})
    checks = found(scripted)
    assert "100.0 of 100.0 GB free" in checks["gpu"]["text"]
    assert checks["4-bit"]["state"] == "warn"
    monkeypatch.setattr(health, "probe_torch", lambda: card | {"bitsandbytes": "0.50.2"})
    assert found(scripted)["4-bit"]["state"] == "ok"


def test_the_probe_of_torch_tells_a_failure_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(health, "_PROBE", "import no_such_module")
    assert health.probe_torch() == {"error": "ModuleNotFoundError: No module named 'no_such_module'"}
    monkeypatch.setattr(health, "_PROBE", "import os; os._exit(3)")
    assert health.probe_torch() == {"error": "it ended with code 3"}
    monkeypatch.setattr(health, "_PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(health, "_TORCH_TIMEOUT_S", 0.01)
    assert "took more than" in health.probe_torch()["error"]


def test_no_c_library_is_a_warning(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("lacli.kernels.library.library", lambda: None)
    monkeypatch.setattr("lacli.kernels.library.why_not", lambda: "it was not compiled")
    assert found(scripted)["kernels"]["text"].startswith("it was not compiled; PyTorch runs instead")


def test_a_folder_that_cannot_be_written_to_fails(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, sandbox: Path
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    checks = found(scripted, code=1)
    assert [checks[name]["state"] for name in ("cache", "state", "data")] == 3 * ["fail"]
    assert str(sandbox / "state") in checks["state"]["text"]


def test_little_room_and_no_git_are_warnings(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(health, "_LOW_DISK_BYTES", 1 << 62)
    monkeypatch.setenv("PATH", "")
    checks = found(scripted)
    assert checks["disk"]["state"] == checks["git"]["state"] == "warn"


def test_a_log_that_cannot_be_read_is_not_called_damaged(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, sandbox: Path
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    (sandbox / "data" / "sessions.db").mkdir(parents=True)
    assert "cannot be read: " in found(scripted)["log"]["text"]


def test_a_damaged_log_is_a_warning_and_stays_where_it_is(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, sandbox: Path
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    (sandbox / "data").mkdir()
    (sandbox / "data" / "sessions.db").write_bytes(b"no database, for sure" * 100)
    assert found(scripted)["log"]["state"] == "warn"
    assert [each.name for each in (sandbox / "data").iterdir()] == ["sessions.db"]


def test_a_check_that_cannot_be_made_does_not_end_the_others(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")

    def broken(*arguments: object) -> None:
        raise ValueError("odd")

    monkeypatch.setattr("shutil.disk_usage", broken)
    assert found(scripted)["disk"]["text"] == "could not be checked: odd"


class TestDeep:
    """What the process that asks the card says, and how it may end."""

    @pytest.fixture
    def process(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        monkeypatch.delenv("HF_HUB_OFFLINE")

        def runs(program: str) -> None:
            monkeypatch.setattr(deep, "command_of", lambda module: [sys.executable, "-c", program])

        return runs

    LINE = """print('{"name": "graphs", "state": "warn", "text": "apart", "fix": "report it"}', flush=True)"""

    def test_it_is_asked_only_where_that_is_wanted(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, process: Callable[[str], None]
    ) -> None:
        monkeypatch.setattr(deep, "command_of", lambda module: pytest.fail("it was not wanted"))
        assert "graphs" not in found(scripted)

    def test_its_lines_are_checks_and_what_a_library_prints_is_not(
        self, scripted: Scripted, process: Callable[[str], None]
    ) -> None:
        process(f"print('a library says hello'); print(3); {self.LINE}")
        assert found(scripted, options=["--deep"])["graphs"]["fix"] == "report it"
        lines = scripted.run(["doctor", "--deep"]).out.splitlines()
        assert [line.split() for line in lines[-2:]] == [["warn", "graphs", "apart"], ["report", "it"]]

    @pytest.mark.parametrize(
        ("ending", "why"),
        [
            ("import os; os._exit(7)", "it ended with code 7"),
            ("raise SystemExit('Traceback\\nImportError: no libcudart')", "ImportError: no libcudart"),
        ],
    )
    def test_a_process_that_breaks_is_a_warning_behind_what_it_said(
        self, scripted: Scripted, process: Callable[[str], None], ending: str, why: str
    ) -> None:
        process(f"{self.LINE}; {ending}")
        checks = found(scripted, options=["--deep"])
        assert checks["graphs"]["text"] == "apart"
        assert checks["deep"]["text"] == f"the rest could not be checked: {why}"

    def test_one_that_hangs_is_ended(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, process: Callable[[str], None]
    ) -> None:
        process("import time; time.sleep(60)")
        monkeypatch.setattr(deep, "_LIMIT_S", 0.05)
        assert "it took more than" in found(scripted, options=["--deep"])["deep"]["text"]

    def test_a_python_that_is_gone_is_a_warning(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, process: Callable[[str], None]
    ) -> None:
        monkeypatch.setattr(deep, "command_of", lambda module: ["/no/such/python"])
        assert found(scripted, options=["--deep"])["deep"]["text"].startswith("could not be checked: No such file")


class TestDefault:
    def test_it_is_printed_and_chosen_and_starred(self, scripted: Scripted, sandbox: Path) -> None:
        assert scripted.run(["models", "default"]).out == "smollm2-135m\n"
        assert scripted.run(["models", "default", "qwen2.5-coder-1.5b"]).code == 0
        chosen = scripted.run(["models", "default"])
        assert chosen.out == "qwen2.5-coder-1.5b\n"
        assert "config.toml:1" in chosen.err
        starred = [line for line in scripted.run(["models"]).out.splitlines() if line.startswith("*")]
        assert starred[0].split()[1] == "qwen2.5-coder-1.5b"
        assert json.loads(scripted.run(["models", "show", "--json"]).out)["name"] == "qwen2.5-coder-1.5b"
        scripted.run(["ask", "hi"])
        assert scripted.settings[-1].model == "qwen2.5-coder-1.5b"

    def test_one_that_is_not_known_is_not_chosen(self, scripted: Scripted, sandbox: Path) -> None:
        result = scripted.run(["models", "default", "smollm2"])
        assert result.code == 3
        assert "did you mean smollm2-135m?" in result.err
        assert not (sandbox / "config").exists()

    def test_an_empty_name_is_not_the_current_folder(self, scripted: Scripted, sandbox: Path) -> None:
        result = scripted.run(["models", "default", ""])
        assert result.code == 2
        assert "the name of the model is empty" in result.err
        assert not (sandbox / "config").exists()

    def test_a_variable_that_wins_is_said(self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LACLI_MODEL", "qwen2.5-coder-3b")
        result = scripted.run(["models", "default", "qwen2.5-coder-1.5b"])
        assert "LACLI_MODEL says qwen2.5-coder-3b here, which wins" in result.err


class TestFit:
    CONFIG = {  # noqa: RUF012
        "model_type": "llama",
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "vocab_size": 1000,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
    }

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A model that is nothing but its configuration."""
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / "config.json").write_text(json.dumps(self.CONFIG))
        return tmp_path / "m"

    def fit(self, scripted: Scripted, *arguments: str, code: int = 0) -> dict[str, Any]:
        result = scripted.run(["models", "fit", *arguments, "--json"])
        assert result.code == code, result.err
        return json.loads(result.out or "{}")  # type: ignore[no-any-return]

    def test_the_cache_is_counted_from_the_configuration(self, scripted: Scripted, folder: Path) -> None:
        found = self.fit(scripted, str(folder), "--quant", "int8")
        assert found["kv_token"] == 2 * 2 * 2 * 16 * 2  # keys and values, layers, heads, width, bytes
        assert found["cache"] == 2048 * found["kv_token"]
        assert self.fit(scripted, str(folder), "--quant", "none")["kv_token"] == 2 * found["kv_token"]
        assert self.fit(scripted, str(folder), "--quant", "int8", "--ctx", "512")["cache"] == 512 * found["kv_token"]
        layer = 2 * 64 * (64 + 32) + 3 * 64 * 128
        assert found["weights"] == round((2 * layer) * 1.0625 + 64000 * 1.0625)
        assert found["fits"]

    def test_what_does_not_fit_is_exit_4_with_what_would(
        self, scripted: Scripted, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = self.fit(scripted, str(folder), "--quant", "int8")
        free = found["weights"] + found["work"] + 1000 * found["kv_token"]
        monkeypatch.setattr(machine, "main_memory", lambda: (free, 2 * free))
        assert self.fit(scripted, str(folder), "--quant", "int8", code=4)["most_context"] == 1000
        result = scripted.run(["models", "fit", str(folder), "--quant", "int8"])
        assert "use --ctx 768" in result.err
        assert "fits       no" in result.out
        assert self.fit(scripted, str(folder), "--quant", "int8", "--ctx", "768")["fits"]

    def test_a_graphics_card_s_memory_counts_where_there_is_one(
        self, scripted: Scripted, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(machine, "graphics_memory", lambda: (10**9, 2 * 10**9))
        found = self.fit(scripted, str(folder))
        assert (found["device"], found["quant"], found["free"]) == ("cuda", "nf4", 10**9)
        assert self.fit(scripted, str(folder), "--device", "cpu")["device"] == "cpu"

    def test_a_model_that_was_not_fetched_is_estimated_by_its_entry(self, scripted: Scripted) -> None:
        result = scripted.run(["models", "fit", "qwen2.5-coder-7b", "--quant", "int4", "--ram", "16"])
        assert "about 4.8 GB" in result.out
        assert "1.9 GB with 32768 tokens, 57.3 kB each" in result.out  # 28 layers, 4 heads of 128, two bytes
        assert "free       17.2 GB of 17.2 GB" in result.out
        result = scripted.run(["models", "fit", "mellum-4b"])
        assert "not known before the model is fetched" in result.out

    def test_a_card_may_be_asked_for(self, scripted: Scripted) -> None:
        found = self.fit(scripted, "qwen2.5-coder-7b", "--vram", "8")
        assert (found["device"], found["quant"], found["free"]) == ("cuda", "nf4", 8 << 30)
        assert found["weights"] == round((7_615_616_512 - 2 * 152064 * 3584) * 0.516 + 2 * 152064 * 3584 * 2)
        assert found["floor_ms"] is None
        assert self.fit(scripted, "qwen2.5-coder-7b", "--vram", "8", "--device", "cpu", code=2) == {}
        assert self.fit(scripted, "qwen2.5-coder-7b", "--ram", "8", "--device", "cuda", code=2) == {}

    def test_the_least_time_of_a_token_is_its_bytes_by_the_bandwidth(self, scripted: Scripted) -> None:
        options = ["qwen2.5-coder-7b", "--vram", "24", "--quant", "none", "--bandwidth", "1000"]
        found = self.fit(scripted, *options)
        assert found["token_bytes"] == (7_615_616_512 - 152064 * 3584) * 2  # of the embedding one row
        assert found["floor_ms"] == pytest.approx(found["token_bytes"] / 1e9)
        assert "a projection" in scripted.run(["models", "fit", *options]).out
        experts = self.fit(scripted, "qwen3-coder-30b-a3b", "--vram", "80")
        assert experts["token_bytes"] < experts["weights"] / 7

    def test_three_ways_that_fit_are_told(self, scripted: Scripted) -> None:
        found = self.fit(scripted, "qwen2.5-coder-14b", "--vram", "12", "--ram", "32", "--quant", "bnb-int8", code=4)
        assert found["ways"] == ["--quant nf4 --ctx 9728", "--quant int8 --device cpu", "--quant int4 --device cpu"]
        result = scripted.run(["models", "fit", "qwen2.5-coder-32b", "--ram", "4"])
        assert result.code == 4
        assert "; use the model " in result.err

    def test_what_gains_nothing_is_said(self, scripted: Scripted) -> None:
        assert "lookahead  brings nothing" in scripted.run(["models", "fit", "granite-4.0-h-micro"]).out
        assert "lookahead     brings nothing" in scripted.run(["models", "show", "granite-4.0-h-micro"]).out
        assert "lookahead" not in scripted.run(["models", "show", "qwen2.5-coder-7b"]).out

    def test_a_context_beyond_the_model_s_is_exit_2(self, scripted: Scripted) -> None:
        result = scripted.run(["models", "fit", "smollm2-135m", "--ctx", "100000"])
        assert result.code == 2
        assert "8192" in result.err

    @pytest.mark.skipif(os.name != "posix", reason="needs a shell script as the program")
    def test_nvidia_smi_is_asked_and_may_answer_anything(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        monkeypatch.setenv("PATH", str(tmp_path))
        program = tmp_path / "nvidia-smi"
        for text, expected in (("1024, 2048", (1 << 30, 2 << 30)), ("", None), ("[N/A], x", None)):
            program.write_text(f"#!/bin/sh\necho '{text}'\n")
            program.chmod(0o755)
            assert machine.graphics_memory() == expected
        program.unlink()
        assert machine.graphics_memory() is None


def test_fit_and_default_do_not_import_torch(tmp_path: Path) -> None:
    program = "import sys; from lacli.cli.main import main; main(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    for arguments in (["models", "fit"], ["models", "default"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
