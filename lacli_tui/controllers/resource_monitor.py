"""Watches the memory the engine takes and what the project's pool holds, both read in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual.screen import Screen
from textual.widget import Widget

from lacli_tui.background import in_thread
from lacli_tui.messages import Resources
from lacli_tui.resources import PoolFacts, memory_mb, pool_facts

_INTERVAL_S = 1.0


@dataclass(eq=False)
class ResourceMonitor:
    """Posts `Resources` to the widgets when a value has changed."""

    _screen: Screen[Any]
    _folder: Path
    _engine_pid: Callable[[], int | None]
    _widgets: Callable[[], Iterable[Widget]]
    _memory_mb: float | None = field(init=False, default=None)
    _pool: PoolFacts | None = field(init=False, default=None)
    _is_reading: bool = field(init=False, default=False)

    def start(self) -> None:
        """Read the pool once, and memory again and again from now on."""
        self.read_pool()
        self._screen.set_interval(_INTERVAL_S, self._read_memory)

    def read_pool(self) -> None:
        """Read the pool as well: it may have grown."""
        self._screen.run_worker(self._read(pool=True), group="resources", exit_on_error=False)

    def show(self, memory_mb: float | None, pool: PoolFacts | None) -> None:
        """Post these values, if they are new."""
        if (memory_mb, pool) != (self._memory_mb, self._pool):
            self._memory_mb, self._pool = memory_mb, pool
            for widget in self._widgets():
                widget.post_message(Resources(memory_mb, pool))

    def _read_memory(self) -> None:
        if not self._is_reading:
            self._screen.run_worker(self._read(pool=False), group="resources", exit_on_error=False)

    async def _read(self, pool: bool) -> None:
        self._is_reading = True
        pid = self._engine_pid()
        try:
            facts = await in_thread(lambda: pool_facts(self._folder)) if pool else self._pool
            memory = await in_thread(lambda: memory_mb(pid))
        finally:
            self._is_reading = False
        self.show(memory, facts)
