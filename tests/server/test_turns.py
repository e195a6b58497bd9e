"""Whose turn it is, without a clock or a process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from lacli.server.turns import Rank, Turns


@dataclass(frozen=True)
class One:
    name: str
    client: str
    rank: Rank = Rank.NORMAL
    arrival: int = 0


def order(waiting: Iterable[One]) -> list[str]:
    turns: Turns[One] = Turns()
    for each in waiting:
        turns.add(each)
    return [turns.take().name for _ in range(len(turns))]


def test_clients_take_turns_however_many_requests_each_has() -> None:
    many = [One(f"a{number}", "a") for number in range(4)]
    assert order([*many, One("b0", "b"), One("c0", "c"), One("b1", "b")]) == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


def test_who_was_served_stands_behind_those_that_come_later() -> None:
    turns: Turns[One] = Turns()
    for each in (One("a0", "a"), One("a1", "a")):
        turns.add(each)
    assert turns.take().name == "a0"
    turns.add(One("b0", "b"))
    assert [turns.take().name for _ in range(2)] == ["a1", "b0"]  # b came when a was waiting already


def test_an_urgent_one_goes_first_and_reading_ahead_last() -> None:
    waiting = [One("ahead", "c", Rank.AHEAD), One("chat", "a"), One("now", "b", Rank.URGENT)]
    assert order(waiting) == ["now", "chat", "ahead"]


def test_of_one_client_the_order_stays() -> None:
    assert order([One("chat", "a"), One("now", "a", Rank.URGENT), One("other", "b")]) == ["chat", "now", "other"]


def test_many_urgent_ones_do_not_keep_another_waiting_for_ever() -> None:
    urgent = [One(f"u{number}", f"u{number}", Rank.URGENT) for number in range(20)]
    found = order([One("chat", "a"), *urgent])
    assert found.index("chat") == 8


def test_where_only_urgent_ones_have_a_place_they_pass_all_others() -> None:
    turns: Turns[One] = Turns()
    for each in (
        One("ahead", "c", Rank.AHEAD),
        One("chat", "a"),
        *(One(f"u{n}", f"u{n}", Rank.URGENT) for n in range(9)),
    ):
        turns.add(each)
    assert [turns.take(lambda one: one.rank == Rank.URGENT).name for _ in range(9)] == [f"u{n}" for n in range(9)]
    assert turns.next(lambda one: one.rank == Rank.URGENT) is None
    assert turns.take().name == "chat"


def test_one_that_is_not_wanted_any_more_leaves() -> None:
    turns: Turns[One] = Turns()
    first, second = One("a0", "a"), One("a1", "a")
    turns.add(first)
    turns.add(second)
    turns.remove(first)
    assert [each.name for each in turns] == ["a1"]
    turns.remove(second)
    assert len(turns) == 0
    with pytest.raises(KeyError):
        turns.remove(second)


def test_the_oldest_is_found_behind_others() -> None:
    turns: Turns[One] = Turns()
    for each in (One("a", "a", arrival=5), One("b", "b", arrival=3), One("c", "a", arrival=1)):
        turns.add(each)
    assert turns.oldest() == 3  # of one client the first counts
