"""The end of a conversation as it is shown where it is taken up again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lacli.chat.outcome import Line
from lacli.sessions.records import Turn
from lacli.shared.wording import counted
from lacli.text import fences

_MOST_LINES = 60
"""Lines of all answers and questions that are shown; of more than one turn, as many turns as fit."""
_MOST_ASKED = 12
"""Lines of one question."""


def recap(turns: Sequence[Turn], session: str) -> tuple[Line, ...]:
    """How long the conversation is, and its last turns; `session` is the beginning of its id."""
    size = counted(len(turns), "turn", "turns")
    shown = _last_that_fit(turns)
    lines = [line for turn in shown for line in _turn(turn)]
    is_cut = len(shown) < len(turns) or any(_is_long(turn.answer.text) for turn in shown)
    whole = f"; `lacli sessions show {session}` prints all of it" if is_cut else ""
    return Line(f"going on with session {session}, {size}{whole}"), *lines


def _last_that_fit(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The last turns, at least one if there is one."""
    room, first = _MOST_LINES, len(turns)
    while first and (first == len(turns) or _height(turns[first - 1]) <= room):
        first -= 1
        room -= _height(turns[first])
    return turns[first:]


def _height(turn: Turn) -> int:
    return min(_MOST_ASKED, turn.question.text.count("\n") + 1) + turn.answer.text.count("\n") + 1


def _turn(turn: Turn) -> Iterator[Line]:
    asked = turn.question.text.rstrip("\n").split("\n")
    asked = [*asked[:_MOST_ASKED], "…"] if len(asked) > _MOST_ASKED else asked
    labels = [f"[{attachment.label}]" for attachment in turn.question.attachments]
    for line in (*labels, *asked):
        yield Line(f"> {line}", "words")
    if _is_long(turn.answer.text):
        yield Line("…", "words")
    yield Line(_end(turn.answer.text).rstrip("\n"), "answer")
    if turn.interrupted:
        yield Line("(interrupted)", "words")


def _is_long(answer: str) -> bool:
    return answer.rstrip("\n").count("\n") >= _MOST_LINES


def _end(answer: str) -> str:
    """The last lines of a long answer; where they begin in a code block, with its fence."""
    if not _is_long(answer):
        return answer
    end = "\n".join(answer.rstrip("\n").split("\n")[-_MOST_LINES:])
    answer = answer.rstrip("\n")
    at = len(answer) - len(end)
    inside = next((block for block in fences.blocks(answer) if block.start < at < block.end), None)
    return end if inside is None else f"{inside.fence}{inside.info}\n{end}"
