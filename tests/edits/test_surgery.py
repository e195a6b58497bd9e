"""What is only to go, or to stand elsewhere, is taken out or moved by its lines."""

from __future__ import annotations

import pytest

from lacli.edits.checks.checks import faults
from lacli.edits.direct.surgery import derived, moved, removed
from lacli.edits.find.reading import intent_of
from lacli.edits.tree.outline import outline

TEXT = """X = 1


# About one.
def load_one():
    return 1


class Alpha:
    def a(self):
        return 1

    def b(self):
        return 2


class Beta:
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
        assert cut("remove the function load_one") == TEXT.replace(
            "# About one.\ndef load_one():\n    return 1\n\n\n", ""
        )

    def test_the_last_method_of_a_class(self) -> None:
        assert cut("delete the method b from Alpha") == TEXT.replace("\n    def b(self):\n        return 2\n", "")

    def test_the_first_method_of_a_class(self) -> None:
        assert cut("delete the method a from Alpha") == TEXT.replace("    def a(self):\n        return 1\n\n", "")

    def test_a_class_that_loses_all_it_holds_still_parses(self) -> None:
        kept = TEXT.replace("    def a(self):\n        return 3\n", "    pass\n")
        assert cut("remove Beta.a") == kept
        both = cut("remove Alpha.a and Alpha.b")
        assert both == TEXT.replace(
            "    def a(self):\n        return 1\n\n    def b(self):\n        return 2\n", "    pass\n"
        )

    def test_a_docstring_is_statement_enough_and_a_comment_is_none(self) -> None:
        text = "class A:\n    {}\n\n    def b(self):\n        return 1\n"
        assert cut("remove the method b", text.format('"""All."""')) == 'class A:\n    """All."""\n'
        assert cut("remove the method b", text.format("# all")) == "class A:\n    # all\n\n    pass\n"

    def test_the_method_of_the_class_that_is_named(self) -> None:
        made = cut("remove method a from class Alpha")
        assert made is not None
        assert "return 1\n\n    def b" not in made
        assert "return 3" in made

    @pytest.mark.parametrize(
        "instruction",
        [
            "remove the method a",
            "remove load_one and return 2 in b",
            "remove the call of load_one",
            "remove the debug output",
        ],
    )
    def test_what_is_not_clear_is_left_to_a_model(self, instruction: str) -> None:
        assert cut(instruction) is None


class TestMoved:
    def test_above(self) -> None:
        made = cut("move the class Beta above Alpha")
        assert made is not None
        assert made.index("class Beta") < made.index("class Alpha")
        assert sorted(made.split("\n")) == sorted(TEXT.split("\n"))
        assert "return 3\n\n\nclass Alpha" in made

    def test_below(self) -> None:
        made = cut("move load_one below Alpha")
        assert made is not None
        assert made.index("class Alpha") < made.index("# About one.\ndef load_one") < made.index("class Beta")
        assert made.startswith("X = 1\n\n\nclass Alpha")

    def test_not_out_of_what_it_stands_in(self) -> None:
        assert cut("move b above load_one") is None


RUST = "/// An id.\n#[derive(Debug, Clone)]\npub struct Id(u8);\n\nenum Kind { A }\n"


@pytest.mark.parametrize(
    ("instruction", "after"),
    [
        ("Derive Default for Id, too.", RUST.replace("Clone)", "Clone, Default)")),
        ("derive Clone, Eq and Hash for the struct Id", RUST.replace("Clone)", "Clone, Eq, Hash)")),
        ("Derive Copy for Kind", RUST.replace("enum", "#[derive(Copy)]\nenum")),
        ("Derive Debug for Id", None),
        ("Derive Default for Id and rename it to Key", None),
        ("Derive Default for Other", None),
    ],
)
def test_a_trait_is_derived(instruction: str, after: str | None) -> None:
    made = outline(RUST, "rust")
    assert made is not None
    intent = intent_of(instruction, RUST, made)
    assert derived(RUST, made, intent) == after
    assert not faults(RUST, after or RUST, "rust", intent, [(0, 5)])
