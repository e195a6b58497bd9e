"""The program's entry: secure the descriptors, run the command, turn what ends it into an exit code.

Nothing else may live here: typer itself is imported inside `guard`, so that an early Ctrl-C is quiet too.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import sys
import warnings
from collections.abc import Sequence

from lacli.cli import deadline, diagnostics, output

# At the interpreter's end nothing is to be searched for garbage: with PyTorch's objects that takes half a second.
atexit.register(gc.freeze)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `lacli` with these arguments (default: the process's own) and return its exit code."""
    _say_utf8()
    diagnostics.secure_descriptors()
    diagnostics.configure()  # options of an earlier run in this process are its own
    output.configure()
    deadline.restart()
    deadline.allow(None)
    with warnings.catch_warnings():
        if not sys.warnoptions:  # other libraries' warnings are for their developers, not for users of lacli
            warnings.simplefilter("ignore")
        return diagnostics.guard(lambda: _run(arguments))


def _say_utf8() -> None:
    """Both streams write UTF-8 and \\n, whatever the locale, Windows or PYTHONIOENCODING say: first of all, as the
    first line may be an error about a file with any name."""
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        with contextlib.suppress(AttributeError, ValueError, OSError):  # closed, or something else put in its place
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")  # type: ignore[union-attr]


def _run(arguments: Sequence[str] | None) -> int:
    from lacli.cli.group import run

    return run(arguments)
