"""What header, panel and status line have in common: they are told of numbers and draw themselves from the latest.

A widget of this kind says in `view` what it looks like at a width and height; it never asks anybody for anything.
"""

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
    """Told of `Stats`, `About` and `Resources`."""

    MEANING: ClassVar[str] = ""
    """What its numbers are, for whoever points at it."""

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
        """The lines to show, each of exactly this width; at most so many."""
        raise NotImplementedError

    def on_stats(self, message: Stats) -> None:
        """The reply goes on, or another chat is shown."""
        self.reply, self.chat = message.reply, message.session
        if message.reply is None:
            self.tally = StepStats()
        self.tally.add(message.steps, message.begins)
        self.refresh()

    def on_about(self, message: About) -> None:
        """Model, project or phase changed."""
        self.about = message
        self.refresh()

    def on_resources(self, message: Resources) -> None:
        """Memory or pool changed."""
        self.memory_mb, self.pool = message.memory_mb, message.pool
        self.refresh()

    def render(self) -> Content:
        """The view; made once for all that was told since the last frame, and without another layout."""
        width, height = self.content_size
        return Content("\n").join(self.view(width, height)[:height]) if width > 0 and height > 0 else Content("")
