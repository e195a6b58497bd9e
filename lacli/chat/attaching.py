"""How large an attached file may be, before a model is loaded."""

from __future__ import annotations

from lacli.configuration.remotes import is_remote
from lacli.errors import LacliError


def context_of(model: str | None, wanted: int | None, truncate: str = "") -> int:
    """The context size the engine will have, in tokens; `wanted` is that of --ctx. Reads the registry.

    0 if it is not known, as a remote's, or if what is too long will be truncated and may be read in full.
    """
    if truncate or wanted or is_remote(model):
        return 0 if truncate else wanted or 0
    from lacli.models.registry.registry import load_registry

    try:
        return load_registry().resolve(model).context
    except LacliError:
        return 0
