"""The prompt of a completion for a model that knows no fill-in-the-middle: the text before the cursor, continued.

Called by `fim` only. `lacli.bench.infill` measured a chat-style request that shows the model both sides against it.
"""

from __future__ import annotations

from lacli.events import Place
from lacli.prompts import window
from lacli.prompts.chat import with_bos
from lacli.text import languages
from lacli.text.tokenizer import Tokenizer

_NO_FIM = "this model knows no fill-in-the-middle: it continues the text before the cursor"


_SOME_LINES = "\n" * 8
"""Line ends at the very beginning of a file, where it has none yet."""


def hidden(place: Place) -> str:
    """The blanks before the cursor, which the model writes itself: its vocabulary has them in one with what follows."""
    blanks = place.prefix[len(place.prefix.rstrip()) :]
    return _SOME_LINES + blanks if len(blanks) == len(place.prefix) and _title(place) else blanks


def prompt(
    place: Place, hidden: str, tokenizer: Tokenizer, room: int | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The ids of the prompt, at most `room`, and what is to be said of it."""
    before, _ = window.shown(place, hidden.removeprefix(_SOME_LINES))
    if not before:
        before = _title(place)
    ids, _, notes = window.nearest(before, "", tokenizer.encode, tokenizer.encode, None if room is None else room - 1)
    ids = with_bos(ids, tokenizer)
    if not ids:  # an empty file: a model needs some token to begin after
        start = tokenizer.bos_id if tokenizer.bos_id is not None else tokenizer.eos_id
        ids = [start or 0]
    return tuple(ids), ((_NO_FIM,) if place.suffix.strip() else ()) + notes


def _title(place: Place) -> str:
    """What stands for the text before the cursor where there is none: the file's name, as a comment."""
    language = (languages.by_name(place.language) if place.language else None) or languages.of_path(place.path)
    if language is None or not place.path:
        return ""
    begins, ends = language.long_comment
    if language.comment:
        return f"{language.comment} {place.path}"
    return f"{begins} {place.path} {ends}" if begins else f"# {place.path}"
