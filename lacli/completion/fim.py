"""The prompt of a completion: fill-in-the-middle where the model knows it, else what `without_fim` makes of it.

Raw text, never the chat template: instruction-tuned models answer in Markdown through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lacli.completion import window
from lacli.completion.cursor import Cursor, cursor_of
from lacli.completion.family import Family
from lacli.completion.fit import Fit
from lacli.completion.layout import Budget, Later, Shown
from lacli.completion.rules import Rule, Rules
from lacli.completion.rules_beyond import Frame, OtherFunction, Prose, SuffixAtOnce
from lacli.completion.rules_blocks import Brackets, Fence, MostLines, WholeLines, block_rule
from lacli.completion.rules_loops import Loops
from lacli.completion.rules_repeat import ClosedInText, LineRewritten, NextLine, Repetition, RestOfLine
from lacli.events import Place
from lacli.models.registry.fim_markers import FimMarkers
from lacli.text.stops import Watcher
from lacli.text.tokenizer import Tokenizer

_PROSE = ("markdown", "text")


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
    shown: Shown | None = None
    """How much of what stands around the cursor is shown; None where reading has no price."""
    later: Later = field(default_factory=Later)
    """What later completions near this place can reuse from the KV cache."""


def completion(
    place: Place,
    markers: FimMarkers | None,
    tokenizer: Tokenizer,
    room: int | None = None,
    budget: Budget | None = None,
) -> Completion:
    """Complete a place with a prompt of at most `room` tokens, those nearest to the cursor.

    `budget` says what reading costs; without one as much is shown as is of use.
    """
    cursor = cursor_of(place)
    if markers is None:
        from lacli.completion import without_fim

        hidden = without_fim.hidden(place)
        made = without_fim.prompt(place, hidden, tokenizer, room, budget)
        frame = without_fim.headings(place)
        ends = rules(place, cursor, hidden, goes_on=True, frame=frame)
        fit = Fit(place, cursor, lambda most: rules_past(place, cursor, most, hidden, goes_on=True, frame=frame))
        return Completion(made.token_ids, (), (ends,), made.notes, cursor.is_complete, fit, made.shown, made.later)
    hidden = cursor.before if cursor.in_indent else ""
    family = Family(markers, tokenizer)
    made = family.prompt(place, hidden, cursor.language.comment or "#", room, budget)
    return Completion(
        made.token_ids,
        family.stop_ids,
        (rules(place, cursor, hidden),),
        made.notes,
        cursor.is_complete,
        Fit(place, cursor, lambda most: rules_past(place, cursor, most, hidden)),
        made.shown,
        made.later,
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
