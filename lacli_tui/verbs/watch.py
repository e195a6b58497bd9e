"""What the main screen does about the Decode panel: where there is room for it, whether it is wanted, what it is told
of the surroundings, and who guessed the tokens of an answer.

A mixin of `screens.main`; `widgets.watching` is what it tells. Pool and memory are read in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import work
from textual.widget import Widget

from lacli_tui.background import done
from lacli_tui.glyphs import plain_terminal
from lacli_tui.messages import Around
from lacli_tui.resources import PoolFacts, memory_mb, pool_facts
from lacli_tui.verbs import Verbs
from lacli_tui.widgets.message import Answer
from lacli_tui.widgets.sourced import Sourced

_EVERY_S = 1.0
_SLIM = 60
"""Columns; fewer are not enough for words beside the panel."""


class Watch(Verbs):
    """Call `watch_surroundings` once mounted, and `look_at_pool` when a reply has ended."""

    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [(0, "-narrow"), (100, "-wide"), (140, "-broad")]  # type: ignore[misc]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [(0, "-tiny"), (10, "-low"), (30, "-high")]  # type: ignore[misc]

    _memory: float | None = None
    _pool: PoolFacts | None = None
    _looking = False

    def watch_surroundings(self) -> None:
        """Begin to look at memory, and at the project's pool once now."""
        self.set_class(plain_terminal(), "-plain")
        self._look(pool=True)
        self.set_interval(_EVERY_S, self._look_at_memory)

    def look_at_pool(self) -> None:
        """It may have grown."""
        self._look(pool=True)

    def watching(self) -> Iterable[Widget]:
        """Those that are told of numbers."""
        return self.query(".stats")

    def action_panel(self) -> None:
        """Show or hide the Decode panel; where there is little room its line stands in its place until it is wanted."""
        crowded = self.has_class("-narrow") or self.has_class("-low")
        self.toggle_class("-panel" if crowded else "-no-panel")

    def on_resize(self) -> None:
        """Of a slim screen the panel takes the place of the words."""
        self.set_class(self.size.width < _SLIM, "-slim")

    async def action_sources(self) -> None:
        """Colour the tokens of the last answer, or show it as before."""
        answer = self.transcript.last_answer
        if answer is not None:
            await self.show_sources(answer)

    async def show_sources(self, answer: Answer) -> None:
        """The same of any answer; only of those written since the program began it is known who guessed."""
        showing = answer.query_children(Sourced)
        if showing:
            answer.remove_class("-sourced")
            await showing.remove()
        elif answer.trace:
            answer.add_class("-sourced")
            await answer.mount(Sourced(lambda: (answer.source, answer.trace)), before=answer.query_one(".below"))
        else:
            self.notify("who guessed the tokens of an answer is known only while it is new")

    def _look_at_memory(self) -> None:
        if not self._looking:
            self._look(pool=False)

    @work(group="surroundings", exit_on_error=False)
    async def _look(self, pool: bool) -> None:
        self._looking = True
        pid = self.talk.engine_pid
        try:
            facts = await done(lambda: pool_facts(self.begun.folder)) if pool else self._pool
            memory = await done(lambda: memory_mb(pid))
        finally:
            self._looking = False
        self.post_message(Around(memory, facts))

    def on_around(self, message: Around) -> None:
        """Told by the thread: tell it on."""
        if (message.memory_mb, message.pool) != (self._memory, self._pool):
            self._memory, self._pool = message.memory_mb, message.pool
            for widget in self.watching():
                widget.post_message(Around(message.memory_mb, message.pool))
