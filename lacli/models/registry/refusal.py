"""Before a load: refuses a model that this computer cannot run, and names what it can.

Only what is sure is refused, unlike in `lacli models fit`, which also counts a full context and what others take:

- On a card weights, the shortest context and a step must fit into what is free now; several cards count together.
- On a CPU weights are mapped files. They are read from the page cache, which takes what other programs leave, so they
  must fit into the whole memory: every step would read the rest from the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacli.errors import LacliError, OutOfMemory

if TYPE_CHECKING:
    from lacli.models.registry.fit import Fit
    from lacli.models.registry.machine import Machine, Memory
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
    cards = [] if device == "cpu" else _cards()
    if device != "cpu" and not cards:
        return
    from lacli.models.registry.fit import registered_that_fit, ways
    from lacli.models.registry.machine import Machine, Memory, main_memory
    from lacli.models.registry.registry import load_registry

    all_cards = Memory(sum(each.free for each in cards), sum(each.total for each in cards))
    machine = Machine(Memory(*main_memory()), all_cards if cards else None)
    found = _fit(spec, context, quant, device, machine)
    if found is None:
        return
    least, room = (found.lightest, found.total) if device == "cpu" else (found.least, found.free)
    if found.fits or least <= room:
        return
    there = f"this computer has {size(found.total)}"
    if cards:
        there = f"{size(found.free)} of {size(found.total)} are free on {_named(len(cards))}"
    smaller = registered_that_fit(list(load_registry().models.values()), found, machine)
    raise OutOfMemory(
        f"{spec.alias} as {found.quant} needs at least {size(least)}, and {there}",
        remedy(ways(spec, found, machine), smaller),
    )


def needs_more_cards(spec: ModelSpec, context: int | None, quant: str) -> bool:
    """Whether there are several cards and this model is too large for the first one, on which it would run alone."""
    cards = _cards()
    if len(cards) < 2:
        return False
    from lacli.models.registry.machine import Machine

    found = _fit(spec, context, quant, "cuda", Machine(cards[0], cards[0]))
    return found is not None and found.least > found.free


def _fit(spec: ModelSpec, context: int | None, quant: str | None, device: str, machine: Machine) -> Fit | None:
    """None where the model's files cannot be understood."""
    from lacli.models.registry.fit import fit

    try:
        return fit(spec, context, quant, device, machine)
    except _UNREADABLE:
        return None


def _cards() -> list[Memory]:
    """The memory of the cards that PyTorch sees, which has been imported to choose among devices."""
    import torch

    from lacli.models.registry.machine import Memory

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return [Memory(*torch.cuda.mem_get_info(card)) for card in range(count)]


def _named(count: int) -> str:
    return "the card" if count == 1 else f"{count} cards"


def remedy(ways: list[str], smaller: str) -> str:
    """What to do about a model that does not fit: options with which it does, a model that does."""
    others = [*ways, *([f"the model {smaller}"] if smaller else [])]
    return "use " + ", or ".join(others) if others else "use a smaller model, or end other programs"


def size(count: int) -> str:
    """Bytes as people say them."""
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"
