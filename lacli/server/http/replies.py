"""A reply of the engine for a door: its events, cut to what fits the context, and the whole of it at once.

`Request`s are made by the doors; here they are only asked.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import cast

from lacli.config import Settings
from lacli.errors import PromptTooLong
from lacli.events import Event, Finished, Piece, Prefill, ReplyStats, Request
from lacli.server.http.asking import is_empty
from lacli.server.http.exchange import Call
from lacli.server.http.refusals import Refusal

Events = AsyncGenerator[Event, None]


@dataclass(frozen=True, slots=True)
class Ending:
    """A reply that is over."""

    text: str
    thought: str
    token_ids: tuple[int, ...]
    stats: ReplyStats
    reason: str
    dropped: int = 0

    @property
    def word(self) -> str:
        """Why it ended, in OpenAI's words."""
        return "length" if self.reason in ("length", "context", "timeout") else "stop"


async def events(call: Call, request: Request, settings: Settings, urgent: bool = False) -> Events:
    """The events of a reply. Closing them cancels it.

    A bound on its tokens is one from above: where they do not all fit behind the prompt, it ends with the context.
    """
    begun = False
    try:
        async with aclosing(_counted(call, request, settings, urgent)) as first:
            async for event in first:
                begun = begun or isinstance(event, Prefill | Piece)
                yield event
            return
    except PromptTooLong:
        if begun or request.max_tokens <= 1:
            raise
    shown = await call.engine.preview(replace(request, max_tokens=1), settings)
    fitting = replace(request, max_tokens=shown.ctx_size - len(shown.token_ids))
    async with aclosing(_counted(call, fitting, settings, urgent)) as again:
        async for event in again:
            yield event


async def _counted(call: Call, request: Request, settings: Settings, urgent: bool) -> Events:
    """The events as the engine gives them; what was written is counted however it ends."""
    stats: ReplyStats | None = None
    try:
        async with aclosing(cast(Events, call.engine.reply(request, settings, urgent))) as told:
            async for event in told:
                if isinstance(event, Piece | Finished):
                    stats = event.stats
                yield event
    finally:
        if stats is not None:
            call.services.counters.add(stats)


async def whole(told: Events, most_ms: float = 0.0) -> Ending:
    """All of a reply; `most_ms` after its first token it ends with the line before, once there is one."""
    text = thought = ""
    stats, first_at = ReplyStats(replies=0), 0.0
    async for event in told:
        if isinstance(event, Finished):
            return ending(event)
        if not isinstance(event, Piece):
            continue
        text, thought, stats = text + event.text, thought + event.thought, event.stats
        first_at = first_at or time.monotonic()
        late = most_ms and (time.monotonic() - first_at) * 1e3 > most_ms
        if late and "\n" in text.lstrip("\n"):
            return Ending(text[: text.rindex("\n")], thought, (), stats, "timeout")
    raise Refusal(500, "the engine ended without an end")


def ending(finished: Finished) -> Ending:
    """The end of a reply. Raises Refusal where the engine has cut it short: a part is not to be taken for all of it."""
    if finished.reason == "cancelled":
        raise Refusal(503, "the engine ended this reply before its end")
    return Ending(
        finished.text, finished.thought, finished.token_ids, finished.stats, finished.reason, finished.dropped
    )


async def warmed(call: Call, request: Request, settings: Settings) -> Events:
    """The reply of no tokens: the prompt, if there is any, is read, so that what begins like it need not be again."""
    if not is_empty(request):
        await call.engine.warm(replace(request, max_tokens=0), settings)
    yield Finished("", (), "length", ReplyStats(replies=0, finish_reason="length"))
