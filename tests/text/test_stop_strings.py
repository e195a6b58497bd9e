"""Stop strings inside accepted runs (case D6): cut before the match, wherever tokens and steps begin."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from lacli.engine.step import Cut, Finish
from lacli.engine.stop import Stops
from lacli.errors import UsageError
from lacli.text.stops import StopStrings

WORDS = ["one", ",", " tw", "o, th", "ree, f", "our", ", fi", "ve, six", " 👩", "‍💻 en", "d\n", "\n"]


class Words:
    """Id n is the n-th word; id 99 has no text."""

    def token_bytes(self, token_id: int) -> bytes:
        return b"" if token_id == 99 else WORDS[token_id].encode()


def run(stops: Sequence[str], token_ids: Sequence[int], steps: Sequence[int]) -> tuple[str, int, int, Finish | None]:
    """Text, tokens kept, tokens delivered and reason, the ids accepted in runs of these lengths."""
    rule, text, kept, at = StopStrings(Words(), stops), "", 0, 0
    cut = Cut(0)
    for step in steps:
        cut = rule.cut(token_ids[at : at + step])
        at += step
        kept += cut.keep
        text += rule.take()
        assert "\ufffd" not in text
        if cut.finish is not None:
            break
    return text + rule.finish(), kept, rule.delivered, cut.finish


def ways(length: int) -> list[list[int]]:
    """Ways to accept so many tokens: one by one, all at once, and by chance."""
    chance = random.Random(7)
    return [[1] * length, [length], *([chance.randint(1, 4) for _ in range(length)] for _ in range(20))]


ALL = list(range(len(WORDS)))
WHOLE = "".join(WORDS)


@pytest.mark.parametrize(
    "stops",
    [[" five"], ["r, fi"], ["\n"], ["👩‍💻"], ["five", "fiv"], ["fiv", "five, six"], ["x"], ["o, three, four"], ["one"]],
)
def test_the_text_ends_exactly_before_the_stop_however_the_run_is_split(stops: list[str]) -> None:
    ends = [WHOLE.index(stop) for stop in stops if stop in WHOLE]
    results = {run(stops, ALL, steps) for steps in ways(len(ALL))}
    assert len(results) == 1
    text, _, _, finish = results.pop()
    assert text == WHOLE[: min(ends, default=len(WHOLE))]
    assert finish == (Finish.STOP if ends else None)


def test_the_stop_completed_first_wins_over_one_that_begins_earlier() -> None:
    """One token at a time would meet it first, so that is what every split must do."""
    assert {run(["ree", "three, four"], ALL, steps)[0] for steps in ways(len(ALL))} == {"one, two, th"}


def test_overlapping_beginnings_are_not_missed() -> None:
    assert run(["\n\n"], [11, 11], [1, 1])[0] == ""
    assert run(["o, o, th"], [2, 3], [2])[0] == " two, th"
    text = "".join(WORDS[index] for index in (3, 3, 4))
    assert run(["th" + "o, three"], [3, 3, 4], [1, 2])[0] == text[: text.index("tho, three")]


def test_a_stop_inside_a_token_keeps_that_token() -> None:
    assert run([", th"], [0, 2, 3], [3]) == ("one two", 3, 3, Finish.STOP)


def test_tokens_wholly_inside_a_stop_are_not_delivered() -> None:
    text, kept, delivered, _ = run([" two, th"], [0, 2, 3], [3])
    assert (text, delivered) == ("one", 1)
    assert kept == 2  # the token that began the stop was ordinary text until the next one came


def test_text_held_back_is_released_when_the_reply_ends_inside_a_possible_stop() -> None:
    rule = StopStrings(Words(), ["one, two, three, five"])
    assert rule.cut([0, 1, 2]) == Cut(3)
    assert rule.take() == ""
    assert rule.finish() == "one, tw"
    assert rule.delivered == 3


def test_nothing_that_might_begin_a_stop_is_shown() -> None:
    rule = StopStrings(Words(), [", five"])
    rule.cut([4])
    assert rule.take() == "ree"
    rule.cut([5])
    assert rule.take() == ", four"


def test_half_a_character_at_the_budget_is_dropped() -> None:
    class Bytes:
        def token_bytes(self, token_id: int) -> bytes:
            return bytes([token_id])

    rule = StopStrings(Bytes(), ["zz"])
    rule.cut(list("aé".encode()[:2]))
    assert rule.take() + rule.finish() == "a"


def test_tokens_without_text_cost_nothing() -> None:
    assert run(["two"], [0, 99, 1, 99], [4]) == ("one,", 4, 4, None)


def test_the_engine_cuts_at_the_stop_before_the_end_of_sequence() -> None:
    stops = Stops({7}, 100, StopStrings(Words(), ["tw"]))
    assert stops.cut([0, 1, 2, 3, 7]) == Cut(3, Finish.STOP)


def test_the_engine_cuts_at_the_budget_before_a_later_stop() -> None:
    rule = StopStrings(Words(), ["ree"])
    assert Stops(set(), 2, rule).cut([0, 1, 2, 3, 4]) == Cut(2, Finish.LENGTH)
    assert rule.take() + rule.finish() == "one,"


def test_an_empty_stop_is_refused() -> None:
    with pytest.raises(UsageError):
        StopStrings(Words(), ["ok", ""])
