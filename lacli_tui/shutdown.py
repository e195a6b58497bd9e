"""Ends the program, whatever asks for it and whatever hangs: saves the chat, ends the engine, restores the terminal.

`Shutdown` is a thread that waits for a request: `begin` (from any thread or signal handler, any number of times), or
`key_pressed`, which counts if the UI does not answer. It closes the chat itself and asks the UI to end; if the UI does
not do so in time (a terminal that accepts nothing, a file that is a pipe, an endless table), the process exits anyway.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator

_UI_S = 3.0
"""For the UI to answer, and then to end."""
_CLOSING_S = 12.0
"""For saving the chat and ending the engine, each of which has limits of its own."""
_SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGBREAK")
_HANG_UP = getattr(signal, "SIGHUP", 1)
_FAILED = 1


class Shutdown:
    """The end of one program."""

    loop: AbstractEventLoop | None = None
    """The UI's event loop, once it runs."""
    code: int | None = None
    """The exit code, set by the first request: 0 for a key, 128 + n for signal n."""

    def __init__(self, close: Callable[[], None], leave: Callable[[], None], restore: Callable[[], None]) -> None:
        """`close` saves the chat and may be called by others as well; `leave` ends the UI and is called in its loop;
        `restore` restores the terminal where the UI does not."""
        self._close = close
        self._leave = leave
        self._restore = restore
        self._requests: queue.SimpleQueue[bool] = queue.SimpleQueue()  # its put is safe in a signal handler
        self._is_over = threading.Event()
        threading.Thread(target=self._wait, name="shutdown", daemon=True).start()

    def begin(self, number: int = 0, *_: object) -> None:
        """Ask the program to end, because of this signal if any."""
        if self.code is None:
            self.code = 128 + number if number else 0
        self._requests.put(True)

    def terminal_gone(self) -> None:
        """The terminal has disappeared: the hang-up signal may be ignored, or come later."""
        self.begin(_HANG_UP)

    def key_pressed(self) -> None:
        """The key to quit was pressed: the UI will handle it, if it can."""
        self._requests.put(False)

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Signals ask for the end in here. The process may live on behind it, unless a thread would hold it up."""
        before = {}
        for name in _SIGNALS:
            with contextlib.suppress(AttributeError, OSError, ValueError):
                number = getattr(signal, name)
                if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores hang-ups
                    before[number] = signal.signal(number, self.begin)
        try:
            yield
        finally:
            self._close()
            main = threading.main_thread()
            if not any(each.is_alive() and not each.daemon and each is not main for each in threading.enumerate()):
                self._is_over.set()
            self.begin()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _wait(self) -> None:
        while not self._requests.get() and self._answers():
            pass
        if self._is_over.is_set():
            return
        asked = self._ask(self._leave)
        closing = threading.Thread(target=self._close, name="closing", daemon=True)
        closing.start()
        closing.join(_CLOSING_S)
        if not asked:  # the request came before there was a UI
            self._ask(self._leave)
        if not self._is_over.wait(_UI_S):
            self._restore()
            os._exit(self.code or _FAILED)

    def _answers(self) -> bool:
        answered = threading.Event()
        self._ask(answered.set)
        return answered.wait(_UI_S)

    def _ask(self, what: Callable[[], object]) -> bool:
        """Call this in the UI's loop; False if there is none yet, or no longer one."""
        with contextlib.suppress(RuntimeError):
            if self.loop is not None:
                self.loop.call_soon_threadsafe(what)
                return True
        return False
