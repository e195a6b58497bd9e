"""layers.py, keys.py, trust.py: what applies, what is wrong with it, and what a project may not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.configuration.jsonschema import json_schema
from lacli.configuration.keys import Key, Schema
from lacli.configuration.layers import Configuration, layered, project_files, sources_in, user_file
from lacli.errors import UsageError

COMMON = {
    "top-p": Key("top-p", "number"),
    "top-k": Key("top-k", "whole number"),
    "stop": Key("stop", "list of texts"),
    "model": Key("model", "text"),
    "no-log": Key("no-log", "yes or no"),
    "verbose": Key("verbose", "whole number", counts=True),
}
SCHEMA = Schema(
    {
        (): COMMON,
        ("ask",): COMMON | {"output": Key("output", "text"), "param": Key("param", "list of pairs")},
        ("pool",): {},
        ("pool", "build"): {"jobs": Key("jobs", "whole number")},
    },
    frozenset({("tui",)}),
)


def of(folder: Path, user: str = "", project: str = "", pyproject: str = "") -> Configuration:
    for name, text in (("config.toml", user), ("lacli.toml", project), ("pyproject.toml", pyproject)):
        if text:
            (folder / name).write_text(text)
    return layered(project_files([folder]) + user_file(folder / "config.toml", named=False), SCHEMA)


def test_a_project_wins_over_the_user_and_a_command_s_table_over_the_top_level(tmp_path: Path) -> None:
    found = of(tmp_path, "top-p = 0.1\ntop-k = 1\n[ask]\ntop-k = 2\n", "top-k = 3\n")
    setting = found.get(("ask",), "top-k")
    assert setting is not None
    assert (setting.value, setting.file.name, setting.line) == (3, "lacli.toml", 1)
    assert found.get(("ask",), "top-p").value == 0.1  # type: ignore[union-attr]
    assert found.get(("ask",), "stop") is None
    (tmp_path / "lacli.toml").unlink()
    assert of(tmp_path).get(("ask",), "top-k").value == 2  # type: ignore[union-attr]


def test_the_nearest_folder_s_file_is_the_project_s(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "lacli.toml").write_text("top-k = 1\n")
    assert project_files([inner, tmp_path])[0].document.path == tmp_path / "lacli.toml"
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert project_files([inner, tmp_path])[0].document.path == tmp_path / "lacli.toml"
    (inner / "pyproject.toml").write_text("[tool.lacli]\ntop-k = 2\n")
    found = layered(project_files([inner, tmp_path]), SCHEMA)
    assert found.get((), "top-k") is not None
    assert found.get((), "top-k").line == 2  # type: ignore[union-attr]


def test_two_files_of_one_project_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pyproject\.toml:2: .*lacli\.toml configures this project, too"):
        of(tmp_path, "", "top-k = 1\n", "# x\n[tool.lacli]\ntop-k = 1\n")


def test_a_pyproject_that_does_not_speak_of_lacli_may_be_broken(tmp_path: Path) -> None:
    assert of(tmp_path, pyproject="[project\n").files == ()
    with pytest.raises(UsageError, match=r"pyproject\.toml:1"):
        of(tmp_path, pyproject="[project\n[tool.lacli]\n")


@pytest.mark.parametrize(
    ("text", "line", "words", "hint"),
    [
        ("x = 1\n", 1, "there is no key 'x'", "did you mean"),
        ("\ntop_p = 1\n", 2, "there is no key 'top_p'", "did you mean top-p?"),
        ("top-kk = 1\n", 1, "there is no key 'top-kk'", "did you mean top-k?"),
        ("output = 'x'\n", 1, "there is no key 'output'", "it belongs in [ask]"),
        ("[ask]\njobs = 1\n", 2, "there is no key 'jobs' in [ask]", "it belongs in [pool.build]"),
        ("[asc]\n", 1, "there is no key 'asc'", "did you mean ask?"),
        ("[pool.biuld]\n", 1, "there is no key 'biuld' in [pool]", "did you mean build?"),
        ("ask = 1\n", 1, "ask must be a table", "[ask]"),
        ("top-p = 'banana'\n", 1, "top-p must be a number, and is 'banana'", "without quotes"),
        ("top-p = true\n", 1, "top-p must be a number, and is true", ""),
        ("top-k = 1.5\n", 1, "top-k must be a whole number, and is 1.5", ""),
        ("no-log = 'yes'\n", 1, "no-log must be yes or no, and is 'yes'", "true or false"),
        ("no-log = 1\n", 1, "no-log must be yes or no, and is 1", ""),
        ("model = 3\n", 1, "model must be a text, and is 3", "between quotes"),
        ("stop = [1]\n", 1, "stop must be a list of texts", '["one", "two"]'),
        ("[ask]\nparam = [['a']]\n", 2, "ask.param must be a list of pairs", ""),
    ],
)
def test_a_mistake_has_its_line_and_the_remedy(tmp_path: Path, text: str, line: int, words: str, hint: str) -> None:
    problems = of(tmp_path, text).problems
    assert len(problems) == 1
    assert problems[0].line == line
    assert problems[0].text.startswith(words)
    assert hint in problems[0].hint


def test_values_of_the_right_type_are_read_as_the_command_takes_them(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        "top-p = 1\nstop = 'x'\nverbose = true\n[ask]\nparam = [['a', 'b']]\n[pool.build]\njobs = 1\n[tui]\nx=1\n",
    )
    assert found.problems == ()
    assert found.get((), "stop").value == ["x"]  # type: ignore[union-attr]
    assert found.get((), "verbose").value == 1  # type: ignore[union-attr]
    assert found.get(("pool", "build"), "jobs").value == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "model = './evil.gguf'",
        "model = 'sub/model'",
        "model = '..'",
        "model = '~/x'",
        "model = 'C:\\\\x'",
        "model = 'X.GGUF'",
        "no-log = false",
        "[ask]\noutput = '/home/me/.bashrc'",
        "[ask]\nparam = [['a', 'b']]",
        "[tui]\nx = 1",
    ],
)
def test_a_project_may_not_say_what_could_do_harm(tmp_path: Path, text: str) -> None:
    found = of(tmp_path, project=text)
    assert len(found.problems) == 1
    assert "a project may" in found.problems[0].text
    assert not any(found.layers)
    (tmp_path / "lacli.toml").unlink()
    assert of(tmp_path, user=text).problems == ()


def test_a_folder_of_the_project_is_no_model_for_it_to_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not of(tmp_path, project="model = 'mine'\n").problems
    (tmp_path / "mine").mkdir()
    (problem,) = of(tmp_path, project="model = 'mine'\n").problems
    assert "may only name a model" in problem.text


def test_what_shapes_the_reply_or_keeps_less_is_a_project_s_to_say(tmp_path: Path) -> None:
    text = "model = 'qwen2.5-coder-1.5b'\ntop-p = 0.5\nstop = 'x'\nno-log = true\n[ask]\ntop-k = 3\n"
    assert of(tmp_path, project=text).problems == ()


def test_a_file_is_taken_for_what_its_name_says(tmp_path: Path) -> None:
    for name, count in (("lacli.toml", 1), ("mine.toml", 0)):
        (tmp_path / name).write_text("no-log = false\n")
        assert len(layered(sources_in(tmp_path / name), SCHEMA).problems) == count


def test_more_than_one_mistake_is_counted(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        of(tmp_path, "a = 1\nb = 2\n").raise_problems()
    assert "c" in str(raised.value)
    assert "1 more: see `lacli config validate`" in raised.value.hint


def test_the_schema_is_for_editors() -> None:
    schema = json_schema(SCHEMA)
    assert schema["properties"]["top-p"] == {"type": "number"}
    assert schema["properties"]["pool"]["properties"]["build"]["properties"]["jobs"] == {"type": "integer"}
    assert schema["properties"]["tui"] == {"type": "object"}
    assert schema["additionalProperties"] is False
