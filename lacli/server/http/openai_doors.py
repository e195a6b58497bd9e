"""OpenAI's API: models, chat completions, completions; with and without /v1 in the path.

What changes the answer and is not served is refused by name; what is only a wish (user, store, reasoning effort) is
passed over, as are the sampling fields of other servers (min_p, samplers, id_slot and the like).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from lacli.config import Settings
from lacli.events import Finished, Piece, Prefill, Request
from lacli.server.http import openai_shapes as shapes
from lacli.server.http.asking import (
    MOST_INSERTED,
    MOST_TOKENS,
    content,
    conversation,
    insertion,
    is_empty,
    prompt,
    sampled,
)
from lacli.server.http.exchange import Call
from lacli.server.http.fields import Fields
from lacli.server.http.refusals import Refusal, not_served, wrong
from lacli.server.http.replies import Ending, Events, ending, events, warmed, whole
from lacli.server.http.wire import Streamed, Whole

_NOT_SERVED = (
    *("tools", "functions", "function_call", "logprobs", "top_logprobs", "logit_bias", "audio", "web_search_options"),
    *("frequency_penalty", "presence_penalty", "echo", "grammar", "json_schema", "guided_json"),
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, and how it is to be answered."""

    request: Request
    settings: Settings
    heading: shapes.Heading
    stream: bool
    tells_usage: bool
    """Whether a stream ends with a chunk of usage."""
    urgent: bool = False


async def models(call: Call) -> Whole:
    """GET /v1/models"""
    return Whole({"object": "list", "data": [_model(each.name, each.context) for each in await call.models()]})


def _model(name: str, context: int) -> dict[str, Any]:
    known = {"meta": {"n_ctx_train": context}} if context else {}
    return {"id": name, "object": "model", "created": 0, "owned_by": "lacli", **known}


async def chat(call: Call) -> Whole | Streamed:
    """POST /v1/chat/completions"""
    fields = call.fields
    _refuse(fields)
    request = replace(conversation(fields), max_tokens=_bound(fields, MOST_TOKENS), prediction=_prediction(fields))
    return await _answer(call, await _asked(call, request, shapes.ChatForm()))


async def completions(call: Call) -> Whole | Streamed:
    """POST /v1/completions: a prompt that goes on as it is, or the middle between it and a suffix."""
    fields = call.fields
    _refuse(fields)
    if fields.whole("best_of", 1) > 1:
        raise not_served("best_of")
    if type(fields.value("logprobs")) is int:  # 0, which is no number of other tokens, asks for the token's own
        raise not_served("logprobs")
    request, suffix = prompt(fields), fields.text("suffix")
    if suffix:
        if request.raw_ids:
            raise not_served("suffix", "goes with a prompt that is a string")
        request = insertion(call, request.raw, suffix)
    request = replace(request, max_tokens=_bound(fields, MOST_INSERTED), prediction=_prediction(fields))
    if is_empty(request) and request.max_tokens:
        raise wrong("prompt", "is empty")
    return await _answer(call, await _asked(call, request, shapes.TextForm(), urgent=True))


def _refuse(fields: Fields) -> None:
    fields.refuse(_NOT_SERVED)
    if fields.whole("n", 1) != 1:
        raise not_served("n", "only one choice is served")
    choice = fields.value("tool_choice")
    if choice not in (None, "none", "auto"):
        raise not_served("tool_choice")
    form = fields.inner("response_format").text("type", "text")
    if form != "text":
        raise not_served("response_format", f"{form[:40]!r} is not served, only text")
    kinds = fields.texts("modalities")
    if any(kind != "text" for kind in kinds):
        raise not_served("modalities", "only text is served")


def _bound(fields: Fields, default: int) -> int:
    """Most tokens, by the newest of the names that say it; 0 only reads the prompt."""
    for name in ("max_completion_tokens", "max_tokens", "n_predict"):
        if fields.has(name):
            most = fields.whole(name, default, -1)
            return default if most < 0 else most
    return default


def _prediction(fields: Fields) -> str:
    prediction = fields.inner("prediction")
    if not fields.has("prediction"):
        return ""
    if prediction.text("type", "content") != "content":
        raise wrong(prediction.at("type"), "is not 'content'")
    return content(prediction)


async def _asked(call: Call, request: Request, form: shapes.Form, urgent: bool = False) -> _Asked:
    fields = call.fields
    model = await call.model()
    return _Asked(
        request=sampled(fields, request, "repetition_penalty"),
        settings=call.settings(model),
        heading=shapes.Heading(form, model.name),
        stream=fields.flag("stream"),
        tells_usage=fields.inner("stream_options").flag("include_usage"),
        urgent=urgent,
    )


async def _answer(call: Call, asked: _Asked) -> Whole | Streamed:
    if asked.stream:
        return Streamed(_chunks(call, asked), shapes.SSE, shapes.failure, shapes.PING)
    async with aclosing(_events(call, asked)) as told:
        end = await whole(told)
    choice = asked.heading.form.whole(end.text, end.thought, end.word)
    return Whole(asked.heading.reply(choice, **_told(end)))


def _events(call: Call, asked: _Asked) -> Events:
    """Of the reply; where no token is wanted, the prompt is read for the next one."""
    if asked.request.max_tokens == 0:
        return warmed(call, asked.request, asked.settings)
    return events(call, asked.request, asked.settings, asked.urgent)


def _told(end: Ending) -> dict[str, Any]:
    """What every answer tells of how it came about."""
    stats = end.stats
    return {"usage": shapes.usage(stats), "metrics": shapes.metrics(stats), "timings": shapes.timings(stats)}


async def _chunks(call: Call, asked: _Asked) -> AsyncGenerator[bytes, None]:
    """A stream: an opening once the prompt is being read, the pieces, why it ended, the usage, the end mark."""
    heading, form = asked.heading, asked.heading.form
    nothing_yet = {"usage": None} if asked.tells_usage else {}
    opening = form.opening()
    end: Ending | None = None
    async with aclosing(_events(call, asked)) as told:
        async for event in told:
            if opening is not None and isinstance(event, Prefill | Piece | Finished):
                yield heading.chunk(opening, **nothing_yet)
                opening = None
            if isinstance(event, Piece) and (event.text or event.thought):
                yield heading.chunk(form.piece(event.text, event.thought), **nothing_yet)
            elif isinstance(event, Finished):
                end = ending(event)
    if end is None:
        raise Refusal(500, "the engine ended without an end")
    yield heading.chunk(form.last(end.word), **nothing_yet, timings=shapes.timings(end.stats))
    if asked.tells_usage:
        yield heading.chunk(**_told(end))
    yield shapes.DONE
