"""Items of lists in files of keys that went although the instruction means others. Pure.

"Remove the classifier of Python 3.8" means the one item that has most of its words; what shares fewer of them stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.find.vocabulary import DATA

_MANY = re.compile(
    r"\b(?:all|every|each|any|except|unless|but|only|below|above|older|newer|before|after|under|over|until|than|unused|empty|"
    r"clear|from\s+\S+\s+to)\b",
    re.IGNORECASE,
)
"""How an instruction means items without their words."""


def items(scope: Scope) -> Iterator[Fault]:
    """The first of them."""
    for row, item in lost_items(scope)[:1]:
        yield Fault("lost", f"{item[:60]} in line {row + 1} is gone, and another item was meant")


def lost_items(scope: Scope) -> list[tuple[int, str]]:
    """Their lines and texts."""
    if scope.old.language not in DATA or not scope.new.sound or _MANY.search(scope.words):
        return []
    words = set(re.findall(r"[\w.]*\w", scope.intent.text))
    found: list[tuple[int, str]] = []
    for at, each in enumerate(scope.old.definitions):
        now = scope.became[at]
        if each.kind != "key" or now is None or scope.old.children(each) or scope.is_as_it_was(at):
            continue
        listed = [
            (row, token)
            for row in range(each.start, each.end)
            for token in scope.old.tokens(row, row + 1)
            if token[:1] in "\"'" and token != each.name
        ]
        there = Counter(scope.new.tokens_of(now))
        meant = {token: words.intersection(re.findall(r"[\w.]*\w", token)) for _, token in listed}
        for row, token in listed:
            if there[token]:
                there[token] -= 1
            elif any(meant[token] < other for other in meant.values()):
                found.append((row, token))
    return found
