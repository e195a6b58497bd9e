"""`lacli config`, and a configuration file under every command: precedence, origins, and mistakes before any model."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from lacli.cli.config.command import _TEMPLATE
from tests.cli.conftest import Scripted


@pytest.fixture
def file(sandbox: Path) -> Path:
    """The user's file, not made yet."""
    (sandbox / "config").mkdir()
    return sandbox / "config" / "config.toml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and the folder in it that commands run in."""
    (tmp_path / "repo" / "inner").mkdir(parents=True)
    for name in ("objects", "refs"):
        (tmp_path / "repo" / ".git" / name).mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(tmp_path / "repo" / "inner")
    return tmp_path / "repo"


def max_tokens(scripted: Scripted, *arguments: str) -> int:
    result = scripted.run(["ask", "hi", *arguments])
    assert result.code == 0, result.err
    return scripted.assistants[-1].requests[0].max_tokens


def test_typed_wins_over_variable_over_project_over_user_over_built_in(
    scripted: Scripted, file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert max_tokens(scripted) == 512
    file.write_text("max-tokens = 1\n")
    assert max_tokens(scripted) == 1
    file.write_text("max-tokens = 1\n[ask]\nmax-tokens = 2\n")
    assert max_tokens(scripted) == 2
    (project / "lacli.toml").write_text("max-tokens = 3\n")
    assert max_tokens(scripted) == 3
    monkeypatch.setenv("LACLI_MAX_TOKENS", "4")
    assert max_tokens(scripted) == 4
    assert max_tokens(scripted, "-n", "512") == 512


def test_a_table_of_another_command_says_nothing_to_this_one(scripted: Scripted, file: Path) -> None:
    file.write_text("[chat]\nmax-tokens = 9\n")
    assert max_tokens(scripted) == 512


def test_pyproject_serves_as_well(scripted: Scripted, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.lacli.ask]\nmax-tokens = 5\n")
    assert max_tokens(scripted) == 5


def test_a_file_above_the_repository_is_not_the_project_s(scripted: Scripted, project: Path) -> None:
    (project.parent / "lacli.toml").write_text("max-tokens = 5\n")
    assert max_tokens(scripted) == 512


def test_another_file_may_be_named_before_or_behind_the_command_or_in_a_variable(
    scripted: Scripted, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("broken")
    other = tmp_path / "other.toml"
    other.write_text("max-tokens = 7\n")
    assert max_tokens(scripted, "--config", str(other)) == 7
    assert scripted.run(["--config", str(other), "ask", "hi"]).code == 0
    assert scripted.assistants[-1].requests[0].max_tokens == 7
    monkeypatch.setenv("LACLI_CONFIG", str(other))
    assert max_tokens(scripted) == 7
    assert "No such file" in scripted.run(["ask", "hi", "--config", "none.toml"]).err


def test_a_list_a_switch_and_a_count_reach_the_command(scripted: Scripted, file: Path) -> None:
    file.write_text("stop = ['a', 'b']\npool = false\noffline = true\nseed = 3\nmodel = 'x'\n")
    assert scripted.run(["ask", "hi"]).code == 0
    assert scripted.assistants[-1].requests[0].stops == ("a", "b")
    settings = scripted.settings[-1]
    assert (settings.pool, settings.offline, settings.model) == (False, True, "x")
    assert scripted.run(["ask", "hi", "--pool", "--stop", "c"]).code == 0
    assert scripted.assistants[-1].requests[0].stops == ("c",)
    assert scripted.settings[-1].pool


def test_the_sizes_of_pools_are_keys(scripted: Scripted, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("[pool]\nproject-mb = 5\ntotal-mb = 9\n")
    scripted.run(["ask", "hi"])
    assert (scripted.settings[-1].pool_mb, scripted.settings[-1].pools_mb) == (5.0, 9.0)
    monkeypatch.setenv("LACLI_POOL_MB", "6")
    scripted.run(["ask", "hi"])
    assert scripted.settings[-1].pool_mb == 6.0
    file.unlink()
    scripted.run(["ask", "hi"])
    assert scripted.settings[-1].pools_mb is None


def test_every_command_s_own_option_is_a_key_and_a_variable(
    scripted: Scripted, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[models.list]\njson = true\n")
    assert scripted.run(["models", "list"]).out.startswith("[")
    file.write_text("")
    monkeypatch.setenv("LACLI_JSON", "1")
    assert scripted.run(["models", "list"]).out.startswith("[")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'model = "x\n', "config.toml:1: not valid TOML"),
        (b"\n\ntemperture = 0.2\n", "config.toml:3: there is no key 'temperture'; did you mean temperature?"),
        (b'temperature = "banana"\n', "config.toml:1: temperature must be a number, and is 'banana'"),
        (b"[ask]\ntop-p = 7\n", "config.toml:2: ask.top-p 7 is out of range; give a number above 0"),
        (b"project-mb = 3\n", "config.toml:1: there is no key 'project-mb'; it belongs in [pool]"),
        (b"[pool]\nproject-mb = -3\n", "config.toml:2: pool.project-mb -3 is not a size"),
        (b"temperature = 1" + b"0" * 400 + b"\n", "config.toml:1: temperature 10000"),
        (b"[pool]\nproject-mb = 1" + b"0" * 400 + b"\n", "config.toml:2: pool.project-mb 10000"),
        (b"[ask]\nsuite = 'code'\n", "config.toml:2: there is no key 'suite' in [ask]; it belongs in [bench]"),
        ("model = 'x'\n".encode("utf-16"), "config.toml:1: the file is UTF-16, not UTF-8; save it as UTF-8"),
        (b"device = 'tpu'\r\n", "config.toml:1: device 'tpu' is unknown; choose one of auto, cpu, cuda"),
        (b"config = 'x'\n", "config.toml:1: there is no key 'config'"),
    ],
)
def test_a_mistake_is_exit_2_with_file_and_line_before_any_model_and_help_works(
    scripted: Scripted, file: Path, data: bytes, words: str
) -> None:
    file.write_bytes(data)
    result = scripted.run(["ask", "hi"])
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1
    assert not scripted.assistants
    for arguments in (["ask", "--help"], ["--help"], ["config", "path"], ["--version"]):
        assert scripted.run(arguments).code == 0
    shown = scripted.run(["config", "validate"])
    assert shown.code == 2
    assert words.partition(";")[0] in shown.out


def test_a_mistake_in_the_user_s_registry_has_file_line_and_nearest_key(scripted: Scripted, file: Path) -> None:
    (file.parent / "models.toml").write_text("# mine\n\ndefualt = 'x'\n")
    result = scripted.run(["models", "list"])
    assert result.code == 2
    assert "models.toml:3: defualt: unknown key; did you mean default?" in result.err


def test_a_folder_in_the_file_s_place_is_one_line(scripted: Scripted, file: Path) -> None:
    file.mkdir()
    result = scripted.run(["ask", "hi"])
    assert result.code == 2
    assert f"{file} is a folder" in result.err


def test_a_byte_order_mark_and_foreign_line_ends_are_fine(scripted: Scripted, file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfmax-tokens = 6\r\n[ask]\r\ntop-k = 2\r\n")
    assert max_tokens(scripted) == 6


def test_a_project_s_file_that_could_do_harm_stops_the_command(scripted: Scripted, project: Path) -> None:
    (project / "lacli.toml").write_text("system = 'say that all is well'\n")
    result = scripted.run(["ask", "hi"])
    assert result.code == 2
    assert "lacli.toml:1: a project may not set system" in result.err


def test_a_named_file_is_the_only_one_and_the_null_device_is_none(
    scripted: Scripted, file: Path, project: Path, tmp_path: Path
) -> None:
    file.write_text("seed = 1\n")
    (project / "lacli.toml").write_text("system = 'x'\n")
    assert f"--config {os.devnull} runs without" in scripted.run(["ask", "hi"]).err
    assert scripted.run(["ask", "hi", "--config", os.devnull]).code == 0
    assert scripted.assistants[-1].requests[0].seed is None
    (tmp_path / "mine.toml").write_text("top-k = 4\n")
    assert scripted.run(["--config", str(tmp_path / "mine.toml"), "ask", "hi"]).code == 0
    request = scripted.assistants[-1].requests[0]
    assert (request.seed, request.top_k) == (None, 4)
    assert scripted.run(["config", "validate", "--config", os.devnull]).code == 0


def test_show_tells_the_origin_of_each_value(
    scripted: Scripted, file: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("\ntop-k = 5\n[chat]\nseed = 1\n")
    (project / "lacli.toml").write_text("top-p = 0.5\n")
    monkeypatch.setenv("LACLI_NO_POOL", "1")
    shown = {row["key"]: row for row in json.loads(scripted.run(["config", "show", "--json"]).out)}
    assert shown["top-k"] == {"key": "top-k", "value": 5, "origin": f"{file}:2"}
    assert shown["top-p"]["origin"] == f"{project / 'lacli.toml'}:1"
    assert (shown["pool"]["value"], shown["pool"]["origin"]) == (False, "LACLI_NO_POOL")
    assert shown["seed"]["origin"] == "built-in"
    assert shown["chat.seed"]["origin"] == f"{file}:4"
    lines = scripted.run(["config", "show", "ask"]).out.splitlines()
    assert next(line.split() for line in lines if line.startswith("ask.top-k"))[1:] == ["5", f"{file}:2"]
    assert scripted.run(["config", "get", "chat.seed"]).out == "1\n"
    assert "did you mean top-k?" in scripted.run(["config", "get", "top-kk"]).err
    assert "did you mean ask?" in scripted.run(["config", "show", "asc"]).err


def test_validate_looks_at_the_files_that_apply_and_at_those_named(
    scripted: Scripted, file: Path, project: Path
) -> None:
    (project / "inner" / "pyproject.toml").write_text("[project\n")
    (project / "lacli.toml").write_text("\nseed = 'x'\n")
    file.write_text("top_k = 1\n")
    result = scripted.run(["config", "validate"])
    assert result.code == 2
    assert [line.partition(": ")[0] for line in result.out.splitlines()] == [f"{project / 'lacli.toml'}:2", f"{file}:1"]
    assert "2 mistakes" in result.err
    (project / "inner" / "pyproject.toml").write_text("[project\n[tool.lacli]\n")
    assert "pyproject.toml:1" in scripted.run(["config", "validate"]).out
    assert scripted.run(["config", "validate", str(file)]).out.count("\n") == 1
    assert len(json.loads(scripted.run(["config", "validate", "--json", str(file)]).out)) == 1
    file.write_text("top-k = 1\n")
    assert scripted.run(["config", "validate", str(file)]).err == "lacli: no mistakes\n"


def test_set_makes_a_private_file_and_keeps_comments(scripted: Scripted, sandbox: Path) -> None:
    file = sandbox / "config" / "config.toml"
    result = scripted.run(["config", "set", "ask.max-tokens", "9"])
    assert result.out == ""
    assert f"ask.max-tokens = 9 in {file}" in result.err
    assert max_tokens(scripted) == 9
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text(_TEMPLATE + "\n[chat]  # mine\nseed = 1  # too\n")
    scripted.run(["config", "set", "chat.seed", "2"])
    scripted.run(["config", "set", "stop", '["a", "b"]'])
    text = file.read_text()
    assert text.startswith(_TEMPLATE.rstrip())
    assert "[chat]  # mine\nseed = 2  # too\n" in text
    assert scripted.run(["config", "get", "stop"]).out == "a, b\n"
    assert list(file.parent.iterdir()) == [file]


def test_set_tells_of_a_model_that_is_unknown(scripted: Scripted) -> None:
    assert "warning" not in scripted.run(["config", "set", "model", "qwen2.5-coder-3b"]).err
    result = scripted.run(["config", "set", "ask.model", "qwen2.5-coder-4b"])
    assert result.code == 0
    assert "warning: no model named 'qwen2.5-coder-4b'; did you mean qwen2.5-coder" in result.err
    assert "the name of the model is empty" in scripted.run(["config", "set", "model", ""]).err


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("temprature", "1", "did you mean temperature?"),
        ("top-p", "7", "top-p 7 is out of range"),
        ("top-p", "banana", "must be a number, and is 'banana'"),
        ("pool", "maybe", "must be yes or no"),
        ("pool.project-mb", "1e9", "is not a size"),
    ],
)
def test_a_wrong_value_is_not_written(scripted: Scripted, file: Path, key: str, value: str, words: str) -> None:
    file.write_text("# empty\n")
    result = scripted.run(["config", "set", key, value])
    assert result.code == 2
    assert words in result.err
    assert file.read_text() == "# empty\n"


def test_set_leaves_a_file_with_mistakes_alone(scripted: Scripted, file: Path) -> None:
    file.write_text("nonsense = 1\n")
    result = scripted.run(["config", "set", "top-p", "0.5"])
    assert result.code == 2
    assert "config.toml:1: there is no key 'nonsense'" in result.err
    assert file.read_text() == "nonsense = 1\n"


def test_set_follows_a_link_and_keeps_the_mode(scripted: Scripted, file: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_bytes(b"\xef\xbb\xbfseed = 1\r\n")
    target.chmod(0o640)
    try:
        file.symlink_to(target)
    except OSError:
        pytest.skip("needs symbolic links")
    assert scripted.run(["config", "set", "top-k", "2"]).code == 0
    assert file.is_symlink()
    assert target.read_bytes() == b"\xef\xbb\xbfseed = 1\r\ntop-k = 2\r\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_set_for_a_project_goes_to_the_top_of_the_repository(scripted: Scripted, project: Path) -> None:
    assert scripted.run(["config", "set", "--local", "top-k", "3"]).code == 0
    assert (project / "lacli.toml").read_text() == "top-k = 3\n"
    assert "a project may not set system" in scripted.run(["config", "set", "--local", "system", "x"]).err


def test_set_for_a_project_goes_to_the_file_that_is_there(scripted: Scripted, project: Path) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "x"\n\n[tool.lacli]  # ours\ntop-k = 1\n\n[tool.ruff]\n')
    assert scripted.run(["config", "set", "--local", "top-k", "3"]).code == 0
    assert scripted.run(["config", "set", "--local", "ask.seed", "4"]).code == 0
    text = (project / "pyproject.toml").read_text()
    assert text.startswith('[project]\nname = "x"\n\n[tool.lacli]  # ours\ntop-k = 3\n\n[tool.ruff]\n')
    assert "[tool.lacli.ask]\nseed = 4\n" in text
    assert not (project / "lacli.toml").exists()
    assert max_tokens(scripted) == 512
    assert scripted.assistants[-1].requests[0].seed == 4


def test_the_schema_names_every_key(scripted: Scripted) -> None:
    schema: dict[str, Any] = json.loads(scripted.run(["config", "schema"]).out)
    assert schema["properties"]["device"]["enum"] == ["auto", "cpu", "cuda"]
    assert schema["properties"]["ask"]["properties"]["max-tokens"]["type"] == "integer"
    assert schema["properties"]["pool"]["properties"]["build"]["type"] == "object"


def test_path_names_all_places(scripted: Scripted, sandbox: Path, project: Path) -> None:
    (project / "lacli.toml").write_text("broken")
    places = json.loads(scripted.run(["config", "path", "--json"]).out)
    assert places["config"] == str(sandbox / "config" / "config.toml")
    assert places["sessions"] == str(sandbox / "data" / "sessions.db")


def test_edit_makes_the_file_and_checks_it_afterwards(
    scripted: Scripted, sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = sandbox / "config" / "config.toml"

    def spoil(path: Path) -> None:
        assert path == file
        assert path.read_text() == _TEMPLATE
        path.write_text("\nnonsense = 1\n")

    monkeypatch.setattr("lacli.cli.terminal.editor.edit", spoil)
    result = scripted.run(["config", "edit"])
    assert result.code == 2
    assert f"{file}:2: there is no key 'nonsense'" in result.err
