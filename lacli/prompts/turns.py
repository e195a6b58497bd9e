"""The control tokens with which a model's chat template ends an answer and begins the next question.

A model that writes one of them has ended its reply, whatever its files name as end tokens: what would follow is the
user's next turn, invented.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from lacli.errors import ModelUnavailable
from lacli.models.hf.chat_template import ChatTemplate, Refused
from lacli.text.tokenizer import Tokenizer

_ANSWER, _QUESTION = "lacli-probe-answer", "lacli-probe-question"
_TURNS = (("user", "hi"), ("assistant", _ANSWER), ("user", _QUESTION))


@lru_cache(maxsize=4)
def turn_ids(template: ChatTemplate, tokenizer: Tokenizer) -> tuple[int, ...]:
    """What stands between an answer and the next question; found by rendering, not by known spellings."""
    if tokenizer.speaks_harmony:  # one reply has several messages there, each begun as a turn is
        return ()
    messages = [{"role": role, "content": content} for role, content in _TURNS]
    for parts in (False, True):
        try:
            shown = template.render(messages, tokenizer.specials, datetime.now(), parts=parts)
        except (ModelUnavailable, Refused):  # whatever is wrong with it is told when the prompt is made
            continue
        _, answer, behind = shown.partition(_ANSWER)
        between, question, _ = behind.partition(_QUESTION)
        if answer and question:
            found = (part for part in tokenizer.split_markers(between) if isinstance(part, int))
            return tuple(dict.fromkeys(found))
    return ()
