"""Help, `lacli spec` and docs/: made from the code, complete, and never behind it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lacli.cli import reference
from lacli.cli.framework import catalog, examples, schema
from lacli.cli.framework.parameters import NOT_KEYS, key_name
from lacli.cli.spec import command as spec
from lacli.configuration.keys import Key
from lacli.configuration.trust import limits, refused
from tests.cli.conftest import Scripted

COMMANDS = [(" ".join(path), command) for path, command in catalog.commands()]


def test_the_documents_are_what_the_code_says() -> None:
    for name, text in reference.documents().items():
        assert (reference.DOCS / name).read_text(encoding="utf-8") == text, (
            f"docs/{name} is stale: python -m lacli.cli.reference"
        )


def test_a_stale_document_is_noticed_and_written(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "DOCS", tmp_path / "docs")
    assert reference.main(["--check"]) == 1
    assert "docs/commands.md is stale" in capsys.readouterr().err
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_command_has_two_to_four_examples_and_a_line_for_every_option(name: str, command: Any) -> None:
    shown, _ = examples.split(command.epilog)
    assert 2 <= len(shown) <= 4, shown
    assert sum(f"lacli {name}" in example for example in shown) >= 2, shown
    assert command.help
    for parameter in command.params:
        assert parameter.help, parameter.name


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_the_help_of_every_command_is_shown_with_its_examples_whole(
    scripted: Scripted, name: str, command: Any
) -> None:
    result = scripted.run([*name.split(), "--help"])
    assert result.code == 0
    assert result.err == ""
    for example in examples.split(command.epilog)[0]:
        assert f"\n  {example}\n" in result.out


def test_examples_name_only_options_that_are_there(scripted: Scripted) -> None:
    known = {flag for command in spec.described()["commands"] for each in command["options"] for flag in each["flags"]}
    known |= {
        flag for command in spec.described()["commands"] for each in command["options"] for flag in each["off_flags"]
    }
    for _, command in COMMANDS:
        for example in examples.split(command.epilog)[0]:
            for part in re.findall(r"lacli [^|&]*", examples.parts(example)[0]):
                text = re.sub(r"""'[^']*'|"[^"]*"|--? .*""", "", part)
                assert set(re.findall(r"(?<=\s)--[a-z][a-z-]*", text)) <= known, example


def test_the_root_has_examples(scripted: Scripted) -> None:
    assert "Examples:\n  lacli ask" in scripted.run(["--help"]).out


def test_spec_is_the_whole_command_line(scripted: Scripted) -> None:
    told = json.loads(scripted.run(["spec"]).out)
    by_name = {command["name"]: command for command in told["commands"]}
    assert list(by_name) == [name for name, _ in COMMANDS]
    option = next(each for each in by_name["ask"]["options"] if "--top-p" in each["flags"])
    assert (option["kind"], option["default"], option["variable"], option["key"]) == (
        "number",
        1.0,
        "LACLI_TOP_P",
        "top-p",
    )
    pool = next(each for each in by_name["ask"]["options"] if "--pool" in each["flags"])
    assert (pool["off_flags"], pool["variable"]) == (["--no-pool"], "LACLI_POOL")
    assert by_name["complete"]["arguments"][0]["required"]
    assert by_name["pool"]["is_group"]
    assert told["exit_codes"]["130"].startswith("interrupted")
    assert all(option["help"] for command in told["commands"] for option in command["options"])


def test_every_option_has_a_variable_and_a_key_but_those_that_cannot() -> None:
    for name, command in COMMANDS:
        if name.split()[0] in schema.UNCONFIGURED:
            continue
        keys = schema.keys_of(command)
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden and key_name(parameter) not in NOT_KEYS:
                assert key_name(parameter) in keys
                assert parameter.envvar or not parameter.allow_from_autoenv


def test_what_the_documents_say_of_a_project_is_what_is_refused() -> None:
    values: dict[str, list[Any]] = {"model": ["a-name", "./path"]}
    for keys in catalog.whole().keys.values():
        for key in keys.values():
            tried = values.get(key.name, [True, False] if key.kind == "yes or no" else [1])
            allowed = [value for value in tried if refused(key.name, value) is None]
            assert limits(key.name) == _said(key, tried, allowed)


def _said(key: Key, tried: list[Any], allowed: list[Any]) -> str:
    if key.name == "model":
        return "name a registered model"
    if not allowed:
        return ""
    return "set it" if allowed == tried else f"set it to {str(allowed[0]).lower()}"


def test_every_command_that_a_message_or_a_page_names_is_there() -> None:
    known = {name for name, _ in COMMANDS}
    groups = {name.split()[0] for name in known if " " in name}
    root = reference.DOCS.parent
    files = [*root.glob("lacli*/**/*.py"), *root.glob("docs/*.md"), root / "README.md"]
    for file in files:
        for first, second in re.findall(r"`lacli ([a-z]+)(?: ([a-z]+))?", file.read_text(encoding="utf-8")):
            name = f"{first} {second}" if first in groups and second else first
            assert name in known | groups, f"{file.name}: `lacli {name}`"
