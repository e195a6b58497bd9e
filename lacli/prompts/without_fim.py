"""The prompt of a completion for a model that knows no fill-in-the-middle: the text before the cursor, continued.

Called by `fim` only. `lacli.bench.infill` measured a chat-style request that shows the model both sides against it.
"""

from __future__ import annotations

from lacli.events import Place
from lacli.prompts import window
from lacli.prompts.chat import with_bos
from lacli.text.tokenizer import Tokenizer

_NO_FIM = "this model knows no fill-in-the-middle: it continues the text before the cursor"


def hidden(place: Place) -> str:
    """The blanks before the cursor, which the model writes itself: its vocabulary has them in one with what follows."""
    return place.prefix[len(place.prefix.rstrip()) :]


def prompt(
    place: Place, hidden: str, tokenizer: Tokenizer, room: int | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The ids of the prompt, at most `room`, and what is to be said of it."""
    before, _ = window.shown(place, hidden)
    ids, _, notes = window.nearest(before, "", tokenizer.encode, tokenizer.encode, None if room is None else room - 1)
    ids = with_bos(ids, tokenizer)
    if not ids:  # an empty file: a model needs some token to begin after
        start = tokenizer.bos_id if tokenizer.bos_id is not None else tokenizer.eos_id
        ids = [start or 0]
    return tuple(ids), ((_NO_FIM,) if place.suffix.strip() else ()) + notes
