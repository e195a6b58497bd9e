"""What an edit lost, put back."""

from __future__ import annotations

import pytest

from lacli.edits.checks.checks import faults
from lacli.edits.find.intent import Intent
from lacli.edits.mend.mend import mended
from lacli.edits.reply.reply import rewritten
from tests.edits.edit_cases import CASES, Case
from tests.edits.harm import harm, is_harm
from tests.edits.misbehaving import MISBEHAVIOURS, Misbehaviour
from tests.edits.test_checks import FASTER, STACK, changed, intent, without

FAST = ("self.items.append(item)", "self.items += [item]")


def mend(before: str, after: str, what: Intent, language: str = "python") -> tuple[str, tuple[str, ...]]:
    return mended(before, after, language, what, [(0, before.count("\n"))])


@pytest.mark.parametrize(
    ("lost", "note"),
    [
        ("import os\n", "put back the import of os"),
        ("import os\nfrom collections import deque\n", "put back the import of os"),
        ('    """Last in, first out."""\n\n', "put back the docstring of `Stack`"),
        ('"""Stacks."""\n\n', "put back the docstring at the top of the file"),
        ("    # opened as it is\n", "put back the comment `# opened as it is`"),
        ("  # by the caller closed", "put back the comment `# by the caller closed`"),
        ("    @property\n", "put back `Stack.empty` as it was"),
        ("    @property\n    def empty(self):\n        return not self.items\n\n", "put back `Stack.empty`"),
        ("    def pop(self):\n        return self.items.pop()\n", "put back `Stack.pop`"),
        ("\n\nclass", "put back blank lines between definitions"),
    ],
)
def test_what_went_unasked_comes_back_and_the_change_stays(lost: str, note: str) -> None:
    asked = changed(STACK, FAST)
    spoilt = asked.replace(lost, "class" if "class" in lost else "")
    text, notes = mend(STACK, spoilt, FASTER)
    assert text == asked
    assert note in notes


def test_a_comment_that_gave_way_to_one_about_the_change_is_put_back() -> None:
    before = "[server]\nport = 8080  # default port\nhost = 1\n"
    what = Intent("set port to 9090", names=frozenset({"port"}))
    for after in ("port = 9090  # new port", "port = 9090  # changed to 9090"):
        text, notes = mend(before, before.replace("port = 8080  # default port", after), what, "toml")
        assert text == before.replace("8080", "9090")
        assert notes == ("put back the comment `# default port`",)


def test_what_was_asked_to_go_stays_away() -> None:
    gone = without(STACK, "\n    def pop(self):\n        return self.items.pop()\n")
    assert mend(STACK, gone, intent("remove pop", "pop", "pop")) == (gone, ())


def test_a_neighbour_nobody_named_is_as_it_was() -> None:
    asked = changed(STACK, FAST)
    assert mend(STACK, asked.replace("not self.items", "self.items == []"), FASTER) == (
        asked,
        ("put back `Stack.empty` as it was",),
    )


def test_a_neighbour_rewritten_under_another_name_comes_back_beside() -> None:
    text, _ = mend(STACK, changed(STACK, FAST).replace("def pop(", "def pop_it("), FASTER)
    assert "def pop(self)" in text
    assert "pop_it" not in text


class TestNames:
    def test_modules_of_the_standard_library_are_imported_in_their_place(self) -> None:
        after = changed(STACK, ("raise OverflowError", "json.dumps(1)"))
        text, notes = mend(STACK, after, FASTER)
        assert "\nimport json\nimport os\n" in text
        assert notes == ("added the import of json",)

    def test_names_that_come_from_one_module_only(self) -> None:
        after = changed(STACK, ("raise OverflowError", "Path(Counter())"))
        text, _ = mend(STACK, after, FASTER)
        assert "from collections import Counter, deque\n" in text
        assert "from pathlib import Path\n" in text

    def test_a_file_without_imports_gets_them_behind_its_docstring(self) -> None:
        before = '"""A."""\n\n\ndef f():\n    return 1\n'
        text, _ = mend(before, before.replace("1", "time.time()"), intent("return the time in f", "f"))
        assert text.startswith('"""A."""\n\nimport time\n\n\ndef f')

    def test_other_names_are_left_to_the_model(self) -> None:
        after = changed(STACK, ("append(item)", "append(retries)"))
        assert mend(STACK, after, FASTER) == (after, ())

    def test_a_name_forgotten_in_a_rename(self) -> None:
        before = STACK + "\n    def swap(self):\n        # pop() comes first\n        return self.pop(), self.pop()\n"
        after = before.replace("def pop", "def take")
        text, notes = mend(before, after, intent("rename pop to take", "pop", renames="pop>take"))
        assert text == before.replace("def pop", "def take").replace("self.pop()", "self.take()").replace(
            "# pop", "# take"
        )
        assert notes == ("renamed pop to take in 3 more places",)
        assert "self.items.pop()" in text

    def test_a_parameter_is_renamed_in_its_function_alone(self) -> None:
        before = STACK + "\n\ndef write(path):\n    return path\n"
        after = before.replace("def read(path", "def read(where")
        text, _ = mend(before, after, intent("rename path of read to where", "read path", renames="path>where"))
        assert "os.path.join(where)" in text
        assert "def write(path):\n    return path" in text


class TestLayout:
    @pytest.mark.parametrize(
        "spoil",
        [
            lambda text: text.replace("\n", "\r\n"),
            lambda text: text.rstrip("\n"),
            lambda text: text.replace('mode="r"', "mode=“r”"),
            lambda text: text.replace("    ", "\t"),
            lambda text: text.replace("    ", "  "),
            lambda text: text.replace("    ", " " * 8),
            lambda text: text.replace("\n\n", "\n").replace("\n\n", "\n"),
            lambda text: text.replace(">=", "&gt;="),
            lambda text: text.replace("\n", "  \n"),
            lambda text: f"Here is the updated code:\n\n{text}",
            lambda text: f"{text}\nNote: I changed only push.\n",
            lambda text: f"{text}```\n\nI made push faster by adding lists.\n",
            lambda text: text + text,
        ],
    )
    def test_what_is_only_set_otherwise_is_set_right(self, spoil) -> None:
        asked = changed(STACK, FAST)
        assert mend(STACK, spoil(asked), FASTER)[0] == asked


def test_a_placeholder_gives_way_to_what_it_stands_for() -> None:
    asked = changed(STACK, FAST)
    cut = asked[: asked.index("    def pop")] + "    # ... rest of the code\n"
    assert mend(STACK, cut, FASTER)[0] == asked


def test_a_statement_and_the_order_are_put_back() -> None:
    asked = changed(STACK, FAST)
    check = "        if len(self.items) >= LIMIT:\n            raise OverflowError\n"
    assert mend(STACK, STACK.replace(check, ""), FASTER) == (STACK, ("put back `if len(self.items) >= LIMIT:`",))
    pop = "    def pop(self):\n        return self.items.pop()\n"
    swapped = asked.replace(f"\n{pop}", "").replace("    def push", f"{pop}\n    def push")
    assert mend(STACK, swapped, FASTER) == (asked, ("put `Stack.pop` back behind `Stack.push`",))


@pytest.mark.parametrize("note", ["Changed from append", "was append before", "Added for speed", "now takes a list"])
def test_a_comment_on_the_edit_itself_is_taken_out(note: str) -> None:
    asked = changed(STACK, FAST)
    assert mend(STACK, asked.replace("[item]", f"[item]  # {note}"), FASTER)[0] == asked
    line = "        self.items += [item]\n"
    assert mend(STACK, asked.replace(line, f"        # {note}\n{line}"), FASTER)[0] == asked


def test_a_comment_on_the_code_stays() -> None:
    asked = changed(STACK, FAST)
    for comment in ("faster than a call", "one more"):
        after = asked.replace("[item]", f"[item]  # {comment}")
        assert mend(STACK, after, FASTER) == (after, ())
    after = asked.replace("[item]", "[item]  # changed to a list")
    assert mend(STACK, after, intent("say in a comment in push that it is a list now", "push")) == (after, ())


SCRIPT = """function format(value) {
  var unit = value.unit;
  var text = '' + value;
  if (!unit) {
    unit = 'B';
  }
  text += unit;
  return text;
}
"""


def test_a_const_that_gets_another_value_becomes_a_let() -> None:
    after = SCRIPT.replace("var", "const")
    what = "use const and let instead of var inside format"
    text, notes = mend(SCRIPT, after, intent(what, "format"), "javascript")
    assert text == SCRIPT.replace("var", "let")
    assert notes == tuple(f"made `{name}` a let, as it gets another value" for name in ("unit", "text"))


@pytest.mark.parametrize(
    "body",
    [
        "const a = 1; { let a = 2; a = 3; }",
        "const a = {}; a.b = 1;",
        "const a = 1; function f(a) { a = 2; }",
        "const a = 1; [2].map(a => a = 3);",
        "for (let a = 0; a < 1; a++) {}",
    ],
)
def test_what_only_has_the_name_of_a_const_is_none(body: str) -> None:
    before = "function g() {\n  return 1;\n}\n"
    after = before.replace("return 1;", f"{body}\n  return 2;")
    assert mend(before, after, intent("let g return 2", "g"), "javascript") == (after, ())


def test_old_code_is_not_kept_as_a_comment() -> None:
    asked = changed(STACK, FAST)
    out = asked.replace("    def pop(self):\n        return", "    # def pop(self):\n    #     return")
    assert mend(STACK, out, FASTER)[0] == asked


@pytest.mark.parametrize(
    ("language", "before", "lost"),
    [
        (
            "go",
            'package a\n\nimport (\n\t"fmt"\n\t"os"\n)\n\n// F prints.\nfunc F() {\n\tfmt.Println(os.Args)\n}\n',
            '\t"os"\n',
        ),
        ("rust", "use std::fmt;\n\n#[derive(Debug)]\nstruct A {\n    b: fmt::Error,\n}\n", "#[derive(Debug)]\n"),
        ("javascript", "import a from 'a';\n\n/** B. */\nfunction b() {\n  return a;\n}\n", "/** B. */\n"),
        ("typescript", "import { a, c } from 'a';\n\nfunction b(): number {\n  return a + c;\n}\n", ", c"),
        ("c", "#include <a.h>\n#include <b.h>\n\nint f(void)\n{\n    return 1;\n}\n", "#include <b.h>\n"),
        ("cpp", "#include <a>\n\nclass A {\n    int b; // one\n    int c;\n};\n", " // one"),
        (
            "java",
            "import a.B;\n\nclass C {\n    // d\n    int d() {\n        return B.e;\n    }\n}\n",
            "import a.B;\n\n",
        ),
        ("toml", "# A.\n[a]\nb = 1 # c\nd = 2\n", "d = 2\n"),
        ("json", '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n', '  "b": 2,\n'),
        ("yaml", "a: 1\nb:\n  - c # d\ne: 2\n", "e: 2\n"),
        ("markdown", "# A\n\nText.\n\n## B\n\nMore.\n\n## C\n\nEnd.\n", "## B\n\nMore.\n\n"),
    ],
)
def test_in_every_language(language: str, before: str, lost: str) -> None:
    assert mend(before, without(before, lost), intent("tidy it up"), language)[0] == before


def test_a_text_without_a_grammar_is_left_as_it_came() -> None:
    lines = "".join(f"line {number}\n" for number in range(40))
    assert mend(lines, lines[:94], intent("tidy it up"), "text") == (lines[:94], ())


_SOME = [
    pytest.param(
        each, CASES[(5 * at + 6 * half) % len(CASES)], id=f"{each.__name__}-{half}", marks=[pytest.mark.slow] * half
    )
    for at, each in enumerate(MISBEHAVIOURS)
    for half in (0, 1)
]


@pytest.mark.parametrize(("misbehaviour", "case"), _SOME)
@pytest.mark.default_cases(1)
def test_a_model_that_misbehaves_does_no_harm(misbehaviour: Misbehaviour, case: Case) -> None:
    reply = rewritten(misbehaviour(case.part_of(case.after), case.language), case.part_of(case.before))
    if reply is None or not reply.whole:
        return
    spoilt = case.with_part(reply.text)
    text, _ = mended(case.before, spoilt, case.language, case.intent, [case.span])
    left = faults(case.before, text, case.language, case.intent, [case.span])
    assert left or not harm(case.before, text, case.language, case.allowed)
    assert (
        len(left) <= len(faults(case.before, spoilt, case.language, case.intent, [case.span]))
        or "parse" not in left[0].text
    )
    assert mended(case.before, text, case.language, case.intent, [case.span])[0] == text


def test_there_are_enough_ways_and_files() -> None:
    assert len(MISBEHAVIOURS) >= 40
    assert len({case.file for case in CASES}) == 12
    assert len({case.language for case in CASES}) == 7


class TestHarm:
    """The test's own measure."""

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
    def test_what_was_asked_is_none_and_anything_else_is(self, case: Case) -> None:
        assert harm(case.before, case.after, case.language, case.allowed) == ""
        assert is_harm(case.before, case.after, case.language, [("nothing",)])
        assert is_harm(case.before, case.after[: len(case.after) // 2], case.language, case.allowed)

    @pytest.mark.parametrize(
        "lost",
        [
            "import os\n",
            "    # opened as it is\n",
            "    @property\n",
            '"""Stacks."""\n',
            "            raise OverflowError\n",
        ],
    )
    def test_every_loss_outside_is(self, lost: str) -> None:
        assert is_harm(STACK, STACK.replace(lost, ""), "python", [("Stack", "pop")])
