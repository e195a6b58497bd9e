"""Asks the user at the terminal for yes or no, or for a line: never a pipe, and without a default answer.

Question and answer go by the terminal itself, whatever the standard streams are.
"""

from __future__ import annotations

import contextlib

from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.keyboard import SCREEN, open_terminal
from lacli.cli.terminal.tty import sanitize
from lacli.errors import UsageError


def confirm(question: str, assume_yes: bool = False) -> bool:
    """Whether to go on; anything but y or yes is a no. Raises UsageError without a terminal."""
    return assume_yes or one_of(question) == "yes"


def one_of(question: str, *others: str) -> str:
    """`yes`, an empty string for no, or one of these other words, for each of which its first letter is enough;
    anything else is a no. Raises UsageError without a terminal."""
    keyboard = open_terminal()
    if keyboard is None:
        raise UsageError(f"nobody is here to answer {question!r}", "add --yes")
    diagnostics.erase_status()
    with keyboard, contextlib.suppress(OSError, ValueError):
        offered = "/".join(("y", "N", *(word[0] for word in others)))
        with open(SCREEN, "w", encoding="utf-8", errors="replace") as screen:
            screen.write(f"{sanitize(question)} [{offered}] ")
        typed = keyboard.readline().strip().lower()
        return next((word for word in ("yes", *others) if typed in (word, word[0])), "")
    return ""


def answered(question: str, default: str, hint: str = "") -> str:
    """The line that is typed, or `default`. Raises UsageError with this hint if there is neither, or no terminal;
    without a hint the default is used then, too."""
    keyboard = open_terminal()
    if keyboard is None:
        if hint:
            raise UsageError(f"nobody is here to answer {question!r}", hint)
        return default
    diagnostics.erase_status()
    with keyboard:
        with open(SCREEN, "w", encoding="utf-8", errors="replace") as screen:
            screen.write(sanitize(f"{question} [{default}]: " if default else f"{question}: "))
        typed = keyboard.readline().strip() or default
    if not typed:
        raise UsageError("nothing was typed", hint)
    return typed
