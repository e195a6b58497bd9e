"""The only writer of stderr, and the owner of exit codes. Notes, warnings, errors, statistics and the live status line.

`guard` wraps the whole program once, in `main`. `sys.stderr` is looked up at each call and
may be missing or closed: then nothing is written and nothing fails. No model text goes through here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable

from lacli.cli.run import Run
from lacli.cli.terminal import output
from lacli.cli.terminal.tty import can_redraw, column_after, columns, is_terminal, sanitize, wants_colour
from lacli.errors import LacliError, folder_gone
from lacli.events import Notice

INTERRUPTED = 130
STDOUT_CLOSED = 141


_BELOW = "\x1b7\x1b[B\r\x1b[J\x1b8\x1b[K"
"""Erases everything after the cursor, so that nothing of a status line below it stays even if its row was guessed
wrong. The rows below go first: tmux keeps a screen that is erased from its first cell at once as if it had scrolled
away."""


def secure_descriptors() -> None:
    """Open the null device on each of descriptors 0 to 2 that was closed at start.

    Otherwise the next file opened (a pool, the model) would become stdout, and text would be written into it.
    `sys.stdout` stays None, so that `output` still knows that nobody reads.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:  # cannot happen while the lower ones are open; never leave a stray descriptor
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - other libraries write to it unasked


def stdin_is_terminal() -> bool:
    """Whether stdin is a terminal."""
    return is_terminal(sys.stdin)


def note(text: str) -> None:
    """One line for the user; dropped with -q."""
    if not Run.current.quiet:
        _line(f"lacli: {text}")


def warning(text: str) -> None:
    """One line about something the user may not expect; dropped with -q."""
    if not Run.current.quiet:
        _line(f"lacli: warning: {text}")


def notice(event: Notice) -> None:
    """A notice of an assistant or of the log, as a note or a warning."""
    (warning if event.level == "warning" else note)(event.text)


def error(message: str, hint: str = "") -> None:
    """The one line a failure is reported with: what was found, then the remedy."""
    _line(f"lacli: error: {message}" + (f"; {hint}" if hint else ""))


def stopped(text: str = "stopped") -> None:
    """The line that confirms Ctrl-C; it replaces the ^C that the terminal has written."""
    if can_show_progress():
        _raw("\r\x1b[K")
    note(text)


def plain_line(text: str, between: str = "", dim: bool = False) -> None:
    """A line without prefix: statistics, chat help. A terminal too narrow for it gets lines cut at `between` only.
    `dim`: faint, if colours are used."""
    _line(text, between, dim and _coloured())


def can_show_status() -> bool:
    """Whether a status line may be drawn: both streams are terminals that can redraw, and -q was not given."""
    return not Run.current.quiet and can_redraw(sys.stderr) and can_redraw(sys.stdout)


def can_show_progress() -> bool:
    """Whether a progress line may be drawn: stderr is a terminal that can redraw, wherever stdout goes."""
    return not Run.current.quiet and can_redraw(sys.stderr)


def show_status(text: str) -> None:
    """Draw a short text right of the cursor and leave the cursor where it is; `erase_status` removes it.

    The caller checks `can_show_status` and that the text fits on the line. Wrapping is off meanwhile, so that a wrong
    guess of the cursor's column costs the end of the status.
    """
    output.flush()
    erase_status()
    _raw(f"\x1b7\x1b[?7l{_dim(text)}\x1b[K\x1b[?7h\x1b8")
    Run.current.status_eraser = "\x1b[K"


def show_status_below(text: str) -> None:
    """Draw a short text on the line below the cursor's, scrolling if there is none, and leave the cursor in place.

    Index (ESC D) goes down in the same column and scrolls at the bottom, so the cursor is saved after it came up again.
    A terminal forgets then that the last column is full: the caller keeps away from it.
    """
    output.flush()
    if Run.current.status_eraser != _BELOW:
        erase_status()
    _raw(f"\x1bD\x1b[A\x1b7\x1b[?7l\x1b[B\r{_dim(text)}\x1b[K\x1b[?7h\x1b8")
    Run.current.status_eraser = _BELOW


def status_is_shown() -> bool:
    """Whether there is something to erase."""
    return bool(Run.current.status_eraser)


def erase_status() -> None:
    """Remove the status line, if one is shown; called before anything else is written."""
    if Run.current.status_eraser:
        eraser, Run.current.status_eraser = Run.current.status_eraser, ""
        _raw(eraser)


def _dim(text: str) -> str:
    """The text faint, or in brackets without colours."""
    return f"\x1b[2m{sanitize(text)}\x1b[0m" if _coloured() else f"[{sanitize(text)}]"


def _coloured() -> bool:
    return wants_colour(sys.stderr, Run.current.colour)


def guard(run: Callable[[], int]) -> int:
    """Run the program and turn whatever ends it into an exit code and at most one line."""
    try:
        code = run()
        output.flush()
        return code
    except BaseException as failure:  # nothing catches it after this
        return _report(failure)


def _report(failure: BaseException) -> int:
    erase_status()
    if isinstance(failure, OSError) and failure.filename == output.NAME:  # of what a library writes there
        failure = output.failure(failure)
    if Run.current.verbosity >= 2 and not isinstance(failure, SystemExit):
        import traceback

        _raw("".join(traceback.format_exception(failure)))
    if isinstance(failure, SystemExit):
        return failure.code if isinstance(failure.code, int) else int(bool(failure.code))
    if isinstance(failure, KeyboardInterrupt):
        stopped()
        return INTERRUPTED
    if isinstance(failure, output.StdoutClosed | BrokenPipeError):
        output.abandon()
        return STDOUT_CLOSED
    failure = folder_gone(failure) or failure
    if isinstance(failure, LacliError):
        error(failure.message, failure.hint)
        return failure.exit_code
    code, message, hint = _untranslated(failure)
    error(message, hint)
    return code


def _untranslated(failure: BaseException) -> tuple[int, str, str]:
    """Exit code, message and remedy of an exception that is not one of ours."""
    message = getattr(failure, "message", None) or str(failure)
    kind = type(failure).__name__
    if isinstance(failure, MemoryError) or kind == "OutOfMemoryError" or _has_no_room(failure):
        return 4, "out of memory", "use a smaller model, a stronger --quant or a shorter prompt"
    if isinstance(failure, OSError) and failure.errno == errno.ENOSPC:
        where = f" for {failure.filename}" if failure.filename else ""
        return 4, f"no space is left on the device{where}", "free some space"
    if isinstance(failure, OSError):
        where = f": {failure.filename}" if failure.filename else ""
        return 1, f"{failure.strerror or kind}{where}", "check that the path exists and may be used"
    return 1, f"internal error: {kind}" + (f": {message}" if message else ""), "repeat with -vv for details"


def _has_no_room(failure: BaseException) -> bool:
    """Whether the system refused memory: to us, or to its loader of libraries."""
    if isinstance(failure, OSError):
        return failure.errno == errno.ENOMEM
    return isinstance(failure, ImportError) and "failed to map segment" in str(failure)


def _line(text: str, between: str = " ", dim: bool = False) -> None:
    output.flush()  # the reader sees the two streams in the order of writing
    erase_status()
    shown = sanitize(" ".join(text.splitlines()))
    if between and is_terminal(sys.stderr):
        shown = _broken(shown, between, columns(sys.stderr))
    _raw(f"\x1b[2m{shown}\x1b[0m\n" if dim else f"{shown}\n")


def _broken(text: str, between: str, width: int) -> str:
    """The text with as many of its `between` made line ends as this width needs; a part too wide is cut at spaces."""
    first, *others = text.split(between)
    lines = [first]
    for part in others:
        longer = lines[-1] + between + part
        if column_after(0, longer) <= width:
            lines[-1] = longer
        else:
            lines.append("  " + part)
    if between != " ":
        lines = [line if column_after(0, line) <= width else _broken_at_words(line, width) for line in lines]
    return "\n".join(lines)


def _broken_at_words(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return indent + _broken(line.lstrip(), " ", width - len(indent)).replace("\n", "\n" + indent)


def _raw(text: str) -> None:
    stream = sys.stderr
    if stream is None:
        return
    with contextlib.suppress(OSError, ValueError):
        try:
            stream.write(text)
        except UnicodeEncodeError:  # a locale that cannot say it must not lose the line
            encoding = getattr(stream, "encoding", None) or "ascii"
            stream.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        stream.flush()
