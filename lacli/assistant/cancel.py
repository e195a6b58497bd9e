"""A cancellation that can be subscribed to, for callers that wait for something else than the next decoding step.

Every `CancelToken` is a `base.Cancel`: whoever only asks needs to know nothing of this file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator


class CancelToken:
    """Cancelled once, from any thread, and for good.

    Without a lock: a generator may be finalised, and unsubscribe, inside any of these methods.
    """

    def __init__(self) -> None:
        self._cancelled = False
        self._callbacks: list[Callable[[], object]] = []

    def __call__(self) -> bool:
        """Whether it was cancelled."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancel, and call everyone who has subscribed."""
        self._cancelled = True
        for callback in tuple(self._callbacks):
            callback()

    @contextlib.contextmanager
    def subscribed(self, callback: Callable[[], object]) -> Iterator[None]:
        """While the block runs, `callback` is called on a cancel, in the thread that cancels; at once if it is late.

        It must neither block nor mind being called twice.
        """
        self._callbacks.append(callback)
        if self._cancelled:  # after the append: a cancel in between calls it twice rather than never
            callback()
        try:
            yield
        finally:
            self._callbacks.remove(callback)
