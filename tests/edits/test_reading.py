"""What the words of an instruction are taken for: names, renames, removals, additions."""

from __future__ import annotations

import pytest

from lacli.edits.find.intent import Intent
from lacli.edits.find.reading import intent_of
from lacli.edits.tree.outline import outline

TEXT = """import os
import json

LIMIT = 3


class Stack:
    def __init__(self, items=None):
        self.items = items or []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()


def load(path, mode="r"):
    return json.load(open(path))


def main(argv):
    Stack().push(load(argv[0]))
"""


def read(instruction: str) -> Intent:
    return intent_of(instruction, TEXT, outline(TEXT, "python"))


@pytest.mark.parametrize(
    ("instruction", "names"),
    [
        ("in load, raise a ValueError", {"load"}),
        ("load all the items of the file", set()),
        ("add all items to the list", set()),
        ("make `Stack.push` return self", {"Stack.push", "push"}),
        ("document main", {"main"}),
        ("Stack needs a docstring", {"Stack"}),
        ("the pop method should not fail on an empty list", {"pop"}),
        ("change the default of mode to 'rb'", {"mode"}),
        ("use push and pop of Stack", {"push", "pop", "Stack"}),
        ("lower LIMIT to 2", {"LIMIT"}),
        ("remove the import of os", {"os"}),
    ],
)
def test_only_words_that_are_used_as_names_are_names(instruction: str, names: set[str]) -> None:
    assert read(instruction).names == names


@pytest.mark.parametrize(
    ("instruction", "renames"),
    [
        ("rename load to fetch", [("load", "fetch")]),
        ("Rename the function `load` to `fetch` everywhere", [("load", "fetch")]),
        ("call load fetch instead", [("load", "fetch")]),
        ("change the name of load to fetch", [("load", "fetch")]),
        ("load should be called fetch", [("load", "fetch")]),
        ("rename Stack.push to Stack.add and load to fetch", [("push", "add"), ("load", "fetch")]),
        ("rename push and pop to put and take", [("push", "put"), ("pop", "take")]),
        ("don't rename load to fetch", []),
        ("call load in main", []),
    ],
)
def test_renames_in_many_words(instruction: str, renames: list[tuple[str, str]]) -> None:
    assert list(read(instruction).renames) == renames


@pytest.mark.parametrize(
    ("instruction", "removes"),
    [
        ("remove push and pop from Stack", {"push", "pop"}),
        ("get rid of LIMIT", {"LIMIT"}),
        ("inline load", {"load"}),
        ("replace load with json.load", {"load"}),
        ("move main above load", {"main"}),
        ("convert load into load_all", {"load"}),
        ("convert Stack into a dataclass", set()),
        ("use f-strings instead of % in load", set()),
        ("remove load's docstring", set()),
        ("remove the load call in main", set()),
        ("replace every call of load with json.load", set()),
        ("simplify main without removing load", set()),
        ("don't delete pop", set()),
    ],
)
def test_only_what_is_bound_to_a_verb_of_removal_may_be_gone(instruction: str, removes: set[str]) -> None:
    found = read(instruction)
    assert found.removes == removes
    assert all(found.allows_loss_of(name) for name in removes)
    assert not found.allows_loss_of("Stack.__init__")


@pytest.mark.parametrize(
    ("instruction", "adds"),
    [
        ("add a method peek to Stack", {"peek"}),
        ("add a `size` property to the class Stack", {"size"}),
        ("the class Stack should have a method called clear", {"clear"}),
        ("write a function save(path, data) after load", {"save"}),
        ("add a parameter timeout to load", {"timeout"}),
        ('add "pinned: bool = False" to Stack', {"pinned"}),
        ("import sys at the top", {"sys"}),
        ("extract the loop of main into a helper run_all", {"run_all"}),
        ("add a docstring to load", set()),
        ("add error handling to main", set()),
    ],
)
def test_what_is_to_be_new(instruction: str, adds: set[str]) -> None:
    assert read(instruction).adds == adds


def test_every_place_is_meant_only_where_that_is_said() -> None:
    assert read("rename load to fetch everywhere").everywhere
    assert read("log every call of load").everywhere
    assert not read("return all items in load").everywhere


def test_a_text_without_an_outline_has_no_names() -> None:
    assert intent_of("rename `load` to `fetch`", TEXT, None) == Intent("rename `load` to `fetch`")


@pytest.mark.parametrize(
    ("instruction", "deletes"),
    [
        ("rename load to fetch and remove Stack.pop", {"Stack.pop"}),
        ("remove pop and main, then add a docstring to load", {"pop", "main"}),
        ("remove the method pop entirely and sort the imports", {"pop"}),
        ("remove the tests for load and document main", set()),
        ("remove the load import and document main", set()),
        ("drop load from the list and document main", set()),
        ("do not remove load but make it faster", set()),
        ("remove pop and add a new pop that takes an index", set()),
        ("remove load and put it into Stack", set()),
        ("replace load by a method of Stack and remove main", set()),
    ],
)
def test_only_what_is_deleted_as_such_is_taken_out_without_the_model(instruction: str, deletes: set[str]) -> None:
    assert read(instruction).deletes == deletes


@pytest.mark.parametrize(
    ("instruction", "names"),
    [
        ("remove add and rename remove to take", {"add", "remove"}),
        ("document load and add a docstring to remove", {"load", "remove"}),
        ("document load and remove `add`", {"load", "add"}),
        ("document add and remove", {"add", "remove"}),
        ("in add and remove, check the name", {"add", "remove"}),
        ("rename add and remove to put and take", {"add", "remove"}),
    ],
)
def test_a_verb_is_not_the_method_of_that_name(instruction: str, names: set[str]) -> None:
    text = "class Bag:\n    def add(self): ...\n\n    def remove(self): ...\n\n\ndef load(): ...\n"
    assert intent_of(instruction, text, outline(text, "python")).names == names
