from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from lacli_tui.controllers import slow_work
from lacli_tui.controllers.slow_work import SlowWork


class Worker:
    def __init__(self, task: asyncio.Task[Any]) -> None:
        self.cancel = task.cancel


@pytest.fixture
def work(screen: Any, chips: Any, notifications: Any, monkeypatch: pytest.MonkeyPatch) -> SlowWork:
    monkeypatch.setattr(slow_work, "get_current_worker", lambda: Worker(asyncio.current_task()))  # type: ignore[arg-type]
    return SlowWork(screen, chips, notifications)


async def test_the_result_is_returned_and_quick_work_is_not_announced(work: SlowWork, screen: Any, chips: Any) -> None:
    assert await work.run(lambda: 7, "reading a.py") == 7
    assert screen.timers[0].is_stopped
    assert chips.working == ""
    assert not work.cancel()


async def test_an_error_is_raised_where_the_result_is_waited_for(work: SlowWork) -> None:
    def fail() -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await work.run(fail, "reading a.py")
    assert not work.cancel()


async def test_slow_work_is_announced_and_can_be_cancelled(
    work: SlowWork, screen: Any, chips: Any, notifications: Any
) -> None:
    held = threading.Event()
    task = asyncio.get_running_loop().create_task(work.run(lambda: held.wait(10), "reading a.py"))
    while not screen.timers:
        await asyncio.sleep(0)
    await screen.go_off()
    assert chips.working == "reading a.py; escape gives it up"
    assert work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert notifications.shown == ["reading a.py: given up"]
    assert chips.working == ""
    held.set()
