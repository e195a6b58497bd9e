"""A thought is shown as a quotation, in whatever pieces it comes."""

from __future__ import annotations

import pytest

from lacli.text.quoting import Quoting, quoted


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_each_line_of_a_thought_is_quoted_and_the_answer_stands_apart(size: int) -> None:
    thought, text, quoting, shown = "\nWell, a.\n\nThen b.\n", "Yes.\nNo.", Quoting(), ""
    for at in range(0, len(thought), size):
        shown += quoting.push("", thought[at : at + size])
    for at in range(0, len(text), size):
        shown += quoting.push(text[at : at + size], "")
    assert shown == "> Well, a.\n> \n> Then b.\n\nYes.\nNo."


def test_without_a_thought_the_text_is_as_it_is() -> None:
    quoting = Quoting()
    assert quoting.push("\nYes", "") + quoting.push(".\n", "") == "\nYes.\n"
    assert quoted("") == quoted(" \n") == ""
