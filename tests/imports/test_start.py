"""What must not be imported for commands that load no model: a static contract cannot say it, a process can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lacli.kernels.library import library

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "torch",
    "transformers",
    "textual",
    "bitsandbytes",
    "rich",
    "numpy",
    "tokenizers",
    "prompt_toolkit",
    "pydantic",
)
PROGRAM = """
import sys
from lacli.cli.main import main
code = main(sys.argv[1:])
print(",".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def modules_after(folder: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode in codes, done.stderr.splitlines()[:-1]
    return set(done.stderr.splitlines()[-1].split(","))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], [], ["ask", "--help"], ["chat", "--help"], ["complete", "--help"], ["bench", "--help"]],
)
def test_help_imports_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    assert not modules_after(tmp_path, *arguments) & set(HEAVY)


LIGHT = (
    ["completion", "--answer", "2", "--", "ask", "-m", "smol"],
    ["completion", "--answer", "2", "--", "config", "set", "ask.t"],
    ["completion", "bash"],
    ["config", "path"],
    ["config", "set", "top-p", "0.9"],
    ["config", "show"],
    ["config", "validate"],
    ["spec"],
    ["models", "default"],
)
HELPS = "[[*path, '--help'] for path, _ in catalog.commands()]"


@pytest.mark.parametrize("lines", [HELPS, list(LIGHT)], ids=["helps", "light"])
def test_neither_help_nor_completion_nor_configuration_import_anything_heavy(lines: object, tmp_path: Path) -> None:
    program = PROGRAM.replace(
        "code = main(sys.argv[1:])",
        f"from lacli.cli.framework import catalog\ncode = max(main(each) for each in {lines})",
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not set(done.stderr.splitlines()[-1].split(",")) & set(HEAVY)


@pytest.mark.parametrize("arguments", [["models", "list"], ["models", "path"], ["pool", "info"], ["pool", "path"]])
@pytest.mark.default_cases(1)
def test_listings_import_neither_torch_nor_a_front_end(arguments: list[str], tmp_path: Path) -> None:
    assert not modules_after(tmp_path, *arguments) & {"torch", "transformers", "textual", "bitsandbytes"}


def test_a_prompt_is_shown_without_torch(sandbox_with_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    loaded = modules_after(tmp_path, "ask", "--no-stdin", "--dry-run", "-f", "a.py", "what does it do?")
    assert "tokenizers" in loaded
    assert not {"torch", "transformers", "pydantic"} & loaded


def test_listing_the_commands_imports_none_of_them(tmp_path: Path) -> None:
    loaded = modules_after(tmp_path, "--help")
    assert not {f"lacli.cli.{name}.command" for name in ("ask", "chat", "complete", "models", "pool", "bench")} & loaded


def test_front_ends_may_import_the_assistant_without_torch(tmp_path: Path) -> None:
    program = (
        "import sys, lacli.assistant.assistant, lacli.assistant.loading, lacli.assistant.prompt;"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0


ENDING = """
import atexit, sys
import lacli.cli.main
class Slow:
    def __del__(self):
        print("taken apart", file=sys.stderr)
slow = Slow()
atexit.register(print, "saved")
sys.argv = ["lacli", "--version"]
sys.exit(lacli.cli.main.main())
"""


def test_the_program_ends_without_being_taken_apart_and_saves_before(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "saved"
    assert done.stderr == ""


SCRIPTED = """
import sys
import lacli.assistant.assistant
from lacli.cli.main import main
from lacli.assistant.scripted import ScriptedAssistant
lacli.assistant.assistant.Assistant = lambda settings: ScriptedAssistant(["# T\\n```py\\nx = 1\\n```\\n"])
code = main(["ask", "--no-stdin", "--no-log", "hi"])
print(",".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def test_a_reply_into_a_pipe_needs_nothing_that_draws(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPTED],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    drawing = {
        "rich",
        "pygments",
        "prompt_toolkit",
        "textual",
        "lacli.cli.terminal.markdown.page",
        "lacli.cli.terminal.markdown.code",
    }
    assert not drawing & set(done.stderr.splitlines()[-1].split(","))


@pytest.mark.model
@pytest.mark.skipif(library() is None, reason="without the C library PyTorch computes")
@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "--no-stdin", "-n", "4", "--temp", "0.5", "--stop", "x", "-f", "a.py", "hi"],
        ["chat", "--no-stdin", "-n", "4", "hi"],
        ["complete", "a.py:1", "-n", "4"],
        ["edit", "a.py:1", "say b", "-n", "8"],
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.default_cases(2)
def test_a_reply_of_our_own_kernels_imports_no_torch(
    arguments: list[str], sandbox_with_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    loaded = modules_after(tmp_path, *arguments, codes=(0, 1))  # 1: the small model's edit is refused
    assert "lacli.models.runners.native.runner" in loaded
    assert not {"torch", "transformers", "pydantic"} & loaded
