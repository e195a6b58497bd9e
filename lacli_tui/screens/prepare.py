"""How far a model is on its way here: fetched, checked, prepared, loaded. For the first start, which may take minutes.

`PrepareScreen(name)` is told by `show(loading)` and `fail(text)`; `dismiss(True)` when it is ready. It ends by itself
with False where the user does not want to wait: what is fetched stays, and the next start goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lacli.events import Loading
from lacli.wording import duration, size
from lacli_tui.glyphs import drawable, glyphs, plain_terminal
from lacli_tui.inert import shown
from lacli_tui.screens.dialog import Dialog
from lacli_tui.widgets.histogram import bar
from lacli_tui.widgets.rows import cut

_STAGES = {
    "fetch": "fetch the model",
    "check": "check what came",
    "prepare": "prepare it for this computer",
    "load": "load it",
    "prime": "learn its first guesses",
}
_ROWS_FOR_WORDS = 16
_SETTLED_S = 2.0
"""A pace is told once it was measured for so long."""


class PrepareScreen(Dialog[bool]):
    """The steps, with a bar for the one that is being done."""

    TITLE = "Getting ready"
    DEFAULT_CSS = """
    PrepareScreen > #frame > Static { height: auto; }
    PrepareScreen > #frame > #words { margin: 1 0; }
    PrepareScreen.-low > #frame > #words { margin: 0; }
    PrepareScreen > #frame > #steps { margin: 0 0 1 0; }
    """

    def __init__(self, name: str = "", now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.add_class("-small")
        self._name = name
        self._now = now
        self._loading = Loading("")
        self._began = (0.0, 0)
        """When the first part of this stage was told, and how much was there."""
        self._failed = ""

    def body(self) -> Iterable[Widget]:
        """Words, steps, bar."""
        name = f"{self._name} is" if self._name else "The model is"
        text = f"{name} not on this computer yet. It is fetched and prepared once; from then on it works offline."
        yield Static(shown(text), id="words", markup=False)
        yield Static(id="steps", markup=False)
        yield Static(id="amount", markup=False)

    def on_mount(self) -> None:
        """The steps that are to come."""
        self._draw()

    def on_resize(self) -> None:
        """The bar is as wide as there is room; where there are few rows it comes before words."""
        self.query_one("#words").display = self.size.height >= _ROWS_FOR_WORDS
        self._draw()

    def footer_of(self, id_: str, footer: str) -> str:
        """What escape does."""
        return ("back" if self._failed else "not now; what is fetched stays") if id_ == "close" else footer

    def show(self, loading: Loading) -> None:
        """So far it is."""
        if loading.stage != self._loading.stage or loading.done < self._loading.done:
            self._began = (self._now(), loading.done)
        self._loading = loading
        self._failed = ""
        if self.is_mounted:
            self._draw()

    def fail(self, text: str) -> None:
        """It cannot be had."""
        self._failed = text
        if self.is_mounted:
            self._draw()
            self.show_hints()

    def action_close(self) -> None:
        """Not now."""
        self.dismiss(False)

    def _draw(self) -> None:
        plain = glyphs(plain_terminal()).plain
        stage = "prepare" if self._loading.stage == "wait" else self._loading.stage
        stages = list(_STAGES)
        at = stages.index(stage) if stage in stages else -1
        lines = []
        for place, name in enumerate(_STAGES.values()):
            mark = (" >*" if plain else "·›✓")[(place == at) + 2 * (place < at)]
            style = "$success" if place < at else "bold" if place == at else "dim"
            lines.append(Content.styled(f"{mark} {name}", style))
        self.query_one("#steps", Static).update(Content("\n").join(lines))
        self.query_one("#amount", Static).update(self._amount())

    def _amount(self) -> Content:
        """A bar, and how much of how much."""
        width = max(8, self.query_one("#amount").size.width)
        if self._failed:
            return Content.styled(shown(self._failed), "$error")
        event = self._loading
        if event.stage == "wait":
            return Content.styled(cut("another lacli prepares it; waiting for that one", width), "dim")
        signs = glyphs(plain_terminal())
        if event.total <= 0:
            return Content.styled(signs.dots, "dim")
        share = min(1.0, event.done / event.total)
        drawn = bar(share, width - 5, signs)
        left = Content.styled(drawn, "$primary on $panel" if not signs.plain else "$primary")
        return Content("\n").join(
            [Content("").join([left, Content(f" {share:4.0%}")]), Content(cut(self._told(), width))]
        )

    def _told(self) -> str:
        event = self._loading
        if event.total <= 1_000_000:
            return f"{event.done:,} of {event.total:,}"
        parts = [f"{size(event.done)} of {size(event.total)}"]
        began, had = self._began
        took = self._now() - began
        if took >= _SETTLED_S and event.done > had:
            pace = (event.done - had) / took
            parts += [f"{size(round(pace))}/s", f"{duration(1000 * (event.total - event.done) / pace)} left"]
        return drawable(" · ".join(parts))
