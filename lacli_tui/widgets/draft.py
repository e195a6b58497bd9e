"""A text being edited: as high as it is long, with keys that act in the order they come, and history behind the arrows.

Sending, suggestions and keys that come in bursts are handled by `Prompt`, its subclass.
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
        """Backspace was pressed in an empty draft."""

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
        self.has_queued_questions = False
        """Whether a question is queued, which the arrow up takes back into an empty prompt."""

    def remember(self, typed: Sequence[str]) -> None:
        """Add what was typed in earlier chats, the oldest first, to the history."""
        self._typed_history.remember(typed)

    def put(self, text: str) -> None:
        """Make this the draft."""
        self._load_draft(text)
        self._typed_history.leave()

    def _load_draft(self, text: str) -> None:
        self.load_text(text)
        self.move_cursor(self.document.end)

    def get_line(self, line_index: int) -> Text:
        return Text(visible_in_place(self.document.get_line(line_index)), end="", no_wrap=True)

    def render_line(self, y: int) -> Strip:
        """Draws nothing without a column: Textual cannot wrap the placeholder then."""
        return super().render_line(y) if self.content_size.width > 0 else Strip.blank(0)

    async def act_on(self, event: events.Key) -> None:
        """Carry out a key of the draft's own here and now: as a binding it would act after later keys, which arrive
        before Textual has asked all parents of the prompt."""
        for binding in self._own_keys.get(event.key, ()):
            event.stop()
            if await self.app.run_action(binding.action, self):
                break

    @functools.cached_property
    def _own_keys(self) -> dict[str, list[Binding]]:
        return bindings_by_key(self)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        rows = max(1, min(MOST_ROWS, self.wrapped_document.height, self.screen.size.height // 2))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
            self.call_after_refresh(self.scroll_cursor_visible)

    def action_cursor_up(self, select: bool = False) -> None:
        """Up; from the first row to the history, from an empty draft to the queue."""
        if self.has_queued_questions and not self.text:
            self.post_message(ActionRequested("take-back"))
        elif select or not self.cursor_at_first_row:
            super().action_cursor_up(select)
        elif (text := self._typed_history.older(self.text)) is not None:
            self._load_draft(text)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down; from the last row to newer entries of the history."""
        if select or not self.cursor_at_last_row:
            super().action_cursor_down(select)
        elif (text := self._typed_history.newer()) is not None:
            self._load_draft(text)

    def action_cursor_page_up(self) -> None:
        """Scroll the transcript: a draft is never long enough."""
        self.post_message(ActionRequested("earlier"))

    def action_cursor_page_down(self) -> None:
        """Scroll the transcript."""
        self.post_message(ActionRequested("later"))

    @property
    def cursor_at_first_row(self) -> bool:
        """Whether the cursor is in the first row, counting those of wrapped lines."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    @property
    def cursor_at_last_row(self) -> bool:
        """Whether the cursor is in the last row."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y >= self.wrapped_document.height - 1

    def action_delete_left(self) -> None:
        if not self.text:
            self.post_message(self.Emptied())
        super().action_delete_left()

    def action_delete_right(self) -> None:
        """Ctrl+d; in an empty draft it quits."""
        if self.text:
            super().action_delete_right()
        else:
            self.post_message(ActionRequested("leave"))

    def action_delete_next(self) -> None:
        """Delete, which never quits."""
        super().action_delete_right()

    def action_undo_typing(self) -> None:
        self.undo()

    def action_to_messages(self) -> None:
        self.post_message(ActionRequested("to-messages"))
