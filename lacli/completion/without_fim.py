"""The prompt of a completion for a model that knows no fill-in-the-middle: the file's end shown first, then continued.

Plain text, with what follows the cursor as a piece before it. `lacli.bench.infill.prompts` measured that against the
text before the cursor alone and against requests in the chat template, at 174 places of twenty files with SmolLM2
135M: the first line is right in 14.9 % (alone 13.2 %), likeness 0.348 (0.333). A request whose answer is begun with the
whole file is as good and longer, one whose answer is begun with its last lines far worse. The last blanks before the
cursor are left to the model: with them in the prompt likeness falls by a fifth. Other files are shown if the user names
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lacli.completion import layout, window
from lacli.completion.bounded import within
from lacli.completion.family import middle_ids
from lacli.completion.layout import Budget, Layout, Made, Start
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


def prompt(place: Place, hidden: str, tokenizer: Tokenizer, room: int | None, budget: Budget | None = None) -> Made:
    """The prompt, at most `room` tokens, and what is to be said of it; `budget` says what reading costs."""
    made = None if budget is None else _within(place, hidden, tokenizer, room, budget)
    return _whole(place, hidden, tokenizer, room) if made is None else made


def _whole(place: Place, hidden: str, tokenizer: Tokenizer, room: int | None) -> Made:
    """All that is of use."""
    before, after = window.shown(place, hidden.removeprefix(_SOME_LINES))
    after = _the_end(after)
    comment = _comment(place) or "#"
    others = window.as_comments(place, comment)
    said = (_NO_FIM,) if after.strip() else ()
    if not said and not others:
        return Made(*before_alone(place, hidden, tokenizer, room))
    before = window.last_part(before, window.MOST_BEFORE, tokenizer.encode)
    text = f"{_above(place, others, after)}{before}"
    ids = with_bos(tokenizer.encode(text.rstrip("\n") if not before else text), tokenizer)
    if len(ids) > (_MOST if room is None else min(_MOST, room)):
        ids_alone, notes = before_alone(place, hidden, tokenizer, room)
        return Made(ids_alone, (*said, *notes))
    return Made(tuple(ids), said)


def _within(place: Place, hidden: str, tokenizer: Tokenizer, room: int | None, budget: Budget) -> Made | None:
    """What shows most within the budget; None where not even the least has room, or there is nothing to choose."""
    own = hidden.removeprefix(_SOME_LINES)
    before, _ = window.shown(place, own, layout.REACH_BEFORE)
    if not before:
        return None
    form = _Form(place, own, tokenizer)
    most = _MOST if room is None else min(_MOST, room)
    made = within(form, before, window.begins_file(before, place, own), form.encode, budget, most)
    return made and replace(made, notes=(_NO_FIM,) if form.after else ())


class _Form:
    """See `layout.Form`: the prompts of one place.

    The text before the cursor is tokenised for itself, so that its ids are the same whatever stands above it.
    """

    def __init__(self, place: Place, hidden: str, tokenizer: Tokenizer) -> None:
        self._place, self._tokenizer = place, tokenizer
        before, after = window.shown(place, hidden)
        lines = _the_end(after).split("\n") if after.strip() else []
        texts = ("\n".join(lines[:count]) for count in range(len(lines) + 1))
        self._ends = [(len(tokenizer.encode(text)), text) for text in texts]  # of whole lines: it seldom changes
        comment = _comment(place) or "#"
        pieces = range(place.named, len(place.context) + 1)
        others = {count: window.as_comments(replace(place, context=place.context[:count]), comment) for count in pieces}
        self._others = {count: text for count, text in others.items() if text or count == place.named}
        self._is_alone = len(self._ends) == 1 and not any(others.values())
        self.whole_before = self.encode(before)[-window.MOST_BEFORE :]

    @property
    def pieces(self) -> Sequence[int]:
        return sorted(self._others)

    @property
    def after(self) -> int:
        return self._ends[-1][0]

    def encode(self, text: str) -> Sequence[int]:
        return self._tokenizer.encode(text) if self._is_alone else middle_ids(text, self._tokenizer)

    def layout(self, pieces: int, start: Start, after: int) -> Layout:
        encode, others = self._tokenizer.encode, self._others[pieces]
        behind, end = max(each for each in self._ends if each[0] <= after)
        above = [] if self._is_alone else encode(_above(self._place, others, end))
        ids = with_bos([*above, *start.ids], self._tokenizer)
        return Layout(
            token_ids=tuple(ids),
            before=len(start.ids),
            after=behind,
            others=len(encode(others)) if others else 0,
            before_at=len(ids) - len(start.ids),
            after_at=len(ids) - len(start.ids) - behind,
            is_whole=start.is_whole and behind == self.after and pieces == max(self._others),
        )


def _the_end(after: str) -> str:
    """What is shown of the text behind the cursor."""
    return "\n".join(after.strip("\n").split("\n")[:_LINES_AFTER])


def _above(place: Place, others: str, after: str) -> str:
    """What stands in the prompt above the text before the cursor."""
    the_end, the_beginning = headings(place)
    comment = _comment(place) or "#"
    end = f"{comment} {the_end}\n{after}\n\n" if after.strip() else ""
    return f"{others}{end}{comment} {the_beginning}\n"


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
