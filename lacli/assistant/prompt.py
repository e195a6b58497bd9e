"""A request into the ids the model is given, cut to fit where the request allows it.

Never silently. Knows templates and tokens through `lacli.prompts` and `lacli.text`, nothing of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacli.errors import UsageError
from lacli.events import Message, Place, Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lacli.assistant.reading import Reading
    from lacli.completion.fit import Fit
    from lacli.completion.layout import Later, Shown
    from lacli.models.prepare.prepare import PreparedModel
    from lacli.text.stops import Watcher
    from lacli.text.tokenizer import Tokenizer


_TAIL = 32
"""Tokens at a prompt's end in which the mark that opens a thought stands, if there is one."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is fed, and what must be known of it."""

    token_ids: tuple[int, ...]
    eos_ids: tuple[int, ...]
    watchers: tuple[Watcher, ...]
    """Further reasons to stop: a block that is over, a text that was given again."""
    last_line: str
    """The line that the reply continues; for judging whether it holds a secret."""
    text: str
    """All that was asked, as the user gave it; for the same."""
    dropped: int
    """Messages left out at the front."""
    notes: tuple[str, ...]
    """Lines for the user."""
    shown: Message | None = None
    """The last question as it is shown, where a part of it was left out."""
    opened: bool | None = None
    """Whether the reply begins inside a thought that the template opened; None where no thought is told apart."""
    thinks: bool = False
    """Whether the model may think before it answers."""
    complete: bool = False
    """Of a completion: whether the place lacks nothing, so that the model may well be right to end at once."""
    fit: Fit | None = None
    """Of a completion: whether the file parses with a text there."""
    window: Shown | None = None
    """Of a completion: how much of what stands around the cursor is shown, where reading has a bound."""
    later: Later | None = None
    """Of a completion: what later ones near this place can reuse from the KV cache."""


def build_prompt(
    request: Request,
    prepared: PreparedModel,
    tokenizer: Tokenizer,
    context_size: int,
    reading: Reading | None = None,
) -> Prompt:
    """The prompt of this request for this model; `reading` says what its tokens cost.

    Raises PromptTooLong with the numbers.
    """
    if request.raw or request.raw_ids:
        return _raw(request, prepared, tokenizer, context_size)
    if request.place is None:
        return _conversation(request, prepared, tokenizer, context_size)
    return _completion(request, request.place, prepared, tokenizer, context_size, reading)


def _conversation(request: Request, prepared: PreparedModel, tokenizer: Tokenizer, context_size: int) -> Prompt:
    from lacli.prompts.messages import Room, rendered
    from lacli.prompts.template import load_template
    from lacli.prompts.turns import turn_ids
    from lacli.text.thoughts import knows_thoughts, opens_thought

    begun = tuple(tokenizer.encode(request.begun)) if request.begun else ()
    room = Room(context_size - len(begun), request.max_tokens, prepared.spec.context)
    template = load_template(prepared.folder, prepared.spec.chat_template)
    made = rendered(request, room, template, tokenizer)
    return Prompt(
        token_ids=(*made.token_ids, *begun),
        eos_ids=_united(prepared.eos_ids, tokenizer.end_ids, turn_ids(template, tokenizer) if template else ()),
        watchers=_ends(request, tokenizer),
        last_line="",
        text=made.text,
        dropped=made.dropped,
        notes=made.notes,
        shown=made.shown,
        opened=opens_thought(tokenizer.spelled(made.token_ids[-_TAIL:])) if template else None,
        thinks=template is not None and knows_thoughts(template.source),
    )


def _raw(request: Request, prepared: PreparedModel, tokenizer: Tokenizer, context_size: int) -> Prompt:
    """What was rendered by whoever asks; the marks of fill-in-the-middle end it, as they end a completion."""
    from lacli.models.registry.registry import load_registry
    from lacli.prompts.chat import with_bos
    from lacli.prompts.content import CHARACTERS_A_TOKEN
    from lacli.prompts.messages import Room, check
    from lacli.prompts.shorten import Size, size_of

    room = Room(context_size, request.max_tokens, prepared.spec.context)
    if len(request.raw) > context_size * CHARACTERS_A_TOKEN:  # to tokenise all of a huge text takes minutes
        check(size_of(request.raw, context_size, tokenizer), room)
    if any(not 0 <= token_id < tokenizer.vocab_size for token_id in request.raw_ids):
        raise UsageError("the prompt has ids that are no tokens of this model", "tokenize it with this model")
    token_ids = with_bos(request.raw_ids or tokenizer.encode(request.raw, control=True), tokenizer)
    check(Size(len(token_ids), True), room)
    fim = load_registry().fim_of(prepared.spec, tokenizer.id_of, prepared.fim)
    marks = (tokenizer.id_of(mark) for mark in ((*fim.needed, *fim.stop) if fim is not None else ()))
    text = request.raw or tokenizer.decode(token_ids)
    return Prompt(
        token_ids=tuple(token_ids),
        eos_ids=_united(prepared.eos_ids, tokenizer.end_ids, (mark for mark in marks if mark is not None)),
        watchers=(),
        last_line=text.rpartition("\n")[2],
        text=text,
        dropped=0,
        notes=(),
    )


def _united(*ids: Iterable[int]) -> tuple[int, ...]:
    """Every id of these, each once."""
    return tuple(dict.fromkeys(token_id for each in ids for token_id in each))


def _ends(request: Request, tokenizer: Tokenizer) -> tuple[Watcher, ...]:
    """What ends a reply that gives a text again; of that text the model sees what its vocabulary has."""
    if request.rewrites.strip():
        from lacli.edits.reply.ending import BlockEnd
        from lacli.edits.write.splice import visible

        return (BlockEnd(visible(request.rewrites, tokenizer.unseen(request.rewrites)), request.begun),)
    if request.one_block:
        from lacli.edits.reply.ending import FirstBlockEnd

        return (FirstBlockEnd(request.begun),)
    return ()


def _completion(
    request: Request,
    place: Place,
    prepared: PreparedModel,
    tokenizer: Tokenizer,
    context_size: int,
    reading: Reading | None,
) -> Prompt:
    from lacli.completion import window
    from lacli.completion.fim import completion
    from lacli.completion.layout import REACH_BEFORE
    from lacli.models.registry.registry import load_registry
    from lacli.prompts.messages import Room, check, unshowable
    from lacli.prompts.shorten import Size

    room = Room(context_size, request.max_tokens, prepared.spec.context)
    fim = load_registry().fim_of(prepared.spec, tokenizer.id_of, prepared.fim)
    most = room.prompt if request.drop_oldest and room.prompt > 0 else None
    # A request for no tokens is made so that the next one finds what it may show already read.
    budget = reading.budget(place.read_ms) if reading is not None and request.max_tokens else None
    made = completion(place, fim, tokenizer, most, budget)
    check(Size(len(made.token_ids), True), room)
    before, after = window.shown(place, most_before=REACH_BEFORE)
    return Prompt(
        token_ids=made.token_ids,
        eos_ids=_united(prepared.eos_ids, tokenizer.end_ids, made.stop_ids),
        watchers=made.watchers,
        last_line=place.prefix.rpartition("\n")[2],
        text="\n".join([before, after, *(piece.text for piece in place.context)]),
        dropped=0,
        notes=(*unshowable(before + after, tokenizer), *made.notes),
        complete=made.complete,
        fit=made.fit,
        window=made.shown,
        later=made.later,
    )
