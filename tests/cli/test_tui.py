"""`lacli tui` where there is no terminal for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lacli import entry
from lacli.cli.framework import catalog
from lacli.cli.framework.config_files import ConfigFiles
from lacli.cli.tui import command as tui
from lacli.errors import UsageError
from lacli_tui.start import Start
from tests.cli.conftest import Program, Scripted, Terminal


def test_without_a_terminal_it_is_one_line_that_names_chat(scripted: Scripted) -> None:
    result = scripted.run(["tui"])
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert "`lacli chat`" in result.err


@pytest.mark.parametrize("name", ["dumb", "unknown", ""])
def test_a_terminal_that_can_nothing_is_one_line_too(program: Program, name: str) -> None:
    command = ["/bin/sh", "-c", f'TERM={name} exec "$@"', "sh", *program.command("tui")]
    terminal = Terminal(command)
    assert terminal.finish() == 2
    assert b"lacli chat" in terminal.seen
    assert b"\x1b[?1049h" not in terminal.seen


def test_a_folder_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tui, "_check_terminal", lambda inline: None)
    with pytest.raises(UsageError, match="nowhere"):
        tui._entered(ConfigFiles(), Path("nowhere"))


@pytest.mark.skipif(sys.platform == "win32", reason="nobody removes the current folder there")
def test_a_current_folder_that_is_gone_is_said(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tui, "_check_terminal", lambda inline: None)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = scripted.run(["tui"])
    assert result.code == 2
    assert result.err == "lacli: error: the current folder no longer exists; change to another folder\n"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Start]:
    """What the terminal UI was started with, in place of it."""
    found: list[Start] = []
    monkeypatch.setattr(tui, "_check_terminal", lambda inline: None)
    monkeypatch.setattr("lacli_tui.app.run", lambda start: found.append(start) or ("", 0))
    return found


def test_the_project_of_the_folder_configures_it_and_not_the_current_one(
    scripted: Scripted, begun: list[Start], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, text in ((here, "no such key = 1"), (there, "max-tokens = 77")):
        (folder / ".git").mkdir(parents=True)
        (folder / "lacli.toml").write_text(text)
    monkeypatch.chdir(here)
    assert scripted.run(["tui", "../there"]).code == 0
    assert begun[0].request.max_tokens == 77
    assert begun[0].folder == Path.cwd() == there
    (there / "lacli.toml").write_text("sanitize = false")
    result = scripted.run(["tui", str(there)])
    assert result.code == 2
    assert f"{there / 'lacli.toml'}:1: a project may only set sanitize to true" in result.err


def test_a_file_and_a_model_that_are_named_are_meant_from_where_they_were_typed(
    scripted: Scripted, begun: list[Start], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("there", "model"):
        (tmp_path / name).mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "my.toml").write_text("max-tokens = 78\n[keymap]\nstop = 'f12'")
    monkeypatch.chdir(tmp_path)
    result = scripted.run(["tui", "there", "-m", "./model", "--config", "my.toml"])
    assert (result.code, result.err) == (0, "")
    start = begun[0]
    assert start.settings.model == str(tmp_path / "model")
    assert (start.request.max_tokens, start.keymap) == (78, {"stop": "f12"})
    assert start.keep_theme is not None
    assert f"in {tmp_path / 'my.toml'} (was not set)" in start.keep_theme("light")
    assert "light" in (tmp_path / "my.toml").read_text()


def test_a_theme_that_something_stronger_names_is_not_written_down(
    scripted: Scripted, begun: list[Start], monkeypatch: pytest.MonkeyPatch, sandbox: Path
) -> None:
    scripted.run(["tui", "--theme", "light"])
    monkeypatch.setenv("LACLI_THEME", "light")
    scripted.run(["tui"])
    typed, set_ = (start.keep_theme("dark") for start in begun if start.keep_theme)
    assert "--theme was given" in typed
    assert "LACLI_THEME is set" in set_
    assert not (sandbox / "config").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tui]\ntheme = 'ligth'", ":2: there is no theme 'ligth'; did you mean light?"),
        ("[keymap]\nstpo = 'f12'", ":2: there is no key 'stpo' in [keymap]; did you mean stop?"),
        ("[keymap]\nstop = 12", ":2: keymap.stop must be a text, and is 12"),
        ("[keymap]\n\nstop = 'f 12'", ":3: [keymap] stop must be keys like 'escape'"),
        ("[keymap]\nstop = 'ctrl+q'", ":2: [keymap] stop = 'ctrl+q' is the key of leave (Quit) everywhere, too"),
        ("[keymap]\nnew = 'f9'\nsend = 'f9'", ":2: [keymap] new = 'f9' is the key of send (Send the question)"),
        ("[keymap]\nstop = 'ctrl+m'", ":2: [keymap] stop = 'ctrl+m' is the key of send"),
        ("[keymap]\nsend = 'x'", ":2: [keymap] send = 'x' could no longer be typed"),
        ("[keymap]\nmessage-block = 'f9'", ":2: [keymap] the keys of message-block are the numbers"),
    ],
)
def test_a_mistake_in_its_tables_is_found_by_the_check_and_at_the_start(
    scripted: Scripted, begun: list[Start], sandbox: Path, text: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lacli.shared.health.probe_torch", lambda: {"version": "2.13.0", "cuda": False})
    file = sandbox / "config" / "config.toml"
    file.parent.mkdir()
    file.write_text(text)
    checked = scripted.run(["config", "validate"])
    assert checked.code == 2
    assert f"{file}{said}" in checked.out
    assert f"{file}{said}" in scripted.run(["tui"]).err
    assert f"{file}{said.partition(';')[0]}" in scripted.run(["doctor"]).out
    assert begun == []


def test_neither_a_theme_nor_keys_that_there_are_not_can_be_set(scripted: Scripted, sandbox: Path) -> None:
    assert "did you mean light?" in scripted.run(["config", "set", "tui.theme", "ligth"]).err
    assert "did you mean keymap.stop?" in scripted.run(["config", "set", "keymap.stpo", "f12"]).err
    assert "must be keys like" in scripted.run(["config", "set", "keymap.stop", "f 12"]).err
    assert "is the key of leave" in scripted.run(["config", "set", "keymap.stop", "ctrl+q"]).err
    assert not (sandbox / "config").exists()
    assert scripted.run(["config", "set", "keymap.stop", "f12"]).code == 0
    assert scripted.run(["config", "get", "keymap.stop"]).out == "f12\n"


def test_keys_come_from_the_users_own_file(scripted: Scripted, begun: list[Start], sandbox: Path) -> None:
    (sandbox / "config").mkdir()
    (sandbox / "config" / "config.toml").write_text('[keymap]\nstop = "f12"\n')
    scripted.run(["tui"])
    assert begun[0].keymap == {"stop": "f12"}


def test_the_script_of_its_own_is_the_same_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lacli-tui", "--help"])
    assert entry.lacli_tui() == 0
    assert "lacli tui" in capfd.readouterr().out


def test_where_values_come_from_is_told_as_config_show_does(
    scripted: Scripted, begun: list[Start], sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sandbox / "config").mkdir()
    (sandbox / "config" / "config.toml").write_text("temperature = 0.5\n[pool]\nproject-mb = 8\n")
    monkeypatch.setenv("LACLI_TOP_P", "0.9")
    scripted.run(["tui", "--seed", "7"])
    origins = begun[0].origins()
    assert origins["temperature"].endswith("config.toml:1")
    assert origins["project-mb"].endswith("config.toml:3")
    assert (origins["top-p"], origins["seed"], origins["quant"]) == ("LACLI_TOP_P", "given as --seed", "built-in")


def test_what_must_be_done_before_the_model_can_be_loaded_is_known_at_the_start(
    scripted: Scripted, begun: list[Start], tmp_path: Path
) -> None:
    scripted.run(["tui", "-m", "qwen2.5-coder-7b"])
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    scripted.run(["tui", "-m", str(tmp_path / "some.gguf")])
    assert [start.missing for start in begun] == ["fetch", "prepare"]


def test_the_origin_of_an_option_is_its_name_as_typed() -> None:
    root = catalog.root()
    with root.make_context("lacli", ["tui", "--max-tokens", "9", "--no-mouse"], resilient_parsing=True) as context:
        command = root.get_command(context, "tui")
        with command.make_context("tui", ["-n", "9", "--session", "3fa9"], context, resilient_parsing=True) as below:
            found = tui._origins(below)()
    assert found["max-tokens"] == "given as -n"
    assert found["session"] == "given as --session"
