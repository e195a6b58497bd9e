"""The keyboard while a reply is written: keys are not echoed into the text, and are kept for the next reader.
`open_terminal` gives the keyboard when stdin is something else.

Echo is left alone where there is no termios or no terminal on both sides.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from lacli.cli.terminal.tty import is_terminal

KEYBOARD, SCREEN = ("CONIN$", "CONOUT$") if os.name == "nt" else ("/dev/tty", "/dev/tty")
"""What the system calls the two sides of this process's terminal, wherever its streams go."""


def open_terminal() -> TextIO | None:
    """The keyboard, opened again when stdin is a pipe or a file; None without a terminal.

    The caller closes it. Its text is what was typed, one line at a time; bytes that are no UTF-8 are surrogates.
    """
    try:
        terminal = open(KEYBOARD, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 - the caller's
    except (OSError, ValueError):  # no controlling terminal: cron, a container, ssh -T, a service
        return None
    if is_terminal(terminal):
        return terminal
    terminal.close()
    return None


@contextlib.contextmanager
def keys_of(terminal: TextIO) -> Iterator[Callable[[], str]]:
    """What reads the next key at an open terminal, without waiting for Enter and without its being shown.

    A key of several bytes, an arrow say, is "\\x1b". Where keys come by the line only, the first character of the next
    one, "\\n" for an empty one. "" at the end of input.
    """
    try:
        import termios
        import tty

        descriptor = terminal.fileno()
        before = termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError):
        yield lambda: (line := terminal.readline()).strip()[:1] or ("\n" if line else "")
        return
    tty.setcbreak(descriptor, termios.TCSANOW)
    try:
        yield lambda: _key(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)


def _key(descriptor: int) -> str:
    key = os.read(descriptor, 1)
    if key == b"\x1b" or key > b"\x7f":  # the letters that follow are part of it
        while select.select([descriptor], [], [], 0)[0] and os.read(descriptor, 1 << 10):
            pass
        return "\x1b"
    return "" if key in (b"", b"\x04") else key.decode()


@contextlib.contextmanager
def unechoed(prompt_follows: bool = False) -> Iterator[None]:
    """A block in which typed keys and ^C are not shown, and Ctrl-C does not discard what was typed ahead.

    prompt_follows: a prompt of ours reads next, for which Enter is a CR and LF makes a line within the question.
    Another program that reads lines, a shell say, needs Enter to be the LF it usually becomes.
    Left alone where stdout is not a terminal: its reader, a pager say, may have set the terminal to its own needs.
    """
    descriptor = _keyboard() if is_terminal(sys.stdout) else None
    if descriptor is None:
        yield
        return
    import termios

    before = termios.tcgetattr(descriptor)
    silent = list(before)
    echoes = termios.ECHO | termios.ECHONL | getattr(termios, "ECHOCTL", 0)
    silent[3] = (before[3] & ~echoes) | termios.NOFLSH
    if prompt_follows:
        silent[0] = before[0] & ~termios.ICRNL
    with contextlib.suppress(termios.error):
        termios.tcsetattr(descriptor, termios.TCSANOW, silent)
    try:
        yield
    finally:
        if _in_foreground(descriptor):  # in the background the terminal is the shell's again, and setting it stops us
            with contextlib.suppress(termios.error):
                termios.tcsetattr(descriptor, termios.TCSANOW, before)


def typed_lines() -> bytes:
    """The lines that were typed before anything read them; empty if there are none or it cannot be known.

    Outside `unechoed` the terminal turns Enter into LF, which our prompt would take for Ctrl-J. Inside it, Enter stays
    CR, which does not end a line for the terminal: such lines arrive with the first line after the block. Raises
    EOFError if the first key was Ctrl-D.
    """
    descriptor = _keyboard()
    if descriptor is None:
        return b""
    import termios

    if not termios.tcgetattr(descriptor)[3] & termios.ICANON:  # lines are not distinguishable from keys
        return b""
    lines = bytearray()
    while select.select([descriptor], [], [], 0)[0]:
        line = os.read(descriptor, 1 << 16)
        if not line and not lines:
            raise EOFError
        if not line:
            break
        lines += line
    return bytes(lines).replace(b"\r", b"\n")


@contextlib.contextmanager
def keys_as_typed() -> Iterator[bool]:
    """A block in which what was typed for a prompt that has just ended can be read; False where that cannot be.

    Keys come one by one, and Enter as a CR, as at the prompt; but Ctrl-C is a signal again, so that each one is either
    among the keys or heard.
    """
    descriptor = _keyboard()
    if descriptor is None:
        yield False
        return
    import termios

    before = termios.tcgetattr(descriptor)
    raw = list(before)
    raw[0] = before[0] & ~termios.ICRNL
    raw[3] = before[3] & ~(termios.ICANON | termios.ECHO)
    with contextlib.suppress(termios.error):
        termios.tcsetattr(descriptor, termios.TCSANOW, raw)
    try:
        yield True
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSANOW, before)


def _keyboard() -> int | None:
    """Standard input where it is a terminal whose settings are ours to change."""
    if not is_terminal(sys.stdin):
        return None
    try:
        import termios

        descriptor = sys.stdin.fileno()
        termios.tcgetattr(descriptor)
    except (ImportError, OSError, ValueError):  # Windows; closed meanwhile
        return None
    except termios.error:
        return None
    return descriptor if _in_foreground(descriptor) else None


def _in_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
