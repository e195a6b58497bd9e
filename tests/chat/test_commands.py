"""The one table of slash commands."""

from __future__ import annotations

from typing import get_args

import pytest

from lacli.chat.commands import TABLE, FrontEnd, commands, parse, words
from lacli.errors import UsageError


def test_names_stand_once_and_help_fits_beside_them() -> None:
    for front_end in get_args(FrontEnd):
        known = [word for each in commands(front_end) for word in (each.name, each.alias) if word]
        assert len(set(known)) == len(known)
    for each in TABLE:
        assert len(each.usage) < (28 if each.at == ("acp",) else 20)
        assert each.help
        assert bool(each.arguments) >= bool(each.values)


@pytest.mark.parametrize(("front_end", "more"), [("cli", set()), ("tui", {"new", "settings", "theme"})])
def test_front_ends_have_the_same_but_for_what_is_said(front_end: FrontEnd, more: set[str]) -> None:
    both = {each.name for each in TABLE if {"cli", "tui"} <= set(each.at)}
    assert {each.name for each in commands(front_end)} == both | more
    assert set(words(front_end)) == both | more | {"?", "quit"}


def test_an_editor_has_none_of_those_for_which_it_has_ways_of_its_own() -> None:
    known = words("acp")
    assert not {"exit", "new", "copy", "save", "sessions", "theme"} & set(known)
    assert known["edit"].arguments.startswith("FILE")
    assert not words("cli")["edit"].arguments


def test_a_command_is_found_by_its_name_or_its_other_one() -> None:
    known = words("cli")
    for typed, name, rest in (("/save 2 x.py", "save", "2 x.py"), ("/?", "help", ""), ("/QUIT", "exit", "")):
        found = parse(typed, known)
        assert found is not None
        assert (found[0].name, found[1]) == (name, rest)
    assert parse("what?", known) is None
    with pytest.raises(UsageError, match="/retry takes nothing after it"):
        parse("/retry now", known)
    with pytest.raises(UsageError, match="there is no command /theme"):
        parse("/theme dark", known)
