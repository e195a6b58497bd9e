"""The prompts of a family of models that know fill-in-the-middle: its markers around both parts, other files first.

As the family publishes them; `layout` chooses among them where reading has a price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lacli.completion import layout, window
from lacli.completion.bounded import within
from lacli.completion.layout import Budget, Later, Layout, Made, Start
from lacli.errors import UsageError
from lacli.events import Place
from lacli.models.registry.fim_markers import FimMarkers
from lacli.prompts.chat import with_bos
from lacli.text.tokenizer import Tokenizer

_FACE = "\N{WHITE SMILING FACE}"
"""A character that no word of code begins with: what stands behind it is tokenised as the middle of a text."""
_SUFFIX_STEP = 32
"""Tokens by which a suffix that comes first is shorter or longer: all that stands behind it is read anew then."""


class Family:
    """A family's form of prompt, in one vocabulary."""

    def __init__(self, markers: FimMarkers, tokenizer: Tokenizer) -> None:
        """Raises UsageError where a marker is not one token."""
        self.markers = markers
        self.tokenizer = tokenizer
        self.marks = {text: self.id_of(text) for text in markers.needed}

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """Tokens that end a completion besides the model's own end of text."""
        known = (self.tokenizer.id_of(text) for text in self.markers.stop)
        return tuple(sorted({*self.marks.values(), *(index for index in known if index is not None)}))

    def prompt(self, place: Place, hidden: str, comment: str, room: int | None, budget: Budget | None) -> Made:
        """The prompt of a place, without the `hidden` blanks before the cursor."""
        made = None if budget is None else self._within(place, hidden, comment, room, budget)
        return self._whole(place, hidden, comment, room) if made is None else made

    def _whole(self, place: Place, hidden: str, comment: str, room: int | None) -> Made:
        """All that is of use, cut to `room` tokens."""
        markers, encode = self.markers, self.tokenizer.encode
        lead, inside = self.neighbours(place, window.MOST_CONTEXT if room is None else room // 4)
        before, after = window.shown(place, hidden)
        if not markers.file_separator:
            before = window.as_comments(place, comment) + before
        left = None if room is None else room - len(self.marks) - 1 - len(lead) - len(encode(inside))
        # an empty suffix is outside what models were trained on
        ids_before, ids_after, notes = window.nearest(before, after or "\n", encode, self.middle_ids, left)
        if inside:  # one text with the prefix, tokenised as such, unless that had to be cut
            whole = ids_before == encode(before)
            ids_before = encode(inside + before) if whole else [*encode(inside), *ids_before]
        ids = self.joined(lead, ids_before, ids_after)
        return Made(ids, notes, later=Later(len(ids) - len(ids_after) - 2 if markers.order == "psm" else None))

    def _within(self, place: Place, hidden: str, comment: str, room: int | None, budget: Budget) -> Made | None:
        """What shows most within the budget; None where not even the least has room."""
        form = _Form(self, place, hidden, comment)
        before, _ = window.shown(place, hidden, layout.REACH_BEFORE)
        return within(form, before, window.begins_file(before, place, hidden), form.encode, budget, room)

    def joined(self, lead: Sequence[int], before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
        """The markers around both parts, in the family's order."""
        marks, markers = self.marks, self.markers
        if markers.order == "psm":
            parts = [marks[markers.prefix], *before, marks[markers.suffix], *after, marks[markers.middle]]
        else:
            parts = [marks[markers.suffix], *after, marks[markers.prefix], *before]
            parts += [marks[markers.middle]] if markers.middle else []
        return tuple(with_bos([*lead, *parts], self.tokenizer))

    def neighbours(self, place: Place, most: int) -> tuple[list[int], str]:
        """The pieces of other files in the family's own form, and the text that then stands behind the prefix marker.

        Those that fit into `most` tokens, and never more than is of use.
        """
        markers, encode = self.markers, self.tokenizer.encode
        if not place.context or not markers.file_separator:
            return [], ""
        separator = self.id_of(markers.file_separator)
        files: list[int] = []
        for piece in place.context:
            ids = [separator, *encode(f"{piece.label}\n{piece.text.rstrip()}{markers.file_end}")]
            if len(files) + len(ids) > min(window.MOST_CONTEXT, most):
                break
            files += ids
        if not files:
            return [], ""
        lead: list[int] = []
        if markers.repository and place.project:
            lead = [self.id_of(markers.repository), *encode(place.project + markers.repository_end)]
        path = f"{place.path or 'untitled'}\n"
        lead += [*files, separator]
        return ([*lead, *encode(path)], "") if markers.path == "before" else (lead, path)

    def middle_ids(self, text: str) -> Sequence[int]:
        """See `middle_ids`."""
        return middle_ids(text, self.tokenizer)

    def id_of(self, marker: str) -> int:
        """The marker's id. Raises UsageError where it is not one token."""
        token_id = self.tokenizer.id_of(marker)
        if token_id is None:
            raise UsageError(
                f"the fill-in-the-middle marker {marker!r} is not one token of this model",
                "correct the model's [fim] table in models.toml, or remove it",
            )
        return token_id


def middle_ids(text: str, tokenizer: Tokenizer) -> Sequence[int]:
    """The ids of a text that something stands before: without the blank that some vocabularies put at a beginning."""
    face = tokenizer.encode(_FACE)
    if tokenizer.decode(face) == _FACE:  # nothing is put there
        return tokenizer.encode(text)
    ids = tokenizer.encode(_FACE + text)
    return ids[len(face) :] if ids[: len(face)] == face else tokenizer.encode(text)


class _Form:
    """See `layout.Form`: the prompts of one place.

    Every part is tokenised for itself, so that its ids are the same whatever stands beside it.
    """

    def __init__(self, family: Family, place: Place, hidden: str, comment: str) -> None:
        self._family = family
        before, after = window.shown(place, hidden)
        self._after = family.middle_ids(after or "\n")[: window.MOST_AFTER]
        self._leads = self._pieces(place, comment)
        behind_others = any(inside for _, inside in self._leads.values())
        self.encode = family.middle_ids if behind_others else family.tokenizer.encode
        self.whole_before = self.encode(before)[-window.MOST_BEFORE :]

    @property
    def pieces(self) -> Sequence[int]:
        return sorted(self._leads)

    @property
    def after(self) -> int:
        return len(self._after)

    def layout(self, pieces: int, start: Start, after: int) -> Layout:
        family = self._family
        is_first = family.markers.order == "spm"
        if is_first and after < self.after:
            after = max(after // _SUFFIX_STEP * _SUFFIX_STEP, min(after, _SUFFIX_STEP))
        lead, inside = self._leads[pieces]
        ids = family.joined(lead, [*inside, *start.ids], self._after[:after])
        before, behind = len(start.ids), after + 1  # with its marker, which is the last one or the one before it
        ending = 1 if family.markers.middle else 0
        return Layout(
            token_ids=ids,
            before=before,
            after=after,
            others=len(lead) + len(inside),
            before_at=len(ids) - before - (ending if is_first else behind + 1),
            after_at=len(ids) - behind - (len(inside) + before + ending if is_first else 0),
            is_whole=start.is_whole and after == self.after and pieces == max(self._leads),
        )

    def _pieces(self, place: Place, comment: str) -> dict[int, tuple[list[int], list[int]]]:
        """For each number of pieces the ids before the prefix marker, and those behind it."""
        family, encode = self._family, self._family.tokenizer.encode
        found: dict[int, tuple[list[int], list[int]]] = {}
        for count in range(place.named, len(place.context) + 1):
            shown = replace(place, context=place.context[:count])
            lead, inside = family.neighbours(shown, window.MOST_CONTEXT)
            if not family.markers.file_separator:
                inside = window.as_comments(shown, comment)
            parts = (lead, encode(inside) if inside else [])
            if parts not in found.values():  # one more may be one too many
                found[count] = parts
        return found
