"""Every use of a private part of Textual, whose version is pinned exactly: what to check when the pin moves.

Nothing else in `lacli_tui` may import, override or call a name of Textual's that begins with an underscore; a test
holds that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from rich.text import Text
from textual._wrap import compute_wrap_offsets as compute_wrap_offsets
from textual._xterm_parser import XTermParser as XTermParser
from textual.app import App
from textual.binding import Binding
from textual.content import Content
from textual.document import _wrapped_document
from textual.drivers._writer_thread import WriterThread as WriterThread
from textual.events import Key
from textual.filter import Monochrome, NoColor
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.widgets._footer import FooterKey as FooterKey
from textual.worker import WorkerFailed

DRIVERS = ("linux_driver", "linux_inline_driver", "win32")


class QuietApp(App[str]):
    """An app that prints no traceback when it crashes, and hears of keys before its event loop does."""

    @property
    def failure(self) -> Exception | None:
        """The first exception nobody caught."""
        found = self._exception
        return found.error if isinstance(found, WorkerFailed) and isinstance(found.error, Exception) else found

    @property
    def can_suspend(self) -> bool:
        """Whether the driver can give the terminal back for a while."""
        return self._driver is not None and self._driver.can_suspend

    @property
    def terminal_attributes(self) -> list[Any] | None:
        """The terminal's settings from before the app changed them."""
        return getattr(self._driver, "attrs_before", None)

    def panic(self, *renderables: Any) -> None:
        """Exit without printing these."""
        self._close_messages_no_wait()

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    def remove_greys(self) -> None:
        """Under NO_COLOR Textual turns colours into greys: drop those as well."""
        self._filters = [NoColor() if isinstance(each, Monochrome) else each for each in self._filters]

    def key_read(self, key: str) -> None:
        """A key was read from the terminal. Called in the reading thread, while the event loop may be stuck."""

    def _post_message(self, message: Message) -> Coroutine[Any, Any, bool]:
        if isinstance(message, Key):
            self.key_read(message.key)
        return super()._post_message(message)


class InputBase(Input):
    """An input that may draw something else than its value."""

    @property
    def _value(self) -> Text:
        return self.drawn_value()

    def drawn_value(self) -> Text:
        """The value as it is drawn."""
        return super()._value


def keymap_of(app: App[Any]) -> Mapping[str, str]:
    """The user's keys, by the ids of bindings."""
    return app._keymap


def bindings_by_key(widget: Widget) -> dict[str, list[Binding]]:
    """The widget's own bindings, with the user's keys."""
    bindings = widget._bindings.copy()
    bindings.apply_keymap(widget.app._keymap)
    return bindings.key_to_bindings


def restart_blink(area: TextArea) -> None:
    """Show the cursor now; it blinks on from here."""
    area._restart_blink()


def replace_as_typed(area: TextArea, text: str, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Replace a range as if the text had been typed there, so that undo takes it back; the cursor ends behind it."""
    result = area._replace_via_keyboard(text, start, end)
    if result is not None:
        area.move_cursor(result.end_location)


def is_anchor_released(widget: Widget) -> bool:
    """Whether the user has scrolled away from the end the widget is anchored to."""
    return widget._anchor_released


def anchor_again(widget: Widget) -> None:
    """Go to the end and stay there."""
    widget._anchor_released = False
    widget.anchor()


def rendered(content: Content, widget: Widget) -> list[tuple[str, Any]]:
    """The text in pieces of one style, component classes of the widget resolved."""
    return list(content.render(widget.visual_style, end="", parse_style=widget._get_style))


def drain(writer: WriterThread) -> None:
    """Throw away what is still to be written, until the end is announced."""
    while writer._queue.get() is not None:
        pass


def use_wrapping(wrap_offsets: Callable[..., list[int]], tab_widths: Callable[..., list[tuple[str, int]]]) -> None:
    """Have all text areas wrap their lines with these functions."""
    _wrapped_document.compute_wrap_offsets = wrap_offsets  # type: ignore[attr-defined]
    _wrapped_document.get_tab_widths = tab_widths  # type: ignore[attr-defined]
    _wrapped_document.WrappedDocument.height = property(_height)  # type: ignore[assignment]


def _height(self: _wrapped_document.WrappedDocument) -> int:
    """The number of rows, each of which has an entry; Textual adds up those of every line at each call."""
    return len(self._offset_to_line_info)


def use_in_drivers(parser: type[XTermParser], decoder: Callable[..., Any], writer: Callable[..., Any]) -> None:
    """Have the drivers read and write the terminal with these."""
    for name in DRIVERS:
        try:
            driver = importlib.import_module(f"textual.drivers.{name}")
        except ImportError:  # of another system
            continue
        driver.XTermParser = parser  # type: ignore[attr-defined]
        if hasattr(driver, "getincrementaldecoder"):
            driver.getincrementaldecoder = decoder  # type: ignore[attr-defined]
        if hasattr(driver, "WriterThread"):
            driver.WriterThread = writer  # type: ignore[attr-defined]


def is_disabled(key: FooterKey) -> bool:
    """Whether the footer shows a key as one that does nothing now."""
    return bool(key._disabled)
