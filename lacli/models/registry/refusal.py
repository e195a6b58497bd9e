"""Before a load: refuses a model that this computer cannot run, and names what it can.

Only what is sure is refused, unlike in `lacli models fit`, which also counts a full context and what others take:

- On a card weights, the shortest context and a step must fit into what is free now.
- On a CPU weights are mapped files. They are read from the page cache, which takes what other programs leave, so they
  must fit into the whole memory: every step would read the rest from the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacli.errors import LacliError, OutOfMemory

if TYPE_CHECKING:
    from lacli.models.registry.machine import Memory
    from lacli.models.spec import ModelSpec

_MOST_BYTES = 4
"""Of a weight, in whichever form it runs."""
_UNREADABLE = (LacliError, OSError, TypeError, ValueError, KeyError, AttributeError, ArithmeticError)
"""What is wrong with a model's files is told by whoever reads them."""


def refuse_too_large(spec: ModelSpec, context: int | None, quant: str | None, device: str) -> None:
    """Raises OutOfMemory. context: as asked, None for the model's own."""
    from lacli.models.registry.limits import all_memory

    if device == "cpu" and 0 < _MOST_BYTES * spec.parameters <= all_memory():
        return  # sure without reading any file: the first token waits for this
    card = None if device == "cpu" else _card()
    if device != "cpu" and card is None:
        return
    from lacli.models.registry.fit import fit, registered_that_fit, ways
    from lacli.models.registry.machine import Machine, Memory, main_memory
    from lacli.models.registry.registry import load_registry

    machine = Machine(Memory(*main_memory()), card)
    try:
        found = fit(spec, context, quant, device, machine)
    except _UNREADABLE:
        return
    least, room = (found.lightest, found.total) if device == "cpu" else (found.least, found.free)
    if found.fits or least <= room:
        return
    there = (
        f"{size(found.free)} of {size(found.total)} are free on the card"
        if card
        else f"this computer has {size(found.total)}"
    )
    smaller = registered_that_fit(list(load_registry().models.values()), found, machine)
    raise OutOfMemory(
        f"{spec.alias} as {found.quant} needs at least {size(least)}, and {there}",
        remedy(ways(spec, found, machine), smaller),
    )


def _card() -> Memory | None:
    """The memory of the card that PyTorch takes, which has been imported to choose it."""
    import torch

    from lacli.models.registry.machine import Memory

    return Memory(*torch.cuda.mem_get_info()) if torch.cuda.is_available() else None


def remedy(ways: list[str], smaller: str) -> str:
    """What to do about a model that does not fit: options with which it does, a model that does."""
    others = [*ways, *([f"the model {smaller}"] if smaller else [])]
    return "use " + ", or ".join(others) if others else "use a smaller model, or end other programs"


def size(count: int) -> str:
    """Bytes as people say them."""
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"
