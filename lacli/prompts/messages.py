"""A request's messages as the ids a model is given, cut to fit its context where the request allows it.

Whole old turns go first, then parts of what the last question is about; never its words where it has attachments, and
never silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.errors import PromptTooLong
from lacli.events import Message, Request
from lacli.prompts import chat
from lacli.prompts.content import CHARACTERS_A_TOKEN, composed
from lacli.prompts.shorten import Shortened, Size, shares, shortened, size_of
from lacli.prompts.template import ChatTemplate
from lacli.text.tokenizer import Tokenizer

_KEPT_SHARE = 0.75
"""Once turns must go, so many go that the next few turns fit, too: each loss costs a whole prefill."""
_HISTORY_SHARE = 2
"""Where the last question is cut, earlier turns keep at most one token in so many."""
_NEARLY = 0.8
"""Texts differ in how long their tokens are: so much of what is too much goes at once, the rest when it was counted."""
_TRIES = 5
"""A cut text's tokens are not quite those of its parts, so the room is corrected a few times."""
_ROUND_CONTEXT = 1024


@dataclass(frozen=True, slots=True)
class Room:
    """What a prompt must fit into."""

    context: int
    """Tokens of prompt and reply together."""
    reply: int
    """Tokens kept for the reply."""
    most: int = 0
    """The largest context the model could be given instead; 0 where none is larger."""

    @property
    def prompt(self) -> int:
        """Tokens the prompt may have."""
        return self.context - self.reply


@dataclass(frozen=True, slots=True)
class Rendered:
    """Messages that fit."""

    token_ids: tuple[int, ...]
    text: str
    """All that was asked, as the user gave it."""
    dropped: int
    """Messages left out at the front."""
    notes: tuple[str, ...]
    """Lines the user should see."""
    shown: Message | None = None
    """The last question, where a part of it was left out."""


def rendered(request: Request, room: Room, template: ChatTemplate | None, tokenizer: Tokenizer) -> Rendered:
    """The conversation of `request` up to where the reply begins. Raises PromptTooLong with the numbers."""
    fit = _Fit(request, room, template, tokenizer)
    if request.drop_oldest:
        fit.drop_hopeless()
    if request.truncate:
        fit.cut()
    fit.check_roughly()
    prompt = fit.render()
    if request.drop_oldest and len(prompt.token_ids) > room.prompt:
        goal = int(room.prompt * _KEPT_SHARE)
        while len(prompt.token_ids) > goal and fit.drop_turns(len(prompt.token_ids), goal):
            prompt = fit.render()
    fit.check(Size(len(prompt.token_ids), True))
    shown = [_shown(message) for message in fit.messages]
    dropped = len(request.messages) - len(fit.messages)
    notes = (*fit.notes, *unshowable(shown[-1], tokenizer), *prompt.notes)
    last = fit.messages[-1]
    return Rendered(prompt.token_ids, "\n".join(shown), dropped, notes, None if last is request.messages[-1] else last)


def check(size: Size, room: Room, remedies: Sequence[str] = ()) -> None:
    """Refuse a prompt that does not fit, naming what would help."""
    needed = size.tokens + room.reply
    if needed <= room.context:
        return
    hints = []
    if needed <= room.most:
        hints.append(f"--ctx {min(room.most, -(-needed // _ROUND_CONTEXT) * _ROUND_CONTEXT)}")
    if size.exact and size.tokens < room.context:
        hints.append(f"-n {room.context - size.tokens} or less")
    hints += remedies
    raise PromptTooLong(
        f"prompt {size} + reply {room.reply:,} > context {room.context:,} tokens",
        f"use {_either(hints)}" if hints else "shorten the prompt",
    )


def unshowable(text: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """A line for the user where the vocabulary lacks characters of this text."""
    count = tokenizer.unshowable(text)
    return (
        (f"{count} character{'s' if count > 1 else ''} of the prompt cannot be shown to this model",) if count else ()
    )


class _Fit:
    """The messages while they are being made to fit."""

    def __init__(self, request: Request, room: Room, template: ChatTemplate | None, tokenizer: Tokenizer) -> None:
        self.messages = list(request.messages)
        self.notes: list[str] = []
        self._request = request
        self._room = room
        self._template = template
        self._tokenizer = tokenizer
        self._reach = room.context * CHARACTERS_A_TOKEN

    def render(self, last: Message | None = None) -> chat.ChatPrompt:
        """All messages in the model's template, the last one as given here."""
        messages = [*self.messages[:-1], last or self.messages[-1]]
        turns = [chat.Message(each.role, _shown(each), each.token_ids) for each in messages]
        return chat.compose(turns, self._template, self._tokenizer)

    def drop_turn(self) -> bool:
        """Leave out the oldest question with its answer; the system message and the last question stay."""
        first = 1 if self.messages[0].role == "system" else 0
        if len(self.messages) - first < 2:
            return False
        del self.messages[first]
        while len(self.messages) - first > 1 and self.messages[first].role != "user":
            del self.messages[first]
        return True

    def drop_turns(self, size: int, goal: int) -> bool:
        """Leave out as many old turns, one at least, as will nearly bring `size` tokens down to `goal`.

        By their length, as rendering the rest is tokenising it, too long a thing to do for each turn that goes.
        """
        length = sum(map(_length, self.messages[:-1]))
        aim = length * (1 - _NEARLY * (size - goal) / size)
        dropped = self.drop_turn()
        while dropped and sum(map(_length, self.messages[:-1])) > aim and self.drop_turn():
            pass
        return dropped

    def drop_hopeless(self) -> None:
        """Leave out turns of more text than any vocabulary could fit, which need not even be tokenised."""
        while sum(map(_length, self.messages[:-1])) > self._reach and self.drop_turn():
            pass

    def check_roughly(self) -> None:
        """Refuse messages that are far too long by their beginning: to tokenise all of a huge text takes minutes."""
        if sum(map(_length, self.messages)) <= self._reach:
            return
        size = size_of("\n".join(map(_shown, self.messages)), self._room.context, self._tokenizer)
        if size.tokens > self._room.context:
            self.check(size)

    def check(self, size: Size) -> None:
        """Refuse what does not fit, with what would help here."""
        if size.tokens > self._room.prompt:
            check(size, self._room, ["--truncate head|middle|tail"] if self._can_cut() else [])

    def cut(self) -> None:
        """Leave out a part of what the last question is about, if that is what does not fit."""
        near = sum(map(_length, self.messages)) <= self._reach
        if near and len(self.render().token_ids) <= self._room.prompt:
            return
        question = self.messages[-1]
        if not self._frame_is_near():
            return
        texts = _parts(question)
        sizes = [size_of(text, self._room.context, self._tokenizer) for text in texts]
        # a conversation goes on: its next turns must fit, too, or this one is left out as a whole
        most = int(self._room.prompt * _KEPT_SHARE) if self._request.drop_oldest else self._room.prompt
        goal = most // _HISTORY_SHARE
        if self._request.drop_oldest and sum(size.tokens for size in sizes) <= goal:
            return  # it is what was said before that does not fit
        frame = self._frame()
        while self._request.drop_oldest and frame > goal and self.drop_turns(frame, goal):
            frame = self._frame()
        room = most - frame
        for _ in range(_TRIES):
            if room <= 0:
                return
            made = [
                shortened(text, tokens, self._request.truncate, self._tokenizer) if tokens < size.tokens else None
                for text, tokens, size in zip(texts, shares([size.tokens for size in sizes], room), sizes, strict=True)
            ]
            short = _with_parts(question, [new.text if new else old for new, old in zip(made, texts, strict=True)])
            over = len(self.render(short).token_ids) - most
            if over <= 0:
                if any(made):
                    self.messages[-1] = short
                    self._say(made, sizes)
                return
            room = sum(new.kept if new else size.tokens for new, size in zip(made, sizes, strict=True)) - over

    def _say(self, made: Sequence[Shortened | None], sizes: Sequence[Size]) -> None:
        labels = [each.label for each in self.messages[-1].attachments] or ["the prompt"]
        self.notes += [
            f"the {self._request.truncate} of {label} was left out: {new.kept:,} of {size} tokens fit"
            for label, new, size in zip(labels, made, sizes, strict=True)
            if new
        ]

    def _frame(self) -> int:
        """Tokens of all but the parts that may be cut."""
        last = self.messages[-1]
        return len(self.render(_with_parts(last, [""] * len(_parts(last)))).token_ids)

    def _can_cut(self) -> bool:
        """Whether leaving out a part of the last question would be enough."""
        return not self._request.truncate and self._frame_is_near() and self._frame() < self._room.prompt

    def _frame_is_near(self) -> bool:
        """Whether all but the parts that may be cut is short enough to be rendered in no time."""
        last = self.messages[-1]
        words = len(last.text) if last.attachments else 0
        return sum(map(_length, self.messages[:-1])) + words <= self._reach


def _parts(message: Message) -> list[str]:
    """What may be cut of a message."""
    return [each.text for each in message.attachments] or [message.text]


def _with_parts(message: Message, texts: Sequence[str]) -> Message:
    if not message.attachments:
        return replace(message, text=texts[0])
    pairs = zip(message.attachments, texts, strict=True)
    return replace(message, attachments=tuple(replace(each, text=text) for each, text in pairs))


def _shown(message: Message) -> str:
    return composed(message.text, message.attachments)


def _length(message: Message) -> int:
    return len(message.text) + sum(len(each.text) for each in message.attachments)


def _either(choices: Sequence[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
