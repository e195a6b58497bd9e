"""What ends a program from outside: Ctrl-C, a request to terminate, a terminal that was closed.

While a reply is written the first one asks the decoder to stop between two steps, so that text and pool are kept. While
a model loads Ctrl-C ends the program. The end of --timeout does the same in both. Everywhere else Ctrl-C is the
ordinary KeyboardInterrupt.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics

SECOND_WITHIN_S = 2.0
"""A second Ctrl-C within this time means that the user wants to leave at once."""
_SOON_S = 0.05
_UNLOADED = "before the model was loaded"
_FATAL = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class _SignalHandlers:
    """A with block in which `_handle` handles these signals; the old handlers are restored after it."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Any:
        if threading.current_thread() is threading.main_thread():  # signals are the main thread's business
            for number in self._numbers:
                if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores hang-ups
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        raise NotImplementedError


class WaitingInterrupt(_SignalHandlers):
    """A block that may wait in one call of the system, as for the other side of a named pipe: the end of --timeout
    raises TimedOut there, too, where the system has timers that interrupt such a call."""

    def __init__(self, what: str) -> None:
        """`what`: what was not done then, as in `Deadline.failure`."""
        has_timers = hasattr(signal, "setitimer") and Run.current.deadline.seconds is not None
        super().__init__(*((signal.SIGALRM,) if has_timers else ()))
        self._what = what

    def __enter__(self) -> WaitingInterrupt:
        super().__enter__()
        left = Run.current.deadline.left()
        if self._before and left is not None:
            signal.setitimer(signal.ITIMER_REAL, max(left, _SOON_S))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        super().__exit__(kind, value, trace)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        raise Run.current.deadline.failure(self._what)


def raise_pending() -> None:
    """End now, if a signal to terminate is pending."""
    number, Run.current.pending_signal = Run.current.pending_signal, None
    if number is not None:
        signal.raise_signal(number)


class ReplyInterrupt(_SignalHandlers):
    """For a reply: a signal sets `asked` instead of ending the program; the block's object is the reply's `cancel`.

    A second Ctrl-C soon after raises. A signal to terminate takes its ordinary course once the block is left, or, where
    that ends the program, at `raise_pending`. The end of the time allowed is one more reason.
    """

    def __init__(self) -> None:
        super().__init__(signal.SIGINT, *_FATAL)
        self.asked = False
        self.timed_out = False
        """Whether the time was over before anyone asked."""
        self._at = float("-inf")
        self._fatal: int | None = None

    def __call__(self) -> bool:
        if not self.asked and Run.current.deadline.passed():
            self.asked = self.timed_out = True
        return self.asked

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, value, trace)
        if self._fatal is not None and kind is None and signal.getsignal(self._fatal) == signal.SIG_DFL:
            Run.current.pending_signal = self._fatal  # it would end the program before what was written is in the log
        elif self._fatal is not None:
            signal.raise_signal(self._fatal)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if number != signal.SIGINT:
            self._fatal = number
        elif now - self._at <= SECOND_WITHIN_S:
            raise KeyboardInterrupt
        else:
            self._at = now
        self.asked = True


class SignalNotifier(_SignalHandlers):
    """For a prompt: `pressed` is told of a Ctrl-C that comes as a signal, and nothing raises amid what reads keys."""

    def __init__(self, pressed: Callable[[], object]) -> None:
        super().__init__(signal.SIGINT)
        self._pressed = pressed

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._pressed()


class TerminationHandler(_SignalHandlers):
    """For a conversation: a request to terminate ends it at once, or, while a reply is written, when that is kept.

    `leave` is given the SystemExit to raise, and says whether somebody who reads the keyboard will do it.
    """

    def __init__(self, leave: Callable[[SystemExit], bool]) -> None:
        super().__init__(*_FATAL)
        self._leave = leave
        self._code = 0
        self._held = False

    def hold(self) -> None:
        """Wait with the end until `release`: something must be finished first."""
        self._held = True

    def release(self) -> None:
        """End now, if a signal has asked for it meanwhile."""
        self._held = False
        if self._code:
            raise SystemExit(self._code)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._code = 128 + number
        end = SystemExit(self._code)
        if not self._held and not self._leave(end):
            raise end


class LoadingInterrupt(_SignalHandlers):
    """For loading: Ctrl-C raises, and raises again at `check` and at the end where other code has swallowed it.

    When the time allowed is over the same happens by itself, and the block ends with TimedOut. While `skips` is set
    Ctrl-C raises once, for the stage of loading that it leaves out.

    Within an import it ends the process where it stands: what is raised there is swallowed by an `except`, or by a
    callback with a traceback on stderr, and where it passes through C++ it aborts. Nothing is half done in an import.
    """

    def __init__(self) -> None:
        super().__init__(signal.SIGINT)
        self.skips = False
        self._asked = False
        self._late = False
        self._alarm: threading.Timer | None = None

    def check(self) -> None:
        """Raise if Ctrl-C was pressed, or the time is up, and other code has swallowed the exception."""
        if self._asked:
            raise KeyboardInterrupt

    def __enter__(self) -> Any:
        seconds = Run.current.deadline.left()
        if seconds is not None and seconds < _SOON_S:  # an alarm must not ring before the block is entered
            raise Run.current.deadline.failure(_UNLOADED)
        super().__enter__()
        if seconds is not None and self._before:
            self._alarm = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._ring)
            self._alarm.daemon = True
            self._alarm.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        super().__exit__(kind, value, trace)
        if self._late and (kind is None or issubclass(kind, KeyboardInterrupt)):
            raise Run.current.deadline.failure(_UNLOADED) from None
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            self.check()

    def _ring(self) -> None:
        """Interrupt the main thread as Ctrl-C would, in a system call, too, where the platform can."""
        self._late = True
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._asked = self._late or not self.skips
        self.skips = False
        if self._asked and _in_import(frame):
            code = diagnostics.INTERRUPTED
            try:
                code = diagnostics.guard(self._raise)
            finally:
                os._exit(code)
        raise KeyboardInterrupt

    def _raise(self) -> int:
        if self._late:
            raise Run.current.deadline.failure(_UNLOADED)
        raise KeyboardInterrupt


def _in_import(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
