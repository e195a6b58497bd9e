"""How far the model is: fetched, checked, prepared, loaded. For the first start, which may take minutes.

It stands below the transcript and has no focus: whoever types goes on typing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.content import Content
from textual.widgets import Static

from lacli.events import Loading
from lacli.shared.wording import duration, size
from lacli_tui.glyphs import glyphs, is_ascii_terminal, to_terminal
from lacli_tui.keys import key_name, keys_of
from lacli_tui.sanitize import visible
from lacli_tui.widgets.histogram import bar
from lacli_tui.widgets.rows import cut

FETCH, PREPARE = "fetch", "prepare"
_STEPS = {
    FETCH: "fetch the model",
    "check": "check and unpack what came",
    PREPARE: "prepare it for this computer",
    "load": "load it",
    "prime": "learn its first guesses",
}
_STEP_OF = {"unpack": "check", "wait": PREPARE}
"""Stages that are not steps of their own, and the steps they belong to."""
_DOING = {"check": "checking", "unpack": "unpacking"}
_SETTLED_S = 2.0
"""The rate is shown once it was measured for so long."""
_LEFT_MS = 1000
"""Less than this is not worth telling."""
_ROWS_FOR_STEPS, _ROWS_FOR_NOTES, _ROWS_FOR_WORDS = 30, 22, 16
"""With fewer rows of the screen, the steps are in one line, and other parts are left out."""


class ModelProgress(Static):
    """Words, steps, a bar for the current step, and how to leave it."""

    DEFAULT_CSS = """
    ModelProgress {
        height: auto; margin: 0 2; padding: 0 1; border: round $line;
        border-title-color: $primary; border-title-style: bold;
    }
    ModelProgress.-plain { border: ascii $line; }
    """

    def __init__(
        self, name: str = "", first: str = FETCH, back_to: str = "", now: Callable[[], float] = time.monotonic
    ) -> None:
        """`first` is the first step; `back_to` the model to go back to if this one is not waited for."""
        super().__init__(markup=False)
        self.border_title = "Getting ready"
        self.set_class(is_ascii_terminal(), "-plain")
        self._name = name
        self.first = first
        self._back_to = back_to
        self._now = now
        self._loading = Loading(first)  # type: ignore[arg-type]  # one of the two above
        self._began = (0.0, 0)
        """When the first progress of this stage was reported, and how much was done by then."""
        self._notes: list[str] = []

    @property
    def is_here(self) -> bool:
        """Whether everything that happens only once is done."""
        return self._loading.stage in ("load", "prime")

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def show(self, loading: Loading) -> None:
        if loading.stage == FETCH:
            self.first = FETCH
        elif loading.stage == "load" and self._loading.stage in (FETCH, PREPARE) and not self._loading.total:
            return  # of the program itself, before the model is looked for
        last = self._loading
        if loading.stage != last.stage or loading.done < last.done or not last.total:
            self._began = (self._now(), loading.done)
        self._loading = loading
        self._draw()

    def note(self, text: str) -> None:
        """Show a notice about the model."""
        if text not in self._notes:
            self._notes.append(text)
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        width = max(8, self.content_size.width)
        rows = self.app.size.height
        parts = [[Content(visible(self._words()))]] if rows >= _ROWS_FOR_WORDS else []
        parts += [self._steps(rows >= _ROWS_FOR_STEPS), self._amount(width)]
        if rows >= _ROWS_FOR_NOTES:
            parts.append([Content.styled(visible(to_terminal(note)), "dim") for note in self._notes])
        parts.append([Content(self._way_out())])
        between = Content("\n\n" if rows >= _ROWS_FOR_STEPS else "\n")
        self.update(between.join(Content("\n").join(part) for part in parts if part))

    def _words(self) -> str:
        name = self._name or "The model"
        if self.first == FETCH:
            return f"{name} is not on this computer yet. It is fetched and prepared once, then works offline."
        return f"{name} is here, and is prepared for this computer once."

    def _way_out(self) -> str:
        keys = [key_name(keys_of(id_, self.app)[0]) for id_ in ("back", "not-now")]
        what = f"goes back to {self._back_to}" if self._back_to else "stops it"
        return to_terminal(visible(f"{keys[0]} {what}, or {keys[1]} while you type; what is fetched stays"))

    def _steps(self, each: bool) -> list[Content]:
        plain = glyphs(is_ascii_terminal()).plain
        names = list(_STEPS) if self.first == FETCH else list(_STEPS)[2:]
        step = _STEP_OF.get(self._loading.stage, self._loading.stage)
        at = names.index(step) if step in names else -1
        found = []
        for place, name in enumerate(names):
            mark = (" >*" if plain else "·›✓")[(place == at) + 2 * (place < at)]
            style = "$success" if place < at else "bold" if place == at else "dim"
            found.append(Content.styled(f"{mark} {_STEPS[name]}", style))
        if each:
            return found
        here = max(at, 0)
        return [Content("").join([found[here], Content.styled(f"  (step {here + 1} of {len(names)})", "dim")])]

    def _amount(self, width: int) -> list[Content]:
        """The bar, and the amount in numbers."""
        event = self._loading
        if event.stage == "wait":
            return [Content.styled(cut("another lacli is at it; waiting for that one", width), "dim")]
        signs = glyphs(is_ascii_terminal())
        if event.total <= 0:
            return [Content.styled(signs.dots, "dim")]
        share = min(1.0, event.done / event.total)
        drawn = Content.styled(bar(share, width - 5, signs), "$primary on $panel" if not signs.plain else "$primary")
        return [Content("").join([drawn, Content(f" {share:4.0%}")]), Content(cut(self._told(), width))]

    def _told(self) -> str:
        event = self._loading
        doing = _DOING.get(event.stage, "")
        if event.total <= 1_000_000:
            return f"{doing} {event.done:,} of {event.total:,}".strip()
        parts = [f"{doing} {size(event.done)} of {size(event.total)}".strip()]
        began, had = self._began
        took = self._now() - began
        if took >= _SETTLED_S and event.done > had:
            pace = (event.done - had) / took
            left = 1000 * (event.total - event.done) / pace
            parts += [f"{size(round(pace))}/s", *([f"{duration(left)} left"] if left >= _LEFT_MS else [])]
        return to_terminal(" · ".join(parts))
