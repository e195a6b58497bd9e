"""A request in the form its server takes: which path, which body, and how the answer is to be read.

A chat goes to the chat API, or rendered to the completions API where the user's table says raw. A completion goes to
the completions API with the model's own markers, as ids where its tokenizer is here; where the markers are not known it
goes to what the server has for such places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from lacli.assistant.base import Cancel, never
from lacli.errors import UsageError
from lacli.events import Message, Place, Request
from lacli.prompts.content import composed
from lacli.remote import server as servers
from lacli.remote.known import KnownModel
from lacli.remote.server import Server
from lacli.remote.words import Words

if TYPE_CHECKING:
    from lacli.completion.fim import Completion
    from lacli.models.registry.fim_markers import FimMarkers
    from lacli.text.stops import Watcher
    from lacli.text.tokenizer import Tokenizer

_MOST_STOPS = 4
"""More of them OpenAI refuses; those left out end the reply here all the same."""
_ASSISTANT_GOES_ON = ("vllm", "sglang", "llama-server", "lacli")
"""Kinds that go on with a last message of the assistant's."""
_PREDICTS = ("lacli", "openai")
_INFILLS = ("llama-server", "lacli")
_TAKES_IDS = ("vllm", "sglang", "llama-server", "lacli", "openai")
_NAMES = {
    "vllm": {"top_k": "top_k", "repetition_penalty": "repetition_penalty"},
    "sglang": {"top_k": "top_k", "repetition_penalty": "repetition_penalty"},
    "lacli": {"top_k": "top_k", "repetition_penalty": "repetition_penalty"},
    "llama-server": {"top_k": "top_k", "repetition_penalty": "repeat_penalty"},
    "ollama": {},
    "openai": {},
}
"""What a kind calls the ways of sampling that OpenAI's API lacks."""

Reader = Callable[[Mapping[str, Any]], tuple[str, str, str]]
"""From an object of the answer the text, the thought and why it ended, each empty where it has none."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is sent, and how what comes is read."""

    url: str
    body: dict[str, Any]
    read: Reader
    watchers: tuple[Watcher, ...] = ()
    """Reasons of ours to end the reply."""
    thoughts: bool = False
    """Whether the text may hold what the model thinks."""
    notes: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    """Members of the body that are left out where the server refuses them by name."""
    sent: tuple[str, ...] = field(default=(), repr=False)
    """All texts of the user's in it, for the search for secrets."""
    otherwise: Callable[[], Call] | None = None
    """What is asked where the server cannot do this."""


def call_of(server: Server, known: KnownModel, request: Request, prediction: str = "", cancel: Cancel = never) -> Call:
    """The request as this server takes it. Raises LacliError where it cannot, or Cancelled."""
    if request.place is not None:
        return _completion(server, known, request, request.place, cancel)
    if request.raw or request.raw_ids:
        return _text(server, request, request.raw or list(request.raw_ids), sent=(request.raw,))
    if server.remote.api == "raw":
        return _rendered(server, known, request, cancel)
    return _chat(server, request, prediction)


def goes_on(server: Server) -> bool:
    """Whether a reply can be begun for the model."""
    return server.kind in _ASSISTANT_GOES_ON and server.remote.api == "chat"


def texts_of(request: Request) -> tuple[str, ...]:
    """What is sent of messages, and of a reply that is begun."""
    return (*map(_shown, request.messages), *filter(None, [request.begun]))


def _chat(server: Server, request: Request, prediction: str) -> Call:
    body = _body(server, request)
    messages = [{"role": each.role, "content": _shown(each)} for each in request.messages]
    if request.begun and goes_on(server):
        messages.append({"role": "assistant", "content": request.begun})
        if server.kind in ("vllm", "sglang"):
            body |= {"continue_final_message": True}
            body |= {"add_generation_prompt": False} if server.kind == "vllm" else {}
    body["messages"] = messages
    if prediction and server.kind in _PREDICTS:
        body["prediction"] = {"type": "content", "content": prediction}
    return Call(
        url=f"{server.remote.base}/chat/completions",
        body=body,
        read=_read_chat,
        watchers=_ends(request),
        thoughts=not request.begun,
        notes=_left_out(server, request),
        optional=("prediction", "stream_options", "seed", "stop", "max_tokens"),
        sent=texts_of(request),
    )


def _rendered(server: Server, known: KnownModel, request: Request, cancel: Cancel) -> Call:
    """Messages in the model's own template."""
    if known.tokenizer is not None and server.kind in _TAKES_IDS:
        from lacli.prompts import chat

        turns = [chat.Message(each.role, _shown(each), each.token_ids) for each in request.messages]
        made = chat.compose(turns, known.template, known.tokenizer)
        return _text(server, request, list(made.token_ids), _ends(request), texts_of(request), made.notes, True)
    if server.kind == "llama-server":
        messages = [{"role": each.role, "content": _shown(each)} for each in request.messages]
        url = f"{server.remote.root}/apply-template"
        made_there = servers.ask(server, url, {"messages": messages}, cancel) or {}
        if isinstance(made_there.get("prompt"), str):
            return _text(server, request, made_there["prompt"], _ends(request), texts_of(request), (), True)
    raise UsageError(
        f'{server.remote.title} is set to api = "raw", and the template of {server.model} is not known here',
        f"set tokenizer in [remotes.{server.remote.name}] to a model that is prepared, or api to chat",
    )


def _completion(server: Server, known: KnownModel, request: Request, place: Place, cancel: Cancel) -> Call:
    """What belongs at a place in a file."""
    room = server.context - request.max_tokens if server.context and request.drop_oldest else None
    tokenizer = known.tokenizer
    markers = known.markers or _markers_there(server, known, cancel)
    if markers is None and known.spec is None and server.kind in (*_INFILLS, "ollama", "openai"):
        made = _insertion(server, request, place)
        return replace(made, otherwise=lambda: _completion_of(server, request, place, None, None, room))
    return _completion_of(server, request, place, tokenizer, markers, room)


def _completion_of(
    server: Server,
    request: Request,
    place: Place,
    tokenizer: Tokenizer | None,
    markers: FimMarkers | None,
    room: int | None,
) -> Call:
    """The same by a prompt of ours."""
    from lacli.completion.fim import completion

    if tokenizer is not None:
        made = completion(place, markers, tokenizer, room)
        prompt: str | list[int] = list(made.token_ids)
        sent = tokenizer.decode(made.token_ids)
        if server.kind not in _TAKES_IDS:
            prompt = tokenizer.spelled(made.token_ids)
    else:
        words = cast("Tokenizer", Words(_all_markers(markers)))
        made = completion(place, markers, words, room)
        prompt, sent = words.spelled(made.token_ids), words.decode(made.token_ids)
    call = _text(server, request, prompt, made.watchers, (sent,), made.notes)
    _end_there(server, call.body, made, markers, tokenizer is not None)
    return call


def _insertion(server: Server, request: Request, place: Place) -> Call:
    """The same by what the server itself has for it."""
    from lacli.completion.cursor import cursor_of
    from lacli.completion.fim import rules
    from lacli.completion.window import shown

    cursor = cursor_of(place)
    before, after = shown(place)
    ends, text = (rules(place, cursor),), (before, after, *(piece.text for piece in place.context))
    if server.kind == "openai":
        call = _text(server, request, before, ends, text)
        call.body["suffix"] = after
        return call
    if server.kind == "ollama":
        return _generate(server, request, {"prompt": before, "suffix": after}, ends, text)
    body = _body(server, request)
    body |= {"input_prefix": before, "input_suffix": after, "prompt": "", "n_predict": request.max_tokens}
    body["input_extra"] = [{"text": piece.text, "filename": piece.label} for piece in place.context]
    return Call(f"{server.remote.root}/infill", body, _read_content, watchers=ends, sent=text)


def _text(
    server: Server,
    request: Request,
    prompt: str | list[int],
    watchers: tuple[Watcher, ...] = (),
    sent: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    thoughts: bool = False,
) -> Call:
    """A prompt that goes on as it is."""
    if server.kind == "ollama":  # its own door for completions puts a prompt into the chat template
        if not isinstance(prompt, str):
            raise UsageError(f"{server.remote.title} takes no ids of tokens", "give the prompt as text")
        return _generate(server, request, {"prompt": prompt, "raw": True}, watchers, sent, notes)
    body = _body(server, request)
    body["prompt"] = prompt
    url, notes = f"{server.remote.base}/completions", (*notes, *_left_out(server, request))
    return Call(url, body, _read_text, watchers, thoughts, notes, ("stream_options", "seed", "stop"), sent)


def _generate(
    server: Server,
    request: Request,
    asked: dict[str, Any],
    watchers: tuple[Watcher, ...],
    sent: tuple[str, ...],
    notes: tuple[str, ...] = (),
) -> Call:
    """ollama's own door."""
    options: dict[str, Any] = {"temperature": request.temperature, "num_predict": request.max_tokens}
    options |= {"top_p": request.top_p} if request.top_p < 1 else {}
    options |= {"top_k": request.top_k} if request.top_k else {}
    options |= {"repeat_penalty": request.repetition_penalty} if request.repetition_penalty != 1 else {}
    options |= {"seed": request.seed} if request.seed is not None else {}
    options |= {"stop": list(request.stops)} if request.stops else {}
    body = {"model": server.model, "stream": True, "options": options, **asked}
    return Call(f"{server.remote.root}/api/generate", body, _read_ollama, watchers, notes=notes, sent=sent)


def _body(server: Server, request: Request) -> dict[str, Any]:
    """What every request to an API like OpenAI's has, and what its kind takes besides."""
    body: dict[str, Any] = {
        "model": server.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    body |= {"top_p": request.top_p} if request.top_p < 1 else {}
    body |= {"seed": request.seed} if request.seed is not None else {}
    body |= {"stop": list(request.stops[:_MOST_STOPS])} if request.stops else {}
    for field_name, name in _NAMES[server.kind].items():
        value, neutral = getattr(request, field_name), 0 if field_name == "top_k" else 1
        body |= {name: value} if value != neutral else {}
    if server.kind in ("vllm", "sglang"):
        body["stream_options"]["continuous_usage_stats"] = True
    if server.kind == "sglang":
        body["return_spec_tokens_details"] = True
    if server.kind == "llama-server":
        body |= {"timings_per_token": True, "cache_prompt": True}
    return body


def _left_out(server: Server, request: Request) -> tuple[str, ...]:
    """A note naming the options that were given and that this server does not have."""
    wanted = {
        "top_k": request.top_k,
        "repetition_penalty": request.repetition_penalty != 1,
        "truncate": request.truncate,  # no server shortens a message by our rules; a prompt too long it refuses
    }
    missing = [name for name, is_wanted in wanted.items() if is_wanted and name not in _NAMES[server.kind]]
    shown = " and ".join(f"--{name.replace('_', '-')}" for name in missing)
    ignored = "they are ignored" if len(missing) > 1 else "it is ignored"
    return (f"{server.remote.title} takes no {shown}: {ignored}",) if missing else ()


def _end_there(
    server: Server, body: dict[str, Any], made: Completion, markers: FimMarkers | None, knows_ids: bool
) -> None:
    """Have the server end a completion where the model's markers would, too."""
    if knows_ids and made.stop_ids and server.kind in ("vllm", "sglang"):
        body["stop_token_ids"] = list(made.stop_ids)
    elif markers is not None and server.kind != "ollama":
        told = [*body.get("stop", ()), *markers.stop, *markers.needed]
        body["stop"] = told[:_MOST_STOPS] if server.kind == "openai" else told


def _markers_there(server: Server, known: KnownModel, cancel: Cancel) -> FimMarkers | None:
    """The format of a model that is not known here, by whether its own server has the markers as single tokens."""
    doors = {
        "vllm": (f"{server.remote.root}/tokenize", "prompt", {"add_special_tokens": False}),
        "sglang": (f"{server.remote.base}/tokenize", "prompt", {"add_special_tokens": False}),
    }
    if known.spec is not None or server.kind not in doors:
        return None
    url, name, more = doors[server.kind]
    from lacli.models.registry.fim_markers import family_of

    found: dict[str, int | None] = {}
    answers = True

    def id_of(marker: str) -> int | None:
        nonlocal answers
        if marker not in found and answers:
            told = servers.ask(server, url, {"model": server.model, name: marker, **more}, cancel)
            answers = told is not None
            ids = (told or {}).get("tokens")
            found[marker] = ids[0] if isinstance(ids, list) and len(ids) == 1 and type(ids[0]) is int else None
        return found.get(marker)

    return family_of(known.registry.fim.values(), id_of)


def _all_markers(markers: FimMarkers | None) -> tuple[str, ...]:
    if markers is None:
        return ()
    return (*markers.needed, *filter(None, (*markers.stop, markers.file_separator, markers.repository)))


def _ends(request: Request) -> tuple[Watcher, ...]:
    """What ends a reply that gives a text again."""
    if request.rewrites.strip():
        from lacli.edits.reply.ending import BlockEnd

        return (BlockEnd(request.rewrites, request.begun),)
    if request.one_block:
        from lacli.edits.reply.ending import FirstBlockEnd

        return (FirstBlockEnd(request.begun),)
    return ()


def _shown(message: Message) -> str:
    return composed(message.text, message.attachments)


def _read_chat(chunk: Mapping[str, Any]) -> tuple[str, str, str]:
    choice = _choice(chunk)
    said = choice.get("delta")
    said = said if isinstance(said, dict) else choice.get("message")
    said = said if isinstance(said, dict) else {}
    return _str(said.get("content")), _str(said.get("reasoning_content") or said.get("reasoning")), _ended(choice)


def _read_text(chunk: Mapping[str, Any]) -> tuple[str, str, str]:
    choice = _choice(chunk)
    return _str(choice.get("text")), "", _ended(choice)


def _read_content(chunk: Mapping[str, Any]) -> tuple[str, str, str]:
    ended = _str(chunk.get("stop_type")) or "stop" if chunk.get("stop") is True else ""
    return _str(chunk.get("content")), "", "length" if ended == "limit" else ended


def _read_ollama(chunk: Mapping[str, Any]) -> tuple[str, str, str]:
    ended = _str(chunk.get("done_reason")) or "stop" if chunk.get("done") is True else ""
    return _str(chunk.get("response")), _str(chunk.get("thinking")), ended


def _choice(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = chunk.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _ended(choice: Mapping[str, Any]) -> str:
    return _str(choice.get("finish_reason"))


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
