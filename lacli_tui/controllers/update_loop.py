"""When to take what the engine has sent: at most fifteen times a second, and using at most a quarter of the time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from textual.screen import Screen
from textual.timer import Timer

FLUSH_S = 0.066
"""The least time between two updates of the screen."""
_SHARE = 4
"""An update may take one part in so many of the time."""
Updates = TypeVar("Updates")


@dataclass(eq=False)
class UpdateLoop(Generic[Updates]):
    """Takes updates and has them shown, however often it is asked to.

    `_show` takes the updates and shows them; `_settle` gets them once the next ones may be asked for.
    """

    _screen: Screen[Any]
    _is_ready: Callable[[], bool]
    _show: Callable[[], Awaitable[Updates]]
    _settle: Callable[[Updates], Awaitable[None]]
    _timer: Timer | None = field(init=False, default=None)
    _not_before: float = field(init=False, default=0.0)

    @property
    def is_pending(self) -> bool:
        """Whether updates are waiting to be shown, or are being shown."""
        return self._timer is not None

    def request(self) -> None:
        """Show what has arrived, as soon as the last update allows."""
        if self._timer is None:
            wait = max(0.0, self._not_before - time.monotonic())
            self._timer = self._screen.set_timer(max(wait, 0.001), self._flush)

    def hurry(self) -> None:
        """Let the next update come at once."""
        self._not_before = 0.0

    async def _flush(self) -> None:
        if not self._is_ready():
            self._timer = self._screen.set_timer(FLUSH_S, self._flush)
            return
        started = time.monotonic()
        try:
            updates = await self._show()
        finally:
            now = time.monotonic()
            self._not_before = now + max(FLUSH_S, _SHARE * (now - started))
            self._timer = None
        await self._settle(updates)
