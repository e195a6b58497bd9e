"""The end of the program, however it is wished for and whatever hangs: the chat is kept, the engine ended, the terminal
as it was.

`Leaving` is a thread that waits for the wish: by `begin` (from any thread, from a signal, any number of times), or by
`pressed`, the key for it, which counts where the UI does not answer. It closes by itself and has the UI end; where that
does not come to its end in time (a terminal that takes nothing, a file that is a pipe, a table without end), the
process ends all the same.
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
"""For the UI to answer, and to end."""
_CLOSING_S = 12.0
"""For keeping the chat and ending the engine, each of which has bounds of its own."""
_SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGBREAK")
_HANG_UP = getattr(signal, "SIGHUP", 1)
_FAILED = 1


class Leaving:
    """One program's end."""

    loop: AbstractEventLoop | None = None
    """The UI's, as soon as it runs."""
    code: int | None = None
    """The exit code of the first wish that was heard: 0 of a key, 128 + n of signal n."""

    def __init__(self, close: Callable[[], None], leave: Callable[[], None], restore: Callable[[], None]) -> None:
        """`close` keeps what is to be kept, and may be called by others besides; `leave`, in the UI's loop, ends the
        UI; `restore` gives back the terminal where the UI does not."""
        self._close = close
        self._leave = leave
        self._restore = restore
        self._wishes: queue.SimpleQueue[bool] = queue.SimpleQueue()  # its put may be interrupted by a signal's
        self._left = threading.Event()
        threading.Thread(target=self._wait, name="leaving", daemon=True).start()

    def begin(self, number: int = 0, *_: object) -> None:
        """The program is to end, by this signal if by any."""
        if self.code is None:
            self.code = 128 + number if number else 0
        self._wishes.put(True)

    def gone(self) -> None:
        """The terminal is no more; the system's own word for it may be ignored, or come later."""
        self.begin(_HANG_UP)

    def pressed(self) -> None:
        """The key that ends the program was pressed: the UI sees to it, if it can."""
        self._wishes.put(False)

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Signals are wishes within; the process may go on after it, unless something is left that would hold it up."""
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
                self._left.set()
            self.begin()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _wait(self) -> None:
        while not self._wishes.get() and self._answers():
            pass
        if self._left.is_set():
            return
        asked = self._ask(self._leave)
        closing = threading.Thread(target=self._close, name="closing", daemon=True)
        closing.start()
        closing.join(_CLOSING_S)
        if not asked:  # the wish came before there was a UI
            self._ask(self._leave)
        if not self._left.wait(_UI_S):
            self._restore()
            os._exit(self.code or _FAILED)

    def _answers(self) -> bool:
        answered = threading.Event()
        self._ask(answered.set)
        return answered.wait(_UI_S)

    def _ask(self, what: Callable[[], object]) -> bool:
        """Have this called in the UI's loop; False where there is none yet, or none any more."""
        with contextlib.suppress(RuntimeError):
            if self.loop is not None:
                self.loop.call_soon_threadsafe(what)
                return True
        return False
