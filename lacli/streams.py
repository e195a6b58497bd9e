"""Streams that others have a part in: pipes, and the descriptors this process was started with.

They may be set to non-blocking, and that flag is shared with other programs (a terminal that ssh or node has used), so
it is not ours to change. Python's own streams lose what such a descriptor does not take at once, and with
PYTHONUNBUFFERED they do not even say so. `cli.app` puts a `Patient` in their place, for typer and all other libraries
that write, too, and so does the terminal UI.

They also have paths: /dev/stdout, what a shell makes of <(command), a named pipe. Where those lead cannot be followed
(`pipe:[123]` is no file) and nothing can take their place, so they are read and written as they stand.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import stat
import time
from typing import Any, TextIO

_LOOK_S = 0.01
"""Between two tries where the system cannot be asked to wait (Windows)."""
_PIECE = 1 << 16
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")


class Patient(io.RawIOBase):
    """The writing side of a descriptor. Nothing is held back in a buffer: the handler of a signal, which may come at
    any moment, writes to it, too."""

    def __init__(self, descriptor: int, name: str, closes: bool = False) -> None:
        """name: that of the stream, which an error then has as its file's. closes: whether the descriptor goes, too."""
        super().__init__()
        self._raw = io.FileIO(descriptor, "w", closefd=closes)
        self._stream = name

    def close(self) -> None:
        """Nothing more is written."""
        super().close()
        self._raw.close()

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


def descriptor_of(path: str) -> int | None:
    """The descriptor of this process that a path names, whether or not it is open; None for every other path."""
    if os.name == "nt":
        return None
    numbered = _NUMBERED.fullmatch(path)
    return int(numbered[1]) if numbered else _STANDARD.get(path)


def is_stream(path: str) -> bool:
    """Whether it is one of those, or a named pipe, and no file that could be looked at again or replaced."""
    if descriptor_of(path) is not None:
        return True
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):  # nothing is there, or a NUL is in the name
        return False


def takes(path: str) -> bool:
    """Whether this stream can be written to, as far as that is known before somebody reads it."""
    descriptor = descriptor_of(path)
    if descriptor is None:
        return os.access(path, os.W_OK)
    import fcntl  # such paths are of systems that have it

    try:
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:  # not open
        return False


def read(path: str, most_bytes: int) -> bytes:
    """All that comes from this stream until it ends, or one byte more than `most_bytes`. Raises OSError."""
    given = descriptor_of(path)
    descriptor = os.open(path, os.O_RDONLY) if given is None else os.dup(given)
    data = bytearray()
    try:
        while len(data) <= most_bytes and (piece := some(descriptor)):
            data += piece
    finally:
        os.close(descriptor)
    return bytes(data[: most_bytes + 1])


def some(descriptor: int) -> bytes:
    """What has come, once something has; empty at the end."""
    while True:
        try:
            return os.read(descriptor, _PIECE)
        except BlockingIOError:
            wait(descriptor)


def writer(path: str) -> Patient:
    """This stream, or a device, to be written to and closed. Raises OSError."""
    given = descriptor_of(path)
    if given is not None:
        return Patient(os.dup(given), path, closes=True)
    return Patient(os.open(path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0)), path, closes=True)
