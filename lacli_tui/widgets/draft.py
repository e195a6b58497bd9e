"""A draft that is edited: as high as it is long, with keys that have their effect in the order in which they come, and
what was typed before behind the arrow up. What is sent, offered or comes in bursts is the prompt's, which is one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from lacli_tui.actions import PROMPT, bindings_of
from lacli_tui.messages import ActionRequested
from lacli_tui.sanitize import visible_in_place
from lacli_tui.textual_private import bindings_by_key
from lacli_tui.widgets.typed_history import TypedHistory

MOST_ROWS = 10


class Draft(TextArea):
    """Grows from one row to ten."""

    DEFAULT_CSS = """
    Draft {
        height: 1;
        min-height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        scrollbar-size-vertical: 1;
        &:focus { border: none; }
    }
    """
    BINDINGS = [*bindings_of(PROMPT), Binding("delete", "delete_next", show=False)]  # noqa: RUF012 - as textual has it

    class Emptied(Message, namespace="prompt"):
        """Backspace was pressed where there is nothing left: takes away the last chip."""

    def __init__(self, placeholder: str, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(
            id=id,
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            compact=True,
            highlight_cursor_line=False,
            placeholder=placeholder,
        )
        self._typed_history = TypedHistory()
        self.waits = False
        """Whether a question waits that the arrow up takes back into an empty prompt."""

    def remember(self, typed: Sequence[str]) -> None:
        """What the arrow keys find, the oldest first, before what was typed until now."""
        self._typed_history.remember(typed)

    def put(self, text: str) -> None:
        """Make this the draft."""
        self._load(text)
        self._typed_history.leave()

    def _load(self, text: str) -> None:
        self.load_text(text)
        self.move_cursor(self.document.end)

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn."""
        return Text(visible_in_place(self.document.get_line(line_index)), end="", no_wrap=True)

    def render_line(self, y: int) -> Strip:
        """Nothing where there is no column: textual cannot wrap the placeholder into none."""
        return super().render_line(y) if self.content_size.width > 0 else Strip.blank(0)

    async def act_on(self, event: events.Key) -> None:
        """A key that changes or moves in the draft has its effect here and now: as a binding it would come behind later
        keys, which are here before textual has asked all that hold the prompt."""
        for binding in self._own_keys.get(event.key, ()):
            event.stop()
            if await self.app.run_action(binding.action, self):
                break

    @functools.cached_property
    def _own_keys(self) -> dict[str, list[Binding]]:
        return bindings_by_key(self)

    def on_resize(self) -> None:
        """Other widths wrap otherwise."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        rows = max(1, min(MOST_ROWS, self.wrapped_document.height, self.screen.size.height // 2))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
            self.call_after_refresh(self.scroll_cursor_visible)

    def action_cursor_up(self, select: bool = False) -> None:
        """Up; from the first row to what was typed before, from nothing to what waits to be asked."""
        if self.waits and not self.text:
            self.post_message(ActionRequested("take-back"))
        elif select or not self.cursor_at_first_row:
            super().action_cursor_up(select)
        elif (text := self._typed_history.older(self.text)) is not None:
            self._load(text)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down; from the last row to what was typed after."""
        if select or not self.cursor_at_last_row:
            super().action_cursor_down(select)
        elif (text := self._typed_history.newer()) is not None:
            self._load(text)

    def action_cursor_page_up(self) -> None:
        """Scroll what was said: a draft is never long enough."""
        self.post_message(ActionRequested("earlier"))

    def action_cursor_page_down(self) -> None:
        """The same."""
        self.post_message(ActionRequested("later"))

    @property
    def cursor_at_first_row(self) -> bool:
        """Whether the cursor is in the first row of the screen, wrapped lines counted by rows."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    @property
    def cursor_at_last_row(self) -> bool:
        """Whether it is in the last one."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y >= self.wrapped_document.height - 1

    def action_delete_left(self) -> None:
        """Backspace."""
        if not self.text:
            self.post_message(self.Emptied())
        super().action_delete_left()

    def action_delete_right(self) -> None:
        """Ctrl+d; where there is nothing, it leaves the program."""
        if self.text:
            super().action_delete_right()
        else:
            self.post_message(ActionRequested("leave"))

    def action_delete_next(self) -> None:
        """Delete, which never leaves."""
        super().action_delete_right()

    def action_undo_typing(self) -> None:
        """Take back what was typed last."""
        self.undo()

    def action_to_messages(self) -> None:
        """Put the focus on the last message."""
        self.post_message(ActionRequested("to-messages"))
