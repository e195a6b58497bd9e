"""Where new text goes: as deep as its neighbours, with their blank lines, and imports among the imports."""

from __future__ import annotations

import pytest

from lacli.edits.reply.placing import dedented, in_place_of, inserted, with_imports
from lacli.edits.tree.outline import Definition, Outline, outline

PYTHON = """import os


class A:
    def one(self):
        return 1

    def two(self):
        return 2


def main():
    pass


if __name__ == "__main__":
    main()
"""
GO = 'package a\n\nimport (\n\t"os"\n)\n\nfunc A() {}\n'
JS = "class A {\n  one () {\n    return 1\n  }\n}\n"


def known(text: str, language: str, name: str = "") -> tuple[Outline, Definition | None]:
    found = outline(text, language)
    assert found is not None
    return found, next((each for each in found.definitions if each.name == name), None)


class TestInserted:
    def test_a_method_goes_to_the_end_of_its_class(self) -> None:
        found, into = known(PYTHON, "python", "A")
        made = inserted(PYTHON, found, into, None, "def three(self):\n    return 3\n")
        assert "        return 2\n\n    def three(self):\n        return 3\n\n\ndef main():" in made

    def test_or_behind_a_sibling(self) -> None:
        found, after = known(PYTHON, "python", "one")
        into = known(PYTHON, "python", "A")[1]
        made = inserted(PYTHON, found, into, after, "def three(self):\n    return 3\n")
        assert "return 1\n\n    def three(self):\n        return 3\n\n    def two" in made

    def test_a_function_goes_before_the_last_words_of_a_script(self) -> None:
        found, _ = known(PYTHON, "python")
        made = inserted(PYTHON, found, None, None, "def other():\n    pass\n")
        assert '    pass\n\n\ndef other():\n    pass\n\n\nif __name__ == "__main__":' in made

    def test_before_the_brace_that_closes_a_class(self) -> None:
        found, into = known(JS, "javascript", "A")
        made = inserted(JS, found, into, None, "two () {\n  return 2\n}\n")
        assert made == "class A {\n  one () {\n    return 1\n  }\n\n  two () {\n    return 2\n  }\n}\n"

    def test_a_key_goes_into_its_table(self) -> None:
        text = "[a]\nx = 1\n\n[b]\ny = 2\n"
        found, into = known(text, "toml", "a")
        assert inserted(text, found, into, None, "z = 3\n") == "[a]\nx = 1\nz = 3\n\n[b]\ny = 2\n"


class TestImports:
    @pytest.mark.parametrize(
        ("text", "language", "new", "made"),
        [
            (PYTHON, "python", "import json", PYTHON.replace("import os\n", "import os\nimport json\n")),
            (PYTHON, "python", "import os", PYTHON),
            ('"""Doc."""\nx = 1\n', "python", "import json", '"""Doc."""\n\nimport json\n\nx = 1\n'),
            (GO, "go", 'import "fmt"', GO.replace('"os"\n', '"os"\n\t"fmt"\n')),
            ("#include <a.h>\n\nint x;\n", "c", "#include <b.h>", "#include <a.h>\n#include <b.h>\n\nint x;\n"),
        ],
    )
    def test_new_ones_stand_behind_those_there_are(self, text: str, language: str, new: str, made: str) -> None:
        assert with_imports(text, language, [new]) == made


class TestDepth:
    def test_a_method_is_shown_at_the_left_and_put_back(self) -> None:
        part = "    def one(self):\n        return 1\n\n"
        assert dedented(part) == "def one(self):\n    return 1\n\n"
        assert in_place_of(part, "def one(self):\n    return 2\n") == "    def one(self):\n        return 2\n\n"

    def test_text_that_goes_to_the_margin_stays(self) -> None:
        part = '    x = """\nleft\n"""\n'
        assert dedented(part) == part


def test_behind_a_list_that_ends_a_table() -> None:
    text = '[a]\nv = [\n  "u",\n]\nx = [\n  "y",\n]\n\n[b]\nz = 1\n'
    before = outline(text, "toml")
    assert before is not None
    table = next(each for each in before.definitions if each.name == "a")
    made = inserted(text, before, table, before.children(table)[-1], "w = [\n  1,\n]\n")
    assert made == text.replace("]\n\n", "]\nw = [\n  1,\n]\n\n")
