"""llama-server's own API, as llama.vim, llama.vscode and Continue use it.

Slots, samplers and time bounds of the prompt are passed over: a slot here is whatever was read before, and a bound of
one millisecond, which editors send to have something read ahead, would have nothing read.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import lacli
from lacli.config import Settings
from lacli.events import Attachment, Finished, Piece, Request
from lacli.server.http import openai_shapes as shapes
from lacli.server.http.asking import MOST_TOKENS, conversation, insertion, is_empty, prompt, sampled
from lacli.server.http.exchange import Call
from lacli.server.http.fields import Fields
from lacli.server.http.refusals import Refusal, llama_shape, not_served, wrong
from lacli.server.http.replies import Ending, Events, ending, events, warmed, whole
from lacli.server.http.wire import Streamed, Whole

_NOT_SERVED = (
    *("grammar", "json_schema", "mirostat", "n_probs", "logit_bias", "image_data", "frequency_penalty"),
    *("presence_penalty", "dry_multiplier", "xtc_probability"),
)
_MOST_CHOICES = 8
_UNNAMED = "tmp"
"""What llama-server calls a piece of a file without a name."""
_STALLED_S = 60.0
"""Without an event of the running reply the engine is taken for stuck."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, and how it is to be answered."""

    request: Request
    settings: Settings
    model: str
    prompt: str
    """As it is told again."""
    slot: int
    most_ms: float
    paths: tuple[str, ...] | None
    """The members of the answer that are wanted, by paths with slashes; None is all."""


async def infill(call: Call) -> Whole | Streamed:
    """POST /infill: what belongs between two texts."""
    fields = call.fields
    typed = fields.text("prompt")
    before, after = fields.text("input_prefix") + typed, fields.text("input_suffix")
    return await _answer(call, await _asked(call, insertion(call, before, after, _pieces(fields)), typed))


async def completion(call: Call) -> Whole | Streamed:
    """POST /completion: a prompt that goes on as it is."""
    request = replace(prompt(call.fields), max_tokens=MOST_TOKENS)
    asked = await _asked(call, request, request.raw)
    if is_empty(request) and asked.request.max_tokens:
        raise wrong("prompt", "is empty")
    return await _answer(call, asked)


async def health(call: Call) -> Whole:
    """GET /health: known without asking a worker, so also while one is at a prompt."""
    found = call.engine.health()
    told = {"running": found.running, "waiting": found.waiting}
    if found.quiet_s < _STALLED_S:
        return Whole({"status": "ok", **told})
    stalled = Refusal(503, f"the running request has brought nothing for {found.quiet_s:.0f} s")
    return Whole({"status": "stalled", **told, **llama_shape(stalled)}, status=503)


async def props(call: Call) -> Whole:
    """GET /props; wakes no worker."""
    model = (await call.models() or (None,))[0]
    context = call.services.settings.context or (model.context if model is not None else 0)
    told = {
        "default_generation_settings": {"n_ctx": context, "params": _parameters(Request(max_tokens=MOST_TOKENS))},
        "total_slots": 1,
        "model_path": model.name if model is not None else "",
        "model_alias": model.name if model is not None else "",
        "chat_template": "",
        "modalities": {"vision": False, "audio": False},
        "build_info": f"lacli {lacli.__version__}",
    }
    return Whole(told)


async def metrics(call: Call) -> Whole:
    """GET /metrics"""
    return Whole(call.services.counters.exposition(call.engine.health()), "text/plain; version=0.0.4; charset=utf-8")


async def tokenize(call: Call) -> Whole:
    """POST /tokenize: the ids of a text, its control tokens as such."""
    fields = call.fields
    fields.refuse(("with_pieces",))
    text, settings = fields.text("content"), call.settings(await call.model())
    if not text:
        return Whole({"tokens": []})
    shown = await call.engine.preview(Request(raw=text, max_tokens=0), settings)
    ids = shown.token_ids
    if not fields.flag("add_special") and shown.has_bos:
        ids = ids[1:]
    return Whole({"tokens": list(ids)})


async def detokenize(call: Call) -> Whole:
    """POST /detokenize: the text of ids."""
    value = call.fields.value("tokens")
    if not isinstance(value, list | None):
        raise wrong("tokens", "is not a list")
    settings = call.settings(await call.model())
    if not value:
        return Whole({"content": ""})
    request = replace(prompt(Fields({"tokens": value}), "tokens"), max_tokens=0)
    if not request.raw_ids:
        raise wrong("tokens", "is not a list of tokens")
    return Whole({"content": (await call.engine.preview(request, settings)).text})


async def apply_template(call: Call) -> Whole:
    """POST /apply-template: the prompt that messages make."""
    request = replace(conversation(call.fields), max_tokens=0)
    shown = await call.engine.preview(request, call.settings(await call.model()))
    return Whole({"prompt": shown.text})


def _pieces(fields: Fields) -> tuple[Attachment, ...]:
    given = (Attachment(each.text("filename") or _UNNAMED, each.text("text")) for each in fields.objects("input_extra"))
    return tuple(piece for piece in given if piece.text)


async def _asked(call: Call, request: Request, typed: str) -> _Asked:
    fields = call.fields
    fields.refuse(_NOT_SERVED)
    model = await call.model()
    most = fields.whole("n_predict", -1, -2)
    request = sampled(fields, replace(request, max_tokens=most) if most >= 0 else request, "repeat_penalty")
    wanted = fields.value("response_fields")
    if not isinstance(wanted, list | None) or not all(isinstance(each, str) for each in wanted or ()):
        raise wrong("response_fields", "is not a list of strings")
    return _Asked(
        request=request,
        settings=call.settings(model),
        model=model.name,
        prompt=typed,
        slot=fields.whole("id_slot", -1, -(2**31)),
        most_ms=fields.number("t_max_predict_ms", 0.0, -1.0),
        paths=tuple(wanted) if wanted else None,
    )


async def _answer(call: Call, asked: _Asked) -> Whole | Streamed:
    choices = call.fields.whole("n_cmpl", call.fields.whole("n", 1, 0, _MOST_CHOICES), 0, _MOST_CHOICES)
    if call.fields.flag("stream"):
        if choices > 1:
            raise not_served("n_cmpl", "more than one are not streamed")
        return Streamed(_chunks(call, asked), shapes.SSE, _failure, shapes.PING)
    told = []
    for index in range(max(1, choices)):
        request = asked.request
        if choices > 1:  # each begins with another token
            request = replace(request, beginning=index, begins_again=False)
        async with aclosing(_events(call, replace(asked, request=request))) as coming:
            end = await whole(coming, max(0.0, asked.most_ms))
        told.append(_chosen(_object(asked, end, index, call.fields.flag("return_tokens")), asked.paths))
    return Whole(told if choices > 1 else told[0])


def _events(call: Call, asked: _Asked) -> Events:
    if asked.request.max_tokens == 0:
        return warmed(call, asked.request, asked.settings)
    return events(call, asked.request, asked.settings, urgent=True)


async def _chunks(call: Call, asked: _Asked) -> AsyncGenerator[bytes, None]:
    async with aclosing(_events(call, asked)) as told:
        async for event in told:
            if isinstance(event, Piece) and event.text:
                counted = {"tokens_predicted": event.stats.predicted_n, "tokens_evaluated": event.stats.prompt_n}
                chunk = {"index": 0, "content": event.text, "tokens": [], "stop": False, "id_slot": asked.slot}
                yield shapes.event({**chunk, **counted})
            elif isinstance(event, Finished):
                last = _object(asked, replace(ending(event), text=""), 0, tokens=False)
                yield shapes.event(_chosen(last, asked.paths))


def _failure(refusal: Refusal) -> bytes:
    return shapes.event(llama_shape(refusal))


def _object(asked: _Asked, end: Ending, index: int, tokens: bool) -> dict[str, Any]:
    """All that llama-server tells of a completion."""
    stats = end.stats
    read = stats.prompt_n + stats.reused_n
    return {
        "index": index,
        "content": end.text,
        "tokens": list(end.token_ids) if tokens else [],
        "id_slot": asked.slot,
        "stop": True,
        "model": asked.model,
        "tokens_predicted": stats.predicted_n,
        "tokens_evaluated": read,
        "generation_settings": _parameters(asked.request),
        "prompt": asked.prompt,
        "has_new_line": "\n" in end.text,
        "truncated": bool(end.dropped),
        "stop_type": "limit" if end.word == "length" else "eos",
        "stopping_word": "",
        "tokens_cached": read + stats.predicted_n,
        "timings": shapes.timings(stats),
    }


def _parameters(request: Request) -> dict[str, Any]:
    return {
        "n_predict": request.max_tokens,
        "temperature": request.temperature,
        "top_k": request.top_k,
        "top_p": request.top_p,
        "repeat_penalty": request.repetition_penalty,
        "seed": -1 if request.seed is None else request.seed,
        "stop": list(request.stops),
    }


def _chosen(told: dict[str, Any], paths: tuple[str, ...] | None) -> dict[str, Any]:
    """The wanted members under the very paths by which they were asked for; what there is not is left out."""
    if paths is None:
        return told
    chosen = {}
    for path in paths:
        *outer, last = path.split("/")
        value: Any = told
        for name in outer:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, dict) and last in value:
            chosen[path] = value[last]
    return chosen
