"""Every common option is checked once: out of range is exit 2 and names the range, before any model is looked for."""

from __future__ import annotations

import dataclasses
import os

import pytest

from lacli.cli.options import Common
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
        (["--quant", "int4"], "nf4, int8"),
        (["--seed", "abc"], "'--seed'"),
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
    monkeypatch.setenv("LACLI_TOP_K", "-5")
    assert "--top-k -5 is out of range" in scripted.run(["ask", "hi"]).err


def test_every_option_is_in_the_help_of_each_command(scripted: Scripted) -> None:
    for command in ("ask", "chat", "complete"):
        shown = scripted.run([command, "--help"]).out
        for field in dataclasses.fields(Common):
            assert f"--{field.name.replace('_', '-')}" in shown, (command, field.name)
        assert os.linesep + "  Examples" in shown or "Examples" in shown
