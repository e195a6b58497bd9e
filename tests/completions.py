"""A completion as it would be inserted, of a reply that is given: the same whatever the steps, or the test fails."""

from __future__ import annotations

import random
from collections.abc import Sequence

from lacli.completion.cursor import cursor_of
from lacli.completion.fim import rules
from lacli.events import Place
from lacli.text.stops import StopStrings


class Bytes:
    """A vocabulary of bytes."""

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id])


def completed(
    before_and_after: str,
    reply: str,
    path: str = "a.py",
    *,
    scope: str = "block",
    max_lines: int = 0,
    early: bool = False,
    hidden: str = "",
    goes_on: bool = False,
    steps: Sequence[int] = (1, 2, 3, 7, 10_000),
) -> str:
    """What is inserted at the bar in a text when the model says `reply`; `early`: the limit of tokens ended it."""
    prefix, _, suffix = before_and_after.partition("|")
    place = Place(prefix, suffix, path, scope=scope, max_lines=max_lines)
    return completed_at(place, reply, hidden, early, goes_on, steps)


def completed_at(
    place: Place,
    reply: str,
    hidden: str = "",
    early: bool = False,
    goes_on: bool = False,
    steps: Sequence[int] = (1, 2, 3, 7, 10_000),
    frame: Sequence[str] = (),
) -> str:
    """The same at a place, with a prompt that has this around it."""
    results, cursor = set(), cursor_of(place)
    for step in (*steps, None):
        chance = random.Random(step)
        rule = StopStrings(Bytes(), (), [rules(place, cursor, hidden, goes_on, frame)])
        text, data, at = "", reply.encode(), 0
        while at < len(data) and not rule.fired:
            size = step or chance.randint(1, 9)
            rule.cut(list(data[at : at + size]))
            text += rule.take()
            at += size
        results.add(text + rule.finish(early))
    assert len(results) == 1, results
    return results.pop()
