"""Ask for one line. `LineScreen(question, value)` -> what is typed, or None for going back.

If `complete` is given, tab completes what is typed in the background, as far as all completions agree, and shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from lacli_tui.actions import LINE, bindings_of
from lacli_tui.background import BackgroundResult
from lacli_tui.screens.dialog import Dialog
from lacli_tui.widgets.field import Field

_MOST = 8
"""The most completions shown."""


class LineScreen(Dialog[str]):
    PLACES = (LINE,)
    BINDINGS = bindings_of(LINE)
    DEFAULT_CSS = """
    LineScreen > #frame > #line {
        height: 1; border: none; padding: 0 1; margin: 1 0 0 0; background: $panel;
        &:ansi { background: ansi_default; text-style: underline; }
    }
    """

    def __init__(
        self,
        question: str,
        placeholder: str = "",
        value: str = "",
        complete: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        super().__init__()
        self.title = question
        self.add_class("-small")
        self._placeholder = placeholder
        self._value = value
        self._complete = complete

    def body(self) -> Iterable[Widget]:
        yield Field(self._value, self._placeholder, "line")

    @property
    def _field(self) -> Input:
        return self.query_one("#line", Input)

    def on_mount(self) -> None:
        self._field.cursor_blink = False
        self._field.focus()

    def footer_of(self, id_: str, footer: str) -> str:
        return "" if id_ == "line-complete" and self._complete is None else footer

    def action_line_complete(self) -> None:
        complete, typed = self._complete, self._field.value
        if complete is not None:
            folder = typed[: typed.rfind("/") + 1]
            self.background.run(
                f"complete {folder}", lambda: (typed, complete(typed))
            )  # one that hangs holds up no other

    def on_background_result(self, result: BackgroundResult) -> None:
        if result.error is not None or not isinstance(result.value, tuple):
            return
        typed, found = result.value
        if self._field.value != typed:  # more was typed meanwhile
            return
        self._field.value = _common(found) or typed
        self._field.cursor_position = len(self._field.value)
        names = [each.rstrip("/").rpartition("/")[2] + "/" * each.endswith("/") for each in found[:_MOST]]
        more = f" … {len(found) - _MOST} more" if len(found) > _MOST else ""
        self.show_notice("nothing fits" if not found else "  ".join(names) + more if len(found) > 1 else "")

    def action_line_take(self) -> None:
        """Take what is typed; nothing counts as going back."""
        self.dismiss(self._field.value.strip() or None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_line_take()


def _common(texts: Sequence[str]) -> str:
    """The longest common beginning."""
    low, high = (min(texts), max(texts)) if texts else ("", "")
    return low[: next((at for at, letter in enumerate(low) if high[at : at + 1] != letter), len(low))]
