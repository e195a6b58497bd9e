"""Reading standard input by the rules of the pipe: all of it, as UTF-8, and never silently waiting.

Also turns arguments, which the system hands over as bytes, into text.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading

from lacli import streams
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.tty import is_terminal
from lacli.errors import PromptTooLong
from lacli.prompts.content import MOST_BYTES, text_of

_NOTICE_AFTER_S = 2.0
_LOAD_MEANWHILE_AFTER_S = 0.25


class Stdin:
    """Standard input, read in the background from now on, so that a model may load meanwhile."""

    def __init__(self) -> None:
        self._descriptor = _descriptor()
        self._data = bytearray()
        self._failure: OSError | PromptTooLong | None = None
        self._done = threading.Event()
        self._notice = threading.Timer(_NOTICE_AFTER_S, self._show_waiting)
        self._notice.daemon = True
        self._notice.start()
        threading.Thread(target=self._read, daemon=True).start()

    def is_slow(self) -> bool:
        """Whether the end is still to come after a short wait."""
        return not self._done.wait(_LOAD_MEANWHILE_AFTER_S)

    def text(self) -> str:
        """All of it as text with \\n line ends, once the other side has closed it."""
        return decode(self.data(), "stdin").replace("\r\n", "\n")

    def data(self) -> bytes:
        """The same as it came."""
        while not self._done.wait(0.1):  # in short waits, so that Ctrl-C works on every platform
            if Run.current.deadline.passed():
                raise Run.current.deadline.failure("before stdin was")
        if self._failure is not None:
            raise self._failure
        return bytes(self._data)

    def _read(self) -> None:
        try:
            descriptor = self._descriptor
            # os.read and not sys.stdin: a daemon thread inside a buffered read aborts the interpreter at exit
            while chunk := streams.read_chunk(descriptor) if descriptor is not None else sys.stdin.buffer.read():
                self._notice.cancel()
                self._data += chunk
                if len(self._data) > MOST_BYTES:
                    raise PromptTooLong(f"stdin has more than {MOST_BYTES:,} bytes", "pipe only the part that matters")
        except (OSError, PromptTooLong) as error:
            self._failure = error
        finally:
            self._notice.cancel()
            self._done.set()
            if self._descriptor is not None:
                with contextlib.suppress(OSError):
                    os.close(self._descriptor)

    def _show_waiting(self) -> None:
        diagnostics.note("reading stdin… (--no-stdin or </dev/null to skip)")


def piped_stdin(no_stdin: bool) -> Stdin | None:
    """Standard input if something is piped into it and the user wants it read."""
    if no_stdin or sys.stdin is None or is_terminal(sys.stdin):
        return None
    return Stdin()


def dash_for_stdin(path: str) -> str:
    """The path of a file as it was given, or - for every name of standard input."""
    return "-" if streams.descriptor_of(path) == 0 else path


def decode(data: bytes, name: str) -> str:
    """Bytes from outside as text, with a note where they are not UTF-8."""
    text, remark = text_of(data, name)
    if remark:
        diagnostics.note(remark)
    return text


def argument_text(text: str) -> str:
    """An argument as its UTF-8 text, whatever the locale made of its bytes."""
    return decode(os.fsencode(text), "the prompt")


def _descriptor() -> int | None:
    """One of our own for standard input: where that is closed meanwhile, its number may become another file's."""
    try:
        return os.dup(sys.stdin.fileno())
    except (io.UnsupportedOperation, ValueError, AttributeError):
        return None
