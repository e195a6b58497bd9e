"""What is found wrong with an edited text."""

from __future__ import annotations

import pytest

from lacli.edits.checks.checks import faults
from lacli.edits.find.intent import Intent
from lacli.edits.mend.mend import mended
from tests.edits.edit_cases import CASES, Case

STACK = '''"""Stacks."""

import os
from collections import deque

LIMIT = 10


def read(path, mode="r"):
    """Read a file."""
    # opened as it is
    return open(os.path.join(path), mode)  # by the caller closed


class Stack:
    """Last in, first out."""

    def __init__(self):
        self.items = deque()

    @property
    def empty(self):
        return not self.items

    def push(self, item: int) -> None:
        if len(self.items) >= LIMIT:
            raise OverflowError
        self.items.append(item)

    def pop(self):
        return self.items.pop()
'''


def intent(text: str, names: str = "", removes: str = "", adds: str = "", renames: str = "") -> Intent:
    pairs = tuple((old, new) for old, new in (pair.split(">") for pair in renames.split()))
    return Intent(text, frozenset(names.split()), pairs, frozenset(removes.split()), frozenset(adds.split()))


def found(before: str, after: str, what: Intent, language: str = "python") -> list[str]:
    return [each.text for each in faults(before, after, language, what, [(0, before.count("\n"))])]


def without(text: str, *parts: str) -> str:
    return changed(text, *((part, "") for part in parts))


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


TIDY = intent("tidy it up")
FASTER = intent("make push faster", "push")


class TestLosses:
    @pytest.mark.parametrize(
        ("lost", "said"),
        [
            ("import os\n", "the import of os is gone"),
            ("from collections import deque\n", "the import of collections.deque is gone"),
            ("    def pop(self):\n        return self.items.pop()\n", "`Stack.pop` is gone"),
            ("LIMIT = 10\n", "`LIMIT` is gone"),
            ('    """Read a file."""\n', "the docstring of `read` is gone or changed"),
            ('"""Stacks."""\n', "the docstring at the top of the file is gone or changed"),
            ("    # opened as it is\n", "the comment `# opened as it is` is gone or changed (line 11)"),
            ("  # by the caller closed", "the comment `# by the caller closed` is gone or changed (line 12)"),
            ("    @property\n", "`@property` above `Stack.empty` is gone"),
        ],
    )
    def test_what_nobody_asked_to_remove_is_missed(self, lost: str, said: str) -> None:
        assert said in found(STACK, without(STACK, lost), TIDY)

    @pytest.mark.parametrize(
        "text", ["use a list instead", "only keep what is needed", "turn it into a module", "move"]
    )
    def test_no_word_of_the_instruction_turns_that_off(self, text: str) -> None:
        assert "`Stack.pop` is gone" in found(STACK, STACK[: STACK.index("    def pop")], intent(text))

    def test_what_was_asked_to_go_may_go_with_all_it_holds(self) -> None:
        gone = without(STACK, "    def pop(self):\n        return self.items.pop()\n").rstrip("\n") + "\n"
        assert found(STACK, gone, intent("remove pop", "pop", "pop")) == []
        assert found(STACK, STACK[: STACK.index("\n\nclass")], intent("remove Stack", "Stack", "Stack")) == []

    def test_an_import_nothing_uses_any_more_may_go(self) -> None:
        after = changed(STACK, ("import os\n", ""), ("os.path.join(path)", "path"))
        assert found(STACK, after, intent("do without os.path in read", "read")) == []

    def test_one_name_of_an_import_is_enough(self) -> None:
        before = STACK.replace("import deque", "import deque, Counter")
        assert "the import of collections.Counter is gone" in found(before, STACK, TIDY)

    def test_a_comment_goes_with_its_code(self) -> None:
        before = STACK.replace("            raise", "            # too many\n            raise")
        after = changed(STACK, ("            raise OverflowError", "            self.items.popleft()"))
        assert found(before, after, intent("drop the oldest in push", "push")) == []

    def test_a_docstring_may_change_where_it_is_asked_about(self) -> None:
        after = STACK.replace("Read a file.", "The text of something else entirely.")
        assert found(STACK, after, intent("document read better", "read")) == []
        assert found(STACK, after, intent("make read faster", "read"))

    def test_order_is_kept_unless_a_move_is_asked_for(self) -> None:
        pop = "    def pop(self):\n        return self.items.pop()\n"
        after = without(STACK, "\n" + pop).replace("    def push", f"{pop}\n    def push")
        assert any("` stands before `" in each for each in found(STACK, after, TIDY))
        assert found(STACK, after, intent("move pop before push", "pop push")) == []

    def test_what_is_defined_twice_is_a_fault(self) -> None:
        again = STACK + "\n    def pop(self):\n        return self.items.pop()\n"
        assert "`Stack.pop` is defined twice" in found(STACK, again, TIDY)

    def test_of_a_setting_the_keys_are_the_definitions(self) -> None:
        before = "[a]\nx = 1\ny = 2\n\n[b]\nx = 3\n"
        assert found(before, before.replace("y = 2\n", ""), TIDY, "toml")[0] == "`a.y` is gone"
        assert found('{"a": 1,\n "b": 2}\n', '{"a": 1}\n', TIDY, "json")[0] == "`b` is gone"

    def test_of_prose_the_headings_are(self) -> None:
        before = "# A\n\nText.\n\n## B\n\nMore.\n\n## C\n\nEnd.\n"
        assert found(before, before.replace("## B\n\n", ""), TIDY, "markdown")[0] == "`A.B` is gone"
        assert found(before, before.replace("Text.", "```\nText."), TIDY, "markdown")


@pytest.mark.parametrize("rest", ["def f():\n    return 1\n", "def f():\n    return 1\n\n\ndef g(path):\n\n"])
def test_the_docstring_of_the_file_stays_whether_it_parses_or_not(rest: str) -> None:
    before = '# A comment.\n"""What it is."""\n\nimport os\n\n\n' + rest
    after = before.replace('"""What it is."""\n\n', "")
    what = "the docstring at the top of the file is gone or changed"
    assert what in found(before, after, FASTER)
    assert what not in found(before, before.replace("return 1", "return 2"), FASTER)
    text, notes = mended(before, after, "python", FASTER, [(0, before.count("\n"))])
    assert text == before
    assert notes == ("put back the docstring at the top of the file",)


class TestChanges:
    def test_what_the_instruction_does_not_name_stays(self) -> None:
        after = STACK.replace("not self.items", "len(self.items) == 0")
        assert "`Stack.empty` is changed, which was not asked for" in found(STACK, after, FASTER)

    def test_a_method_that_is_to_be_added_changes_no_other(self) -> None:
        added = "    def __len__(self):\n        return len(self.items)\n\n"
        what = intent("add a method __len__ to Stack that returns the number of items", "Stack", adds="__len__")
        good = STACK.replace("    def push", f"{added}    def push")
        assert found(STACK, good, what) == []
        assert found(STACK, STACK + "\n" + added.rstrip("\n") + "\n", what) == []
        assert any(
            "`Stack.pop` is changed" in each
            for each in found(STACK, good.replace("items.pop()", "items.popleft()"), what)
        )

    def test_where_only_the_part_is_named_its_inside_may_change(self) -> None:
        assert found(STACK, STACK.replace("not self.items", "len(self.items) == 0"), TIDY) == []

    def test_a_user_of_a_name_that_changes_may_change(self) -> None:
        before = STACK + "\n    def swap(self):\n        self.push(self.pop())\n"
        after = changed(
            before,
            ("push(self, item: int)", "push(self, item: int, loud: bool)"),
            ("push(self.pop())", "push(self.pop(), True)"),
        )
        assert found(before, after, intent("add a parameter loud to push", "push", adds="loud")) == []

    def test_a_pure_rename_changes_nothing_else(self) -> None:
        what = intent("rename pop to take", "pop", adds="take", renames="pop>take")
        good = STACK.replace("def pop", "def take")
        assert found(STACK, good, what) == []
        assert any("only names are to change" in each for each in found(STACK, good.replace("10", "20"), what))

    def test_a_statement_that_went_is_missed_unless_it_should_be_shorter(self) -> None:
        after = STACK.replace("        if len(self.items) >= LIMIT:\n            raise OverflowError\n", "")
        assert any("is gone" in each for each in found(STACK, after, intent("add a guard to push", "push")))
        assert found(STACK, after, intent("drop the check in push", "push")) == []

    def test_parameters_and_type_hints_are_kept(self) -> None:
        assert "`read` has lost its parameter mode" in found(
            STACK, changed(STACK, (', mode="r"', ""), (", mode)", ")")), intent("make read faster", "read")
        )
        assert "`Stack.push` has lost type hints" in found(STACK, STACK.replace(": int) -> None", ")"), FASTER)

    def test_a_helper_that_nothing_uses_is_not_wanted(self) -> None:
        after = STACK + "\n\ndef helper():\n    return 1\n"
        assert "`helper` was not asked for, and nothing uses it" in found(STACK, after, FASTER)
        assert found(STACK, after, intent("add a function that returns one")) == []

    def test_code_outside_of_definitions_stays(self) -> None:
        before = STACK + "\n\nprint(read('a'))\n"
        assert any("print" in each for each in found(before, before.replace("'a'", "'b'"), FASTER))

    def test_most_of_a_file_is_not_gone(self) -> None:
        assert any("lines are left of" in each for each in found(STACK, '"""Stacks."""\n', intent("use it instead")))
        lines = "".join(f"line {number}\n" for number in range(40))
        assert any("gone" in each for each in found(lines, lines[:100], TIDY, "text"))


class TestNames:
    def test_a_name_that_is_used_and_nowhere_defined(self) -> None:
        after = STACK.replace("self.items.append(item)", "self.items.append(retries)")
        assert any("`retries` is used but not defined" in each for each in found(STACK, after, FASTER))

    def test_one_that_was_undefined_before_is_not_ours(self) -> None:
        before = STACK.replace("append(item)", "append(retries)")
        assert found(before, before.replace("raise OverflowError", "raise OverflowError(item)"), FASTER) == []

    def test_what_is_gone_on_request_and_still_used_in_other_languages(self) -> None:
        before = "function a() {\n  return 1;\n}\n\nfunction b() {\n  return a();\n}\n"
        after = before[before.index("function b") :]
        assert found(before, after, intent("remove a", "a", "a"), "javascript") == [
            "`a` is gone, and is still used in line 2"
        ]

    def test_a_name_not_yet_renamed(self) -> None:
        after = STACK.replace("def read(path", "def read(where")
        said = found(STACK, after, intent("rename path of read to where", "read path", renames="path>where"))
        assert "`path` is not renamed to `where` in line 12" in said


class TestLayout:
    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ("        self.items.append", "\tself.items.append", "does not parse"),
            (
                "            raise OverflowError",
                "\t\t\traise OverflowError",
                "indented with a tab where the file has spaces",
            ),
            ("OverflowError", "OverflowError  ", "ends with blanks"),
            ("OverflowError", "OverflowError(“x”)", "“"),
            ("raise OverflowError\n", "raise OverflowError\r\n", "line end of another kind"),
        ],
    )
    def test_the_set_of_the_text_is_kept(self, old: str, new: str, said: str) -> None:
        assert any(said in each for each in found(STACK, STACK.replace(old, new), FASTER))

    def test_tabs_stay_tabs(self) -> None:
        before = "package a\n\nfunc f() int {\n\treturn 1\n}\n"
        said = found(before, before.replace("\treturn 1", "    return 2"), intent("return 2 in f", "f"), "go")
        assert said == ["line 4 is indented with spaces where the file has tabs"]

    def test_the_last_line_end_and_the_lines_between_definitions(self) -> None:
        assert "the line end at the end of the file is gone" in found(STACK, STACK.rstrip("\n"), TIDY)
        assert any(
            "the blank line before" in each for each in found(STACK, STACK.replace("\n\n    def", "\n    def"), TIDY)
        )


class TestMarks:
    @pytest.mark.parametrize(
        "line",
        ["# ... rest of the code", "# existing code", "# TODO: implement", "# your code here", "...", "pass"],
    )
    def test_placeholders(self, line: str) -> None:
        start = STACK.index("        if len(self.items)")
        end = STACK.index("    def pop")
        said = found(STACK, f"{STACK[:start]}        {line}\n\n{STACK[end:]}", FASTER)
        assert any("leaves out what was to be kept" in each for each in said)

    @pytest.mark.parametrize(
        "line",
        [
            "<<<<<<< SEARCH",
            "@@ -1,3 +1,3 @@",
            "```python",
            "```",
            "Note: I changed only push.",
            "</think>",
            "Here is the updated code:",
        ],
    )
    def test_the_form_of_a_reply(self, line: str) -> None:
        assert any("not part of the file" in each for each in found(STACK, f"{STACK}{line}\n", FASTER))

    def test_names_of_files_and_numbers_of_lines(self) -> None:
        assert any("a file's name" in each for each in found(STACK, f"# src/stack.py\n{STACK}", FASTER))
        numbered = "".join(f"{at}: {line}\n" for at, line in enumerate(STACK.split("\n"), 1))
        assert any("begins with its number" in each for each in found(STACK, numbered, FASTER))

    def test_entities_and_repetitions(self) -> None:
        assert any("&gt;" in each for each in found(STACK, STACK.replace(">=", "&gt;="), FASTER))
        assert any("twice" in each for each in found(STACK, STACK + STACK, FASTER))

    def test_what_the_instruction_asks_for_is_none(self) -> None:
        after = STACK.replace("        self.items.append", "        # TODO: implement\n        self.items.append")
        assert found(STACK, after, intent("add the line # TODO: implement to push", "push")) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.language}-{case.intent.text[:20]}")
def test_an_edit_made_as_asked_has_no_fault(case: Case) -> None:
    assert faults(case.before, case.after, case.language, case.intent, [case.span]) == ()


class TestOnlyAdding:
    """An instruction that adds a guard takes no statement of the function away."""

    OLD = "def f(x):\n    if x is None or x > 1:\n        return x\n    return 0\n"

    def found(self, new: str, instruction: str) -> list[str]:
        intent = Intent(instruction, names=frozenset({"f"}))
        return [
            each.text for each in faults(self.OLD, new, "python", intent, [(0, 4)]) if "only to be added" in each.text
        ]

    def test_a_guard_may_stand_anywhere(self) -> None:
        new = self.OLD.replace("    if x is", "    if x == 3:\n        raise ValueError\n    elif x is")
        assert not self.found(new, "f should raise a ValueError if x is 3")

    def test_what_stood_there_may_not_go(self) -> None:
        new = self.OLD.replace("return 0", "raise ValueError")
        assert self.found(new, "f should raise a ValueError if x is 3")
        assert not self.found(new, "f should raise a ValueError instead of returning 0")


def test_a_class_that_became_a_function_is_gone() -> None:
    before = "class B:\n    pass\n\n\nclass C:\n    pass\n"
    found = faults(before, before.replace("class B:", "def B():"), "python", Intent("clean this up"), [(0, 6)])
    assert any("`B`" in each.text for each in found)


def test_where_nothing_is_named_no_import_and_no_comment_goes() -> None:
    before = "import os\n\n\n# keep me\ndef f():\n    return os.sep\n"
    found = faults(before, "def f():\n    return 1\n", "python", Intent("make it nicer"), [(0, 6)])
    assert any("os" in each.text for each in found)
