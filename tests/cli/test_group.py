"""The command line as a whole: help, unknown words, and what is said about them."""

from __future__ import annotations

import pytest

from lacli import __version__
from tests.cli.conftest import Scripted


def test_bare_lacli_prints_the_help_on_stdout(scripted: Scripted) -> None:
    bare = scripted.run([])
    assert bare.code == 0
    assert bare.out == scripted.run(["--help"]).out == scripted.run(["-h"]).out
    for command in ("ask", "chat", "complete", "models", "pool", "bench"):
        assert f"\n  {command} " in bare.out


def test_version(scripted: Scripted) -> None:
    assert scripted.run(["--version"]).out == f"lacli {__version__}\n"


@pytest.mark.parametrize(("word", "near"), [("asc", "lacli ask"), ("model", "lacli models"), ("chatt", "lacli chat")])
def test_an_unknown_command_is_exit_2_with_the_nearest_name_and_never_a_prompt(
    scripted: Scripted, word: str, near: str
) -> None:
    result = scripted.run([word, "list"])
    assert result.code == 2
    assert near in result.err
    assert not scripted.assistants


def test_a_word_like_no_command_points_to_ask(scripted: Scripted) -> None:
    result = scripted.run(["xyzzy"])
    assert result.code == 2
    assert "lacli ask" in result.err


@pytest.mark.parametrize("command", ["pool", "models"])
def test_no_summary_of_a_subcommand_is_cut_off(scripted: Scripted, command: str) -> None:
    assert ".." not in scripted.run([command, "--help"]).out.partition("Commands:")[2].partition("Examples:")[0]
