"""What a model is asked for an edit: content first, the part last of it, the form of the answer at the end."""

from __future__ import annotations

from lacli.events import Attachment
from lacli.prompts.content import composed
from lacli.prompts.editing import around, inserting, rewriting, searching


def test_a_whole_file() -> None:
    message = rewriting("a.py", "x = 1\n", " rename x ", others=[Attachment("diff", "-x")])
    assert composed(message.text, message.attachments) == (
        "```diff\n-x\n```\n\n```a.py\nx = 1\n```\n\nrename x\n\n"
        "Rewrite a.py with this change. Return the complete new a.py, nothing left out, in one code block."
    )


def test_a_range_stands_behind_what_is_around_it() -> None:
    message = rewriting("lines 2-2 of a.py", "b\n", "do", context=around("a.py", "a\n", "c\n", 2, 2))
    assert [(each.label, each.text) for each in message.attachments] == [
        ("a.py before line 2", "a\n"),
        ("a.py after line 2", "c\n"),
        ("lines 2-2 of a.py", "b\n"),
    ]


def test_of_what_is_around_a_range_only_the_nearest_is_shown() -> None:
    far = "".join(f"{number}\n" for number in range(1000))
    before, after = around("a", far, far, 1001, 1001)
    assert before.text == "".join(f"{number}\n" for number in range(960, 1000))
    assert after.text == "".join(f"{number}\n" for number in range(20))
    huge = "y" * 10**6
    assert sum(len(each.text) for each in around("a", huge, huge, 2, 2)) < 9000


def test_what_is_new_is_asked_for_alone() -> None:
    message = inserting("Stack", "add peek", context=[Attachment("Stack", "class Stack: ...")])
    assert [each.label for each in message.attachments] == ["Stack"]
    assert message.text == (
        "add peek\n\nReturn only what is to be added to Stack, complete, in one code block. "
        "Do not repeat what is there."
    )


def test_of_a_long_part_the_changes_are_asked_for() -> None:
    assert "<<<<<<< SEARCH\n" in searching("a.py", "x\n", "do").text


def test_a_part_with_fences_is_asked_for_in_a_longer_one() -> None:
    assert "begins and ends with `````" in rewriting("r.md", "````\n```\n", "do").text


def test_an_empty_file_is_named() -> None:
    message = rewriting("new.py", "\n", "say hello")
    assert message.attachments == ()
    assert message.text == (
        "say hello\n\nnew.py is empty. Return the whole text that belongs there, in one code block."
    )


def test_blanks_at_the_end_of_the_last_line_are_shown() -> None:
    """An edit is compared line by line: a line that the model saw without its last blanks looks changed."""
    message = rewriting("a.md", "x  \n", "do")
    assert "\nx  \n```" in composed(message.text, message.attachments)
