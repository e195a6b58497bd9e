"""Text written in the user's own editor: $VISUAL, $EDITOR, or what the system has.

The editor has the terminal, wherever our own streams go. The text passes through a private file that is removed
afterwards. Called by `ask --edit`, the chat's /edit and `templates edit`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lacli.cli.keyboard import KEYBOARD, SCREEN
from lacli.cli.terminal import is_terminal
from lacli.errors import LacliError, UsageError
from lacli.prompts.content import text_of

_USUAL = ("notepad",) if os.name == "nt" else ("sensible-editor", "nano", "vim", "vi")
_SUFFIX = ".md"


def edited(text: str, suffix: str = _SUFFIX) -> str:
    """The text as the user left it in the editor, without the line end that editors add."""
    with tempfile.TemporaryDirectory(prefix="lacli-", ignore_cleanup_errors=True) as folder:  # 0700
        path = Path(folder) / f"prompt{suffix}"
        path.write_bytes(text.encode("utf-8", "replace"))
        edit(path)
        try:
            return text_of(path.read_bytes(), path.name)[0].replace("\r\n", "\n").removesuffix("\n")
        except OSError as error:
            raise LacliError(
                f"what the editor wrote cannot be read: {error.strerror}", "save to the same file"
            ) from None


def edit(path: Path) -> None:
    """Let the user edit this file; returns when the editor has ended."""
    command = _editor()
    with contextlib.ExitStack() as stack:
        stdin = None if is_terminal(sys.stdin) else _terminal(stack, "r", subprocess.DEVNULL)
        # what an editor without a terminal prints is no reply, and must not be taken for one
        stdout = None if is_terminal(sys.stdout) else _terminal(stack, "w", 2)
        try:
            done = subprocess.run([*command, str(path)], stdin=stdin, stdout=stdout, check=False)
        except OSError as error:
            raise UsageError(f"the editor {command[0]} cannot be started: {error.strerror}", "set EDITOR") from None
    if done.returncode:
        raise LacliError(f"the editor {command[0]} ended with code {done.returncode}", "nothing was changed")


def _terminal(stack: contextlib.ExitStack, mode: str, otherwise: int) -> int:
    """The terminal, wherever our own streams go; where there is none, an editor with a window needs none either."""
    try:
        descriptor = os.open(KEYBOARD, os.O_RDONLY) if mode == "r" else os.open(SCREEN, os.O_WRONLY)
    except OSError:
        return otherwise
    stack.callback(os.close, descriptor)
    return descriptor


def _editor() -> list[str]:
    for variable in ("VISUAL", "EDITOR"):
        named = os.environ.get(variable, "").strip()
        if named:
            try:
                return shlex.split(named, posix=os.name != "nt")
            except ValueError:
                raise UsageError(f"{variable} has an open quote: {named}", "correct it") from None
    found = next((name for name in _USUAL if shutil.which(name)), None)
    if found is None:
        raise UsageError("no editor was found", "set EDITOR to the command that starts yours")
    return [found]
