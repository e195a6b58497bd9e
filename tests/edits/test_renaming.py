"""A rename changes a name wherever it is meant, and nowhere else."""

from __future__ import annotations

import pytest

from lacli.edits.direct.renaming import Renamed, is_purely_lexical, renamed
from lacli.edits.find.find import find
from lacli.edits.find.reading import intent_of
from lacli.edits.tree.outline import outline

PYTHON = '''"""Loads things; see load()."""

__all__ = ["load", "Store"]


def load(path, mode="r"):
    """Open `path` by load_file."""
    return open(path, mode)


def load_all(paths):
    load = 3  # a local of that name
    return [path for path in paths] + [load]


class Store:
    def get(self, key):
        return {}.get(key)

    def both(self):
        return self.get(1), load("x", mode="w")
'''


def rename(text: str, instruction: str, language: str = "python") -> Renamed:
    found = outline(text, language)
    assert found is not None
    intent = intent_of(instruction, text, found)
    assert is_purely_lexical(intent), intent
    made = renamed(text, found, intent, [(part.start, part.end) for part in find(text, found, intent).parts])
    assert made is not None
    return made


class TestPython:
    def test_a_function_with_its_calls_exports_and_mentions(self) -> None:
        made = rename(PYTHON, "rename load to fetch").text
        assert 'def fetch(path, mode="r")' in made
        assert '__all__ = ["fetch", "Store"]' in made
        assert 'fetch("x", mode="w")' in made
        assert "see fetch()" in made
        assert "def load_all" in made
        assert "load_file" in made

    def test_a_parameter_with_its_keywords(self) -> None:
        made = rename(PYTHON, "rename the parameter mode of load to how").text
        assert 'def load(path, how="r")' in made
        assert "open(path, how)" in made
        assert "mode" not in made.split("def load_all")[0].split("def load")[1]

    def test_a_method_and_not_the_method_of_a_dict(self) -> None:
        made = rename(PYTHON, "rename the method get of Store to find")
        assert "def find(self, key)" in made.text
        assert "self.find(1)" in made.text
        assert "{}.get(key)" in made.text

    def test_a_name_that_is_taken_is_said(self) -> None:
        assert rename(PYTHON, "rename load to load_all").problems


class TestOthers:
    @pytest.mark.parametrize(
        ("language", "text", "instruction", "made"),
        [
            ("go", "package a\n\nvar c int\n\nfunc F() int { return c }\n", "rename c to count",
             "package a\n\nvar count int\n\nfunc F() int { return count }\n"),
            ("javascript", "const a = 1\nconst o = { a }\n", "rename a to b", "const b = 1\nconst o = { a: b }\n"),
            ("c", "static int f(int x) { return x; }\nint g(void) { return f(1); }\n", "rename f to ff",
             "static int ff(int x) { return x; }\nint g(void) { return ff(1); }\n"),
            ("rust", "struct S { a: i32 }\nimpl S { fn a2(&self) -> i32 { self.a } }\n", "rename the field a to b",
             "struct S { b: i32 }\nimpl S { fn a2(&self) -> i32 { self.b } }\n"),
        ],
    )  # fmt: skip
    def test_by_the_tree(self, language: str, text: str, instruction: str, made: str) -> None:
        assert rename(text, instruction, language).text == made


@pytest.mark.parametrize(
    ("instruction", "pure"),
    [
        ("rename load to fetch", True),
        ("please rename the function load to fetch everywhere in this file", True),
        ("rename load to fetch and return bytes", False),
        ("rename load to fetch, and add a docstring to it", False),
        ("add a function fetch", False),
    ],
)
def test_only_a_rename_needs_no_model(instruction: str, pure: bool) -> None:
    assert is_purely_lexical(intent_of(instruction, PYTHON, outline(PYTHON, "python"))) is pure


class TestWhatIsAnother:
    """The same letters may be another name: what surely is stays, what may be is said."""

    def test_a_function_and_what_shares_its_name(self) -> None:
        text = (
            "from net import fetch as get_it\n\n\ndef fetch(x):\n    return x\n\n\nclass Job:\n"
            "    def __init__(self):\n        self.fetch = fetch\n\n\ndef run(job):\n"
            "    return Job(fetch=fetch), job.fetch(1), fetch(2)\n\n\ndef other():\n    fetch = 3\n    return fetch\n"
        )
        made = rename(text, "rename fetch to load").text
        assert "from net import fetch as get_it" in made
        assert "self.fetch = load\n" in made
        assert "Job(fetch=load), job.fetch(1), load(2)" in made
        assert "    fetch = 3\n    return fetch\n" in made

    def test_an_attribute_of_a_class_with_its_definition(self) -> None:
        text = (
            "def make(size):\n    return size\n\n\nclass Box:\n    size = 1\n\n    def area(self):\n"
            "        return self.size * Box.size\n\n\nx = dict(size=1), make(size=3), Box(size=2)\n"
        )
        made = rename(text, "rename size to width")
        assert "    width = 1\n" in made.text
        assert "self.width * Box.width" in made.text
        assert "def make(size):\n    return size" in made.text
        assert "dict(size=1), make(size=3), Box(width=2)" in made.text
        assert made.notes

    def test_a_name_with_two_definitions_is_not_guessed(self) -> None:
        made = rename("LIMIT = 3\n\n\nclass Cfg:\n    LIMIT: int = 2\n", "rename LIMIT to MAXIMUM")
        assert made.count == 0
        assert "defined more than once" in made.problems[0]

    def test_a_field_of_go_and_a_function_of_another_package(self) -> None:
        text = (
            'package a\n\nimport "fmt"\n\ntype Box struct {\n\tSize int\n}\n\nfunc F() *Box {\n'
            "\tfmt.Size(1)\n\tb := &Box{Size: 3}\n\tb.Size = 2\n\treturn b\n}\n"
        )
        made = rename(text, "rename Size to Width", "go")
        assert "fmt.Size(1)" in made.text
        assert "b.Width = 2" in made.text
        assert made.notes


def test_a_name_in_the_name_of_a_file_or_product_stays() -> None:
    text = "class Node {}\n// A Node as in Node.js 18, see Node.next\nconst node = new Node();\n"
    made = rename(text, "rename the class Node to Entry", "javascript").text
    assert made == "class Entry {}\n// A Entry as in Node.js 18, see Entry.next\nconst node = new Entry();\n"
