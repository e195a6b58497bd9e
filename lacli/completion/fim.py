"""The prompt of a completion: fill-in-the-middle where the model knows it, else what `without_fim` makes of it.

Raw text, never the chat template: instruction-tuned models answer in Markdown through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lacli.completion import window
from lacli.completion.cursor import Cursor, cursor_of
from lacli.completion.fit import Fit
from lacli.completion.rules import Rule, Rules
from lacli.completion.rules_beyond import Frame, OtherFunction, Prose, SuffixAtOnce
from lacli.completion.rules_blocks import Brackets, Fence, MostLines, WholeLines, block_rule
from lacli.completion.rules_loops import Loops
from lacli.completion.rules_repeat import ClosedInText, LineRewritten, NextLine, Repetition, RestOfLine
from lacli.errors import UsageError
from lacli.events import Place
from lacli.models.registry.fim_markers import FimMarkers
from lacli.prompts.chat import with_bos
from lacli.text.stops import Watcher
from lacli.text.tokenizer import Tokenizer

_PROSE = ("markdown", "text")
_ANCHOR = "\N{WHITE SMILING FACE}"
"""A character that no word of code begins with: what stands behind it is tokenised as the middle of a text."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model is given to complete a place in a file, and when it is done."""

    token_ids: tuple[int, ...]
    stop_ids: tuple[int, ...]
    """Tokens that end the completion besides the model's own end of text."""
    watchers: tuple[Watcher, ...]
    """The stop rules, for `StopStrings`."""
    notes: tuple[str, ...]
    """Lines the user should see."""
    complete: bool
    """Whether the place lacks nothing: see `Cursor.is_complete`."""
    fit: Fit
    """Whether the file parses with a text there."""


def completion(place: Place, markers: FimMarkers | None, tokenizer: Tokenizer, room: int | None = None) -> Completion:
    """Complete a place with a prompt of at most `room` tokens, those nearest to the cursor."""
    cursor = cursor_of(place)
    if markers is None:
        from lacli.completion import without_fim

        hidden = without_fim.hidden(place)
        token_ids, notes = without_fim.prompt(place, hidden, tokenizer, room)
        frame = without_fim.headings(place)
        ends = rules(place, cursor, hidden, goes_on=True, frame=frame)
        fit = Fit(place, cursor, lambda most: rules_past(place, cursor, most, hidden, goes_on=True, frame=frame))
        return Completion(token_ids, (), (ends,), notes, cursor.is_complete, fit)
    hidden = cursor.before if cursor.in_indent else ""
    marks = {text: _one_id(text, tokenizer) for text in markers.needed}
    stops = {index for text in markers.stop if (index := tokenizer.id_of(text)) is not None}
    lead, inside = _neighbours(place, markers, tokenizer, room)
    before, after = window.shown(place, hidden)
    if not markers.file_separator:
        before = window.as_comments(place, cursor.language.comment or "#") + before
    left = None if room is None else room - len(marks) - 1 - len(lead) - len(tokenizer.encode(inside))
    # an empty suffix is outside what models were trained on
    ids_before, ids_after, notes = window.nearest(
        before, after or "\n", tokenizer.encode, lambda text: middle_ids(text, tokenizer), left
    )
    if inside:  # one text with the prefix, tokenised as such, unless that had to be cut
        whole = ids_before == tokenizer.encode(before)
        ids_before = tokenizer.encode(inside + before) if whole else [*tokenizer.encode(inside), *ids_before]
    if markers.order == "psm":
        parts = [marks[markers.prefix], *ids_before, marks[markers.suffix], *ids_after, marks[markers.middle]]
    else:
        parts = [marks[markers.suffix], *ids_after, marks[markers.prefix], *ids_before]
    return Completion(
        tuple(with_bos([*lead, *parts], tokenizer)),
        tuple(sorted(stops | set(marks.values()))),
        (rules(place, cursor, hidden),),
        notes,
        cursor.is_complete,
        Fit(place, cursor, lambda most: rules_past(place, cursor, most, hidden)),
    )


def rules(place: Place, cursor: Cursor, hidden: str = "", goes_on: bool = False, frame: Sequence[str] = ()) -> Rules:
    """When a completion of this place is over; for `hidden` and `goes_on` see `Rules`.

    `frame`: what the prompt has around the file besides the headings of other files.
    """
    made: list[Rule] = [Frame(_headings(place, frame)), Prose(cursor), RestOfLine(cursor), LineRewritten(cursor)]
    made += [SuffixAtOnce(cursor), NextLine(cursor), Repetition(cursor)]
    made += [ClosedInText(cursor), Loops(cursor), Brackets(cursor), WholeLines()]
    block = block_rule(cursor) if place.scope == "block" else None
    if block is not None:
        made += [block, OtherFunction(cursor)]
    most = 1 if place.scope == "line" else place.max_lines
    if most:
        made.append(MostLines(most))
    fences = cursor.language.name not in _PROSE
    if fences:
        made.append(Fence())
    return Rules(cursor, made, hidden, fences, goes_on)


def rules_past(
    place: Place, cursor: Cursor, most: int, hidden: str = "", goes_on: bool = False, frame: Sequence[str] = ()
) -> Rules:
    """The same for a text that goes on where those ended it, by lines and by what can be no part of the file."""
    fences = cursor.language.name not in _PROSE
    lines = 1 if place.scope == "line" else min(most, place.max_lines or most)
    made: list[Rule] = [Frame(_headings(place, frame)), RestOfLine(cursor), Loops(cursor), MostLines(lines)]
    return Rules(cursor, [*made, Fence()] if fences else made, hidden, fences, goes_on)


def _headings(place: Place, frame: Sequence[str]) -> list[str]:
    return [*frame, *(window.heading(piece) for piece in place.context), *filter(None, [place.boundary])]


def middle_ids(text: str, tokenizer: Tokenizer) -> Sequence[int]:
    """The ids of a text that something stands before: without the blank that some vocabularies put at a beginning."""
    anchor = tokenizer.encode(_ANCHOR)
    if tokenizer.decode(anchor) == _ANCHOR:  # nothing is put there
        return tokenizer.encode(text)
    ids = tokenizer.encode(_ANCHOR + text)
    return ids[len(anchor) :] if ids[: len(anchor)] == anchor else tokenizer.encode(text)


def _neighbours(place: Place, markers: FimMarkers, tokenizer: Tokenizer, room: int | None) -> tuple[list[int], str]:
    """The pieces of other files in the family's own form, and the text that then stands behind the prefix marker."""
    if not place.context or not markers.file_separator:
        return [], ""
    separator = _one_id(markers.file_separator, tokenizer)
    most = window.MOST_CONTEXT if room is None else min(window.MOST_CONTEXT, room // 4)
    files: list[int] = []
    for piece in place.context:
        ids = [separator, *tokenizer.encode(f"{piece.label}\n{piece.text.rstrip()}{markers.file_end}")]
        if len(files) + len(ids) > most:
            break
        files += ids
    if not files:
        return [], ""
    lead: list[int] = []
    if markers.repository and place.project:
        name = tokenizer.encode(place.project + markers.repository_end)
        lead = [_one_id(markers.repository, tokenizer), *name]
    path = f"{place.path or 'untitled'}\n"
    lead += [*files, separator]
    return ([*lead, *tokenizer.encode(path)], "") if markers.path == "before" else (lead, path)


def _one_id(marker: str, tokenizer: Tokenizer) -> int:
    token_id = tokenizer.id_of(marker)
    if token_id is None:
        raise UsageError(
            f"the fill-in-the-middle marker {marker!r} is not one token of this model",
            "correct the model's [fim] table in models.toml, or remove it",
        )
    return token_id
