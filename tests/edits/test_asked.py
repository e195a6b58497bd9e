"""Whether a change is the one that was asked for: guards, types, parameters."""

from __future__ import annotations

import pytest

from lacli.editing.opening import of_section
from lacli.edits.checks.checks import faults
from lacli.edits.find.reading import intent_of
from lacli.edits.mend.mend import mended
from lacli.edits.tree.outline import outline

FIBO = '''def fibo(most=None):
    """Yield numbers."""
    # the first call
    yield

    a = b = 1
    while True:
        yield a if most is None else min(a, most)
        a, b = b, a + b
'''
GUARD = "if most is not None and most < 1:\n    raise ValueError(most)\n"


def indented(text: str, depth: int) -> str:
    return "".join(" " * depth + line + "\n" for line in text.splitlines())


def found(before: str, after: str, instruction: str, language: str = "python") -> list[str]:
    intent = intent_of(instruction, before, outline(before, language))
    return [each.text for each in faults(before, after, language, intent, [(0, before.count("\n"))])]


class TestGuards:
    ASK = "fibo should raise a ValueError if most is given and below 1"

    def test_in_a_loop_it_comes_to_the_beginning(self) -> None:
        after = FIBO.replace("    while True:\n", "    while True:\n" + indented(GUARD, 8))
        intent = intent_of(self.ASK, FIBO, outline(FIBO, "python"))
        text, notes = mended(FIBO, after, "python", intent, [(0, 9)])
        assert text == FIBO.replace("    # the first", indented(GUARD, 4) + "    # the first")
        assert notes == ("put `if most is not None and most < 1` before the loop",)

    @pytest.mark.parametrize(
        "guard",
        [
            "if a > 9:\n    raise ValueError(a)\n",  # changes in the loop
            "if most < 1:\n    break\n",  # no guard
            "if check(most):\n    raise ValueError(most)\n",  # may be another one each time
            "if most == 9:\n    raise ValueError\nmost = 9\n",
        ],
    )
    def test_what_may_change_from_round_to_round_stays(self, guard: str) -> None:
        after = FIBO.replace("    while True:\n", "    while True:\n" + indented(guard, 8))
        assert not [each for each in found(FIBO, after, self.ASK) if "loop" in each]

    def test_one_that_was_there_is_the_files_own(self) -> None:
        before = FIBO.replace("    while True:\n", "    while True:\n" + indented(GUARD, 8))
        assert not found(before, before.replace("a = b = 1", "a = b = 2"), "let fibo begin with 2")


class TestTypes:
    TEXT = 'def freeze(obj):\n    """An object."""\n    return obj\n'

    def test_the_type_that_is_named_has_to_be_there(self) -> None:
        ask = "Annotate the parameter and the return value of freeze as object."
        wrong = self.TEXT.replace("(obj):", "(obj: int) -> int:")
        assert found(self.TEXT, wrong, ask) == ["`object`, which was asked for, is not in it"]
        assert found(self.TEXT, self.TEXT.replace("(obj):", "(obj: object) -> object:"), ask) == []


class TestParameters:
    BEFORE = "def f(d):\n    return d\n"
    ASK = "add a function invert(d, factory=dict) that swaps keys and values"

    def test_one_that_is_not_used_was_forgotten(self) -> None:
        new = "\n\ndef invert(d, factory=dict):\n    return {v: k for k, v in d.items()}\n"
        assert found(self.BEFORE, self.BEFORE + new, self.ASK) == ["`invert` makes no use of its parameter factory"]
        used = new.replace("{v: k for k, v in d.items()}", "factory((v, k) for k, v in d.items())")
        assert found(self.BEFORE, self.BEFORE + used, self.ASK) == []

    def test_one_that_was_used_still_is(self) -> None:
        before = (
            "def pick(test, d, factory=dict):\n    made = factory()\n    for k in d:\n        if test(k):\n"
            "            made[k] = d[k]\n    return made\n"
        )
        head = before[: before.index("    made")]
        after = head + "    return {k: d[k] for k in d if test(k)}\n"
        ask = "let pick use a comprehension instead of the loop"
        assert found(before, after, ask) == ["`pick` makes no use of its parameter factory any more"]
        assert found(before, head + "    return factory((k, d[k]) for k in d if test(k))\n", ask) == []
        assert found(before, after, "let pick use a comprehension and not look at factory") == []
        short = found(before, head + "    return {}\n", "let pick return an empty dict instead")
        assert not [each for each in short if "no use" in each]

    def test_what_does_nothing_uses_nothing(self) -> None:
        new = "\n\ndef visit(d, node):\n    return None\n"
        assert found(self.BEFORE, self.BEFORE + new, "add a function visit(d, node) that returns None") == []
        new = "\n\ndef visit(d, node):\n    return d if d is not None else f(1)\n"
        assert found(self.BEFORE, self.BEFORE + new, "add a function visit(d, node) that ignores node") == []


TOML = """[project]
name = "x"
requires-python = ">=3.8"
dependencies = [
    "anyio",
]
classifiers = [
    "Python :: 3.8",
    "Python :: 3.9",
]

[project.optional-dependencies]
cli = [
    "rich",
]
"""


class TestAllOfIt:
    @pytest.mark.parametrize(
        ("instruction", "old", "new", "what"),
        [
            (
                "Add an optional dependency group docs with mkdocs",
                '    "anyio",\n',
                '    "anyio",\n    "mkdocs",\n',
                "`docs`, which was asked for, is not there",
            ),
            (
                "Raise requires-python to >=3.9 and remove the classifier of Python 3.8",
                ">=3.8",
                ">=3.9",
                "`project.classifiers` is not changed",
            ),
            (
                "Raise requires-python to >=3.9 and remove the classifier of Python 3.8",
                '    "Python :: 3.8",\n',
                "",
                "`project.requires-python` is not changed",
            ),
        ],
    )
    def test_half_of_it_is_a_fault(self, instruction: str, old: str, new: str, what: str) -> None:
        assert what in found(TOML, TOML.replace(old, new), instruction, "toml")

    def test_what_is_asked_for_beside_a_rename_has_to_come(self) -> None:
        before = "def load(path):\n    return open(path)\n\n\ndef store(path):\n    return path\n"
        after = before.replace("def load", "def read")
        ask = "rename load to read and add a docstring to store"
        assert found(before, after, ask) == ["`store` is not changed"]
        assert (
            found(before, after.replace("(path):\n    return path", '(path):\n    """S."""\n    return path'), ask)
            == []
        )

    def test_all_of_it_is_none(self) -> None:
        both = TOML.replace(">=3.8", ">=3.9").replace('    "Python :: 3.8",\n', "")
        ask = "Raise requires-python to >=3.9 and remove the classifier of Python 3.8"
        assert not found(TOML, both, ask, "toml")
        docs = TOML + 'docs = [\n    "mkdocs",\n]\n'
        assert not found(TOML, docs, "Add an optional dependency group docs with mkdocs", "toml")

    def test_other_keys_stay(self) -> None:
        docs = TOML.replace('"anyio"', '"anyio>=4"') + 'docs = [\n    "mkdocs",\n]\n'
        assert found(TOML, docs, "Add an optional dependency group docs with mkdocs", "toml")

    def test_an_item_that_was_not_meant_comes_back(self) -> None:
        ask = "Remove the classifier of Python 3.8"
        wrong = TOML.replace('    "Python :: 3.8",\n    "Python :: 3.9",\n', "")
        assert any("another item was meant" in each for each in found(TOML, wrong, ask, "toml"))
        text, _ = mended(TOML, wrong, "toml", intent_of(ask, TOML, outline(TOML, "toml")), [(6, 10)])
        assert text == TOML.replace('    "Python :: 3.8",\n', "")

    def test_code_that_was_to_be_moved_is_somewhere(self) -> None:
        before = "def load(x):\n    a = x + 1\n    b = a * 2\n    return b\n"
        ask = "Move the body of load into a new function both(x) and call both(x) in load"
        moved = "def load(x):\n    return both(x)\n\n\ndef both(x):\n    a = x + 1\n    b = a * 2\n    return b\n"
        assert not found(before, moved, ask)
        assert any("was to be moved" in each for each in found(before, moved.replace("    b = a * 2\n", ""), ask))


def test_no_more_blank_lines_in_a_row_than_the_file_has() -> None:
    after = FIBO.replace("    a = b = 1\n", "\n\n\n\n    a = b = 2\n")
    intent = intent_of("let fibo begin with 2", FIBO, outline(FIBO, "python"))
    text, notes = mended(FIBO, after, "python", intent, [(0, 9)])
    assert "\n\n\n\n" not in text
    assert "took out blank lines" in notes


MARKDOWN = "# Tool\n\n## a.one\n\nThe first.\n\n## a.two\n\nThe second.\n"


def test_a_section_that_is_asked_for_has_its_heading() -> None:
    ask = "Add a section a.three after a.one: the third"
    prose = MARKDOWN.replace("The first.\n", "The first.\n\na.three is the third.\n")
    assert "there is no section three" in found(MARKDOWN, prose, ask, "markdown")
    section = MARKDOWN.replace("The first.\n", "The first.\n\n## a.three\n\nThe third.\n")
    assert not found(MARKDOWN, section, ask, "markdown")
    made = outline(MARKDOWN, "markdown")
    assert made is not None
    assert of_section("three", made.definitions[1], MARKDOWN, ask) == "## a.three\n\n"
