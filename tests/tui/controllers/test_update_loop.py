from __future__ import annotations

from typing import Any

import pytest

from lacli_tui.controllers.update_loop import FLUSH_S, UpdateLoop


class Shown:
    def __init__(self) -> None:
        self.is_ready = True
        self.shown = 0
        self.settled: list[int] = []

    async def show(self) -> int:
        self.shown += 1
        return self.shown

    async def settle(self, updates: int) -> None:
        self.settled.append(updates)


def made(screen: Any, shown: Shown) -> UpdateLoop[int]:
    return UpdateLoop(screen, lambda: shown.is_ready, shown.show, shown.settle)


async def test_many_requests_are_one_update(screen: Any) -> None:
    shown = Shown()
    loop = made(screen, shown)
    for _ in range(5):
        loop.request()
    assert loop.is_pending
    assert len(screen.timers) == 1
    await screen.go_off()
    assert (shown.shown, shown.settled, loop.is_pending) == (1, [1], False)


async def test_the_next_update_waits_unless_it_is_hurried(screen: Any) -> None:
    loop = made(screen, Shown())
    loop.request()
    assert screen.timers[0].seconds < 0.01
    await screen.go_off()
    loop.request()
    assert screen.timers[0].seconds > FLUSH_S / 2
    await screen.go_off()
    loop.hurry()
    loop.request()
    assert screen.timers[0].seconds < 0.01


async def test_nothing_is_taken_before_there_is_room_for_it(screen: Any) -> None:
    shown = Shown()
    shown.is_ready = False
    loop = made(screen, shown)
    loop.request()
    await screen.go_off()
    assert (shown.shown, loop.is_pending) == (0, True)
    shown.is_ready = True
    await screen.go_off()
    assert shown.settled == [1]


async def test_after_an_update_that_failed_others_are_taken(screen: Any) -> None:
    shown = Shown()

    async def fail() -> int:
        raise ValueError("no")

    loop: UpdateLoop[int] = UpdateLoop(screen, lambda: True, fail, shown.settle)
    loop.request()
    with pytest.raises(ValueError, match="no"):
        await screen.go_off()
    assert not loop.is_pending
    assert shown.settled == []
