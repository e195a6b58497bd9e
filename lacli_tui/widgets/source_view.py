"""A reply with every token in the colour of the source that guessed it: the most direct picture of lookahead.

Replaces a message's Markdown. What the model had to say by itself has no colour. A guessed run is underlined, too, and
without colours the letter of its source precedes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.content import Content
from textual.widgets import Static

from lacli_tui.decoding import SOURCES, SourceTrace, runs
from lacli_tui.sanitize import visible
from lacli_tui.widgets.rows import MUTED, Part, flowed

_EVERY_S = 0.2
_SHARE = 8
"""Drawing may take one part in so many of the time, as the whole text is drawn each time."""


class SourceView(Static):
    DEFAULT_CSS = """
    SourceView { height: auto; width: 1fr; color: $foreground; margin: 0 0 1 0; }
    """

    def __init__(self, source: Callable[[], tuple[str, SourceTrace]]) -> None:
        """`source` gives the text so far and its sources, which may grow."""
        super().__init__("", markup=False)
        self._source = source
        self._drawn_for = (-1, -1)
        """The number of characters, and the width."""
        self._next_draw = 0.0

    def on_mount(self) -> None:
        self.call_after_refresh(self._draw)
        self.set_interval(_EVERY_S, self._draw)

    def _draw(self) -> None:
        started = time.monotonic()
        text, trace = self._source()
        wanted = (len(text), self.content_size.width)
        if wanted == self._drawn_for or wanted[1] <= 0 or started < self._next_draw:
            return
        self._drawn_for = wanted
        self.update(coloured_by_source(text.rstrip(), trace, self.app.no_color, wanted[1]))
        self._next_draw = started + _SHARE * (time.monotonic() - started)


def coloured_by_source(text: str, trace: SourceTrace, letters: bool, width: int = 80) -> Content:
    """The reply above its legend, which is thereby in view where the end of the text is."""
    parts: list[tuple[str, str] | str] = []
    for run in runs(text, trace):
        if run.source not in SOURCES:
            parts.append(visible(run.text))
            continue
        if letters:
            parts.append((SOURCES[run.source], "bold reverse"))
        parts.append((visible(run.text), f"underline $source-{run.source}"))
    legend = [Content.assemble(*line) for line in flowed(_legend(trace), 3, width)]
    return Content("\n").join([Content.assemble(*parts), "", *legend])


def _legend(trace: SourceTrace) -> list[list[Part]]:
    """The share of the tokens each source guessed, of those that guessed any."""
    counts = trace.tokens
    total = max(1, counts.total())
    groups: list[list[Part]] = [
        [(f" {letter} ", f"bold reverse $source-{name}"), (f" {name} {counts[name] / total:.0%}", "")]
        for name, letter in SOURCES.items()
        if counts[name]
    ]
    return [*groups, [(f"the model alone {counts[''] / total:.0%}", MUTED)]]
