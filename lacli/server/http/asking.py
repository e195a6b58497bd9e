"""What clients ask, as requests to the engine: sampling, messages, places in a file. Shared by all APIs.

Where a client says nothing the defaults are those of `lacli ask` and `lacli complete`, so greedy; lengths differ: no
client can see a default, so it is one that cuts little off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lacli.completion.window import REACH, READ_MS
from lacli.events import Attachment, Message, Place, Request, Role
from lacli.server.http.exchange import Call
from lacli.server.http.fields import Fields
from lacli.server.http.refusals import not_served, wrong

MOST_TOKENS = 2048
"""Of a reply to a client that names no bound."""
MOST_INSERTED = 256
"""The same of what is put in between."""
_TINY = 1e-9
_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def sampled(fields: Fields, request: Request, penalty: str = "") -> Request:
    """The request with what the body says of drawing tokens, and of where to stop.

    penalty: what the API calls a repetition penalty, where it has one.
    """
    seed = fields.whole("seed", -1, -(2**63), 2**63 - 1)
    factor = fields.number(penalty, 1.0, _TINY, 1e6) if penalty else 1.0
    return replace(
        request,
        temperature=fields.number("temperature", 0.0, 0.0, 1e6),
        top_p=max(_TINY, fields.number("top_p", 1.0, 0.0, 1.0)),
        top_k=max(0, fields.whole("top_k", 0, -(2**31))),
        repetition_penalty=factor,
        seed=seed if seed >= 0 else None,
        stops=fields.texts("stop"),
    )


def conversation(fields: Fields, name: str = "messages") -> Request:
    """What the messages of a chat ask. System texts stand in front, wherever they were given; a reply that has been
    begun by its last message goes on."""
    system: list[str] = []
    said: list[Message] = []
    for each in fields.objects(name):
        role = each.text("role")
        if role not in _ROLES:
            known = ", ".join(_ROLES)
            raise wrong(each.at("role"), f"{role[:40]!r} is not served; there are {known}")
        each.refuse(("tool_calls", "function_call", "images", "audio"))
        text = content(each)
        if _ROLES[role] == "system":
            system.append(text)
        else:
            said.append(Message(_ROLES[role], text))
    begun = said.pop().text if said and said[-1].role == "assistant" else ""
    if not said or said[-1].role != "user":
        raise wrong(fields.at(name), "the last one is not the user's")
    front = (Message("system", "\n\n".join(system)),) if any(system) else ()
    return Request(messages=(*front, *said), begun=begun)


def content(fields: Fields, name: str = "content") -> str:
    """A text, or its parts."""
    value = fields.value(name)
    if not isinstance(value, list):
        return fields.text(name)
    if any(isinstance(part, str) for part in value):
        raise wrong(fields.at(name), "a part of it is not an object")
    parts = []
    for part in fields.objects(name):
        kind = part.text("type", "text")
        if kind != "text":
            raise not_served(part.at("type"), f"{kind[:40]!r} is not served, only text")
        parts.append(part.text("text"))
    return "\n".join(parts)


def prompt(fields: Fields, name: str = "prompt") -> Request:
    """A prompt that the client has rendered: a text, or the ids of its tokens."""
    value: Any = fields.value(name)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str | list):
        value = value[0]  # a list of one prompt
    if isinstance(value, str):
        return Request(raw=Fields({name: value}).text(name))
    if value is None:
        return Request()
    if isinstance(value, list) and all(type(each) is int and 0 <= each < 2**31 for each in value):
        return Request(raw_ids=tuple(value))
    if isinstance(value, list) and value and all(isinstance(each, str | list) for each in value):
        raise not_served(fields.at(name), "only one prompt a request is served")
    raise wrong(fields.at(name), "is neither a string nor a list of tokens")


def insertion(call: Call, before: str, after: str, context: tuple[Attachment, ...] = ()) -> Request:
    """What belongs between two texts, asked and ended as `lacli complete` does."""
    place = Place(
        prefix=before[-REACH:].replace("\r\n", "\n"),
        suffix=after[:REACH].replace("\r\n", "\n"),
        project=call.project.name if call.project is not None else "",
        read_ms=READ_MS,
        scope="block",
        context=context,
    )
    return Request(place=place, max_tokens=MOST_INSERTED, drop_oldest=True, begins_again=True, tried_once=True)


def is_empty(request: Request) -> bool:
    """Whether there is nothing to go on from."""
    place = request.place
    around = place is not None and (place.prefix or place.suffix or place.context)
    return not (request.messages or request.raw or request.raw_ids or around)
