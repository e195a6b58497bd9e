"""What the engine is doing while no token comes, in a few words and with its progress. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from lacli_tui.messages import About

_STAGES = {
    "fetch": "fetching model",
    "check": "checking model",
    "unpack": "unpacking model",
    "prepare": "preparing model",
    "prime": "first guesses",
    "wait": "waiting for model",
    "load": "loading model",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """Something other than decoding."""

    title: str
    amount: str = ""
    share: float | None = None
    """How much of it is done; None if unknown."""
    trouble: bool = False


def progress(about: About) -> Progress | None:
    """What the engine is doing; None while it decodes, or waits for a question."""
    if about.phase == "dead":
        return Progress("engine stopped", trouble=True)
    if about.phase == "loading":
        return _loading(about)
    if about.phase == "prefill":
        return _reading(about)
    return Progress("stopping") if about.phase == "stopping" else None


def _loading(about: About) -> Progress:
    event = about.loading
    if event is None:
        return Progress(_STAGES["load"])
    title = _STAGES.get(event.stage, event.stage)
    if event.total <= 0:
        return Progress(title)
    share = min(1.0, event.done / event.total)
    size = f"{event.done / 1e6:,.0f}/{event.total / 1e6:,.0f} MB" if event.total > 1_000_000 else f"{share:.0%}"
    return Progress(title, size, share)


def _reading(about: About) -> Progress:
    event = about.prefill
    if event is None or event.total <= 0:
        return Progress("reading prompt")
    total = f"{event.total:,}"
    return Progress("reading prompt", f"{event.done:>{len(total)},}/{total}", min(1.0, event.done / event.total))
