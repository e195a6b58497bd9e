"""A conversation into the ids a model is given: its own template, and no control id from anything a user wrote.

The frame a template puts around the messages is trusted, the messages are not: markers typed in them are hidden from
the template and put back as plain text.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lacli.errors import LacliError, UsageError
from lacli.models.hf.chat_template import ChatTemplate, Fails, Refused
from lacli.text.tokenizer import Tokenizer

_FOLDED = "this model's template takes no system message; it was put in front of the first question"
_NO_TEMPLATE = "this model has no chat template: it continues the text as it stands"
_PRIVATE = 0x100000  # Unicode's last private plane: no template changes such characters, no text has them


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: str
    """system, user or assistant"""
    content: str
    token_ids: tuple[int, ...] = ()
    """For an assistant's turn the ids the model wrote, where known; used instead of tokenising `content` again."""


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """What a model is given."""

    token_ids: tuple[int, ...]
    """With exactly one BOS where the model wants one."""
    notes: tuple[str, ...]
    """Lines the user should see."""


def render(messages: Sequence[Message], template: ChatTemplate | None, tokenizer: Tokenizer) -> list[int]:
    """The ids of `compose`, without its notes."""
    return list(compose(messages, template, tokenizer).token_ids)


def compose(messages: Sequence[Message], template: ChatTemplate | None, tokenizer: Tokenizer) -> ChatPrompt:
    """The conversation up to where the reply begins; without a template plain text to be continued."""
    if template is None:
        text = "\n\n".join(message.content for message in messages)
        return ChatPrompt(tuple(with_bos(tokenizer.encode(text), tokenizer)), (_NO_TEMPLATE,))
    now = datetime.now()
    refusals: list[Fails | Refused] = []
    for parts in (False, True):
        for attempt, notes in _attempts(messages):
            try:
                segments = _segments(attempt, template, tokenizer, now, parts)
            except (Fails, Refused) as error:
                refusals.append(error)
                continue
            token_ids = [token_id for part in segments for token_id in _encode(part, tokenizer)]
            return ChatPrompt(tuple(with_bos(token_ids, tokenizer)), notes)
    raise _worst(refusals, template, any(message.role == "system" for message in messages))


def _worst(refusals: Sequence[Fails | Refused], template: ChatTemplate, has_system: bool) -> LacliError:
    """What to say where no form of the conversation was taken: rather that messages were refused than what failed."""
    plain = next((error for error in refusals if not isinstance(error, Fails)), None)
    if plain is None and isinstance(refusals[0], Fails):
        return refusals[0]
    return UsageError(
        f"the chat template {template.path} refuses this conversation: {plain}",
        "leave out the system message, or use another model" if has_system else "use another model",
    )


def with_bos(token_ids: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """These ids with one BOS in front where the model wants it, and never with two."""
    bos, start = tokenizer.bos_id, 0
    if bos is None:
        return list(token_ids)
    while start < len(token_ids) and token_ids[start] == bos:
        start += 1
    return [bos] * (start > 0 or tokenizer.adds_bos) + list(token_ids[start:])


def _attempts(messages: Sequence[Message]) -> Iterator[tuple[list[Message], tuple[str, ...]]]:
    """The conversation as it is, then milder forms of it for templates that refuse more than others."""
    yield list(messages), ()
    yield _alternating(messages), ()
    if any(message.role == "system" for message in messages):
        folded = _folded(messages)
        yield folded, (_FOLDED,)
        yield _alternating(folded), (_FOLDED,)


def _alternating(messages: Sequence[Message]) -> list[Message]:
    """Neighbours of one role joined, and nothing of the assistant's before the first question.

    A cancelled turn leaves a question without an answer, a shortened conversation may begin with an answer.
    """
    result: list[Message] = []
    for message in messages:
        if message.role == "assistant" and all(earlier.role == "system" for earlier in result):
            continue
        if result and result[-1].role == message.role:
            before = result.pop()
            message = Message(message.role, f"{before.content}\n\n{message.content}")
        result.append(message)
    return result


def _folded(messages: Sequence[Message]) -> list[Message]:
    """The system text in front of the first question."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    for index, message in enumerate(rest):
        if message.role == "user":
            rest[index] = replace(message, content=f"{system}\n\n{message.content}")
            return rest
    return [Message("user", system), *rest]


@dataclass(frozen=True, slots=True)
class _Written:
    """A content as ids the model wrote itself."""

    token_ids: tuple[int, ...]


_Segment = list[str | int] | _Written


def _encode(segment: _Segment, tokenizer: Tokenizer) -> Sequence[int]:
    return segment.token_ids if isinstance(segment, _Written) else tokenizer.encode_segments(segment)


class _Hider:
    """Stand-ins that no user can guess and no template changes."""

    def __init__(self) -> None:
        self._nonce = "".join(chr(_PRIVATE + 256 + secrets.randbelow(0xF000)) for _ in range(4))
        self._texts: list[str] = []
        self._pattern = re.compile(f"{self._nonce}([{chr(_PRIVATE)}-{chr(_PRIVATE + 255)}]{{2}})")

    def hide(self, text: str) -> str:
        """A stand-in for `text`."""
        if text not in self._texts:
            self._texts.append(text)
        high, low = divmod(self._texts.index(text), 256)
        return f"{self._nonce}{chr(_PRIVATE + high % 256)}{chr(_PRIVATE + low)}"

    def split(self, text: str) -> list[str]:
        """Odd entries are what stand-ins stood for, even ones the text between them."""
        parts = self._pattern.split(text)
        for index in range(1, len(parts), 2):
            high, low = (ord(letter) - _PRIVATE for letter in parts[index])
            parts[index] = self._texts[high * 256 + low]
        return parts


def _segments(
    messages: Sequence[Message], template: ChatTemplate, tokenizer: Tokenizer, now: datetime, as_parts: bool
) -> list[_Segment]:
    """The rendered conversation in pieces. Raises `Refused` also where the template leaves out a message.

    Rendered twice: with the contents (typed markers hidden), since templates trim and test them, and with a stand-in
    for each content, which shows the bare frame. The first must hold the very markers of the second.
    """

    def rendered(contents: Sequence[str]) -> str:
        return template.render(_roles(messages, contents), tokenizer.specials, now, parts=as_parts)

    hider, frames = _Hider(), _Hider()
    hidden = [_hide_markers(message.content, tokenizer, hider) for message in messages]
    stand_ins = [frames.hide(str(i)) if message.content else "" for i, message in enumerate(messages)]
    shown = rendered(hidden)
    parts = frames.split(rendered(stand_ins))
    there = {int(index) for index in parts[1::2]}
    for i, (message, content) in enumerate(zip(messages, hidden, strict=True)):
        left_out = message.role == "system" and content.strip() not in shown
        if content.strip() and i not in there:  # some templates look into a text, and show what they find there
            left_out |= rendered([*hidden[:i], stand_ins[i], *hidden[i + 1 :]]) == shown
        if left_out:
            raise Refused(f"it leaves out {_named(message, i == len(messages) - 1)}")
    for contents in (hidden, [content.strip() for content in hidden]):
        filled = [contents[int(part)] if i % 2 else part for i, part in enumerate(parts)]
        if "".join(filled) == shown:
            return _with_written(parts, contents, messages, tokenizer, hider)
    if [part for part in tokenizer.split_markers(shown) if isinstance(part, int)] == [
        part for text in parts[::2] for part in tokenizer.split_markers(text) if isinstance(part, int)
    ]:
        return [_revealed(shown, tokenizer, hider)]
    return _with_written(parts, hidden, messages, tokenizer, hider)


def _named(message: Message, is_last: bool) -> str:
    if message.role == "system":
        return "the system message"
    return "an earlier answer" if message.role == "assistant" else "the question" if is_last else "an earlier question"


def _roles(messages: Sequence[Message], contents: Sequence[str]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": content} for message, content in zip(messages, contents, strict=True)]


def _hide_markers(content: str, tokenizer: Tokenizer, hider: _Hider) -> str:
    return "".join(
        part if isinstance(part, str) else hider.hide(tokenizer.text_of(part))
        for part in tokenizer.split_markers(content)
    )


def _revealed(text: str, tokenizer: Tokenizer, hider: _Hider) -> list[str | int]:
    """Trusted text with stand-ins: its markers as ids, what was hidden as text."""
    segment: list[str | int] = []
    for index, part in enumerate(hider.split(text)):
        segment += [part] if index % 2 else tokenizer.split_markers(part)
    return segment


def _with_written(
    parts: Sequence[str], contents: Sequence[str], messages: Sequence[Message], tokenizer: Tokenizer, hider: _Hider
) -> list[_Segment]:
    """The frame with its contents, an assistant's as the ids it wrote where they still spell the same text."""
    result: list[_Segment] = []
    segment: list[str | int] = []
    for index, part in enumerate(parts):
        if index % 2 == 0:
            segment += tokenizer.split_markers(part)
            continue
        message, content = messages[int(part)], contents[int(part)]
        if message.token_ids and content == message.content == tokenizer.decode(message.token_ids):
            result += [segment, _Written(message.token_ids)]
            segment = []
        else:
            segment += _revealed(content, tokenizer, hider)
    return [*result, segment]
