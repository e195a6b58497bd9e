"""A reply with every token in the colour of who guessed it: the most direct picture of what lookahead does.

Stands in the place of a message's Markdown while it is wanted. What the model had to say by itself has no colour. A
guessed run is underlined, too, and where colours are not seen the letter of its source stands before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from lacli_tui.decoding import SOURCES, runs
from lacli_tui.inert import shown
from lacli_tui.messages import Decoded
from lacli_tui.widgets.rows import MUTED


class Sourced(Static):
    """Of one reply."""

    DEFAULT_CSS = """
    Sourced { height: auto; width: 1fr; color: $foreground; margin: 0 0 1 0; }
    """

    def __init__(self, text: str, steps: Sequence[Decoded]) -> None:
        super().__init__("", markup=False)
        self._text = text
        self._steps = tuple(steps)

    def on_mount(self) -> None:
        """Draw it; whether there are colours is known now."""
        self.update(sourced(self._text, self._steps, letters=self.app.no_color))


def sourced(text: str, steps: Sequence[Decoded], letters: bool) -> Content:
    """The reply behind its legend."""
    parts: list[tuple[str, str] | str] = []
    for run in runs(text, steps):
        if run.source not in SOURCES:
            parts.append(shown(run.text))
            continue
        if letters:
            parts.append((SOURCES[run.source], "bold reverse"))
        parts.append((shown(run.text), f"underline $source-{run.source}"))
    return Content.assemble(_legend(steps), "\n\n", *parts)


def _legend(steps: Sequence[Decoded]) -> Content:
    """Who guessed how many tokens; names only those that did."""
    counts = Counter(source for step in steps for source in step.sources)
    total = counts.total()
    parts: list[Content] = []
    for name, letter in SOURCES.items():
        if counts[name]:
            share = f" {name} {counts[name] / total:.0%}"
            parts.append(Content.assemble((f" {letter} ", f"bold reverse $source-{name}"), share))
    if not parts:
        return Content.styled("no token of it was guessed", MUTED)
    own = f"the model alone {counts[''] / total:.0%}"
    return Content("   ").join([*parts, Content.styled(own, MUTED)])
