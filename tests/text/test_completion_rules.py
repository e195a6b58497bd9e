"""When a completion is over: replies that misbehave, each in its own way. `|` is the cursor.

Every case is given in steps of many sizes (`tests.completions`), and must come out the same.
"""

from __future__ import annotations

import random
import re

import pytest

from lacli.completion.cursor import Cursor, cursor_of
from lacli.completion.without_fim import headings
from lacli.events import Attachment, Place
from tests.completions import completed, completed_at

PY = "def f(a):\n    x = 1\n|\n    return x\n\n\ndef g():\n    pass\n"
JS = "function f(a) {\n  const x = 1;\n  |\n  return x;\n}\n"
GO = "func f() int {\n\tx := 1\n|\n\treturn x\n}\n"


class TestWhatStandsRightOfTheCursor:
    """Case F3: a closing bracket or quote that is there already is not written again, a needed one is."""

    @pytest.mark.parametrize(
        ("file", "reply", "inserted", "path"),
        [
            ("print(json.dumps(|))\n", "data))\n", "data", "a.py"),
            ("print(json.dumps(|))\n", "data)", "data", "a.py"),
            ('x = ["a", |]\n', '"b", "c"]\ny = 2', '"b", "c"', "a.py"),
            ('s = f"{na|}"\n', 'me}"\nprint(s)', "me", "a.py"),
            ('s = f"{na|}"\n', 'me} and {other}!"\nprint(s)', "me", "a.py"),
            ("See [this](|).\n", "https://x.org/a_(b)) and [that](y)\n", "https://x.org/a_(b)", "a.md"),
            ("<b>|</b>\n", "bold</b>\n<i>x</i>", "bold", "a.html"),
            ("if (a && |) {\n  x();\n}\n", "b) {\n  y();\n}\n", "b", "a.js"),
            ('v = d["ke|"]\n', 'y"]\nprint(v)', "y", "a.py"),
            ("x = foo(|, b)\n", "a, b)\n", "a", "a.py"),
            ("x = foo(|, b)\n", "a,", "a", "a.py"),
            ("function f() {\n  return |;\n}", 'g("a;b");\n}', 'g("a;b")', "a.js"),
            ("if x|:\n    pass\n", " == d[1:2]:\n", " == d[1:2]", "a.py"),
            ("let s = `a ${|} b`;\n", "x} b`;\n", "x", "a.js"),
            ("def |wait(self, t=None):\n    pass\n", "wait(self, t=None):\n    return 1\n", "", "a.py"),
            ("x = |f(a).b\n", "g.f(a)", "g.", "a.py"),
            ("call(|)\n", "\n    a,\n    b,\n)\n", "\n    a,\n    b,\n", "a.py"),
        ],
    )
    def test_it_is_not_written_again(self, file: str, reply: str, inserted: str, path: str) -> None:
        assert completed(file, reply, path) == inserted

    @pytest.mark.parametrize(
        ("file", "reply", "inserted"),
        [
            ("foo(bar(|\n\nx = 1\n", "a))\nprint(1)", "a))\nprint(1)"),
            ("foo(bar(|)\n", "a)", "a)"),
            ("foo(bar(|)\n", "a))", "a)"),
            ("foo(bar(|)\n", "a))\nx", "a)"),
            ("foo(|)\n", "bar(1)[2]", "bar(1)[2]"),
            ('print("hel|\n', 'lo")\n', 'lo")'),
            ('x = "(|)"\n', "a(b)c", "a(b)c"),
        ],
    )
    def test_what_is_needed_is_kept(self, file: str, reply: str, inserted: str) -> None:
        assert completed(file, reply) == inserted

    def test_a_comment_that_mentions_brackets_closes_none(self) -> None:
        assert completed("f(|)\n", "a,  # ) is fine\n  b", "a.py") == "a,  # ) is fine\n  b"
        assert completed(JS, "g(); // }\n  h();", "a.js") == "g(); // }\n  h();"

    def test_a_long_string_that_ends_behind_the_cursor_is_not_ended(self) -> None:
        file = 'def f():\n    """Doc |\n    """\n    return 1\n'
        assert completed(file, 'text.\n    """\n    return 1') == "text."
        assert completed("/* a |\n */\nint x;\n", "note */\nint y;", "a.c") == "note"


class TestNextLine:
    def test_the_text_ends_before_the_next_line_of_the_file(self) -> None:
        assert completed(PY, "    y = 2\n    return x\n") == "    y = 2"
        assert completed(JS, "const y = 2;\n  return x;\n}\n", "a.js") == "const y = 2;"

    def test_a_line_that_differs_by_less_than_a_tenth_is_the_same(self) -> None:
        file = "a\n|\nlong_function_name(first_argument, second_argument)\n"
        assert completed(file, "b = 1\nlong_function_name(first_argument, second_argumenx)\nq") == "b = 1"
        assert completed(file, "b = 1\nlong_function_name(first, second)").endswith("second)")

    def test_a_line_that_differs_in_its_numbers_belongs_to_a_series(self) -> None:
        reply = "x1 = 1\nx2 = long_function_name(first_argument, 2)\n"
        assert completed("a\n|\nx3 = long_function_name(first_argument, 3)\n", reply) == reply.rstrip()

    def test_the_same_words_further_in_are_another_line(self) -> None:
        reply = "    if a:\n        return x\n    y = 1"
        assert completed(PY, reply) == reply

    def test_the_indentation_of_the_files_own_line_is_brought(self) -> None:
        file = "def f():\n    |return y\n"
        assert completed(file, "z = 2\n    return y\n") == "z = 2\n    "
        assert completed(file, "z = 2\nx", max_lines=1) == "z = 2\n    "
        assert completed(file, "z = 2", goes_on=True) == "z = 2\n    "
        assert completed(file, "await ") == "await ", "a model that sees the suffix may mean the same line"

    def test_a_line_goes_before_the_first_of_the_file(self) -> None:
        assert completed("|import os\n", "import re\nimport os\n") == "import re\n"


class TestBlocks:
    @pytest.mark.parametrize(
        ("file", "reply", "inserted"),
        [
            (PY, "def h():\n    return 3\n", ""),
            (PY, "    y = 2\n\n\ndef h():\n", "    y = 2"),
            (PY, "    if a:\n        y = 2\n    z = 3\nprint(1)\n", "    if a:\n        y = 2\n    z = 3"),
            ("def f(a):\n    if a:|\n    return x\n", "\n        y = 1\n    z = 2\n", "\n        y = 1"),
            ("def f(a):\n    |\n    return x\n", "y = 1\n    z = 2\nw=1", "y = 1\n    z = 2"),
            ("def f(a|\n\nx = 1\n", "):\n    return a\n\n\ndef g():\n    pass\n", "):\n    return a"),
            ("x = 1\n|", "def f():\n    pass\n\nprint(1)\nprint(2)", "def f():\n    pass\n"),
            ("if x:\n    a()\n|", "else:\n    b()\nc()\n", "else:\n    b()\n"),
            ("def f():\n    x = g(|\n    return x\n", "\n1,\n2)\n    y = 1\nz", "\n1,\n2)\n    y = 1"),
            ("def f():\n    |\n    return 1\n", '"""One\ntwo\n"""\nx', '"""One\ntwo\n"""'),
        ],
    )
    def test_python_ends_where_the_indentation_does(self, file: str, reply: str, inserted: str) -> None:
        assert completed(file, reply) == inserted

    @pytest.mark.parametrize(
        ("file", "reply", "inserted", "path"),
        [
            (JS, "const y = 2;\n}\n\nfunction g() {\n", "const y = 2;", "a.js"),
            (JS, "if (y) {\n    z();\n  }\n  w();\n}\nfoo();\n", "if (y) {\n    z();\n  }\n  w();", "a.js"),
            ("function f(a) {\n  |", "return 1;\n}\n\nfunction g() {\n", "return 1;\n}", "a.js"),
            ("function f|\n", "(a) {\n  return 1;\n}\n\nfunction g() {\n", "(a) {\n  return 1;\n}", "a.js"),
            (
                "|",
                "function f(a) {\n  return 1;\n}\n\nfunction g() {\n}\n",
                "function f(a) {\n  return 1;\n}\n",
                "a.js",
            ),
            (GO, "\tif x > 0 {\n\t\tx++\n\t}\n}\n\nfunc g() {", "\tif x > 0 {\n\t\tx++\n\t}", "a.go"),
            (GO, "func g() {\n}\n", "", "a.go"),
            (
                "fn f<'a>(x: &'a str) -> &'a str {\n    |\n}\n",
                "let c = '{';\n    x\n}\nfn g() {}\n",
                "let c = '{';\n    x",
                "a.rs",
            ),
            ("func f() {\n\tx := |\n}\n", "T{\n\t\ta: 1,\n\t}\n\ty()\n", "T{\n\t\ta: 1,\n\t}", "a.go"),
        ],
    )
    def test_braces_end_where_they_close(self, file: str, reply: str, inserted: str, path: str) -> None:
        assert completed(file, reply, path) == inserted

    def test_scope_file_goes_on(self) -> None:
        assert completed(PY, "    y = 2\n\n\ndef h():\n    return y", scope="file").endswith("def h():\n    return y")

    def test_scope_line_and_most_lines(self) -> None:
        assert completed(PY, "    y = 2\n    z = 3\n", scope="line") == "    y = 2"
        assert completed("x = 1|\ny\n", "\nz = 3\nw = 4\n", scope="line") == "\nz = 3"
        assert completed(PY, "    y = 2\n    z = 3\n    w = 4\n", max_lines=2) == "    y = 2\n    z = 3"

    def test_a_limit_of_tokens_leaves_whole_lines(self) -> None:
        assert completed(PY, "    y = 2\n    zz = 3\n    w", early=True) == "    y = 2\n    zz = 3"
        assert completed(PY, "    y = 2", early=True) == "    y = 2", "the only line is better than none"


class TestRepetition:
    def test_one_line_over_and_over_is_written_once(self) -> None:
        assert completed(PY, "    y = 2\n" * 5) == "    y = 2"

    def test_a_block_is_not_written_twice(self) -> None:
        assert completed(PY, "    yy()\n    zed()\n" * 3) == "    yy()\n    zed()"

    def test_what_stands_above_is_not_written_again(self) -> None:
        assert completed("    aa()\n    bb()\n|\n", "    aa()\n    bb()\n    cc()\n") == ""
        assert completed(PY, "    x = 1\n") == "", "a copy of the line above"
        assert completed(PY, "    x = 1\n    y = 1\n") == "    x = 1\n    y = 1", "but for more than that"

    def test_brackets_and_blanks_may_repeat(self) -> None:
        reply = "[\n    [\n        [\n        ],\n        [\n        ],\n    ],\n]"
        assert completed("x = |\n", reply) == reply
        assert completed("|", "#\n" * 9) == "#\n", "but not for ever"


class TestWhatIsNoCode:
    def test_fences_around_the_text_are_taken_away(self) -> None:
        assert completed(PY, "```python\n    y = 2\n```\nThis adds") == "    y = 2"
        assert completed(PY, "\n```\n    y = 2") == "    y = 2"
        assert completed(PY, "```") == completed(PY, "```python") == ""

    def test_fences_in_markdown_and_in_strings_are_text(self) -> None:
        assert completed("# A\n|", "```\ncode\n```\n", "a.md") == "```\ncode\n```\n"
        file = 'def f():\n    """Doc.\n\n    |\n    """\n'
        assert completed(file, "Like:\n    ```\n    x\n    ```") == "Like:\n    ```\n    x\n    ```"

    def test_blanks_alone_are_nothing(self) -> None:
        assert completed(PY, "   \n  \n") == completed("|", "\n\n") == completed("  |", "") == ""

    def test_blanks_at_the_end_are_not_doubled(self) -> None:
        assert completed(PY, "    y = 2\n\n\n") == "    y = 2"
        assert completed("x = 1\n|", "y = 2\n\n\n") == "y = 2\n"
        assert completed("x = 1|", "\ny = 2\n") == "\ny = 2"


class TestHiddenBlanks:
    """What a model without fill-in-the-middle writes begins with the blanks that were kept from it."""

    file = "def f():\n    |\n    return y\n"

    def test_they_are_taken_away(self) -> None:
        assert completed(self.file, "\n    z = 2\n    return y\n", hidden="\n    ") == "z = 2"
        assert completed(self.file, "\n        z = 2", hidden="\n    ") == "    z = 2"
        assert completed("def f():\n|\n    return y\n", "\n    z = 2\n", hidden="\n") == "    z = 2"

    def test_a_text_that_goes_on_with_the_line_before_is_none(self) -> None:
        assert completed(self.file, " # doc\n    z = 2\n", hidden="\n    ") == ""

    def test_a_text_further_out_than_the_cursor_is_past_the_block(self) -> None:
        assert completed(self.file, "\ndef g():\n    pass", hidden="\n    ") == ""


FILES = [
    (PY, "a.py"),
    (
        "class A:\n    def f(self, a):\n        if a:\n            |\n        return a\n\n"
        "    def g(self):\n        pass\n",
        "a.py",
    ),
    ("x = call(first, |)\ny = 2\n", "a.py"),
    (JS, "a.js"),
    ("class A {\n  f(a) {\n    if (a) {\n|\n    }\n    return a;\n  }\n  g() {}\n}\n", "a.ts"),
    (GO, "a.go"),
    ("fn f(a: &[u8]) -> usize {\n    let mut n = 0;\n    for b in a {\n        |\n    }\n    n\n}\n", "a.rs"),
    ("# Title\n\n|\n\nMore text here.\n", "a.md"),
]
WORDS = [
    "x",
    "y = ",
    "return x",
    "foo(",
    ")",
    "}",
    "{",
    "[",
    "]",
    '"',
    "'",
    "`",
    "```",
    "\n",
    "\n",
    "\n    ",
    "\n\t",
    ", ",
]
WORDS += [
    "if a:\n",
    "def h():",
    "function g() {",
    "\n\n",
    "# c",
    "// c",
    "/*",
    "*/",
    '"""',
    "é漢",
    "  ",
    ";",
    ":",
    "pass",
]


class TestAnyReply:
    @pytest.mark.parametrize("seed", range(8))
    def test_what_is_inserted_depends_on_the_reply_alone_and_stays_in_its_place(self, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(25):
            file, path = chance.choice(FILES)
            suffix = file.partition("|")[2]
            below = next(line for line in suffix.split("\n")[1:] if line.strip())
            words = [*WORDS, suffix, suffix.split("\n")[0], below, "\n" + below + "\n"]
            reply = "".join(chance.choice(words) for _ in range(chance.randint(1, 40)))
            text = completed(file, reply, path, early=chance.random() < 0.3)
            last = text.rstrip().rpartition("\n")[2]
            repeats = "\n" in text and last == below.rstrip() and re.search(r"\w", below)
            assert not repeats, (file, reply, text)
            assert "�" not in text
            if path == "a.py" and file is PY:
                assert not re.search(r"^\S", re.sub(r'"""(?s:.)*', "", text), re.M) or "(" in text or "[" in text


class TestRestThatCloses:
    """The completion is to open brackets that the rest of the line closes."""

    @pytest.mark.parametrize(
        ("file", "reply", "inserted"),
        [
            ("\titem := oldest.|*entry[K, V])\n", "Value.(*entry[K, V])\n", "Value.("),
            ("\tx := Limit.|:from(1)).unwrap();\n", "new(2, Duration::from(2)).unwrap();\n", "new(2, Duration:"),
            ("\tx := f|, 2)\n", "(1, 2)\n", "(1"),
        ],
    )
    def test_it_is_left_to_it(self, file: str, reply: str, inserted: str) -> None:
        assert completed(f"func f() {{\n{file}}}\n", reply, "a.go") == inserted

    def test_a_statement_that_goes_on_is_not_ended(self) -> None:
        assert completed("int a = b |, c = 1;\n", "? 2 : 4;", "a.c") == "? 2 : 4"
        assert completed("for (int i = 0|; i < 2; i++) {\n", " + f(1);", "a.c") == " + f(1)"
        assert completed("int a = b |\n", "? 2 : 4;", "a.c") == "? 2 : 4;"


class TestFrame:
    """Case C3: the model writes again what the prompt has around the file."""

    @pytest.mark.parametrize("mark", ["<!-- ", "", "# ", "  // "])
    @pytest.mark.parametrize("what", ["the end:", "the beginning:"])
    def test_the_text_ends_before_it_however_it_is_marked(self, mark: str, what: str) -> None:
        place = Place("<a>\n", "</a>\n", "job.xml")
        frame = headings(place)
        reply = f"  <b/>\n{mark}job.xml, {what}\n<a>\n"
        assert completed_at(place, reply, goes_on=True, frame=frame) == "  <b/>\n"
        assert completed_at(place, reply.partition("\n")[2], goes_on=True, frame=frame) == ""
        assert completed_at(place, "  job.xml, the\n  endless\n", goes_on=True, frame=frame) != ""

    def test_the_name_of_another_file_that_was_shown_is_one(self) -> None:
        place = Place("a = ", "", "a.py", context=(Attachment("b.py", "x = 1"),))
        assert completed_at(place, "1\n# Path: b.py\nx = 1\n") == "1"

    def test_another_cell_of_a_notebook_is_one(self) -> None:
        place = Place("# %%\na = ", "\n# %%\nb = 2\n", "n.ipynb", "python", boundary="# %%")
        assert completed_at(place, "1\n\n# %%\nc = 3\n") == "1"


class TestProse:
    @pytest.mark.parametrize(
        ("file", "path"),
        [("def f():\n    return 1\n|", "a.py"), ("<a>\n</a>\n|", "job.xml"), ("int main() {\n}\n|", "a.c")],
    )
    def test_none_follows_at_the_end_of_a_file(self, file: str, path: str) -> None:
        prose = "In this example, the `f` function takes nothing and returns one.\n\nThe other is:\n"
        assert completed(file, prose, path) == ""
        assert completed(file, f"```\n\n{prose}", path) == ""

    @pytest.mark.parametrize(
        ("file", "path"),
        [
            ('def f():\n    """Say it.\n\n    |', "a.py"),
            ("<p>\n|", "a.html"),
            ("# Title\n\n|", "a.md"),
            ("def f():\n    # |", "a.py"),
        ],
    )
    def test_where_text_belongs_it_stays(self, file: str, path: str) -> None:
        prose = "The first of them takes a number and returns it."
        assert completed(file, prose, path) == prose

    def test_code_that_begins_like_it_stays(self) -> None:
        text = "Point = namedtuple('Point', 'x y')\nOther(a, b, c, d, e, f, g)\n"
        assert completed("import x\n|", text) == text


class TestLineRewritten:
    @pytest.mark.parametrize(
        ("file", "reply", "path"),
        [
            ('<?xml version="|1.0"?>\n<a/>\n', '1.0" encoding="utf-8"?>', "job.xml"),
            ("x = |first + second\n", "first * 2 + third\n", "a.py"),
            ("for |x in xs:\n    pass\n", "x in sorted(xs)", "a.py"),
        ],
    )
    def test_nothing_is_left_of_the_rest_of_the_line_with_more_in_it(self, file: str, reply: str, path: str) -> None:
        assert completed(file, reply, path) == ""

    @pytest.mark.parametrize(
        ("file", "reply"),
        [
            ("x = |first + second\n", "first * third + "),
            ("x = |first + second\n", "firstly."),
            ("f(|first)\n", "first, "),
        ],
    )
    def test_what_the_rest_can_follow_stays(self, file: str, reply: str) -> None:
        assert completed(file, reply) == reply


class TestCompletePlace:
    @pytest.mark.parametrize("file", ["x = 1|\n", "f(a|)\n", "    return a|\n    b\n", "|x = 1\n", "  |}\n"])
    def test_nothing_need_be_missing(self, file: str) -> None:
        assert at_bar(file).is_complete

    def test_a_tag_and_a_sentence_are_ended_by_what_code_goes_on_after(self) -> None:
        for end, path in (("</a>", "a.xml"), ("So it is.", "a.md")):
            assert cursor_of(Place(end, "\n", path)).is_complete
            assert not cursor_of(Place(end, "\n", "a.py")).is_complete

    @pytest.mark.parametrize(
        "file",
        ["x = |\n", "f(|)\n", "f(a|\n", "return |\n", "def f():|\n", "|\n", "    |\n    y\n", "", "a.|b\n", "a|)\n"],
    )
    def test_something_is(self, file: str) -> None:
        assert not at_bar(file).is_complete


def at_bar(file: str) -> Cursor:
    prefix, _, suffix = file.partition("|")
    return cursor_of(Place(prefix, suffix, "a.py"))
