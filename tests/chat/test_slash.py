"""What is typed as a slash command, what is a question, and what is neither."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lacli.chat import slash
from lacli.errors import UsageError

KNOWN = {"help": False, "save": True, "retry": False}


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("/help", ("help", "")),
        ("/HELP ", ("help", "")),
        ("/save  2 a b.py ", ("save", "2 a b.py")),
        ("/save\nx", ("save", "x")),
    ],
)
def test_a_command_and_what_stands_behind_it(typed: str, found: tuple[str, str]) -> None:
    assert slash.command(typed, KNOWN) == found


@pytest.mark.parametrize(
    "typed",
    [
        "what?",
        "",
        "/",
        "// a comment",
        "/* a */ int x;",
        "/a/b is no path",
        "/regex/g",
        "/1",
        " /help",
        "\t/nonsense x",
    ],
)
def test_a_question_is_no_command(typed: str) -> None:
    assert slash.command(typed, KNOWN) is None


@pytest.mark.parametrize(
    ("typed", "word", "remedy"),
    [
        ("/retyr", "retyr", "did you mean /retry? A blank before it sends it as a question"),
        ("/sav x.py", "sav", "did you mean /save? A blank"),
        ("/explain why this is so", "explain", "/help lists them; a blank before it sends it as a question"),
        ("/explain\nwhy?", "explain", "a blank before it"),
        ("/no-such.thing", "no-such.thing", "a blank before it"),
        ("/größe der Datei", "größe", "a blank before it"),
    ],
)
def test_a_word_that_is_no_command_is_never_sent(typed: str, word: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        slash.command(typed, KNOWN)
    assert raised.value.message == f"there is no command /{word}"
    assert remedy in raised.value.hint


def test_nor_is_a_command_that_takes_nothing_with_words_behind_it() -> None:
    with pytest.raises(UsageError) as raised:
        slash.command("/help me with this", KNOWN)
    assert raised.value.message == "/help takes nothing after it"
    assert raised.value.hint == "a blank before it sends it as a question"


@pytest.mark.skipif(sys.platform == "win32", reason="paths begin otherwise")
@pytest.mark.parametrize("rest", ["", " what is in it?"])
def test_a_path_that_exists_is_sent(rest: str) -> None:
    there = Path(Path.cwd().parts[1]).name
    assert slash.command(f"/{there}{rest}", KNOWN) is None


@pytest.mark.parametrize(
    ("typed", "sent"),
    [(" /help me", "/help me"), ("  /x", "/x"), ("  what?", "  what?"), (" //x", " //x"), ("a /x", "a /x")],
)
def test_the_blank_before_a_command_is_not_sent_and_comes_back_with_the_question(typed: str, sent: str) -> None:
    assert slash.question(typed) == sent
    assert slash.command(slash.as_typed(sent), KNOWN) is None
    assert slash.question(slash.as_typed(sent)) == sent


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("", ("", "")),
        ("2", ("2", "")),
        ("2 a b.py", ("2", "a b.py")),
        ("./7", ("", "./7")),
        ("7.py", ("", "7.py")),
        ("-1 x", ("", "-1 x")),
    ],
)
def test_a_number_comes_before_a_path(rest: str, found: tuple[str, str]) -> None:
    assert slash.numbered(rest) == found


def test_a_path_is_typed_in_quotes_or_not() -> None:
    assert slash.path_of('"a b.py"') == slash.path_of("'a b.py'") == slash.path_of("a b.py") == Path("a b.py")
    assert slash.path_of("~/x") == Path.home() / "x"
