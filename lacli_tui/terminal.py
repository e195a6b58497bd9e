"""What textual's reading of the terminal lacks, put right before the program runs; its version is pinned.

A paste that holds escape sequences came out of its parser with pieces missing and the rest as keys, and one of many
thousand lines took seconds, a character at a time; bytes that are no UTF-8 ended the program.
"""

from __future__ import annotations

import codecs
import functools
import importlib
from collections.abc import Iterable

from textual import _xterm_parser, events
from textual.message import Message

_BEGIN, _END = "\x1b[200~", "\x1b[201~"


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
            elif before:
                yield from super().feed(before)
            if found and self._pasting:
                yield events.Paste("".join(self._pasted))
            if found:
                self._pasting = not self._pasting
                self._pasted = []


def _begun(text: str, mark: str, least: int) -> int:
    """How many characters at the end of the text may be the beginning of the mark."""
    return next((size for size in range(len(mark) - 1, least - 1, -1) if text.endswith(mark[:size])), 0)


def put_right() -> None:
    """Have textual's drivers use what is here."""
    for name in ("linux_driver", "linux_inline_driver", "win32"):
        try:
            driver = importlib.import_module(f"textual.drivers.{name}")
        except ImportError:  # of another system
            continue
        driver.XTermParser = PasteParser  # type: ignore[attr-defined]
        if hasattr(driver, "getincrementaldecoder"):
            driver.getincrementaldecoder = _forgiving  # type: ignore[attr-defined]


def _forgiving(encoding: str) -> functools.partial[codecs.IncrementalDecoder]:
    return functools.partial(codecs.getincrementaldecoder(encoding), "replace")
