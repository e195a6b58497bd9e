"""Type hints are added: with the hints taken out, the code is what it was."""

from __future__ import annotations

import textwrap

import pytest

from lacli.edits.checks.checks import faults
from lacli.edits.checks.purpose import adds_documentation, purposes
from lacli.edits.find.reading import intent_of
from lacli.edits.mend.mend import mended
from lacli.edits.tree.outline import outline

PYTHON = '''\
import json


def load(path, limit=None):
    """Read the notes."""
    found = []
    # newest first
    for at in range(len(path)):
        found.append(path[at])
    return found


def count(notes):
    return len(notes)
'''
HINTED = (
    PYTHON.replace("import json\n", "import json\nfrom pathlib import Path\n")
    .replace("load(path, limit=None):", "load(\n    path: Path,\n    limit: int | None = None,\n) -> list[str]:")
    .replace("found = []", "found: list[str] = []")
)
LOOP = "    for at in range(len(path)):\n        found.append(path[at])\n"
TYPESCRIPT = """\
export const total = items => {
  let sum = 0;
  for (let at = 0; at < items.length; at++) {
    sum += items[at].price;
  }
  return sum;
};
"""
HINTED_TYPESCRIPT = "export interface Item {\n  price: number;\n}\n\n" + TYPESCRIPT.replace(
    "= items =>", "= (items: Item[]): number =>"
).replace("let sum =", "let sum: number =")
ASK = "add type hints to load"


def result(before: str, after: str, language: str = "python", instruction: str = ASK) -> tuple[str, list[str]]:
    intent = intent_of(instruction, before, outline(before, language))
    spans = [(0, before.count("\n"))]
    text, _ = mended(before, after, language, intent, spans)
    return text, [each.text for each in faults(before, text, language, intent, spans)]


def found(before: str, after: str, language: str = "python", instruction: str = ASK) -> list[str]:
    intent = intent_of(instruction, before, outline(before, language))
    return [each.text for each in faults(before, after, language, intent, [(0, before.count("\n"))])]


def test_hints_are_no_fault() -> None:
    assert result(PYTHON, HINTED) == (HINTED, [])
    assert found(TYPESCRIPT, HINTED_TYPESCRIPT, "typescript", "add types to total") == []


@pytest.mark.parametrize(
    "instead",
    [
        "    for each in path:\n        found.append(each)\n",
        "    found.extend(path)\n",
        "    found += [each for each in path]\n",
        "    for at in range(len(path)):\n        if path[at]:\n            found.append(path[at])\n",
        "    for at in range(len(path)):\n        found.append(path[at])\n        print(at)\n",
        "    for at in range(len(path)):\n        found.append(path[at])\n    found.sort()\n",
    ],
)
def test_a_loop_is_as_it_was(instead: str) -> None:
    after = HINTED.replace(LOOP, instead)
    assert any("only type hints are asked for" in each for each in found(PYTHON, after))
    assert result(PYTHON, after) == (HINTED, [])


@pytest.mark.parametrize("lost", ["    found: list[str] = []\n", LOOP, "    return found\n"])
def test_a_statement_that_is_gone_comes_back(lost: str) -> None:
    text, left = result(PYTHON, HINTED.replace(lost, ""))
    assert (text.replace("found = []", "found: list[str] = []"), left) == (HINTED, [])


@pytest.mark.parametrize(
    "change", [("limit: int | None = None", "limit: int = 10"), ("    path: Path,\n    limit", "    limit")]
)
def test_a_signature_that_is_more_than_hinted_is_as_it_was(change: tuple[str, str]) -> None:
    text, left = result(PYTHON, HINTED.replace(*change))
    assert "def load(path, limit=None):" in text
    assert left == []


def test_a_change_on_the_line_of_a_hint_is_seen() -> None:
    text, left = result(PYTHON, HINTED.replace("found: list[str] = []", "found: list[str] = [path]"))
    assert (text, left) == (HINTED.replace("found: list[str] = []", "found = []"), [])


def test_a_field_of_a_class_is_code() -> None:
    """In a data class a bare declaration is a parameter."""
    before = "class Note:\n    def __init__(self, text):\n        self.text = text\n"
    hinted = before.replace("self, text):", "self, text: str) -> None:").replace(".text =", ".text: str =")
    ask = "add type annotations to Note"
    assert result(before, hinted, instruction=ask) == (hinted, [])
    declared = hinted.replace("class Note:\n", "class Note:\n    text: str\n\n")
    assert result(before, declared, instruction=ask) == (hinted, [])


@pytest.mark.parametrize(
    "needed",
    ['T = TypeVar("T")\n\n\n', "if TYPE_CHECKING:\n    from pathlib import Path\n\n\n", "type Notes = list[str]\n\n\n"],
)
def test_what_hints_need_is_no_change_of_code(needed: str) -> None:
    after = HINTED.replace("\n\ndef load", f"\n{needed}def load".replace("\n\n\n\n", "\n\n\n"), 1)
    assert not [each for each in found(PYTHON, after) if "only type hints" in each]


def test_typescript_keeps_its_loop() -> None:
    after = HINTED_TYPESCRIPT.replace("items[at].price", "items[at].price * 2")
    assert result(TYPESCRIPT, after, "typescript", "add types to total") == (HINTED_TYPESCRIPT, [])


def test_both_may_be_asked_for() -> None:
    ask = "add type hints and a docstring to count"
    hinted = PYTHON.replace("count(notes):\n", 'count(notes: list[str]) -> int:\n    """How many there are."""\n')
    assert result(PYTHON, hinted, instruction=ask) == (hinted, [])
    assert result(PYTHON, hinted.replace("len(notes)", "sum(notes)"), instruction=ask) == (hinted, [])


def test_a_hint_deep_inside_is_none_of_indentation() -> None:
    inner = "def outer():\n" + textwrap.indent("def load(path):\n    for each in path:\n        yield each\n", "    ")
    hinted = inner.replace("load(path):", "load(path: list[str]) -> Iterator[str]:")
    deeper = hinted.replace("        for each", "        if path:\n            for each").replace(
        "            yield", "                yield"
    )
    assert any("only type hints" in each for each in found(inner, deeper))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("add type hints", {"types"}),
        ("add type hints to every method of  ", {"types"}),
        ("Add the missing type annotations", {"types"}),
        ("annotate the parameters of  ", {"types"}),
        ("add return types to the functions", {"types"}),
        ("add type hints and docstrings", {"types", "documentation"}),
        ("add a docstring and type hints to  ", {"types", "documentation"}),
        ("document   and annotate it", {"types", "documentation"}),
        ("fix the typos in the comments", {"documentation"}),
        ("translate all comments to English", {"documentation"}),
        ("remove the comments in  ", {"documentation"}),
        ("add annotations", {"types"}),
        ("annotate everything with types", {"types"}),
        ("add deprecation annotations to  ", set()),
        ("annotate   with  ", set()),
        ("annotate   with @cache", set()),
        ("add type hints and return None for an empty list", set()),
        ("add type hints, then rename the class", set()),
        ("add a type parameter to  ", set()),
        ("add a type field to  ", set()),
        ("fix the comment parser", set()),
        ("add type hint support", set()),
        ("make   return a list", set()),
    ],
)
def test_the_purpose_is_told_from_the_words(words: str, expected: set[str]) -> None:
    assert purposes(words) == expected


def test_only_what_adds_documentation_keeps_the_old_one() -> None:
    assert adds_documentation("add comments to  ")
    assert not adds_documentation("remove the comments in  ")
