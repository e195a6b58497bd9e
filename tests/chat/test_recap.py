"""A chat taken up again shows its last turns as they were."""

from __future__ import annotations

from lacli.chat.outcome import Line
from lacli.chat.recap import recap
from lacli.events import Attachment, Counts, Message
from lacli.sessions.records import Turn

CODE = "So:\n\n```python\ndef f():\n    return 1\n```\n"


def turn(question: str, answer: str, reason: str = "stop", files: tuple[str, ...] = ()) -> Turn:
    attachments = tuple(Attachment(name, "text") for name in files)
    return Turn(Message("user", question, attachments=attachments), Message("assistant", answer), reason, Counts(), 0.0)


def shown(*turns: Turn) -> list[str]:
    return [line.text for line in recap(turns, "abcdefgh")]


def test_code_keeps_its_lines() -> None:
    lines = recap((turn("how?", CODE),), "abcdefgh")
    assert lines[-1] == Line(CODE.rstrip("\n"), "answer")


def test_all_turns_of_a_short_one_are_shown_in_order() -> None:
    assert shown(turn("a?", "1"), turn("b?\nreally?", "2", files=("b.py",))) == [
        "going on with session abcdefgh, 2 turns",
        "> a?", "1", "> [b.py]", "> b?", "> really?", "2",
    ]  # fmt: skip


def test_older_turns_that_do_not_fit_are_left_to_another_command() -> None:
    first, *rest = shown(turn("a?", "1\n" * 40), turn("b?", "2\n" * 40))
    assert first == "going on with session abcdefgh, 2 turns; `lacli sessions show abcdefgh` prints all of it"
    assert rest[0] == "> b?"


def test_a_long_answer_shows_its_end_within_its_code_block() -> None:
    body = "".join(f"x = {n}\n" for n in range(100))
    first, _, mark, answer = shown(turn("a?", f"So:\n```python\n{body}```\nThat is it.\n"))
    assert "prints all of it" in first
    assert mark == "…"
    assert answer.startswith("```python\nx = 4")
    assert answer.endswith("x = 99\n```\nThat is it.")


def test_a_long_question_is_cut() -> None:
    assert shown(turn("a\n" * 30, "1"))[-2:] == ["> …", "1"]


def test_an_interrupted_answer_says_so() -> None:
    assert shown(turn("a?", "on", "cancelled"))[-1] == "(interrupted)"


def test_a_chat_without_turns_has_only_its_size() -> None:
    assert shown() == ["going on with session abcdefgh, 0 turns"]
