"""What every command has: global options before or behind its name, variables, text that begins with a dash."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lacli.cli.run import Run
from lacli.configuration import document
from tests.cli.conftest import Scripted


@pytest.mark.parametrize(
    "arguments",
    [
        ["-vv", "ask", "hi"],
        ["ask", "-vv", "hi"],
        ["-v", "-v", "ask", "hi"],
        ["-vv", "models", "list"],
        ["models", "-vv", "list"],
        ["models", "list", "-vv"],
        ["-vv", "models"],
        ["models", "-vv"],
    ],
)
def test_a_global_option_is_heard_wherever_it_stands(scripted: Scripted, arguments: list[str]) -> None:
    result = scripted.run(arguments)
    assert result.code == 0, result.err
    assert Run.current.verbosity == 2


def test_behind_the_command_wins(scripted: Scripted) -> None:
    assert scripted.run(["-vv", "ask", "-v", "hi"]).code == 0
    assert Run.current.verbosity == 1
    assert scripted.run(["-vv", "models", "-v", "list"]).code == 0
    assert Run.current.verbosity == 1


def test_quiet_and_offline_and_color_before_the_name(scripted: Scripted) -> None:
    result = scripted.run(["-q", "--offline", "--color", "never", "ask", "hi"])
    assert (result.code, result.err) == (0, "")
    assert scripted.settings[-1].offline
    assert "--color 'red' is unknown" in scripted.run(["--color", "red", "ask", "hi"]).err


def test_a_typed_option_before_the_name_wins_over_its_variable(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LACLI_VERBOSE", "1")
    assert scripted.run(["ask", "hi"]).code == 0
    assert Run.current.verbosity == 1
    assert scripted.run(["-vv", "ask", "hi"]).code == 0
    assert Run.current.verbosity == 2


def test_every_option_s_variable_is_known(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LACLI_SCOPE", "LACLI_WEEKS", "LACLI_NO_LOG", "LACLI_OLDER_THAN"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LACLI_SCOPES", "1")
    result = scripted.run(["ask", "hi"])
    assert result.err.count("is not one of lacli's") == 1
    assert "LACLI_SCOPES is not one of lacli's; did you mean LACLI_SCOPE?" in result.err


def test_a_file_named_behind_the_command_is_read_in_place_of_a_broken_one(
    scripted: Scripted, tmp_path: Path, sandbox: Path
) -> None:
    (sandbox / "config").mkdir()
    (sandbox / "config" / "config.toml").write_text("broken")
    (tmp_path / "good.toml").write_text("[models.list]\njson = true\n")
    assert scripted.run(["models", "list"]).code == 2
    assert scripted.run(["models", "list", "--config", str(tmp_path / "good.toml")]).out.startswith("[")
    assert scripted.run(["models", "--config", str(tmp_path / "good.toml"), "list"]).out.startswith("[")


@pytest.mark.parametrize("arguments", [["ask", "--help"], ["models", "list", "--help"], ["models", "--help"]])
def test_help_works_with_a_broken_configuration_named(scripted: Scripted, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "broken.toml").write_text("broken")
    for line in (["--config", str(tmp_path / "broken.toml"), *arguments], [*arguments[:-1], "--config", "x", "--help"]):
        assert scripted.run(line).code == 0
    assert "broken.toml:1" in scripted.run(["--config", str(tmp_path / "broken.toml"), *arguments[:-1]]).err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["models", "lst"], "there is no command lacli models 'lst'; did you mean `lacli models list`?"),
        (["config", "xyzzy"], "there is no command lacli config 'xyzzy'; see `lacli config --help`"),
        (["ask", "-n"], "option '-n' requires an argument; see `lacli ask --help`"),
        (["pool", "info", "--jsn"], "no such option --jsn; did you mean --json?"),
        (["ask", "--nope"], "no such option --nope; see `lacli ask --help`"),
        (["pool", "info", "-x"], "no such option -x; see `lacli pool info --help`"),
    ],
)
def test_a_mistake_names_the_command_and_the_nearest_word(scripted: Scripted, arguments: list[str], words: str) -> None:
    result = scripted.run(arguments)
    assert result.code == 2
    assert result.err.startswith(f"lacli: error: {words}")


def test_variables_are_told_of_once_and_not_with_every_option(scripted: Scripted) -> None:
    for command in (["ask"], ["complete"], ["pool", "info"], ["completion"]):
        assert "env var" not in scripted.run([*command, "--help"]).out


@pytest.mark.parametrize("command", [["ask"], ["complete"], ["models", "fit"], ["sessions", "rm"], ["stats"]])
def test_help_names_values_as_the_reference_does(scripted: Scripted, command: list[str]) -> None:
    shown = scripted.run([*command, "--help"]).out
    assert not re.search(r"<\w", shown.partition("Examples:")[0].replace("x<=", ""))
    assert "[]" not in shown
    if command == ["ask"]:
        assert "-n, --max-tokens N " in shown
        assert "--stop TEXT " in shown
        assert "  PROMPT  The question" in shown


def test_a_group_shows_the_whole_line_of_each_command(scripted: Scripted) -> None:
    shown = scripted.run(["config", "--help"]).out
    assert "..." not in shown.partition("Commands:")[2].partition("Examples:")[0]
    assert "is, comments too." in shown


@pytest.mark.parametrize("command", ["edit", "complete"])
def test_an_instruction_may_begin_with_a_dash(scripted: Scripted, command: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    result = scripted.run([command, str(tmp_path / "a.py"), "--x is misspelt, fix it"])
    assert "no such option" not in result.err


def test_a_value_may_begin_with_a_dash(scripted: Scripted) -> None:
    assert scripted.run(["ask", "-s", "- be brief", "hi"]).code == 0
    assert scripted.run(["ask", "--stop=- x", "hi"]).code == 0
    assert scripted.assistants[-1].requests[0].stops == ("- x",)


def test_the_last_of_many_keys_has_its_line(tmp_path: Path) -> None:
    text = "".join(f"k{number} = 1\n" for number in range(5_000))
    assert document.parse(tmp_path / "c.toml", text.encode()).line(("k4999",)) == 5_000
