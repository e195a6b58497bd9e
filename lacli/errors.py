"""The error tree. Every failure a user can meet is one of these; front ends turn it into one line and an exit code.

LacliError                    exit 1   generation failed
├── UsageError                exit 2   bad arguments or configuration
├── ModelUnavailable          exit 3   missing, gated, incomplete, offline
├── OutOfMemory               exit 4   does not fit
├── PromptTooLong             exit 5   longer than the context
├── TimedOut                  exit 6   --timeout reached
└── WorkerDied                exit 1   the engine's process ended in the middle of its work
"""

from __future__ import annotations

import errno
import os

SMALLER = "use a smaller model, a smaller --ctx or a stronger --quant"
"""The remedy where an engine's process runs out of memory."""


class LacliError(Exception):
    """A failure with its remedy.

    `message` is one sentence without a full stop that names what was found; `hint` says what to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(LacliError):
    """The request itself is wrong: an option, a path, a configuration key."""

    exit_code = 2


def folder_gone(failure: BaseException) -> UsageError | None:
    """What a failure means where the current folder was deleted: no relative path leads anywhere then, and what asks
    for the folder itself (`os.getcwd`, `os.path.abspath`) names no file. None for another failure."""
    if not isinstance(failure, FileNotFoundError) or (failure.filename and os.path.isabs(failure.filename)):
        return None
    try:
        os.getcwd()
    except FileNotFoundError:
        return UsageError("the current folder no longer exists", "change to another folder")
    except OSError:
        pass
    return None


class ModelUnavailable(LacliError):
    """The model cannot be had: unknown, incomplete, damaged, gated, or the network is off."""

    exit_code = 3


class OutOfMemory(LacliError):
    """Weights, KV cache or disk space do not fit."""

    exit_code = 4


class PromptTooLong(LacliError):
    """The prompt and the tokens reserved for the reply exceed the context."""

    exit_code = 5


class TimedOut(LacliError):
    """The time the user allowed has passed."""

    exit_code = 6


class WorkerDied(LacliError):
    """The process that decodes has ended unasked; what it was doing is lost, a new one starts with the next call."""

    def __init__(self, message: str, hint: str = "", stderr: str = "", again: bool = True) -> None:
        super().__init__(message, hint)
        self.stderr = stderr
        """The end of what it wrote to its stderr, for a report."""
        self.again = again
        """Whether a new one may fare better."""


_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)


def unwritable(
    path: object, error: OSError, hint: str, kind: type[LacliError] = LacliError, state: str = ""
) -> LacliError:
    """What to raise where a file cannot be written: OutOfMemory where there is no room for it, else an error of this
    `kind`. `state` says what became of it."""
    fitting = OutOfMemory if error.errno in _FULL else kind
    return fitting(f"{path} cannot be written: {error.strerror}" + (f"; {state}" if state else ""), hint)
