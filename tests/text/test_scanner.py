"""What stands open in a piece of code, in each language's own strings and comments."""

from __future__ import annotations

import pytest

from lacli.completion.cursor import cursor_of
from lacli.completion.scanner import scan
from lacli.events import Place
from lacli.text import languages


def open_in(text: str, language: str) -> str:
    found = languages.by_name(language)
    assert found is not None
    return " ".join(each.mark for each in scan(text, found).stack)


@pytest.mark.parametrize(
    ("text", "language", "stack"),
    [
        ("f(a[1], {", "python", "( {"),
        ("x = '(' + \"[\"", "python", ""),
        ('x = """(\n"\n', "python", '"""'),
        ('x = """(\n""" + (', "python", "("),
        ("x = '' + (", "python", "("),
        ("x = ''''", "python", "'''"),
        ("x = 'it\\'s (", "python", "'"),
        ("x = 'unended (\ny = [", "python", "["),
        ("f(  # (\n", "python", "("),
        ("a = b # it's", "python", "#"),
        ("f(/* ( */ {", "c", "( {"),
        ("f(/* (", "c", "( /*"),
        ("a // (\n{", "go", "{"),
        ("a := `(\n", "go", "`"),
        ("c := '(' + \"(\"", "go", ""),
        ("let s = `a ${f(`, '`')} (", "javascript", "` { ( '"),
        ("let s = `a ${x} (", "javascript", "`"),
        ("x = a / b; y = /[(]/.test(z", "javascript", "("),
        ("if self.follows('|') { x('\\\\', '{', 'x') }", "rust", ""),
        ("match c { Some('\"' | '`') => g('a'), x: &'a [u8]", "rust", "{"),
        ("fn f<'a>(x: &'a str) { let c = '{'; let d = '\\''; g(", "rust", "{ ("),
        ('let s = "a\n(";', "rust", ""),
        ("-- it's (\n(", "lua", "("),
        ("(it's prose", "markdown", ""),
        ("f(])", "python", ""),
    ],
)
def test_what_stands_open(text: str, language: str, stack: str) -> None:
    assert open_in(text, language) == stack


@pytest.mark.parametrize(
    ("file", "kept", "opened"),
    [
        ("f(|)", 1, 1),
        ("f(g(|)", 1, 2),
        ("f(g(|\n", 0, 2),
        ('f("|")', 2, 2),
        ('f("|\n', 0, 2),
        ("f(a, |\n)", 1, 1),
        ("def f():\n    x = g(|\n    return [1]\n", 0, 1),
        ('"""a |\n"""\n', 1, 1),
        ("f(  # a |)\n)", 1, 2),
    ],
)
def test_what_is_closed_behind_the_cursor(file: str, kept: int, opened: int) -> None:
    prefix, _, suffix = file.partition("|")
    cursor = cursor_of(Place(prefix, suffix, "a.py"))
    assert (cursor.kept, len(cursor.stack)) == (kept, opened)


def test_languages_are_known_by_name_first_line_or_looks() -> None:
    assert languages.language_of("a/b.RS").name == "rust"
    assert languages.language_of("Makefile").name == "make"
    assert languages.language_of("x", "#!/usr/bin/env python3\n").name == "python"
    assert languages.language_of("", "def f():\n    pass\n").name == "python"
    assert languages.language_of("", "int f() {\n  return 1;\n}\n").name == "c"
    assert languages.language_of("", "some prose (with a bracket\n").name == ""
    assert languages.by_name("TS") is languages.by_name("typescript")
    assert languages.by_name("klingon") is None
