"""The Decode panel and all else that shows numbers: feeds them, shows or hides the panel, colours tokens by source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from lacli.events import Loading
from lacli_tui.engine_session import EngineSession
from lacli_tui.messages import About, Decoded, Stats
from lacli_tui.widgets.message import Answer
from lacli_tui.widgets.source_view import SourceView

_STATS_S = 0.2
"""The least time between two messages of statistics."""


@dataclass(eq=False)
class DecodePanelController:
    """Posts `Stats` and `About` to the widgets with the CSS class `stats`.

    `_loading` is the progress of loading as the panel may show it.
    """

    _screen: Screen[Any]
    _engine: EngineSession
    _project: str
    _loading: Callable[[], Loading | None]
    _steps: list[Decoded] = field(init=False, default_factory=list)
    """Steps not posted yet."""
    _has_news: bool = field(init=False, default=False)
    """Whether the reply has gone on since the last message."""
    _starts_reply: bool = field(init=False, default=False)
    """Whether the steps posted next are the first of a reply."""
    _next_post: float = field(init=False, default=0.0)
    _delayed: Timer | None = field(init=False, default=None)
    _about: dict[str, Any] = field(init=False, default_factory=dict)

    @property
    def widgets(self) -> Iterable[Widget]:
        """Those that show numbers."""
        return self._screen.query(".stats")

    def start_reply(self, is_summary: bool) -> None:
        """The next steps belong to another reply; those of a summary are not counted."""
        self._steps.clear()
        self._has_news = False
        self._starts_reply = not is_summary

    def restart_charts(self) -> None:
        """The charts are not of the reply that is now the last one."""
        self._starts_reply = True

    def add_steps(self, steps: Sequence[Decoded]) -> None:
        """Post these with the next statistics; of a remote's reply there are none, but its numbers change."""
        self._steps += steps
        self._has_news = True

    def refresh(self, at_once: bool = False) -> None:
        """Post what has changed; while a reply is written five times a second at most."""
        now = time.monotonic()
        if not at_once and now < self._next_post and self._engine.is_replying:
            if self._delayed is None:
                self._delayed = self._screen.set_timer(self._next_post - now, self._refresh_delayed)
            return
        self._next_post = now + _STATS_S
        self._post_about()
        if self._has_news or at_once or not self._engine.is_replying:
            steps, self._steps, self._has_news = self._steps, [], False
            starts, self._starts_reply = self._starts_reply, False
            for widget in self.widgets:
                widget.post_message(Stats(self._engine.chat.stats, self._engine.chat.counts, steps, starts))

    def _refresh_delayed(self) -> None:
        self._delayed = None
        self.refresh()

    def _post_about(self) -> None:
        engine, chat, stats = self._engine, self._engine.chat, self._engine.chat.stats
        values: dict[str, Any] = {
            "project": self._project,
            "model": chat.model,
            "quant": stats.quant if stats else "",
            "phase": engine.phase,
            "loading": self._loading() if engine.phase == "loading" else None,
            "prefill": engine.prefill if engine.phase == "prefill" else None,
            "system": bool(chat.conversation.system),
        }
        if values != self._about:
            self._about = values
            for widget in self.widgets:
                widget.post_message(About(**values))

    def toggle(self) -> None:
        """Show or hide the panel; where there is little room, its one-line form stands in until it is asked for."""
        crowded = self._screen.has_class("-narrow") or self._screen.has_class("-low")
        self._screen.toggle_class("-panel" if crowded else "-no-panel")

    async def toggle_sources(self, answer: Answer | None) -> None:
        """Colour the tokens of an answer by who guessed them, or show it as before.

        The sources are known only of answers written since the program began.
        """
        if answer is None:
            return
        showing = answer.query_children(SourceView)
        if showing:
            answer.remove_class("-sourced")
            await showing.remove()
        elif answer.trace:
            answer.add_class("-sourced")
            view = SourceView(lambda: (answer.source, answer.trace))
            await answer.mount(view, before=answer.query_one(".below"))
        else:
            self._screen.notify("who guessed the tokens of an answer is known only while it is new")
