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
class Activity:
    """Something other than decoding."""

    title: str
    amount: str = ""
    share: float | None = None
    """How much of it is done; None if unknown."""
    trouble: bool = False


def activity(about: About) -> Activity | None:
    """What the engine is doing; None while it decodes, or waits for a question."""
    if about.phase == "dead":
        return Activity("engine stopped", trouble=True)
    if about.phase == "loading":
        return _loading(about)
    if about.phase == "prefill":
        return _reading(about)
    return Activity("stopping") if about.phase == "stopping" else None


def _loading(about: About) -> Activity:
    event = about.loading
    if event is None:
        return Activity(_STAGES["load"])
    title = _STAGES.get(event.stage, event.stage)
    if event.total <= 0:
        return Activity(title)
    share = min(1.0, event.done / event.total)
    size = f"{event.done / 1e6:,.0f}/{event.total / 1e6:,.0f} MB" if event.total > 1_000_000 else f"{share:.0%}"
    return Activity(title, size, share)


def _reading(about: About) -> Activity:
    event = about.prefill
    if event is None or event.total <= 0:
        return Activity("reading prompt")
    total = f"{event.total:,}"
    return Activity("reading prompt", f"{event.done:>{len(total)},}/{total}", min(1.0, event.done / event.total))
