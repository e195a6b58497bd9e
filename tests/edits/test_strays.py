"""Code beside the definitions that nobody asked for goes, and what was asked for stays."""

from __future__ import annotations

import pytest

from lacli.edits.checks.checks import faults
from lacli.edits.find.reading import intent_of
from lacli.edits.mend.mend import mended
from lacli.edits.tree.outline import outline

PYTHON = "import os\n\nLIMIT = 1\n\n\ndef f(a):\n    return a\n\n\nprint(f(os.sep))\n"
G = "\n\ndef g(a):\n    return a\n"
SCRIPT = "'use strict';\n\nfunction f(a) {\n  return a;\n}\n\nmodule.exports = f;\n"
H = "\nfunction g() {\n  return 1;\n}\n"
ADD = "add a function g that returns a"


def mend(
    before: str,
    after: str,
    instruction: str = ADD,
    language: str = "python",
    spans: list[tuple[int, int]] | None = None,
) -> tuple[str, tuple[str, ...]]:
    intent = intent_of(instruction, before, outline(before, language))
    spans = spans or [(before.count("\n"),) * 2]
    text, notes = mended(before, after, language, intent, spans)
    assert faults(before, text, language, intent, spans) == ()
    return text, notes


@pytest.mark.parametrize(
    "stray",
    [
        "\n\nprint(g(1))\n",
        "\n# Example usage:\nprint(g(1))\n",
        "\n\n# Example usage:\nx = g(1)\nprint(x)\n\nif __name__ == '__main__':\n    g(2)\n",
        "\n\n__all__ += ('g',)\n",
        "\n\nresult = g(1)\n",
        "\n\nassert g(1) == 1\n",
    ],
)
def test_a_use_of_what_is_new_is_taken_out_and_said(stray: str) -> None:
    text, notes = mend(PYTHON, PYTHON + G + stray)
    assert text == PYTHON + G
    assert len(notes) == 1
    assert "which was not asked for" in notes[0]


@pytest.mark.parametrize(
    ("language", "before", "new", "stray"),
    [
        ("javascript", SCRIPT, H, "\nconsole.log(g());\nmodule.exports.g = g;\n"),
        ("javascript", SCRIPT, H, "\nif (require.main === module) {\n  g();\n}\n"),
        ("typescript", SCRIPT, H, "\nexport { g };\nconst used = g();\n"),
        ("go", "package a\n\nfunc F() int {\n\treturn 1\n}\n", "\nfunc g() int {\n\treturn 2\n}\n", "\nvar _ = g()\n"),
        ("rust", "fn f() -> i32 {\n    1\n}\n", "\nfn g() -> i32 {\n    2\n}\n", '\nprintln!("{}", g());\n'),
        ("c", "int f(void)\n{\n    return 1;\n}\n", "\nint g(void)\n{\n    return 2;\n}\n", "\nint used = 3;\n"),
        ("cpp", "int f()\n{\n    return 1;\n}\n", "\nint g()\n{\n    return 2;\n}\n", "\nint used = g();\n"),
        ("java", "class F {\n}\n", "\nclass g {\n}\n", "\nclass Main {\n}\n"),
    ],
)
def test_in_every_language(language: str, before: str, new: str, stray: str) -> None:
    text, notes = mend(
        before, before + new + stray, "add a function g" if language != "java" else "add a class g", language
    )
    assert text == before + new
    assert notes


class TestWanted:
    @pytest.mark.parametrize(
        ("instruction", "more"),
        [
            ("add a function g and call it at the end of the file", "\n\ng(1)\n"),
            ("add a function g, then print g(1)", "\n\nprint(g(1))\n"),
            ("add a function g with a main block that runs it", "\n\nif __name__ == '__main__':\n    g(1)\n"),
            ("add a function g and a module-level call of it", "\n\ng(1)\n"),
        ],
    )
    def test_what_is_asked_for_stays(self, instruction: str, more: str) -> None:
        assert mend(PYTHON, PYTHON + G + more, instruction) == (PYTHON + G + more, ())

    def test_a_call_that_is_spelled_out_stays(self) -> None:
        after = PYTHON.replace("import os\n", "import os\n\nos.umask(0)\n")
        ask = "add os.umask(0) below the imports and above LIMIT"
        assert mend(PYTHON, after, ask, spans=[(0, 1)]) == (after, ())

    def test_what_the_new_code_uses_stays(self) -> None:
        new = "\nONE = 1\nMOST = ONE + 1\n\n\ndef g(a):\n    return a + MOST\n"
        assert mend(PYTHON, PYTHON + new) == (PYTHON + new, ())

    def test_lines_that_are_such_code_may_become_more(self) -> None:
        row = PYTHON.count("\n") - 1
        after = PYTHON.replace("print(f(os.sep))\n", "print(f(os.sep))\nprint(f(1))\n")
        assert mend(PYTHON, after, "print f of 1, too", spans=[(row, row + 1)]) == (after, ())

    def test_where_nothing_is_named_anything_may_come(self) -> None:
        after = PYTHON + "print(2)\n"
        assert mend(PYTHON, after, "say two as well", spans=[(0, PYTHON.count("\n"))]) == (after, ())


class TestImports:
    def test_below_code_they_go_to_the_top(self) -> None:
        new = G.replace("return a", "return json.dumps(a)")
        text, notes = mend(PYTHON, f"{PYTHON}\n\nimport json{new}")
        assert text == PYTHON.replace("import os\n", "import os\nimport json\n") + new
        assert notes == ("put `import json` at the top",)

    @pytest.mark.parametrize("line", ["import json\n", "import os\n", "from json import dumps\n"])
    def test_what_nothing_uses_goes(self, line: str) -> None:
        text, notes = mend(PYTHON, line + PYTHON + G)
        assert text == PYTHON + G
        assert "needless import" in notes[0]

    def test_of_a_line_what_nothing_uses_goes(self) -> None:
        new = G.replace("return a", "return dumps(a)")
        text, _ = mend(PYTHON, f"from json import dumps, loads\n{PYTHON}{new}")
        assert text == f"from json import dumps\n{PYTHON}{new}"

    def test_what_is_asked_for_or_brings_what_is_used_stays(self) -> None:
        assert mend(PYTHON, "import json\n" + PYTHON, "import json") == ("import json\n" + PYTHON, ())
        before = "use std::fs;\n\nfn f() -> i32 {\n    1\n}\n"
        after = f"use std::io::Write;\n{before}\nfn g(mut to: fs::File) {{\n    to.flush().unwrap();\n}}\n"
        assert mend(before, after, "add a function g", "rust") == (after, ())
