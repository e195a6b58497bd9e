"""What of a file is edited: its text or the cells of a notebook, and the parts that a user names of it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace

from lacli.edits.find.parts import Part
from lacli.edits.tree.outline import Outline, outline
from lacli.edits.tree.syntax import is_sound
from lacli.edits.write.magics import Magics
from lacli.edits.write.notebook import BOUNDARY, Notebook, is_notebook
from lacli.edits.write.splice import spliced
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.shared.wording import counted
from lacli.text.languages import language_of


class Source:
    """What of a file is edited: its text, or that of a notebook's cells."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self.notebook = Notebook.of(file) if is_notebook(file.name, file.data) else None
        self.text = file.text if self.notebook is None else self.notebook.text
        self.language = language_of(file.name, self.text).name if self.notebook is None else self.notebook.language
        self._magics: Magics | None = None
        if self.notebook is not None and self.language == "python":
            self._magics = Magics.of(self.text)
            self.text = self._magics.text

    def shown(self, text: str) -> str:
        """What a model writes for this text, as this text is: with the magics of a notebook masked."""
        return text if self._magics is None or is_sound(text, self.language) else self._magics.masked(text)

    def begin_of(self, part: Part) -> Part:
        """A part of the text without the mark of the cell that it begins, which is no line of the notebook."""
        if self.notebook is None or part.kind == "file":
            return part
        lines = self.text.split("\n")
        start = part.start
        while start < part.end - 1 and lines[start].startswith(BOUNDARY):
            start += 1
        return replace(part, start=start)

    def changed(self, text: str, unseen: Collection[str] = ()) -> bytes:
        """The file with this text. Raises UsageError where it cannot hold it."""
        if self.notebook is None:
            return spliced(self._file, text, unseen)
        return self.notebook.changed(text if self._magics is None else self._magics.unmasked(text))


def parts_of(file: TextFile, ranges: Sequence[tuple[int, int]], names: Sequence[str]) -> tuple[Part, ...]:
    """The parts a user names: line ranges counted from 1, last line included, and definitions such as Class.method.

    Raises UsageError for lines that are not there, and for a name the file does not define, or defines twice.
    """
    source = Source(file)
    if ranges and source.notebook is not None:
        raise UsageError(
            f"{file.name} is a notebook, whose lines are not those of its cells", "name a definition: ::NAME"
        )
    found = [_range(file, first, last) for first, last in ranges]
    if names:
        known = outline(source.text, source.language)
        for name in names:
            found.append(_definition(file, known, name))
    found.sort(key=lambda part: part.start)
    for one, other in itertools.pairwise(found):
        if other.start < one.end:
            raise UsageError(f"{one.label} and {other.label} of {file.name} overlap", "give each line once")
    return tuple(found)


def _range(file: TextFile, first: int, last: int) -> Part:
    count = file.line_count
    if not 1 <= first <= last <= count:
        lines = counted(count, "line", "lines")
        wanted = f"is no line {first}" if last == first else f"are no lines {first} to {last}"
        raise UsageError(
            f"{file.name} has {lines}, so there {wanted}", "give a range inside it, the lower number first"
        )
    return Part(first - 1, last, f"lines {first}-{last}", "lines")


def _definition(file: TextFile, known: Outline | None, name: str) -> Part:
    if known is None:
        raise UsageError(f"definitions of {file.name} cannot be told apart", f"give lines: {file.name}:A-B")
    wanted = tuple(name.split("."))
    found = [each for each in known.definitions if each.path[-len(wanted) :] == wanted or each.name == name]
    if len(found) == 1:
        return Part(found[0].start, found[0].end, found[0].label, "definition")
    if not found:
        raise UsageError(f"{file.name} does not define {name}", "check the name, or give lines: FILE:A-B")
    labels = ", ".join(f"{each.label} (line {each.head + 1})" for each in found[:4])
    raise UsageError(f"{file.name} defines {name} {len(found)} times: {labels}", "give its whole name, or its lines")
