"""Ends a downloading process when the process that started it ends, however that happens.

Standard library only.
"""

from __future__ import annotations

import os
import threading


def end_with_parent() -> None:
    """From now on this process ends when its stdin does, which the parent keeps open as long as it lives."""

    def wait() -> None:
        while os.read(0, 1):  # not by sys.stdin: it would be locked when this process ends by itself
            pass
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()
