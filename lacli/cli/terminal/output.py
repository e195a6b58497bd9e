"""The only writer of stdout: model text, or the one document a command prints, and nothing else.

UTF-8 and `\\n` whatever the locale or platform, flushed at once, and on a terminal (elsewhere with --sanitize) freed
of control sequences. A reader that went away raises `StdoutClosed`, which `diagnostics.guard`
turns into exit code 141 after the command has saved what it must.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from lacli.cli.run import Run
from lacli.cli.terminal.tty import can_redraw, is_terminal, sanitize, wants_colour
from lacli.errors import LacliError
from lacli.text.invisible import escaped


class StdoutClosed(Exception):
    """The reader of stdout has gone (or there never was one)."""


NAME = "stdout"
"""What an error of the stream that `app` puts in the place of Python's has as its file."""


_CONTROLS = {number: f"\\u{number:04x}" for number in range(0x7F, 0xA0)}
"""Control characters that JSON leaves as they are, as JSON can also write them."""


def to_terminal() -> bool:
    """Whether stdout is a terminal."""
    return is_terminal(sys.stdout)


def can_draw() -> bool:
    """Whether stdout is a terminal on which lines can be redrawn."""
    return can_redraw(sys.stdout)


def coloured(stream: Any = None) -> bool:
    """Whether to use colours on a stream, by default stdout; in a pipe only if the user asked for them. Never for
    model text in a pipe."""
    return wants_colour(stream or sys.stdout, Run.current.colour)


def text(piece: str) -> None:
    """Write a piece of model text as it is, without a newline, and flush."""
    run = Run.current
    _write(run.sanitizer.push(piece) if run.sanitize or to_terminal() else piece)


def styled(content: str) -> None:
    """Write text for a terminal together with its escape sequences."""
    _write(content)


def end_text(final: str = "") -> None:
    """The model text is complete: release what was held back, then write `final`."""
    _write(Run.current.sanitizer.finish() + final)


def content(data_: bytes, as_text: Callable[[], str]) -> None:
    """Write a file's content: the very bytes into a pipe, on a terminal what of them is text."""
    if not to_terminal():
        data(data_)
    elif data_:
        shown = as_text()
        text(shown)
        end_text("" if shown.endswith("\n") else "\n")


def line(content: str = "") -> None:
    """Write one line of a listing."""
    _write((sanitize(content) if to_terminal() else content) + "\n")


def document(value: Any) -> None:
    """Write one JSON value on one line."""
    _write(escaped(json.dumps(value, ensure_ascii=False, allow_nan=False).translate(_CONTROLS)) + "\n")


def flush() -> None:
    """Flush stdout; if the reader has gone, the next write finds out."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def abandon() -> None:
    """Point descriptor 1 at the null device, so that the interpreter's last flush cannot fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = sys.stdout.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)


def _write(content: str) -> None:
    data(content.encode("utf-8", errors="replace"))


def data(content: bytes) -> None:
    """Write bytes and flush; what is no text goes to a file or pipe only."""
    if not content:
        return
    stream = sys.stdout
    if stream is None:
        raise StdoutClosed
    try:
        stream.flush()  # whatever another library printed comes first
        stream.buffer.write(content)
        stream.buffer.flush()
    except ValueError:  # closed by other code of this process
        raise StdoutClosed from None
    except OSError as error:
        raise failure(error) from None


def failure(error: OSError) -> Exception:
    """The exception for a failed write to stdout; nothing more is written to it."""
    if error.errno in (errno.EPIPE, errno.EBADF) or (os.name == "nt" and error.errno == errno.EINVAL):
        return StdoutClosed()
    abandon()
    return LacliError(f"cannot write to stdout: {error.strerror}", "free some space or write elsewhere")
