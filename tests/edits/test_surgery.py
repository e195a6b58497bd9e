"""What is only to go, or to stand elsewhere, is taken out or moved by its lines."""

from __future__ import annotations

import pytest

from lacli.edits.outline import outline
from lacli.edits.reading import intent_of
from lacli.edits.surgery import moved, removed

TEXT = """X = 1


# About one.
def one():
    return 1


class A:
    def a(self):
        return 1

    def b(self):
        return 2


class B:
    def a(self):
        return 3
"""


def cut(instruction: str, text: str = TEXT) -> str | None:
    found = outline(text, "python")
    assert found is not None
    intent = intent_of(instruction, text, found)
    return removed(text, found, intent) or moved(text, found, intent)


class TestRemoved:
    def test_a_function_with_its_comment(self) -> None:
        assert cut("remove the function one") == TEXT.replace("# About one.\ndef one():\n    return 1\n\n\n", "")

    def test_the_last_method_of_a_class(self) -> None:
        assert cut("delete the method b from A") == TEXT.replace("\n    def b(self):\n        return 2\n", "")

    def test_the_method_of_the_class_that_is_named(self) -> None:
        made = cut("remove method a from class A")
        assert made is not None
        assert "return 1\n\n    def b" not in made
        assert "return 3" in made

    @pytest.mark.parametrize(
        "instruction",
        ["remove the method a", "remove one and return 2 in b", "remove the call of one", "remove the debug output"],
    )
    def test_what_is_not_clear_is_left_to_a_model(self, instruction: str) -> None:
        assert cut(instruction) is None


class TestMoved:
    def test_above(self) -> None:
        made = cut("move the class B above A")
        assert made is not None
        assert made.index("class B") < made.index("class A")
        assert sorted(made.split("\n")) == sorted(TEXT.split("\n"))
        assert "return 3\n\n\nclass A" in made

    def test_below(self) -> None:
        made = cut("move one below A")
        assert made is not None
        assert made.index("class A") < made.index("# About one.\ndef one") < made.index("class B")
        assert made.startswith("X = 1\n\n\nclass A")

    def test_not_out_of_what_it_stands_in(self) -> None:
        assert cut("move b above one") is None
