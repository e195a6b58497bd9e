"""A request into the ids the model is given, cut to fit where the request allows it. Never silently.

Called by `assistant` only. Knows templates and tokens through `lacli.prompts` and `lacli.text`, nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacli.errors import PromptTooLong
from lacli.events import Message, Place, Request

if TYPE_CHECKING:
    from lacli.models.prepare import PreparedModel
    from lacli.prompts.chat import ChatPrompt
    from lacli.prompts.template import ChatTemplate
    from lacli.text.stops import Watcher
    from lacli.text.tokenizer import Tokenizer

_KEPT_SHARE = 0.75
"""Once turns must go, so many go that the next few turns fit, too: each loss costs a whole prefill."""


_CHARACTERS_A_TOKEN = 12
"""Far above what vocabularies reach on text and code."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is fed, and what must be known of it."""

    token_ids: tuple[int, ...]
    eos_ids: tuple[int, ...]
    watchers: tuple[Watcher, ...]
    """Further reasons to stop: repeating what stands behind the cursor."""
    last_line: str
    """The line that the reply continues; for judging whether it holds a secret."""
    text: str
    """All that was asked, as the user gave it; for the same."""
    dropped: int
    """Messages left out at the front."""
    notes: tuple[str, ...]
    """Lines for the user."""


def fitted(request: Request, prepared: PreparedModel, tokenizer: Tokenizer, context_size: int) -> Prompt:
    """The prompt of this request for this model. Raises PromptTooLong with the numbers."""
    room = context_size - request.max_tokens
    if request.place is None:
        return _conversation(request, prepared, tokenizer, context_size, room)
    return _completion(request, request.place, prepared, tokenizer, context_size, room)


def _conversation(
    request: Request, prepared: PreparedModel, tokenizer: Tokenizer, context_size: int, room: int
) -> Prompt:
    from lacli.prompts.template import load_template

    _check_roughly(request.messages[-1].text, request.max_tokens, context_size, tokenizer)
    notes = _unshowable(request.messages[-1].text, tokenizer)
    template = load_template(prepared.folder)
    messages = list(request.messages)
    rendered = _rendered(messages, template, tokenizer)
    if request.drop_oldest and len(rendered.token_ids) > room:
        while len(rendered.token_ids) > room * _KEPT_SHARE and _drop_turn(messages):
            rendered = _rendered(messages, template, tokenizer)
    _check(len(rendered.token_ids), request.max_tokens, context_size)
    dropped = len(request.messages) - len(messages)
    return Prompt(
        token_ids=rendered.token_ids,
        eos_ids=prepared.eos_ids,
        watchers=(),
        last_line="",
        text="\n".join(message.text for message in messages),
        dropped=dropped,
        notes=(*notes, *rendered.notes),
    )


def _drop_turn(messages: list[Message]) -> bool:
    """Leave out the oldest question with its answer; the system message and the last question stay."""
    first = 1 if messages[0].role == "system" else 0
    if len(messages) - first < 2:
        return False
    del messages[first]
    while len(messages) - first > 1 and messages[first].role != "user":
        del messages[first]
    return True


def _check(prompt: int, reserve: int, context_size: int) -> None:
    if prompt + reserve > context_size:
        left = context_size - prompt
        raise PromptTooLong(
            f"prompt {prompt:,} + reply {reserve:,} > context {context_size:,} tokens",
            f"use -n {left} or less" if left > 0 else "shorten the prompt",
        )


def _check_roughly(text: str, reserve: int, context_size: int, tokenizer: Tokenizer) -> None:
    """Refuse a text that is far too long by its beginning: to tokenise all of a huge one takes minutes."""
    reach = context_size * _CHARACTERS_A_TOKEN
    if len(text) <= reach:
        return
    begin = len(tokenizer.encode(text[:reach]))
    if begin > context_size:
        raise PromptTooLong(
            f"prompt about {begin * len(text) // reach:,} + reply {reserve:,} > context {context_size:,} tokens",
            "shorten the prompt",
        )


def _unshowable(text: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    count = tokenizer.unshowable(text)
    return (
        (f"{count} character{'s' if count > 1 else ''} of the prompt cannot be shown to this model",) if count else ()
    )


def _rendered(messages: Sequence[Message], template: ChatTemplate | None, tokenizer: Tokenizer) -> ChatPrompt:
    from lacli.prompts import chat

    turns = [chat.Message(message.role, message.text, message.token_ids) for message in messages]
    return chat.compose(turns, template, tokenizer)


def _completion(
    request: Request, place: Place, prepared: PreparedModel, tokenizer: Tokenizer, context_size: int, room: int
) -> Prompt:
    from lacli.prompts.fim import completion

    fits = room if request.drop_oldest and room > 0 else None
    made = completion(place.prefix, place.suffix, prepared.spec.fim, tokenizer, fits)
    _check(len(made.token_ids), request.max_tokens, context_size)
    reach = context_size * _CHARACTERS_A_TOKEN
    shown = place.prefix[-reach:] + (place.suffix[:reach] if prepared.spec.fim else "")
    return Prompt(
        token_ids=made.token_ids,
        eos_ids=(*prepared.eos_ids, *made.stop_ids),
        watchers=made.watchers,
        last_line=place.prefix.rpartition("\n")[2],
        text=place.prefix[-reach:] + "\n" + place.suffix[:reach],
        dropped=0,
        notes=(*_unshowable(shown, tokenizer), *made.notes),
    )
