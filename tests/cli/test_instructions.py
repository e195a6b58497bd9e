"""A project's AGENTS.md on the command line: where it is told, and who may turn it off."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.cli.framework.instructions import project_instructions
from lacli.cli.framework.options import Common
from tests.cli.conftest import Scripted


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "site").mkdir()
    monkeypatch.chdir(tmp_path / "site")
    (tmp_path / "site" / "AGENTS.md").write_text("Use tabs.\n")
    return tmp_path / "site"


def systems(scripted: Scripted, *arguments: str) -> list[str]:
    result = scripted.run([*arguments])
    assert result.code == 0, result.err
    return [each.text for each in scripted.assistants[-1].requests[0].messages if each.role == "system"]


@pytest.mark.parametrize("command", ["ask", "chat"])
def test_a_question_is_told_it_unless_that_is_turned_off(command: str, here: Path, scripted: Scripted) -> None:
    (told,) = systems(scripted, command, "hi", "-s", "Be brief.")
    assert told.startswith("Be brief.\n\n")
    assert "Use tabs." in told


@pytest.mark.parametrize("command", ["ask", "chat"])
def test_it_can_be_turned_off(command: str, here: Path, scripted: Scripted) -> None:
    assert systems(scripted, command, "hi", "--no-instructions") == []


def test_a_project_can_turn_its_own_off_but_not_on(here: Path, scripted: Scripted) -> None:
    (here / "lacli.toml").write_text("no-instructions = true\n")
    assert systems(scripted, "ask", "hi") == []
    (here / "lacli.toml").write_text("no-instructions = false\n")
    result = scripted.run(["ask", "hi"])
    assert result.code == 2
    assert "a project may only set no-instructions to true" in result.err


def test_it_is_said_in_a_chat_and_wherever_only_a_part_is_used(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    project_instructions(Common())
    assert capfd.readouterr().err == ""
    project_instructions(Common(), is_told=True)
    assert capfd.readouterr().err == "lacli: using AGENTS.md (9 characters)\n"
    (here / "AGENTS.md").write_text("x\n" * 5_000)
    project_instructions(Common())
    assert capfd.readouterr().err == "lacli: using AGENTS.md up to its 3,999th of 9,999 characters\n"


def test_a_completion_is_not_told(here: Path, scripted: Scripted) -> None:
    (here / "a.py").write_text("x = ")
    scripted.run(["complete", "a.py"])
    assert not scripted.assistants[-1].requests[0].messages
