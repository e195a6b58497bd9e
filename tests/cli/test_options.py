"""Every common option is checked once: out of range is exit 2 and names the range, before any model is looked for."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from lacli.cli.framework.options import Common
from tests.cli.conftest import Scripted


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "-1"], "from 0 to"),
        (["--temperature", "nan"], "0 or more"),
        (["--temperature", "-1"], "0 or more"),
        (["--temperature", "inf"], "0 or more"),
        (["--top-p", "0"], "above 0 and at most 1"),
        (["--top-p", "1.5"], "above 0 and at most 1"),
        (["--top-p", "nan"], "above 0 and at most 1"),
        (["--top-k", "-1"], "from 0 to"),
        (["--seed", "-1"], "from 0 to 9223372036854775807"),
        (["--seed", str(2**63)], "from 0 to 9223372036854775807"),
        (["--repetition-penalty", "0"], "above 0"),
        (["--repetition-penalty", "-2"], "above 0"),
        (["--stop", ""], "--stop is empty"),
        (["--window", "-1"], "from 0 to"),
        (["--ngram", "1"], "from 2 to"),
        (["--guesses", "-1"], "from 0 to"),
        (["--threads", "0"], "from 1 to"),
        (["--device", "mps"], "Apple GPUs are not used"),
        (["--device", "tpu"], "auto, cpu, cuda"),
        (["--quant", "int5"], "int4, int8"),
        (["--seed", "abc"], "--seed: 'abc' is not a whole number"),
        (["--top-p", "hot"], "--top-p: 'hot' is not a number"),
        (["--tempreature", "0"], "--temperature"),
    ],
)
def test_out_of_range_is_exit_2_and_names_what_is_allowed(scripted: Scripted, arguments: list[str], words: str) -> None:
    result = scripted.run(["ask", "hi", *arguments])
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert result.err.startswith("lacli: error: ")
    assert words in result.err
    assert not scripted.assistants


@pytest.mark.parametrize(
    "arguments",
    [
        ["-n", "0"],
        ["--temperature", "1e-30"],
        ["--temperature", "1e9"],
        ["--top-p", "1e-9"],
        ["--top-p", "1"],
        ["--top-k", "1000000"],
        ["--seed", "0"],
        ["--window", "0"],
        ["--ngram", "2", "--guesses", "0"],
    ],
)
def test_the_ends_of_the_ranges_are_legal(scripted: Scripted, arguments: list[str]) -> None:
    assert scripted.run(["ask", "hi", *arguments]).code == 0


def test_options_reach_settings_and_request(scripted: Scripted) -> None:
    line = (
        "ask hi -m x.gguf -n 7 --temperature 0.5 --top-p 0.9 --top-k 3 --seed 4 --stop a --stop b --quant none "
        "--device cpu --threads 2 --repetition-penalty 1.2 --window 3 --ngram 4 --guesses 5 --no-lookahead "
        "--no-pool --no-learn"
    )
    scripted.run(line.split())
    settings, request = scripted.settings[0], scripted.assistants[0].requests[0]
    assert (settings.model, settings.quant, settings.device, settings.threads) == ("x.gguf", "none", "cpu", 2)
    assert (settings.lookahead, settings.pool, settings.learn) == (False, False, False)
    assert (settings.window, settings.ngram, settings.guesses) == (3, 4, 5)
    assert (request.max_tokens, request.temperature, request.top_p, request.top_k) == (7, 0.5, 0.9, 3)
    assert (request.seed, request.stops, request.repetition_penalty) == (4, ("a", "b"), 1.2)


def test_greedy_and_everything_on_by_default(scripted: Scripted) -> None:
    scripted.run(["ask", "hi"])
    settings, request = scripted.settings[0], scripted.assistants[0].requests[0]
    assert (request.temperature, request.top_p, request.top_k, request.max_tokens) == (0.0, 1.0, 0, 512)
    assert (settings.lookahead, settings.pool, settings.learn, settings.device) == (True, True, True, "auto")


def test_the_environment_gives_defaults_and_a_typed_flag_wins(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LACLI_TOP_K", "5")
    monkeypatch.setenv("LACLI_MODEL", "from-environment")
    monkeypatch.setenv("LACLI_POOL", "0")
    scripted.run(["ask", "hi", "-m", "typed"])
    assert scripted.settings[0].model == "typed"
    assert scripted.settings[0].pool is False
    assert scripted.assistants[0].requests[0].top_k == 5


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LACLI_NO_POOL": "1", "LACLI_NO_LOOKAHEAD": "yes"}, (False, False)),
        ({"LACLI_POOL": "0", "LACLI_LOOKAHEAD": "off"}, (False, False)),
        ({"LACLI_NO_POOL": "0", "LACLI_NO_LOOKAHEAD": ""}, (True, True)),
        ({"LACLI_NO_POOL": "1", "LACLI_POOL": "1", "LACLI_NO_LOOKAHEAD": "0", "LACLI_LOOKAHEAD": "0"}, (False, False)),
    ],
)
def test_both_variables_of_a_pair_are_heard_and_the_one_that_says_no_wins(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: tuple[bool, bool]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert scripted.run(["ask", "hi"]).err == ""
    assert (scripted.settings[0].pool, scripted.settings[0].lookahead) == expected
    scripted.run(["ask", "hi", "--pool", "--lookahead"])
    assert (scripted.settings[1].pool, scripted.settings[1].lookahead) == (True, True)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("LACLI_TOP_K", "-5", "LACLI_TOP_K -5 is out of range"),
        ("LACLI_TEMPERATURE", "hot", "LACLI_TEMPERATURE: 'hot' is not a number"),
        ("LACLI_SEED", "1.5", "LACLI_SEED: '1.5' is not a whole number"),
        ("LACLI_DEVICE", "tpu", "LACLI_DEVICE 'tpu' is unknown"),
        ("LACLI_POOL", "maybe", "LACLI_POOL: 'maybe' says neither yes nor no"),
        ("LACLI_NO_POOL", "maybe", "LACLI_NO_POOL=maybe says neither yes nor no"),
    ],
)
def test_a_wrong_value_of_a_variable_is_blamed_on_the_variable(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    result = scripted.run(["ask", "hi"])
    assert result.code == 2
    assert result.err.startswith(f"lacli: error: {words}")
    assert result.err.count("\n") == 1


def test_a_variable_that_is_none_of_lacli_s_is_one_warning_with_the_nearest_name(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LACLI_CACHE_SEED", "x")
    monkeypatch.setenv("LACLI_TOPP", "0.5")
    result = scripted.run(["ask", "hi", "-q"])
    assert result.code == 0
    assert result.err == "lacli: warning: the variable LACLI_TOPP is not one of lacli's; did you mean LACLI_TOP_P?\n"


def test_every_option_is_in_the_help_of_each_command(scripted: Scripted) -> None:
    for command, without in (
        ("ask", set()),
        ("chat", set()),
        ("complete", {"system", "no_instructions", "truncate", "plain"}),
    ):
        shown = scripted.run([command, "--help"]).out
        for field in dataclasses.fields(Common):
            assert field.name in without or f"--{field.name.replace('_', '-')}" in shown, (command, field.name)
        assert "Examples" in shown
        assert "LACLI_TOP_P" in shown


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ask hi -n -1", "-n -1 is out of range"),
        ("ask hi --max-tokens -1", "--max-tokens -1 is out of range"),
        ("ask hi --seed abc", "--seed: 'abc' is not a whole number"),
        ("ask hi --temp -1", "--temp -1.0 is out of range"),
        ("-v bench --limit 2 --max-tokens 0", "--max-tokens 0 is out of range"),
        ("ask --batch f --session 3fa9", "--batch and --session exclude"),
        ("ask --batch f -c", "--batch and -c exclude"),
        ("ask --batch f --continue", "--batch and --continue exclude"),
        ("ask --batch f --xl", "--batch and --xl exclude"),
        ("ask --batch f --extract", "--batch and --extract exclude"),
        ("ask --batch f -x", "--batch and -x exclude"),
        ("ask hi --jsonl --xl", "--jsonl and --xl exclude"),
        ("ask hi --jsonl --extract-last", "--jsonl and --extract-last exclude"),
        ("ask hi --jsonl --output f", "--jsonl and --output exclude"),
        ("ask hi --jsonl -of", "--jsonl and -o exclude"),
    ],
)
def test_a_message_calls_an_option_as_it_was_typed(scripted: Scripted, line: str, words: str) -> None:
    result = scripted.run(line.split())
    assert (result.code, result.err.startswith(f"lacli: error: {words}")) == (2, True), result.err


def test_a_message_calls_an_option_that_was_not_typed_by_its_long_name(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LACLI_EXTRACT", "1")
    assert "--jsonl and LACLI_EXTRACT exclude" in scripted.run(["ask", "hi", "--jsonl"]).err
    monkeypatch.delenv("LACLI_EXTRACT")
    (Path(os.environ["LACLI_HOME"]) / "config").mkdir()
    (Path(os.environ["LACLI_HOME"]) / "config" / "config.toml").write_text("[ask]\nextract = true\n")
    assert "--jsonl and --extract exclude" in scripted.run(["ask", "hi", "--jsonl"]).err
