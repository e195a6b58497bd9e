"""The prompt of a completion for a model that knows no fill-in-the-middle: the file's end shown first, then continued.

Plain text, with what follows the cursor as a piece before it. `lacli.bench.infill.prompts` measured that against the
text before the cursor alone and against requests in the chat template, at 174 places of twenty files with SmolLM2
135M: the first line is right in 14.9 % (alone 13.2 %), likeness 0.348 (0.333). A request whose answer is begun with the
whole file is as good and longer, one whose answer is begun with its last lines far worse. The last blanks before the
cursor are left to the model: with them in the prompt likeness falls by a fifth. Other files are shown if the user names
them.
"""

from __future__ import annotations

from lacli.completion import window
from lacli.events import Place
from lacli.prompts.chat import with_bos
from lacli.text import languages
from lacli.text.tokenizer import Tokenizer

_NO_FIM = (
    "this model knows no fill-in-the-middle: it reads what follows the cursor first, then continues what is before"
)
_LINES_AFTER = 32
_MOST = 3_072
"""Tokens: beyond that the end of the file is not worth the time it takes to read."""
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
    before, after = window.shown(place, hidden.removeprefix(_SOME_LINES))
    after = "\n".join(after.strip("\n").split("\n")[:_LINES_AFTER])
    the_end, the_beginning = headings(place)
    comment = _comment(place) or "#"
    others = window.as_comments(place, comment)
    end = f"{comment} {the_end}\n{after}\n\n" if after.strip() else ""
    said = (_NO_FIM,) if end else ()
    if not end and not others:
        return before_alone(place, hidden, tokenizer, room)
    before = window.last_part(before, window.MOST_BEFORE, tokenizer.encode)
    text = f"{others}{end}{comment} {the_beginning}\n{before}"
    ids = with_bos(tokenizer.encode(text.rstrip("\n") if not before else text), tokenizer)
    if len(ids) > (_MOST if room is None else min(_MOST, room)):
        ids_alone, notes = before_alone(place, hidden, tokenizer, room)
        return ids_alone, (*said, *notes)
    return tuple(ids), said


def headings(place: Place) -> tuple[str, str]:
    """What stands above the file's end and above its beginning, in a comment each."""
    name = place.path or "file"
    return f"{name}, the end:", f"{name}, the beginning:"


def before_alone(
    place: Place, hidden: str, tokenizer: Tokenizer, room: int | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The same of the text before the cursor alone."""
    before, _ = window.shown(place, hidden.removeprefix(_SOME_LINES))
    ids, _, notes = window.nearest(
        before or _title(place), "", tokenizer.encode, tokenizer.encode, None if room is None else room - 1
    )
    ids = with_bos(ids, tokenizer)
    if not ids:  # an empty file: a model needs some token to begin after
        start = tokenizer.bos_id if tokenizer.bos_id is not None else tokenizer.eos_id
        ids = [start or 0]
    return tuple(ids), notes


def _title(place: Place) -> str:
    """What stands for the text before the cursor where there is none: the file's name, as a comment."""
    comment = _comment(place)
    return f"{comment} {place.path}" if comment and place.path else ""


def _comment(place: Place) -> str:
    """What begins a comment in the file; empty where its language is not known."""
    language = languages.by_name(place.language) or languages.of_path(place.path)
    return "" if language is None else language.comment or language.long_comment[0] or "#"
