"""What a model is asked for an edit: content first, the part last of it, the form of the answer at the end."""

from __future__ import annotations

from lacli.events import Attachment
from lacli.prompts.content import composed
from lacli.prompts.editing import question


def test_a_whole_file() -> None:
    message = question("a.py", "x = 1\n", " rename x ", others=[Attachment("diff", "-x")])
    assert composed(message.text, message.attachments) == (
        "```diff\n-x\n```\n\n```a.py\nx = 1\n```\n\nrename x\n\n"
        "Return the whole of a.py with this change, nothing left out, in one code block."
    )


def test_a_range_stands_behind_what_is_around_it() -> None:
    message = question("a.py", "b\n", "do", lines=(2, 2), around=("a\n", "c\n"))
    assert [(each.label, each.text) for each in message.attachments] == [
        ("a.py before line 2", "a\n"),
        ("a.py after line 2", "c\n"),
        ("lines 2-2 of a.py", "b\n"),
    ]


def test_of_what_is_around_a_range_only_the_nearest_is_shown() -> None:
    far = "".join(f"{number}\n" for number in range(1000))
    before, after, _ = question("a", "x\n", "do", lines=(1001, 1001), around=(far, far)).attachments
    assert before.text == "".join(f"{number}\n" for number in range(960, 1000))
    assert after.text == "".join(f"{number}\n" for number in range(20))
    huge = "y" * 10**6
    assert (
        sum(len(each.text) for each in question("a", "x\n", "do", lines=(2, 2), around=(huge, huge)).attachments) < 9000
    )


def test_a_part_with_fences_is_asked_for_in_a_longer_one() -> None:
    assert "begins and ends with `````" in question("r.md", "````\n```\n", "do").text


def test_an_empty_file_is_named() -> None:
    message = question("new.py", "\n", "say hello")
    assert message.attachments == ()
    assert message.text == (
        "say hello\n\nnew.py is empty. Return the whole text that belongs there, in one code block."
    )


def test_blanks_at_the_end_of_the_last_line_are_shown() -> None:
    """An edit is compared line by line: a line that the model saw without its last blanks looks changed."""
    message = question("a.md", "x  \n", "do")
    assert "\nx  \n```" in composed(message.text, message.attachments)
