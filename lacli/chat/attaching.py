"""How much of a file the model can be shown, before the question is asked."""

from __future__ import annotations

from lacli.errors import LacliError


def context_of(model: str | None, wanted: int | None, truncate: str = "") -> int:
    """Most tokens of prompt and reply, as the engine is going to have them.

    0 where that is not known, or where what is too long is to be cut and all of it may be read. Reads the registry.
    """
    if truncate or wanted:
        return 0 if truncate else wanted or 0
    from lacli.models.registry.registry import load_registry

    try:
        return load_registry().resolve(model).context
    except LacliError:
        return 0
