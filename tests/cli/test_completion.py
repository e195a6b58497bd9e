"""`lacli completion`: what is offered at the cursor, the scripts in their shells, and installing them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lacli.cli.completion.command import SCRIPTS
from tests.cli.conftest import ROOT, Scripted


def offered(scripted: Scripted, *words: str) -> list[str]:
    """The words offered in place of the last one."""
    result = scripted.run(["completion", "--answer", str(len(words) - 1), "--", *words])
    assert result.code == 0
    assert result.err == ""
    return [line.partition("\t")[0] for line in result.out.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mod"], ["models"]),
        (["-q", "--color", "never", "mod"], ["models"]),
        (["models", "sh"], ["show"]),
        (["ask", "--tempe"], ["--temperature"]),
        (["ask", "--no-loo"], ["--no-lookahead"]),
        (["ask", "--device", ""], ["auto", "cpu", "cuda"]),
        (["ask", "--device=c"], ["--device=cpu", "--device=cuda"]),
        (["ask", "--device", "=", "c"], ["cpu", "cuda"]),
        (["ask", "--device", "="], ["auto", "cpu", "cuda"]),
        (["ask", "-m", "smollm2"], ["smollm2-135m"]),
        (["models", "show", "smollm2"], ["smollm2-135m"]),
        (["completion", "z"], ["zsh"]),
        (["config", "set", "ask.max-t"], ["ask.max-tokens"]),
        (["config", "set", "device", "cu"], ["cuda"]),
        (["config", "set", "pool", "t"], ["true"]),
        (["config", "show", "be"], ["bench"]),
        (["pool", "info", "--project", ""], [":files"]),
        (["complete", "src/m"], [":files"]),
        (["ask", "-m", "./mo"], [":files"]),
        (["ask", "--seed", ""], []),
        (["nosuchcommand", "x"], []),
        (["ask", "--device", "tpu", "--colo"], ["--color"]),
        (["ask", "say 'hel", "--colo"], ["--color"]),
        (["pool", "--nosuchoption", "inf"], ["info"]),
    ],
)
def test_what_is_offered(scripted: Scripted, words: list[str], expected: list[str]) -> None:
    assert offered(scripted, *words) == expected


def test_help_stands_behind_a_tab(scripted: Scripted) -> None:
    result = scripted.run(["completion", "--answer", "0", "--", "ben"])
    assert result.out.startswith("bench\tMeasure ")
    assert result.out.count("\n") == 1


def test_a_broken_configuration_or_registry_hinders_nothing(scripted: Scripted, sandbox: Path) -> None:
    (sandbox / "config").mkdir()
    (sandbox / "config" / "config.toml").write_text("broken")
    (sandbox / "config" / "models.toml").write_text("broken")
    assert offered(scripted, "ask", "--dev") == ["--device"]
    assert offered(scripted, "ask", "-m", "smol") == [":files"]


def test_sessions_and_templates_are_offered(scripted: Scripted, sandbox: Path) -> None:
    assert offered(scripted, "sessions", "show", "") == []
    assert not (sandbox / "data").exists()
    assert scripted.run(["ask", "a question to find again"]).code == 0
    found = scripted.run(["completion", "--answer", "2", "--", "sessions", "show", ""]).out
    assert "\ta question to find again" in found


@pytest.fixture
def lacli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `lacli` in a folder of its own, first in the search path."""
    if os.name != "posix":
        pytest.skip("needs a POSIX shell")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "lacli"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lacli "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program


def shell(name: str, script: str) -> str:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"needs {name}")
    done = subprocess.run(
        [program, *([] if name == "fish" else ["-f"]), "-c", script], capture_output=True, check=False
    )
    assert done.stderr == b""
    return done.stdout.decode()


def test_bash_completes(lacli: Path) -> None:
    script = f"{SCRIPTS['bash']}\nCOMP_WORDS=(lacli ask 'two words' --devi); COMP_CWORD=3; _lacli lacli\n"
    script += 'printf "%s\\n" "${COMPREPLY[@]}"; COMP_WORDS=(lacli ask --device ""); _lacli lacli\n'
    script += 'printf "%s\\n" "${COMPREPLY[@]}"; COMP_WORDS=(lacli complete x); COMP_CWORD=2; _lacli lacli\n'
    script += 'printf "%s\\n" "${#COMPREPLY[@]}"'
    assert shell("bash", script).split() == ["--device", "auto", "cpu", "cuda", "0"]


def test_fish_completes(lacli: Path) -> None:
    script = f"{SCRIPTS['fish']}\ncomplete -C 'lacli ask --devi'"
    assert shell("fish", script).startswith("--device\t")


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_scripts_are_valid(name: str, tmp_path: Path) -> None:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"needs {name}")
    (tmp_path / "script").write_text(SCRIPTS[name])
    assert subprocess.run([program, "-n", str(tmp_path / "script")], capture_output=True, check=False).stderr == b""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("ZDOTDIR", raising=False)
    monkeypatch.setenv("PATH", "")  # no PowerShell to ask
    return tmp_path


@pytest.mark.parametrize(
    ("name", "script", "start"),
    [
        ("bash", ".local/share/bash-completion/completions/lacli", ".bashrc"),
        ("zsh", ".local/share/lacli/completion.zsh", ".zshrc"),
        ("fish", ".config/fish/completions/lacli.fish", ""),
        ("powershell", ".local/share/lacli/completion.ps1", "profile"),
    ],
)
def test_installing_is_one_command_and_repeating_it_changes_nothing(
    scripted: Scripted, home: Path, name: str, script: str, start: str
) -> None:
    if start == "profile":
        folder = "Documents/PowerShell" if os.name == "nt" else ".config/powershell"
        start = f"{folder}/Microsoft.PowerShell_profile.ps1"
    if start:
        (home / start).parent.mkdir(parents=True, exist_ok=True)
        (home / start).write_text("# mine")
    first = scripted.run(["completion", name, "--install"])
    assert first.code == 0
    assert first.out == ""
    assert str(home / script) in first.err
    assert (home / script).read_text() == SCRIPTS[name]
    files = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    second = scripted.run(["completion", name, "--install"])
    assert "already" in second.err
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == files
    if start:
        lines = (home / start).read_text().splitlines()
        assert lines[0] == "# mine"
        assert len(lines) == 2
        assert str(home / script) in lines[1]
        assert str(home / start) in first.err


def test_a_script_that_has_changed_is_replaced_and_its_line_too(scripted: Scripted, home: Path) -> None:
    (home / ".bashrc").write_text("a\n. /elsewhere/lacli  # lacli completion\nb\n")
    assert scripted.run(["completion", "bash", "--install"]).code == 0
    lines = (home / ".bashrc").read_text().splitlines()
    assert lines[:2] == ["a", "b"]
    assert len(lines) == 3


def test_a_shell_that_is_not_known_is_exit_2(scripted: Scripted) -> None:
    result = scripted.run(["completion", "tcsh"])
    assert result.code == 2
    assert "bash, zsh, fish, powershell" in result.err
    assert scripted.run(["completion", "pwsh"]).out == SCRIPTS["powershell"]
