"""What textual's reading of the terminal lacks, put right before the program runs; its version is pinned.

A paste that holds escape sequences came out of its parser with pieces missing and the rest as keys, and one of many
thousand lines took seconds, a character at a time, and as long again to be wrapped; bytes that are no UTF-8 ended the
program, and so did a terminal that another program had set to non-blocking. Of a terminal that is gone nobody was told:
the thread that writes died, and what was written to it waited for ever.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from textual import _xterm_parser, events
from textual.drivers._writer_thread import WriterThread
from textual.message import Message

from lacli.streams import blocking
from lacli_tui.wrapping import wrap_fast

_AS_BEFORE = (
    b"\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\r\n"
)
"""Ends the modes that textual's driver begins."""
_REST_S = 0.1
"""Between two looks at a terminal that is gone."""
_WRITING_S = 0.5
"""For the last that is written, to a terminal that may take nothing."""
_LEAST_POURED = 32
"""Fewer characters are keys."""
_BEGIN, _END = "\x1b[200~", "\x1b[201~"


class Poured(events.Paste):
    """Lines that came at once, from a terminal that does not mark its pastes."""


Poured.handler_name = events.Paste.handler_name  # whoever takes a paste takes this


class PasteParser(_xterm_parser.XTermParser):
    """Takes pastes as they are, and leaves everything else to textual."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._pasted: list[str] = []
        self._held = ""
        """The end of what was read, where it may be the beginning of a mark."""

    def feed(self, data: str) -> Iterable[Message]:
        """The events of what was read."""
        if not data:
            yield from super().feed(data)
            return
        data, self._held = self._held + data, ""
        while data:
            mark = _END if self._pasting else _BEGIN
            before, found, data = data.partition(mark)
            if not found:
                size = _begun(before, mark, least=1 if self._pasting else 2)  # a lone ESC is a key
                before, self._held = before[: len(before) - size], before[len(before) - size :]
            if self._pasting:
                self._pasted.append(before)
            elif _is_poured(before):
                yield Poured(before)
            elif before:
                yield from super().feed(before)
            if found and self._pasting:
                yield events.Paste("".join(self._pasted))
            if found:
                self._pasting = not self._pasting
                self._pasted = []


def _is_poured(text: str) -> bool:
    """Whether nobody typed this: a line end and more behind it in what was read at once, and nothing but text."""
    if len(text) < _LEAST_POURED or not ("\r" in text[:-1] or "\n" in text[:-1]):
        return False
    return text.replace("\r", "").replace("\n", "").replace("\t", "").isprintable()


def _begun(text: str, mark: str, least: int) -> int:
    """How many characters at the end of the text may be the beginning of the mark."""
    return next((size for size in range(len(mark) - 1, least - 1, -1) if text.endswith(mark[:size])), 0)


class Writer(WriterThread):
    """Writes until the terminal is gone, which is told once; what comes then is thrown away."""

    def __init__(self, gone: Callable[[], None], file: TextIO) -> None:
        super().__init__(blocking(file) or file)
        self._gone = gone

    def run(self) -> None:
        """Until it is told to stop."""
        try:
            super().run()
        except (OSError, ValueError):
            self._gone()
            while self._queue.get() is not None:
                pass


def put_right(gone: Callable[[], None]) -> None:
    """Have textual's drivers use what is here; `gone` is called, from other threads, where the terminal is."""
    wrap_fast()
    for name in ("linux_driver", "linux_inline_driver", "win32"):
        try:
            driver = importlib.import_module(f"textual.drivers.{name}")
        except ImportError:  # of another system
            continue
        driver.XTermParser = PasteParser  # type: ignore[attr-defined]
        if hasattr(driver, "getincrementaldecoder"):
            driver.getincrementaldecoder = functools.partial(_forgiving, gone)  # type: ignore[attr-defined]
        if hasattr(driver, "WriterThread"):
            driver.WriterThread = functools.partial(Writer, gone)  # type: ignore[attr-defined]


def give_back(attributes: list[Any] | None) -> None:
    """The terminal as it was, where textual does not come to it; one that takes nothing is not waited for."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import termios

        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])  # set from the background it would stop us
        if attributes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, attributes)
        # What it is set to holds for all who have it, so that nothing may be set in order not to wait.
        written = threading.Thread(target=_as_before, name="giving back", daemon=True)
        written.start()
        written.join(_WRITING_S)


def _as_before() -> None:
    with contextlib.suppress(OSError):
        os.write(2, _AS_BEFORE)


def _forgiving(gone: Callable[[], None], encoding: str) -> Callable[[], _Bytes]:
    return functools.partial(_Bytes, gone, codecs.getincrementaldecoder(encoding)("replace"))


class _Bytes:
    """Decodes what is read; nothing is read where the terminal is gone, and is read again and again then."""

    def __init__(self, gone: Callable[[], None], decoder: codecs.IncrementalDecoder) -> None:
        self._gone: Callable[[], None] | None = gone
        self._decoder = decoder

    def decode(self, data: bytes, final: bool = False) -> str:
        """The characters that are whole."""
        if not data:
            time.sleep(_REST_S)
            if self._gone is not None:
                self._gone()
                self._gone = None
        return self._decoder.decode(data, final)


def has_shell() -> bool:
    """Whether a shell that knows of jobs started this, and can bring it to the front again: what is stopped without one
    stays so for ever."""
    try:
        return os.getsid(os.getppid()) == os.getsid(0) != os.getpgrp()
    except (AttributeError, OSError):  # Windows; a parent that has ended
        return False
