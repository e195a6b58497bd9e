"""Streams that are shared with other programs: pipes, and the descriptors this process was started with.

They may be set to non-blocking, and that flag is shared with the other programs (a terminal that ssh or node has used),
so it is not ours to change. Python's own streams lose what such a descriptor does not accept at once, and with
PYTHONUNBUFFERED they do so silently. `cli.main` and the terminal UI replace them by a `BlockingWriter`, for Typer and
all other libraries that write, too.

They also have paths: /dev/stdout, what a shell makes of <(command), a named pipe. Such a path cannot be resolved
(`pipe:[123]` is not a file) and nothing can replace what it names, so it is read and written directly.
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

_POLL_S = 0.01
"""Between two attempts where the system has no `poll` (Windows)."""
_CHUNK_BYTES = 1 << 16
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")


class BlockingWriter(io.RawIOBase):
    """Writes everything, even to a non-blocking descriptor. Unbuffered: a signal handler may write to it, too."""

    def __init__(self, descriptor: int, name: str, closes: bool = False) -> None:
        """name: the stream's, the file name of its errors. closes: whether closing it closes the descriptor, too."""
        super().__init__()
        self._raw = io.FileIO(descriptor, "w", closefd=closes)
        self._stream = name

    def close(self) -> None:
        """Close it."""
        super().close()
        self._raw.close()

    def fileno(self) -> int:
        """The descriptor."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._raw.isatty()

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any) -> int:
        """Write all of it. Returns its length."""
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


def blocking(stream: TextIO | None) -> TextIO | None:
    """The same stream on a `BlockingWriter`; a stream without a descriptor (a test's) is returned as it is.

    The given one must be kept alive: the interpreter would close the descriptor with it.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):
        return stream
    with contextlib.suppress(OSError, ValueError):
        stream.flush()
    ours: Any = BlockingWriter(raw.fileno(), str(stream.name).strip("<>"))
    return io.TextIOWrapper(ours, stream.encoding, stream.errors, line_buffering=stream.line_buffering)


def wait(descriptor: int, for_writing: bool = False) -> None:
    """Wait until it can be read from, or written to."""
    if not hasattr(select, "poll"):
        time.sleep(_POLL_S)
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
    """Whether the path names such a descriptor or a named pipe: no file that can be read again or replaced."""
    if descriptor_of(path) is not None:
        return True
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):  # nothing is there, or a NUL is in the name
        return False


def is_writable(path: str) -> bool:
    """Whether this stream can be written to, as far as is known before somebody reads it."""
    descriptor = descriptor_of(path)
    if descriptor is None:
        return os.access(path, os.W_OK)
    import fcntl  # such paths are of systems that have it

    try:
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:  # not open
        return False


def read(path: str, most_bytes: int) -> bytes:
    """Read this stream to its end, or one byte more than `most_bytes`. Raises OSError."""
    given = descriptor_of(path)
    descriptor = os.open(path, os.O_RDONLY) if given is None else os.dup(given)
    data = bytearray()
    try:
        while len(data) <= most_bytes and (piece := read_chunk(descriptor)):
            data += piece
    finally:
        os.close(descriptor)
    return bytes(data[: most_bytes + 1])


def read_chunk(descriptor: int) -> bytes:
    """Wait for data and return it; empty at the end."""
    while True:
        try:
            return os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            wait(descriptor)


def writer(path: str) -> BlockingWriter:
    """Open this stream, or a device, for writing. Raises OSError."""
    given = descriptor_of(path)
    if given is not None:
        return BlockingWriter(os.dup(given), path, closes=True)
    return BlockingWriter(os.open(path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0)), path, closes=True)


def private_standard() -> tuple[int, int]:
    """Descriptors of stdin and stdout for a protocol alone: from now on 0 is empty and 1 is stderr, in this process and
    in those it starts, so that nothing another library prints gets in between."""
    reader, writer = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return reader, writer
