"""The forms of a completion's prompt that `infill_prompts` compares. Measuring only: lacli asks in the best one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lacli.completion import without_fim
from lacli.completion.cursor import cursor_of
from lacli.events import Place
from lacli.models.hf.chat_template import ChatTemplate
from lacli.prompts import chat
from lacli.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt, and the blanks before the cursor that are not in it."""

    token_ids: tuple[int, ...]
    hidden: str


Form = Callable[[Place, Tokenizer, ChatTemplate | None], Asked]


def suffix_above(place: Place, tokenizer: Tokenizer, template: ChatTemplate | None) -> Asked:
    """The text behind the cursor first, then the text before it: what lacli does."""
    hidden = without_fim.hidden(place)
    return Asked(without_fim.prompt(place, hidden, tokenizer, None).token_ids, hidden)


def continued(place: Place, tokenizer: Tokenizer, template: ChatTemplate | None) -> Asked:
    """The text before the cursor alone, its last blanks left to the model."""
    hidden = without_fim.hidden(place)
    return Asked(without_fim.before_alone(place, hidden, tokenizer, None)[0], hidden)


def whole(place: Place, tokenizer: Tokenizer, template: ChatTemplate | None) -> Asked:
    """The text before the cursor, blanks and all."""
    return Asked(without_fim.before_alone(place, "", tokenizer, None)[0], "")


def at_left(place: Place, tokenizer: Tokenizer, template: ChatTemplate | None) -> Asked:
    """The text before the cursor, its indentation left to the model."""
    cursor = cursor_of(place)
    hidden = cursor.before if cursor.in_indent else ""
    return Asked(without_fim.before_alone(place, hidden, tokenizer, None)[0], hidden)


def asked(place: Place, tokenizer: Tokenizer, template: ChatTemplate | None) -> Asked:
    """A request in the model's chat template with both sides; its answer is begun with a fence and the last lines."""
    cursor = cursor_of(place)
    hidden = without_fim.hidden(place)
    before = place.prefix.removesuffix(hidden).split("\n")[-128:]
    after = place.suffix.split("\n")[:32]
    language = cursor.language.name
    text = (
        f"Complete this {language} code where it says <CURSOR>.\n\n```{language}\n"
        + "\n".join(before)
        + "<CURSOR>"
        + "\n".join(after)
        + "\n```\n\nWrite only the code that belongs at <CURSOR>."
    )
    ids = chat.render([chat.Message("user", text)], template, tokenizer)
    return Asked((*ids, *tokenizer.encode(f"```{language}\n" + "\n".join(before[-6:]))), hidden)


def asked_whole(place: Place, tokenizer: Tokenizer, template: ChatTemplate | None) -> Asked:
    """A request to finish the file, whose text behind the cursor is given; the answer is begun with all before it."""
    cursor = cursor_of(place)
    hidden = without_fim.hidden(place)
    before = place.prefix.removesuffix(hidden).split("\n")[-128:]
    after = place.suffix.strip("\n").split("\n")[:32]
    language = cursor.language.name
    text = f"Write the {language} file {place.path}. It must end with:\n\n```{language}\n" + "\n".join(after) + "\n```"
    ids = chat.render([chat.Message("user", text)], template, tokenizer)
    return Asked((*ids, *tokenizer.encode(f"```{language}\n" + "\n".join(before))), hidden)


FORMS: dict[str, Form] = {
    "suffix above": suffix_above,
    "continued": continued,
    "whole": whole,
    "at left": at_left,
    "asked": asked,
    "asked whole": asked_whole,
}
