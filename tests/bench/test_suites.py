"""The prompts: the fixed ones first, enough of each kind, no twins, and edits that are edits."""

from __future__ import annotations

import difflib
import itertools

import pytest

from lacli.bench.suites import SUITES, load_suites, python_sources, shared_runs, word_overlap
from lacli.errors import UsageError

INVENTORY = """class Inventory:
    def __init__(self):
        self.items = {}

    def add(self, name, qty):
        self.items[name] = self.items.get(name, 0) + qty

    def remove(self, name, qty):
        if name not in self.items:
            raise KeyError(name)
        self.items[name] -= qty

"""
FIXED = {
    "code": [
        "Write a Python function that reverses a linked list.",
        "Write a Python class Stack with push, pop and peek methods, with docstrings.",
        "Write a Python script that reads a CSV file and prints the average of each numeric column.",
        "Write a Python function that checks whether a string is a palindrome, with tests.",
    ],
    "edit": [
        f"Add docstrings to every method of this Python class and return the whole class:\n```python\n{INVENTORY}```",
        f"Rename the method `add` to `put` in this Python class and return the whole class:\n```python\n{INVENTORY}```",
    ],
    "prose": ["Explain what a mutex is and when to use one.", "Tell me about the history of the bicycle."],
}


@pytest.mark.parametrize("suite", FIXED)
def test_the_fixed_prompts_come_first_and_are_verbatim(suite: str) -> None:
    assert [case.prompt for case in load_suites(suite, len(FIXED[suite]))] == FIXED[suite]


@pytest.mark.parametrize(("suite", "least"), [("code", 12), ("edit", 4), ("prose", 4), ("edit-ref", 12)])
def test_every_suite_is_large_enough(suite: str, least: int) -> None:
    assert len(load_suites(suite)) >= least


def test_all_suites_together_hold_the_fifty_prompts_that_exactness_is_shown_on() -> None:
    cases = load_suites("all")
    assert len(cases) >= 50
    assert {case.suite for case in cases} == set(SUITES)
    assert len({(case.suite, case.name) for case in cases}) == len(cases)


def test_no_two_prompts_are_twins() -> None:
    """Twins would make a pool of the other prompts' replies look like a pool of this one's own."""
    given = set(FIXED["edit"])  # these two share their class by the issue's own choice
    for left, right in itertools.combinations(load_suites("all"), 2):
        if {left.prompt, right.prompt} != given:
            assert word_overlap(left.prompt, right.prompt) < 0.25, (left.name, right.name)


def test_overlap_tells_twins_from_strangers() -> None:
    assert word_overlap("Write a sort in C", "write a sort in c") == 1.0
    assert word_overlap("Write a merge sort in C", "Write a merge sort in Go") > 0.5
    assert word_overlap("Tell me about bicycles today", "Write a merge sort in Go") == 0.0


@pytest.mark.parametrize("case", load_suites("edit-ref"), ids=lambda case: case.name)
def test_an_edit_keeps_most_of_a_file_of_real_size_and_changes_some(case) -> None:  # type: ignore[no-untyped-def]
    before = case.prompt.split("\n", 1)[1].splitlines()
    after = case.reply.splitlines()
    assert 30 <= len(before) - 2 <= 90
    assert after[0].startswith("```")
    assert after[-1] == "```"
    assert 0.4 < difflib.SequenceMatcher(None, before, after, autojunk=False).ratio() < 1.0


def test_python_edits_are_python_on_both_sides() -> None:
    for case in load_suites("edit-ref"):
        for text in (case.prompt, case.reply):
            _, fence, rest = text.partition("```python\n")
            if fence:
                compile(rest.removesuffix("```"), case.name, "exec")


def test_the_text_for_perplexity_is_python_and_long_enough() -> None:
    compile(python_sources().replace("from __future__ import annotations", ""), "sources", "exec")
    assert len(python_sources()) > 4 * 2048


def test_long_prompts_are_filled_up_to_the_context_and_stand_apart_from_all() -> None:
    assert {case.filled for case in load_suites("long")} == {8000}
    assert not [case for case in load_suites("all") if case.filled]


def test_runs_of_tokens_are_shared_by_the_share_of_the_shorter_text() -> None:
    assert shared_runs(range(20), range(5, 15), 6) == 1.0
    assert shared_runs(range(20), range(100, 120), 6) == 0.0


def test_an_unknown_suite_is_a_usage_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        load_suites("poetry")
    assert "edit-ref" in caught.value.hint
