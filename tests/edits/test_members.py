"""Methods belong to what they are added to, and the names in them are known there."""

from __future__ import annotations

import pytest

from lacli.editing.opening import of_something_new
from lacli.edits.checks.checks import faults
from lacli.edits.find.find import find
from lacli.edits.find.reading import intent_of
from lacli.edits.mend.mend import mended
from lacli.edits.tree.outline import outline

GO = """package group

type Group struct {
	sem chan int
}

func (g *Group) Wait() {
	g.sem <- 1
}

func (g *Group) Go(f func() error) {
	go f()
}
"""
ASK = "Add a method Limit() int to Group that returns cap(g.sem)"


def left(before: str, after: str, language: str, instruction: str) -> list[str]:
    intent = intent_of(instruction, before, outline(before, language))
    return [each.text for each in faults(before, after, language, intent, [(0, before.count("\n"))])]


def test_a_function_of_go_becomes_the_method_it_was_to_be() -> None:
    intent = intent_of(ASK, GO, outline(GO, "go"))
    wrong = GO + "\nfunc Limit() int {\n\treturn cap(g.sem)\n}\n"
    assert "`Limit` is no method of `Group`" in left(GO, wrong, "go", ASK)
    text, notes = mended(GO, wrong, "go", intent, [(5, 5)])
    assert text == wrong.replace("func Limit", "func (g *Group) Limit")
    assert notes == ("made `Limit` a method of `Group`",)


def test_its_answer_is_begun_with_the_receiver() -> None:
    made = outline(GO, "go")
    picked = find(GO, made, intent_of(ASK, GO, made))
    assert of_something_new("Limit", picked, made, "go", ASK) == "func (g *Group) Limit"


@pytest.mark.parametrize(
    ("language", "before", "after", "instruction"),
    [
        (
            "python",
            "class A:\n    def f(self):\n        return 1\n",
            "class A:\n    def f(self):\n        return 1\n\n\ndef g():\n    return 2\n",
            "Add a method g to A that returns 2",
        ),
        (
            "rust",
            "struct A;\n\nimpl A {\n    fn f(&self) -> u8 { 1 }\n}\n",
            "struct A;\n\nimpl A {\n    fn f(&self) -> u8 { 1 }\n}\n\nfn g() -> u8 { 2 }\n",
            "Add a method g to A that returns 2",
        ),
        (
            "javascript",
            "class A {\n  f() {\n    return 1;\n  }\n}\n",
            "class A {\n  f() {\n    return 1;\n  }\n}\n\nfunction g() {\n  return 2;\n}\n",
            "Add a method g to A that returns 2",
        ),
    ],
)
def test_a_function_beside_the_class_is_no_method(language: str, before: str, after: str, instruction: str) -> None:
    assert "`g` is no method of `A`" in left(before, after, language, instruction)


@pytest.mark.parametrize(
    ("language", "before", "after", "name"),
    [
        ("go", GO, GO + "\nfunc Size() int {\n\treturn cap(g.sem)\n}\n", "g"),
        (
            "javascript",
            "function f(rows) {\n  return rows.length;\n}\n",
            "function f(rows) {\n  return rows.length;\n}\n\nfunction size() {\n  return rows.length;\n}\n",
            "rows",
        ),
        (
            "rust",
            "fn f(rows: &[u8]) -> usize { rows.len() }\n",
            "fn f(rows: &[u8]) -> usize { rows.len() }\n\nfn size() -> usize { rows.len() }\n",
            "rows",
        ),
        (
            "c",
            "int f(int rows) {\n    return rows;\n}\n",
            "int f(int rows) {\n    return rows;\n}\n\nint size(void) {\n    return rows;\n}\n",
            "rows",
        ),
    ],
)
def test_a_parameter_of_another_function_is_not_known(language: str, before: str, after: str, name: str) -> None:
    made = left(before, after, language, "Add a function size that tells how many there are")
    assert any(each.startswith(f"`{name}` in line") for each in made) or "`Size` was not asked for" in " ".join(made)


@pytest.mark.parametrize(
    ("language", "before", "after"),
    [
        ("go", GO, GO.replace("go f()", "for i, v := range []int{1} {\n\t\tprintln(i, v)\n\t}\n\tgo f()")),
        ("go", GO, GO.replace("go f()", "h := func(g int) int { return g }\n\th(1)\n\tgo f()")),
        (
            "rust",
            "fn f(a: u8) -> u8 { a }\nfn g(b: Option<u8>) -> u8 { 1 }\n",
            "fn f(a: u8) -> u8 { a }\nfn g(b: Option<u8>) -> u8 { if let Some(a) = b { a } else { 1 } }\n",
        ),
        (
            "javascript",
            "function f(a) {\n  return a;\n}\nfunction g(b) {\n  return b;\n}\n",
            "function f(a) {\n  return a;\n}\nfunction g(b) {\n  const { a } = b;\n  return b.map((x) => a + x);\n}\n",
        ),
        (
            "c",
            "int f(int a) {\n    return a;\n}\nint g(int b) {\n    return b;\n}\n",
            "int f(int a) {\n    return a;\n}\nint g(int b) {\n    int a = b;\n    return a;\n}\n",
        ),
    ],
)
def test_what_is_declared_there_is_known(language: str, before: str, after: str) -> None:
    name = "Go" if language == "go" else "g"
    assert not [each for each in left(before, after, language, f"change {name}") if "not defined there" in each]
