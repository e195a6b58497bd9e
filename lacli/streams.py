"""Descriptors that somebody else has set to non-blocking: waiting for them, as an ordinary one would.

The flag belongs to what is shared with other programs (a pipe's end, a terminal that ssh or node has used), so it is
not ours to change. Python's own streams lose what such a descriptor does not take at once, and with PYTHONUNBUFFERED
they do not even say so. `cli.app` puts ours in their place, for typer and all other libraries that write, too, and so
does the terminal UI; `cli.stdin` waits to read.
"""

from __future__ import annotations

import contextlib
import io
import select
import time
from typing import Any, TextIO

_LOOK_S = 0.01
"""Between two tries where the system cannot be asked to wait (Windows)."""


class Patient(io.RawIOBase):
    """The writing side of a descriptor, which is left open in the end. Nothing is held back in a buffer: the handler of
    a signal, which may come at any moment, writes to it, too."""

    def __init__(self, descriptor: int, name: str) -> None:
        """name: that of the stream, which an error then has as its file's."""
        super().__init__()
        self._raw = io.FileIO(descriptor, "w", closefd=False)
        self._stream = name

    def fileno(self) -> int:
        """The descriptor."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._raw.isatty()

    def writable(self) -> bool:
        """It is made for that."""
        return True

    def write(self, data: Any) -> int:
        """Write all of it; returns how many bytes that is."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest:
                written = self._raw.write(rest)
                if written is None:
                    wait(self.fileno(), for_writing=True)
                else:
                    rest = rest[written:]
        except OSError as error:
            error.filename = self._stream
            raise
        return size


def patient(stream: TextIO | None) -> TextIO | None:
    """The same stream, written to by a `Patient`; anything that is no descriptor's own (a test's) stays as it is.

    The given one must not be thrown away: the interpreter would close the descriptor with it.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):
        return stream
    with contextlib.suppress(OSError, ValueError):
        stream.flush()
    ours: Any = Patient(raw.fileno(), str(stream.name).strip("<>"))
    return io.TextIOWrapper(ours, stream.encoding, stream.errors, line_buffering=stream.line_buffering)


def wait(descriptor: int, for_writing: bool = False) -> None:
    """Until something can be read from it, or written to it."""
    if not hasattr(select, "poll"):
        time.sleep(_LOOK_S)
        return
    ready = select.poll()  # select() knows no descriptor beyond its 1,024th
    ready.register(descriptor, select.POLLOUT if for_writing else select.POLLIN)
    ready.poll()
