"""Text written in the user's own editor: $VISUAL, $EDITOR, or what the system has.

The editor has the terminal, wherever our own streams go, and Ctrl-C is its alone; what asks us to end ends it first.
The text passes through a private file that is removed afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from lacli.cli.terminal.keyboard import KEYBOARD, SCREEN
from lacli.cli.terminal.tty import is_terminal
from lacli.errors import LacliError, UsageError
from lacli.prompts.content import text_of

_USUAL = ("notepad",) if os.name == "nt" else ("sensible-editor", "nano", "vim", "vi")
_SUFFIX = ".md"
_FATAL = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_ENDING_S = 1.0
"""How long an editor that is asked to end may take, as it may save a copy; shorter than the terminal UI waits at its
end."""


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
        # what an editor without a terminal prints must not be taken for a reply
        stdout = None if is_terminal(sys.stdout) else _terminal(stack, "w", 2)
        try:
            code = _run([*command, str(path)], stdin, stdout)
        except OSError as error:
            raise UsageError(f"the editor {command[0]} cannot be started: {error.strerror}", "set EDITOR") from None
    if code:
        raise LacliError(f"the editor {command[0]} {_how(code)}", "nothing was changed")


def _run(command: list[str], stdin: int | None, stdout: int | None) -> int:
    """The code the editor ended with. Where we were to end meanwhile, that takes its course when it is gone."""
    asked: list[int] = []
    process: subprocess.Popen[bytes] | None = None

    def end(number: int = 0, frame: FrameType | None = None) -> None:
        if not asked:
            asked.append(number)
        if process is not None:
            family = _family(process.pid)
            _tell(family, signal.SIGTERM)
            late = threading.Timer(_ENDING_S, _tell, (family, getattr(signal, "SIGKILL", signal.SIGTERM)))
            late.daemon = True
            late.start()
            stack.callback(late.cancel)

    before: dict[int, Any] = {}
    with contextlib.ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            # not ignored, as it would then be so in the editor, too
            heard = {signal.SIGINT: _leave_it} | dict.fromkeys(_FATAL, end)
            for number, handler in heard.items():
                if signal.getsignal(number) != signal.SIG_IGN:
                    before[number] = signal.signal(number, handler)
                    stack.callback(signal.signal, number, before[number])
        process = subprocess.Popen(command, stdin=stdin, stdout=stdout)
        if asked:
            end()
        code = process.wait()
    if asked:
        then = before[asked[0]]
        if not callable(then):
            raise SystemExit(128 + asked[0])
        then(asked[0], None)
    return code


def _leave_it(number: int, frame: FrameType | None) -> None:
    """This signal is the editor's."""


def _family(pid: int) -> list[int]:
    """A process and all it has started, where the system tells: of a script that starts an editor both are to end."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError, ValueError):
            found += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
    return found


def _tell(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def _how(code: int) -> str:
    """How it ended: by a signal, of which a shell that started it tells by a code beyond 128."""
    number = -code if code < 0 else code - 128
    if number == signal.SIGINT:
        return "was left by Ctrl-C"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(number).name}"
    return f"ended with code {code}"


def _terminal(stack: contextlib.ExitStack, mode: str, otherwise: int) -> int:
    """The terminal, wherever our own streams go; without one, `otherwise`: an editor with a window needs none."""
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
