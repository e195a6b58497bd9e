"""What a reply gives for a part: the part alone, whatever the model wrote around it."""

from __future__ import annotations

import pytest

from lacli.edits.reply.answer import Given, Unusable, fitted, given, insertions
from lacli.edits.tree.outline import outline

FILE = """import os


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()


def main():
    print(Stack())
"""
POP = "def pop(self):\n    return self.items.pop()\n"


def block(text: str) -> str:
    return f"```python\n{text}```\n"


class TestGiven:
    def test_line_numbers_are_taken_off(self) -> None:
        numbered = "1: def pop(self):\n2:     x = 1\n3:     return x\n"
        assert given(block(numbered), POP).text == "def pop(self):\n    x = 1\n    return x\n"

    def test_numbers_that_are_text_stay(self) -> None:
        table = "1  a\n2  b\n3  c\n"
        assert given(f"```\n{table}```\n", table.replace("a", "x")).text == table

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            ("I cannot do that.", "no code block"),
            ("```python\ndef pop(self):\n", "unfinished"),
            ("<<<<<<< SEARCH\ndef pop(self):\n=======\n", "not complete"),
            ("<<<<<<< SEARCH\nnowhere\n=======\nx\n>>>>>>> REPLACE\n", "not there"),
        ],
    )
    def test_what_gives_nothing_says_why(self, reply: str, why: str) -> None:
        with pytest.raises(Unusable, match=why):
            given(reply, POP)

    def test_search_blocks_are_applied_whatever_was_asked(self) -> None:
        reply = "<<<<<<< SEARCH\n    return self.items.pop()\n=======\n    return None\n>>>>>>> REPLACE\n"
        assert given(reply, POP).text == "def pop(self):\n    return None\n"


class TestFitted:
    def fit(self, text: str, names: tuple[str, ...] = ("pop",)) -> Given:
        before = outline(FILE, "python")
        assert before is not None
        return fitted(Given(text), names, ("Stack",), POP, before, "python")

    def test_the_class_around_it_is_left_out(self) -> None:
        made = self.fit("class Stack:\n    def pop(self):\n        return 1\n")
        assert made.text == "def pop(self):\n    return 1\n"
        assert made.notes

    def test_other_definitions_of_the_file_are_left_out(self) -> None:
        made = self.fit("def push(self, item):\n    pass\n\n\ndef pop(self):\n    return 1\n")
        assert made.text == "def pop(self):\n    return 1\n"

    def test_new_helpers_stay(self) -> None:
        text = "def last(self):\n    return 1\n\n\ndef pop(self):\n    return self.last()\n"
        assert self.fit(text).text == text

    def test_imports_go_to_the_top_of_the_file(self) -> None:
        made = self.fit("import json\n\ndef pop(self):\n    return json\n")
        assert (made.text, made.imports) == ("def pop(self):\n    return json\n", ("import json",))

    def test_it_may_have_its_new_name(self) -> None:
        assert self.fit("def take(self):\n    return 1\n", ("pop", "take")).text.startswith("def take")


class TestInsertions:
    def insert(self, text: str) -> Given:
        before = outline(FILE, "python")
        assert before is not None
        into = next(each for each in before.definitions if each.name == "Stack")
        return insertions(Given(text), into, before, "python")

    def test_of_the_whole_class_only_what_is_new(self) -> None:
        made = self.insert(
            "class Stack:\n    def pop(self):\n        return 2\n\n    def peek(self):\n        return 1\n"
        )
        assert made.text == "    def peek(self):\n        return 1\n"

    def test_what_is_there_already_is_not_added_twice(self) -> None:
        made = self.insert("def pop(self):\n    return 2\n\n\ndef peek(self):\n    return 1\n")
        assert made.text == "def peek(self):\n    return 1\n"
        with pytest.raises(Unusable, match="not in the file already"):
            self.insert(POP)
