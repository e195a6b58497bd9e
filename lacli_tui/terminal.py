"""Fixes to how Textual reads and writes the terminal, installed before the app runs.

Without them a paste that contains escape sequences loses pieces of itself and turns the rest into keys, and one of many
thousand lines takes seconds to parse and as long again to wrap; bytes that are not UTF-8 end the program, and so does a
terminal that another program has set to non-blocking. Nobody hears of a terminal that is gone: the writing thread dies,
and whoever writes to it waits for ever.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from textual import events
from textual.message import Message

from lacli.streams import blocking
from lacli_tui.textual_private import WriterThread, XTermParser, drain, use_in_drivers, use_wrapping
from lacli_tui.wrapping import tab_widths, wrap_offsets

_RESET_MODES = (
    b"\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\r\n"
)
"""Ends the modes that Textual's driver switches on."""
_PAUSE_S = 0.1
"""Between two reads from a terminal that is gone."""
_WRITING_S = 0.5
"""The longest wait for the last write, to a terminal that may accept nothing."""
_LEAST_PASTED = 32
"""Fewer characters are taken for keys."""
_BEGIN, _END = "\x1b[200~", "\x1b[201~"


class UnmarkedPaste(events.Paste):
    """Lines that arrived at once, from a terminal without bracketed paste."""


UnmarkedPaste.handler_name = events.Paste.handler_name  # so that handlers of a paste receive it


class PasteParser(XTermParser):
    """Takes pastes literally, and leaves everything else to Textual."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._pasted: list[str] = []
        self._held = ""
        """The end of what was read, where a mark may have begun."""

    def feed(self, data: str) -> Iterable[Message]:
        """The events in what was read."""
        if not data:
            yield from super().feed(data)
            return
        data, self._held = self._held + data, ""
        while data:
            mark = _END if self._pasting else _BEGIN
            before, found, data = data.partition(mark)
            if not found:
                size = _partial_mark(before, mark, least=1 if self._pasting else 2)  # a lone ESC is a key
                before, self._held = before[: len(before) - size], before[len(before) - size :]
            if self._pasting:
                self._pasted.append(before)
            elif _is_unmarked_paste(before):
                yield UnmarkedPaste(before)
            elif before:
                yield from super().feed(before)
            if found and self._pasting:
                yield events.Paste("".join(self._pasted))
            if found:
                self._pasting = not self._pasting
                self._pasted = []


def _is_unmarked_paste(text: str) -> bool:
    """Whether nobody can have typed this: nothing but text, with a line end inside, in a single read."""
    if len(text) < _LEAST_PASTED or not ("\r" in text[:-1] or "\n" in text[:-1]):
        return False
    return text.replace("\r", "").replace("\n", "").replace("\t", "").isprintable()


def _partial_mark(text: str, mark: str, least: int) -> int:
    """How many characters at the end of the text may be the start of the mark."""
    return next((size for size in range(len(mark) - 1, least - 1, -1) if text.endswith(mark[:size])), 0)


class Writer(WriterThread):
    """Writes until the terminal is gone, reports that once, and drops whatever is written later."""

    def __init__(self, gone: Callable[[], None], file: TextIO) -> None:
        super().__init__(blocking(file) or file)
        self._gone = gone

    def run(self) -> None:
        """Write until told to stop."""
        try:
            super().run()
        except (OSError, ValueError):
            self._gone()
            drain(self)


def install_fixes(gone: Callable[[], None]) -> None:
    """Have Textual use what is here; `gone` is called, from other threads, when the terminal has disappeared."""
    use_wrapping(wrap_offsets, tab_widths)
    use_in_drivers(PasteParser, functools.partial(_lenient_decoder, gone), functools.partial(Writer, gone))


def restore(attributes: list[Any] | None) -> None:
    """Restore the terminal where Textual cannot; does not wait for one that accepts nothing."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import termios

        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])  # setting it from the background would stop us
        if attributes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, attributes)
        # Non-blocking mode would apply to everybody who shares the terminal, hence a thread.
        writing = threading.Thread(target=_reset_modes, name="restoring", daemon=True)
        writing.start()
        writing.join(_WRITING_S)


def _reset_modes() -> None:
    with contextlib.suppress(OSError):
        os.write(2, _RESET_MODES)


def _lenient_decoder(gone: Callable[[], None], encoding: str) -> Callable[[], _Decoder]:
    return functools.partial(_Decoder, gone, codecs.getincrementaldecoder(encoding)("replace"))


class _Decoder:
    """Decodes what is read. From a terminal that is gone the driver reads nothing, again and again: slow it down."""

    def __init__(self, gone: Callable[[], None], decoder: codecs.IncrementalDecoder) -> None:
        self._gone: Callable[[], None] | None = gone
        self._decoder = decoder

    def decode(self, data: bytes, final: bool = False) -> str:
        """The complete characters."""
        if not data:
            time.sleep(_PAUSE_S)
            if self._gone is not None:
                self._gone()
                self._gone = None
        return self._decoder.decode(data, final)


def has_shell() -> bool:
    """Whether a shell with job control started this and can resume it: without one, what is stopped stays stopped."""
    try:
        return os.getsid(os.getppid()) == os.getsid(0) != os.getpgrp()
    except (AttributeError, OSError):  # Windows; a parent that has ended
        return False
