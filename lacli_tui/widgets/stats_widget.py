"""The base of header, panel and status line: they keep the latest numbers and draw themselves from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.widget import Widget

from lacli.events import Counts, ReplyStats
from lacli_tui.decoding import StepStats
from lacli_tui.glyphs import glyphs, is_ascii_terminal
from lacli_tui.messages import About, Resources, Stats
from lacli_tui.resources import PoolFacts


class StatsWidget(Widget):
    """Receives `Stats`, `About` and `Resources`; says in `view` what it looks like."""

    MEANING: ClassVar[str] = ""
    """The tooltip."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id, classes="stats")
        self.tooltip = self.MEANING
        self.glyphs = glyphs(is_ascii_terminal())
        self.reply: ReplyStats | None = None
        self.chat = Counts()
        self.tally = StepStats()
        self.about = About()
        self.memory_mb: float | None = None
        self.pool: PoolFacts | None = None

    def view(self, width: int, height: int) -> Sequence[Content]:
        """At most so many lines, each of exactly this width."""
        raise NotImplementedError

    def on_stats(self, message: Stats) -> None:
        self.reply, self.chat = message.reply, message.session
        if message.reply is None:
            self.tally = StepStats()
        self.tally.add(message.steps, message.begins)
        self.refresh()

    def on_about(self, message: About) -> None:
        self.about = message
        self.refresh()

    def on_resources(self, message: Resources) -> None:
        self.memory_mb, self.pool = message.memory_mb, message.pool
        self.refresh()

    def render(self) -> Content:
        """Drawn once for everything received since the last frame, and without a new layout."""
        width, height = self.content_size
        return Content("\n").join(self.view(width, height)[:height]) if width > 0 and height > 0 else Content("")
