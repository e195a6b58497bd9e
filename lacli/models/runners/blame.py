"""Whose error it is: code of ours that is wrong must not be reported as a model that is."""

from __future__ import annotations

_OURS = __name__.partition(".")[0]


def is_own_bug(error: BaseException) -> bool:
    """Whether an AttributeError or a TypeError was raised by a line of our own. Those that a model causes come from the
    library that runs it; what we read of a model ourselves is checked where it is read."""
    traceback = error.__traceback__
    if traceback is None or not isinstance(error, AttributeError | TypeError):
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = str(traceback.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == _OURS
