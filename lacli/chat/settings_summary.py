"""The settings in force, in words, by their names in `lacli config show`. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from lacli.chat import options
from lacli.config import Settings
from lacli.events import Request
from lacli.pool.evict import Caps
from lacli.shared.wording import size


@dataclass(frozen=True, slots=True)
class Row:
    """One setting."""

    key: str
    """Its key in the configuration."""
    text: str
    changed: bool = False
    """Whether it was changed since the start of the program."""


def replies(request: Request, begun: Request) -> list[Row]:
    """The options of replies; `begun` has those of the start of the program."""
    return [
        Row(flag, _reply(request, flag), getattr(request, field) != getattr(begun, field))
        for flag, field in options.OPTIONS.items()
    ]


def engine(settings: Settings) -> list[Row]:
    """The settings of the engine."""
    by_device = "by the device, none" if not settings.lookahead else "by the device"
    return [
        Row("quant", settings.quant or "what suits the model and this computer"),
        Row(
            "device", "a graphics card if there is one, else the CPU" if settings.device == "auto" else settings.device
        ),
        Row("threads", str(settings.threads or "one for each core")),
        Row("ctx", f"{settings.context:,} tokens" if settings.context else "as much as the model can read"),
        Row("lookahead", "on" if settings.lookahead else "off: a token a step"),
        *(
            Row(name, by_device if (value := getattr(settings, name)) is None else str(value))
            for name in ("window", "ngram", "guesses")
        ),
        Row("offline", "on: nothing is fetched" if settings.offline else "off: a model may be fetched"),
    ]


def kept(settings: Settings, keeps: bool) -> list[Row]:
    """What is stored on disk."""
    caps = Caps()
    return [
        Row("pool", "on: what the project has taught is guessed from" if settings.pool else "off"),
        Row("no-learn", "no: replies teach it more" if settings.learn else "yes: nothing is added"),
        Row("project-mb", _cap(settings.pool_mb, caps.project_bytes)),
        Row("total-mb", _cap(settings.pools_mb, caps.total_bytes)),
        Row("no-log", "no: chats are kept" if keeps else "yes: this chat is not kept"),
    ]


def _cap(megabytes: float | None, default: int) -> str:
    if megabytes == 0:
        return "nothing is kept"
    return f"at most {size(default if megabytes is None else round(megabytes * 1_000_000))}"


def _reply(request: Request, flag: str) -> str:
    value = getattr(request, options.OPTIONS[flag])
    if flag == "temperature" and value == 0:
        return "0: always the likeliest token"
    if (flag == "top-p" and value == 1) or (flag == "top-k" and value == 0):
        return f"{value:g}: no token is left out"
    if flag == "repetition-penalty" and value == 1:
        return "1: none"
    if flag == "seed" and value is None:
        return "none: another one each time"
    if flag == "max-tokens":
        return f"{value:,}"
    if flag == "truncate" and not value:
        return "none: what does not fit is refused"
    return f"{value:g}" if isinstance(value, float) else options.shown(request, flag)
