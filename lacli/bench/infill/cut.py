"""Places for completions, cut out of real files: single lines, spans within a line, blocks; and some where nothing is.

Pure, and the same for the same files: each file has a random generator of its own, seeded by its name.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from lacli.bench.infill.prompts import holes
from lacli.edits.tree.syntax import is_sound
from lacli.errors import UsageError
from lacli.events import Place
from lacli.text.languages import language_of

Form = Literal["line", "span", "block", "hole", "nothing"]
"""hole: lines of a function, with the cursor in one of four ways, as `infill_prompts` cuts them."""
FORMS: tuple[Form, ...] = get_args(Form)
LINES_BEFORE, LINES_AFTER = 48, 16
"""What both ways are shown: less than lacli would show, as a place is to take seconds."""
_MOST_LINES = 6
"""Of a block."""
_LEAST_LINE, _LONGEST_LINE = 8, 90
"""Characters of a line that is worth asking for."""
_PART = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w{2}")
_STEMS = ("LICENSE", "LICENCE", "NOTICE", "COPYING", "README")


@dataclass(frozen=True, slots=True)
class Cut:
    """A place, and what was cut out there."""

    place: Place
    wanted: str
    form: Form
    language: str
    sound: bool
    """Whether the whole file parses, so that a completion must leave it so."""

    def parses(self, text: str) -> bool:
        """Whether the file parses with this text at the place."""
        return bool(is_sound(self.place.prefix + text + self.place.suffix, self.language))


def cuts(folder: Path, count: int, each: int = 0) -> list[Cut]:
    """So many places of all files of a folder together, and a control for every tenth, in the order of the files.

    Where `each` is not 0, the holes of `infill_prompts` besides, one every so many lines.
    """
    files = sorted(path for path in folder.rglob("*") if _is_source(path))
    if not files:
        raise UsageError(f"{folder} has no source files", "give a folder of them")
    wanted: tuple[Form, ...] = FORMS[:3]
    found: list[Cut] = []
    for index, path in enumerate(files):
        share = (index + 1) * count // len(files) - index * count // len(files)
        forms = [wanted[(len(found) + number) % 3] for number in range(share)]
        controls: list[Form] = ["nothing"] * -(-share // 10)
        found += _cut_file(path, [*forms, *controls])
    numbers = 0
    for path in files if each else ():
        for hole in holes(path, each, numbers):
            numbers += 1
            place = replace(hole.place, lines_before=LINES_BEFORE, lines_after=LINES_AFTER)
            text = place.prefix + hole.middle + place.suffix
            language = language_of(path.name, text).name
            found.append(Cut(place, hole.middle, "hole", language, bool(is_sound(text, language))))
    return found


def _is_source(path: Path) -> bool:
    if not path.is_file() or path.stem.upper().startswith(_STEMS):
        return False
    return language_of(path.name).name not in ("", "text")


def _cut_file(path: Path, forms: Sequence[Form]) -> Iterator[Cut]:
    """A place of each form, none of them near another; fewer where the file has not so many."""
    text = path.read_text("utf-8")
    language = language_of(path.name, text).name
    sound = bool(is_sound(text, language))
    chance = random.Random(path.name)
    lines = text.split("\n")
    order = list(range(1, len(lines) - 1))
    chance.shuffle(order)
    starts = [sum(len(line) + 1 for line in lines[:at]) for at in range(len(lines))]
    taken: set[int] = set()
    for form in forms:
        for at in order:
            span = _span(lines, at, form, chance) if at not in taken else None
            if span is None:
                continue
            (first, begin), (last, end) = span
            start, stop = starts[first] + begin, starts[last] + end
            taken.update(range(first - 2, last + 3))
            place = Place(
                text[:start],
                text[stop:],
                path.name,
                lines_before=LINES_BEFORE,
                lines_after=LINES_AFTER,
                scope="block" if form in ("block", "nothing") else "line",
            )
            yield Cut(place, text[start:stop], form, language, sound)
            break


_Spot = tuple[int, int]


def _span(lines: Sequence[str], at: int, form: Form, chance: random.Random) -> tuple[_Spot, _Spot] | None:
    """From where to where is cut at this line, in lines and columns; None where it suits the form badly."""
    line = lines[at]
    indent, end = len(line) - len(line.lstrip()), len(line.rstrip())
    if not _LEAST_LINE <= end - indent <= _LONGEST_LINE or _WORD.search(line) is None:
        return None
    if form == "line":
        return (at, indent), (at, end)
    if form == "nothing":  # in the middle of a block, behind a line that is one
        below = lines[at + 1]
        same = below.strip() and len(below) - len(below.lstrip()) == indent
        return ((at, end), (at, end)) if same and line[end - 1] in ")};\"'" else None
    if form == "span":
        parts = list(_PART.finditer(line, indent, end))
        if len(parts) < 5:
            return None
        first = chance.randrange(1, len(parts) - 3)
        last = min(first + chance.randint(1, 6), len(parts) - 2)
        return (at, parts[first].start()), (at, parts[last].end())
    last = at
    while last + 1 < len(lines) and last - at < _MOST_LINES - 1:
        below = lines[last + 1]
        if not below.strip() or len(below) - len(below.lstrip()) < indent:
            break
        last += 1
    return ((at, indent), (last, len(lines[last].rstrip()))) if last > at else None
