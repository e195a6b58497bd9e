"""lines.py: what counts of a line, and how alike texts are."""

from __future__ import annotations

from lacli.text.lines import likeness, with_ends, written


def test_a_line_ends_at_its_newline_and_nowhere_else() -> None:
    assert with_ends("a\rb\n\n\u2028c") == ["a\rb\n", "\n", "\u2028c"]
    assert with_ends("") == []


def test_blank_lines_say_nothing() -> None:
    assert written(["a", " \t", "", " b"]) == 2


def test_likeness_counts_lines_of_both_without_blank_ones_and_indentation() -> None:
    assert likeness("a\nb\n", "  b\n\na") == 1
    assert likeness("a\nb\n", "a\nc\n") == 0.5
    assert likeness("a\n", "b\n") == 0
    assert likeness("", "\n") == 1
