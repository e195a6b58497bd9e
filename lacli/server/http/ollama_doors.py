"""ollama's API, for tools that look for it: generate, chat, tags, show, ps, version.

Models are named with or without `:latest`; they are kept and let go of as the server's own settings say, whatever
`keep_alive` asks for, and none is fetched, made or removed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import lacli
from lacli.config import Settings
from lacli.events import Finished, Message, Piece, Request
from lacli.server.http.asking import MOST_INSERTED, MOST_TOKENS, conversation, insertion, sampled
from lacli.server.http.catalogue import ServedModel, find
from lacli.server.http.exchange import Call
from lacli.server.http.fields import Fields
from lacli.server.http.refusals import Refusal, ollama_shape, wrong
from lacli.server.http.replies import Ending, Events, ending, events, warmed, whole
from lacli.server.http.wire import Streamed, Whole

NDJSON = "application/x-ndjson"
_LATEST = ":latest"
_NOT_SERVED = ("tools", "images", "format", "template", "context", "logprobs", "top_logprobs")
_NOT_SERVED_OPTIONS = ("mirostat", "frequency_penalty", "presence_penalty")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, and how it is to be answered."""

    request: Request
    settings: Settings
    model: str
    """As the client named it."""
    chat: bool
    urgent: bool


async def generate(call: Call) -> Whole | Streamed:
    """POST /api/generate: a prompt through the template, as it is (raw), or with what follows it (suffix)."""
    fields = call.fields
    text, suffix, system = fields.text("prompt"), fields.text("suffix"), fields.text("system")
    if suffix:
        asked = await _asked(call, insertion(call, text, suffix), MOST_INSERTED, urgent=True)
    elif not text:
        return await _nothing(call, chat=False)
    elif fields.flag("raw"):
        asked = await _asked(call, Request(raw=text), MOST_TOKENS, urgent=True)
    else:
        front = (Message("system", system),) if system else ()
        asked = await _asked(call, Request(messages=(*front, Message("user", text))), MOST_TOKENS)
    return await _answer(call, asked)


async def chat(call: Call) -> Whole | Streamed:
    """POST /api/chat"""
    if not call.fields.value("messages"):
        return await _nothing(call, chat=True)
    return await _answer(call, await _asked(call, conversation(call.fields), MOST_TOKENS, chat=True))


async def tags(call: Call) -> Whole:
    """GET /api/tags"""
    return Whole({"models": [_listed(each) for each in await call.models()]})


async def show(call: Call) -> Whole:
    """POST /api/show: what clients look for is whether it fills in the middle, and how much it reads."""
    name = call.fields.text("model") or call.fields.text("name")
    model = find(await call.models(), _plain(name, "model"))
    suffix = "{{ if .Suffix }}{{ .Suffix }}{{ end }}" if model.fills else ""
    told = {
        "license": model.licence,
        "modelfile": "",
        "parameters": "",
        "template": "{{ .System }}{{ .Prompt }}" + suffix,
        "details": _details(model),
        "model_info": {
            "general.architecture": "lacli",
            "general.parameter_count": model.parameters,
            "lacli.context_length": model.context,
        },
        "capabilities": ["completion", *(["insert"] if model.fills else [])],
    }
    return Whole(told)


async def loaded(call: Call) -> Whole:
    """GET /api/ps"""
    names = call.engine.health().models
    running = [each for each in await call.models() if each.setting in names]
    return Whole({"models": [{**_listed(each), "size_vram": 0} for each in running]})


async def version(call: Call) -> Whole:
    """GET /api/version"""
    return Whole({"version": lacli.__version__})


def _listed(model: ServedModel) -> dict[str, Any]:
    return {
        "name": model.name + _LATEST,
        "model": model.name + _LATEST,
        "modified_at": _time(datetime.fromtimestamp(model.modified, UTC)),
        "size": model.byte_size,
        "digest": model.digest,
        "details": _details(model),
    }


def _details(model: ServedModel) -> dict[str, Any]:
    size = model.parameters / 1e9
    return {
        "parent_model": "",
        "format": model.kind,
        "family": "lacli",
        "families": ["lacli"],
        "parameter_size": f"{size:.1f}B" if size >= 1 else f"{model.parameters / 1e6:.0f}M",
        "quantization_level": model.quant,
    }


def _plain(name: str, member: str) -> str:
    if not name:
        raise wrong(member, "is missing")
    return name.removesuffix(_LATEST)


def _now() -> str:
    return _time(datetime.now(UTC))


def _time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


async def _asked(call: Call, request: Request, most: int, chat: bool = False, urgent: bool = False) -> _Asked:
    fields = call.fields
    fields.refuse(_NOT_SERVED)
    options = fields.inner("options")
    options.refuse(_NOT_SERVED_OPTIONS)
    _check_keep_alive(fields)
    name = fields.text("model")
    model = find(await call.models(), _plain(name, "model"))
    bound = options.whole("num_predict", -1, -2)
    request = sampled(options, replace(request, max_tokens=most if bound < 0 else bound), "repeat_penalty")
    return _Asked(request, call.settings(model), name, chat, urgent)


def _check_keep_alive(fields: Fields) -> None:
    if not isinstance(fields.value("keep_alive"), str | int | float | None):
        raise wrong("keep_alive", "is neither a number nor a duration")


async def _nothing(call: Call, chat: bool) -> Whole:
    """A request without a prompt is for a model to be loaded, or let go of, ahead of time."""
    asked = await _asked(call, Request(raw="\n", max_tokens=0), 0, chat)
    leaves = call.fields.value("keep_alive") in (0, "0")
    if not leaves:
        async with aclosing(warmed(call, asked.request, asked.settings)) as told:
            await whole(told)
    text = {"message": {"role": "assistant", "content": ""}} if chat else {"response": ""}
    return Whole({**_head(asked), **text, "done": True, "done_reason": "unload" if leaves else "load"})


async def _answer(call: Call, asked: _Asked) -> Whole | Streamed:
    if call.fields.flag("stream", True):
        return Streamed(_lines(call, asked), NDJSON, _failure)
    async with aclosing(_events(call, asked)) as told:
        end = await whole(told)
    return Whole({**_head(asked), **_said(asked, end.text, end.thought), **_last(end)})


def _events(call: Call, asked: _Asked) -> Events:
    if asked.request.max_tokens == 0:
        return warmed(call, asked.request, asked.settings)
    return events(call, asked.request, asked.settings, asked.urgent)


async def _lines(call: Call, asked: _Asked) -> AsyncGenerator[bytes, None]:
    async with aclosing(_events(call, asked)) as told:
        async for event in told:
            if isinstance(event, Piece) and (event.text or event.thought):
                yield _line({**_head(asked), **_said(asked, event.text, event.thought), "done": False})
            elif isinstance(event, Finished):
                yield _line({**_head(asked), **_said(asked, "", ""), **_last(ending(event))})


def _head(asked: _Asked) -> dict[str, Any]:
    return {"model": asked.model, "created_at": _now()}


def _said(asked: _Asked, text: str, thought: str) -> dict[str, Any]:
    thinking = {"thinking": thought} if thought else {}
    if asked.chat:
        return {"message": {"role": "assistant", "content": text, **thinking}}
    return {"response": text, **thinking}


def _last(end: Ending) -> dict[str, Any]:
    stats = end.stats
    total = stats.load_ms + stats.prompt_ms + stats.predicted_ms
    return {
        "done": True,
        "done_reason": end.word,
        "total_duration": _nanoseconds(total),
        "load_duration": _nanoseconds(stats.load_ms),
        "prompt_eval_count": stats.prompt_n + stats.reused_n,
        "prompt_eval_duration": _nanoseconds(stats.prompt_ms),
        "eval_count": stats.predicted_n,
        "eval_duration": _nanoseconds(stats.predicted_ms),
    }


def _nanoseconds(ms: float) -> int:
    return round(ms * 1e6)


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _failure(refusal: Refusal) -> bytes:
    return _line(ollama_shape(refusal))
