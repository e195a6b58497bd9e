"""Where questions are typed: grows from one row to ten, remembers what was typed, takes pastes as one draft.

A terminal without bracketed paste sends a paste key by key, its line ends as enter. So keys that come faster than
anybody types are put together, and an enter with more keys at its heels is a line end and sends nothing. Says `Sent`
when the user sends, `Wanted("attach")` when an @ begins a word. `history` is told to it and kept by the screen.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea

from lacli_tui.actions import PROMPT, bindings_of, keys_of
from lacli_tui.inert import pasted
from lacli_tui.messages import Sent, Wanted

MOST_ROWS = 10
_BURST_S = 0.012
"""Keys closer together than this are not typed by hand."""
_HEELS_S = 0.03
"""How long an enter waits for what may follow it."""
_TEXT = {"enter": "\n", "tab": "\t"}
_BEFORE_A_WORD = " \t\n([{<\"'`,;"


class Prompt(TextArea):
    """The draft of a question."""

    DEFAULT_CSS = """
    Prompt {
        height: 1;
        min-height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        scrollbar-size-vertical: 1;
        &:focus { border: none; }
    }
    """
    BINDINGS = bindings_of(PROMPT)

    class Emptied(Message):
        """Backspace was pressed where there is nothing left: takes away the last chip."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(
            id=id,
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            compact=True,
            highlight_cursor_line=False,
            placeholder="Ask about your code; @ attaches a file, / is a command, f1 helps",
        )
        self._typed: list[str] = []
        """What was sent, the oldest first."""
        self._at = 0
        """The entry that is shown; behind the last one is the draft."""
        self._draft = ""
        self.waits = False
        """Whether a question waits that the arrow up takes back into an empty prompt."""
        self._burst: list[str] = []
        self._pouring: Timer | None = None
        self._last_key = 0.0
        self._held = ""
        """An enter or a tab that waits for what may follow it."""
        self._holding = 0
        self._many = False
        """Whether line ends came in this burst: its last enter does not send, either."""

    def remember(self, typed: Sequence[str]) -> None:
        """What the arrow keys find, the oldest first."""
        self._typed = list(typed)
        self._at = len(self._typed)

    def put(self, text: str) -> None:
        """Make this the draft."""
        self.load_text(text)
        self.move_cursor(self.document.end)
        self._at = len(self._typed)

    def take(self) -> str:
        """The draft, which is sent: the prompt is empty from now on, and the arrow keys find it."""
        text = self.text
        if text.strip() and self._typed[-1:] != [text]:
            self._typed.append(text)
        self.put("")
        return text

    def render_line(self, y: int) -> Strip:
        """Nothing where there is no column: textual cannot wrap the placeholder into none."""
        return super().render_line(y) if self.content_size.width > 0 else Strip.blank(0)

    async def _on_key(self, event: events.Key) -> None:
        """Text goes into the draft; every other key is somebody's binding."""
        event.prevent_default()
        self._restart_blink()
        in_burst = event.time - self._last_key < _BURST_S
        self._last_key = event.time
        text = _TEXT.get(event.key, event.character if event.is_printable else None)
        if self._held and text is not None:  # an enter or a tab, with this at its heels
            self._burst.append(_TEXT[self._held])
            self._held = ""
            self._many = in_burst = True
        self._many = self._many and in_burst
        if self._many and (text is not None or event.key == "escape"):
            event.stop()
            self._pour_soon(text or "")
        elif event.key == "tab" or event.key in keys_of("send", self.app):
            event.stop()
            self._hold(event.key)
        elif event.key in keys_of("newline", self.app):  # here and now: as a binding it would come behind later keys
            event.stop()
            self.action_newline()
        elif text is not None:
            event.stop()
            if in_burst:
                self._pour_soon(text)
            else:
                self._pour()
                self._write(text)
        else:
            self._pour()

    async def _on_paste(self, event: events.Paste) -> None:
        """One draft, whatever is in it."""
        event.prevent_default()
        event.stop()
        self._pour()
        self._write(pasted(event.text), typed=False)

    def _pour_soon(self, character: str) -> None:
        self._burst.append(character)
        if self._pouring is None:
            self._pouring = self.set_timer(_HEELS_S, self._pour)

    def _pour(self) -> None:
        """Put what came in a burst into the draft."""
        if self._pouring is not None:
            self._pouring.stop()
            self._pouring = None
        if self._burst:
            text = "".join(self._burst)
            self._burst.clear()
            self._write(text, typed=not self._many)

    def _write(self, text: str, typed: bool = True) -> None:
        begins_mention = typed and text.endswith("@") and self._begins_word(text[:-1])
        result = self._replace_via_keyboard(text, *self.selection)
        if result is not None:
            self.move_cursor(result.end_location)
        if begins_mention:
            self.post_message(Wanted("attach", "@"))

    def _begins_word(self, before: str) -> bool:
        """Whether a word begins behind this, which is put at the cursor."""
        if before:
            return before[-1] in _BEFORE_A_WORD
        row, column = self.cursor_location
        return column == 0 or self.document.get_line(row)[column - 1] in _BEFORE_A_WORD

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """As high as the draft."""
        event.stop()
        self._fit()

    def on_resize(self) -> None:
        """Other widths wrap otherwise."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        rows = max(1, min(MOST_ROWS, self.wrapped_document.height, self.screen.size.height // 2))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
            self.call_after_refresh(self.scroll_cursor_visible)

    @property
    def is_waiting(self) -> bool:
        """Whether something was typed that has not had its effect."""
        return bool(self._held or self._burst)

    def _hold(self, key: str) -> None:
        """Wait a moment for what may follow this key, also for what waits in the queues before us."""
        if not self._held:
            self._held = key
            self._holding += 1
            number = self._holding
            release = functools.partial(self.call_later, self._release, number)
            self.set_timer(_HEELS_S, functools.partial(self.app.call_later, release))

    def _release(self, number: int) -> None:
        """Nothing followed: do what the key is for."""
        key = self._held if number == self._holding else ""
        if not key:
            return
        self._held = ""
        self._pour()
        if key in keys_of("send", self.app):
            self.action_send()
        else:
            self.screen.focus_next()

    def action_send(self) -> None:
        """Send the draft."""
        if self.text.strip():
            self.post_message(Sent(self.text))

    def action_newline(self) -> None:
        """A new line at the cursor."""
        self._pour()
        self._write("\n")

    def action_cursor_up(self, select: bool = False) -> None:
        """Up; from the first row to what was typed before, from nothing to what waits to be asked."""
        if self.waits and not self.text:
            self.post_message(Wanted("take-back"))
        elif select or not self.cursor_at_first_row:
            super().action_cursor_up(select)
        elif self._at > 0:
            if self._at == len(self._typed):
                self._draft = self.text
            self._recall(self._at - 1)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down; from the last row to what was typed after."""
        if select or not self.cursor_at_last_row:
            super().action_cursor_down(select)
        elif self._at < len(self._typed):
            self._recall(self._at + 1)

    def action_cursor_page_up(self) -> None:
        """Scroll what was said: a draft is never long enough."""
        self.post_message(Wanted("earlier"))

    def action_cursor_page_down(self) -> None:
        """The same."""
        self.post_message(Wanted("later"))

    @property
    def cursor_at_first_row(self) -> bool:
        """Whether the cursor is in the first row of the screen, wrapped lines counted by rows."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    @property
    def cursor_at_last_row(self) -> bool:
        """Whether it is in the last one."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y >= self.wrapped_document.height - 1

    def _recall(self, number: int) -> None:
        self.load_text(self._draft if number == len(self._typed) else self._typed[number])
        self.move_cursor(self.document.end)
        self._at = number

    def action_delete_left(self) -> None:
        """Backspace."""
        if not self.text:
            self.post_message(self.Emptied())
        super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete; ctrl+d, where there is nothing, leaves the program."""
        if self.text:
            super().action_delete_right()
        else:
            self.post_message(Wanted("leave"))

    def action_to_messages(self) -> None:
        """Put the focus on the last message."""
        self.post_message(Wanted("to-messages"))
