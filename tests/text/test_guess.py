"""The language of code without a file name."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.events import Place
from lacli.text import languages
from lacli.text.guess import language_name
from tests.completions import completed_at

SOURCES = sorted((Path(__file__).parents[1] / "data" / "sources").iterdir())
WINDOW = 20


def test_windows_of_real_files_are_told_right_or_not_at_all() -> None:
    right = seen = 0
    for path in SOURCES:
        lines = path.read_text(encoding="utf-8").splitlines()
        wanted = languages.language_of(path.name).name
        for begin in range(0, len(lines) - WINDOW, WINDOW):
            told = language_name("\n".join(lines[begin : begin + WINDOW]))
            if wanted != "markdown":
                assert told in (wanted, ""), f"{path.name}:{begin + 1}"
            right, seen = right + (told == wanted), seen + 1
    assert right > 0.8 * seen


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def add(", "python"),
        ("def add(a, b)\n  a + b\nend\n", "ruby"),
        ("fn main() {\n    let mut x = 1;\n", "rust"),
        ("func add(a int, b int) int {\n\treturn a + b\n", "go"),
        ("const add = (a, b) => {\n  return a\n", "javascript"),
        ("interface Point { x: number }\nconst p: Point = {\n", "typescript"),
        ("#include <stdio.h>\n\nint main(void) {\n", "c"),
        ("#include <vector>\nstd::vector<int> v;\n", "cpp"),
        ("public class Main {\n    public static void main(String[] args) {\n", "java"),
        ("SELECT name\nFROM users\nWHERE ", "sql"),
        ('{\n  "name": "a",\n  "version": 1,\n', "json"),
        ("#!/bin/sh\nif [ -f a ]; then\n  echo b\nfi\n", "shell"),
        ("It was a dark and stormy night; the rain fell.\nAnd so on.\n", ""),
        ("", ""),
    ],
)
def test_a_few_lines_tell(text: str, name: str) -> None:
    assert languages.language_of("", text).name == name


@pytest.mark.parametrize(
    ("before", "after", "says", "kept"),
    [
        ("def add(", "\n", "a, b):\n    return a + b\n\n\nprint(1)\n\n\ndef sub(a, b):\n", "a, b):\n    return a + b"),
        ("BEGIN x\n    one\n    ", "\nEND\n", "two\n    three\nEND\nBEGIN y\n", "two\n    three"),
        ("tell f {\n  ask g;\n  ask h;\n  ", "\n}\n", "ask i;\n}\n\ntell k {\n", "ask i;"),
    ],
)
def test_without_a_name_a_completion_ends_with_its_block(before: str, after: str, says: str, kept: str) -> None:
    assert completed_at(Place(before, after, scope="block"), says).rstrip() == kept
