"""Work that may wait for a disk, started by a worker: announced once it takes long, and cancelled with escape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from textual.screen import Screen
from textual.worker import Worker, get_current_worker

from lacli_tui.background import in_thread
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.chips import Chips

_LONG_S = 0.4
Value = TypeVar("Value")


@dataclass(eq=False)
class SlowWork:
    """Knows which workers are waiting."""

    _screen: Screen[Any]
    _chips: Chips
    _notifications: Notifications
    _running: dict[Worker[object], str] = field(init=False, default_factory=dict)
    """Descriptions, by the waiting worker."""

    async def run(self, work: Callable[[], Value], description: str) -> Value:
        """Run this in a thread and return its result. To be called from a worker."""
        worker = get_current_worker()
        self._running[worker] = description
        timer = self._screen.set_timer(_LONG_S, self._announce)
        try:
            return await in_thread(work)
        finally:
            timer.stop()
            del self._running[worker]
            self._announce()

    def cancel(self) -> bool:
        """Cancel whatever is being waited for; False if nothing is."""
        running = list(self._running.items())
        for worker, description in running:
            worker.cancel()
            self._notifications.show(f"{description}: given up")
        return bool(running)

    def _announce(self) -> None:
        words = ", ".join(self._running.values())
        self._chips.work(f"{words}; escape gives it up" if words else "")
