"""Translates errors raised while a model computes into LacliErrors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lacli.errors import LacliError, OutOfMemory


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Translate what a forward raises. Raises OutOfMemory, or LacliError for everything else."""
    try:
        yield
    except MemoryError:
        raise _out_of_memory() from None
    except RuntimeError as error:
        if "memory" not in str(error).lower():
            raise LacliError(f"the model failed: {str(error).splitlines()[0]}", "repeat with -vv") from error
        raise _out_of_memory() from error


def _out_of_memory() -> OutOfMemory:
    return OutOfMemory(
        "the reply does not fit into memory", "use a shorter prompt, a smaller model or a stronger --quant"
    )
