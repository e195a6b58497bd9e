"""The program's entry: secure the descriptors, run the command, turn what ends it into an exit code.

Nothing else may live here: typer itself is imported inside `guard`. Until then Ctrl-C is `early_interrupt`'s.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import warnings
from collections.abc import Sequence

from lacli import early_interrupt
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics, interrupt
from lacli.streams import blocking

_GARBAGE = 20_000
"""New objects between two searches for garbage. A start makes hundreds of thousands that last, and with Python's 700
they are looked through again and again."""


@atexit.register
def _leave() -> None:
    """End the process here, after all other exit handlers: tearing PyTorch down object by object takes a quarter of a
    second, during which the shell's prompt does not return."""
    if Run.current.exit_code is not None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(Run.current.exit_code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `lacli` with these arguments and return its exit code. Without any it is the process's own program: the
    process then ends with this code at once."""
    if arguments is None:
        gc.set_threshold(_GARBAGE)
    _set_up_streams()
    diagnostics.secure_descriptors()
    run = Run.current = Run()
    with warnings.catch_warnings():
        if not sys.warnoptions:  # other libraries' warnings are for their developers, not for our users
            warnings.simplefilter("ignore")
        code = diagnostics.guard(lambda: _invoke(run, arguments))
    if arguments is None:
        interrupt.raise_pending()
        run.exit_code = code
    return code


def _set_up_streams() -> None:
    """Make the streams accept everything that is written, whoever else uses them, and use UTF-8 and \\n, whatever the
    locale, Windows or PYTHONIOENCODING say: first of all, as the first line may be an error about a file with any
    name."""
    if sys.stdout is sys.__stdout__:
        sys.stdout = blocking(sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = blocking(sys.stderr)
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        with contextlib.suppress(AttributeError, ValueError, OSError):  # closed or replaced
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")  # type: ignore[union-attr]
    with contextlib.suppress(AttributeError, ValueError, OSError):  # what is typed at a prompt is read as that
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]


def _invoke(run: Run, arguments: Sequence[str] | None) -> int:
    args = list(sys.argv[1:] if arguments is None else arguments)
    if args[:2] == ["completion", "--answer"]:  # pressing Tab must not wait until the line is parsed
        from lacli.cli.completion.command import answer

        return answer(args[2:])
    from lacli.cli.framework.group import invoke

    early_interrupt.end()
    return invoke(run, args)
