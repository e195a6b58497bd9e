"""A reply applied to a file: the core of `edit`, the chat's /apply and the TUI. Text in, bytes and problems out.

Nothing is written here and nothing printed; `TextFile.write` puts `EditResult.data` in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from lacli.edits.diff import target_of, unified
from lacli.edits.doubts import doubts, may_shrink
from lacli.edits.hunks import Hunk, hunks
from lacli.edits.placing import in_place_of
from lacli.edits.reply import rewritten
from lacli.edits.splice import spliced, visible
from lacli.edits.textfile import TextFile
from lacli.errors import UsageError

_TELLING = 6
"""A line of fewer letters may stand anywhere."""
_OUTSIDE_LINES, _OUTSIDE_SHARE = 2, 0.25
"""So many lines of what is around the part, and this share of the reply, were not written anew by chance."""


@dataclass(frozen=True, slots=True)
class Span:
    """Whole lines of a file that are to be rewritten."""

    start: int
    """The first line, counted from 0."""
    end: int
    """Behind the last one."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a result should not be taken, or must not."""

    text: str
    final: bool
    """Whether nobody may overrule it: there is nothing to take."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """What a reply makes of a file."""

    data: bytes
    """The whole file; the old bytes where there is a final problem."""
    diff: bytes
    """For `patch -p0`; empty where nothing changes."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    """Lines for the user."""
    taken: str = field(default="", compare=False)
    """What of the reply it is made of."""

    def remarks(self, path: object) -> list[str]:
        """What is said in a chat to whoever decides whether this file becomes the result. Raises UsageError where there
        is nothing to take."""
        final = next((problem.text for problem in self.problems if problem.final), "")
        if final:
            raise UsageError(f"{path} is left as it is: {final}", "ask for the whole file in one code block")
        return [*self.notes, *(problem.text for problem in self.problems)]


def span_of(file: TextFile, first: int | None = None, last: int | None = None) -> Span:
    """Lines `first` to `last`, counted from 1; all of the file without them. Raises UsageError outside of it."""
    count = file.line_count
    if first is None:
        return Span(0, count)
    end = first if last is None else last
    if not 1 <= first <= end <= count:
        lines = f"{count} line" + ("" if count == 1 else "s")
        wanted = f"is no line {first}" if end == first else f"are no lines {first} to {end}"
        raise UsageError(
            f"{file.name} has {lines}, so there {wanted}", "give a range inside it, the lower number first"
        )
    return Span(first - 1, end)


def part_of(file: TextFile, span: Span) -> str:
    """The text of these lines."""
    return file.text[file.starts[span.start] : file.starts[span.end]]


def edited(
    file: TextFile,
    span: Span,
    reply: str,
    instruction: str = "",
    ended: bool = True,
    unseen: Collection[str] = (),
) -> EditResult:
    """What the rewritten text in a reply makes of these lines of the file.

    `ended` says that the model ended the reply itself; `unseen` are characters that the model cannot see or write.
    """
    part = part_of(file, span)
    shown = visible(part, unseen)
    found = rewritten(reply, shown, ended)
    if found is None:
        return _refused(file, "the reply has no code block")
    if not found.whole:
        return _refused(file, "the reply is unfinished")
    if shown.strip() and not found.text.strip() and not may_shrink(instruction):
        return _refused(file, "the reply's code block is empty")
    result = replaced(file, span, found.text, instruction, unseen)
    return replace(result, taken=found.text)


def replaced(file: TextFile, span: Span, new: str, instruction: str = "", unseen: Collection[str] = ()) -> EditResult:
    """What `new` makes of the file in the place of these lines: their indentation and line ends at the end are kept."""
    part = visible(part_of(file, span), unseen)
    before, after = (visible(text, unseen) for text in _around(file, span))
    notes: tuple[str, ...] = ()
    if _reaches_out(part, before + after, new):
        inside = _inside(before, part, after, new)
        if inside is None:
            return _refused(file, f"the reply rewrites more than lines {span.start + 1} to {span.end}")
        new, notes = inside, ("the reply goes beyond the lines given; what is around them stays as it is",)
    new = in_place_of(part, new, alone=not before and not after)
    data = spliced(file, before + new + after, unseen)
    gone = _hidden(file.text, unseen) - _hidden(file.reads(data), unseen)
    found = doubts(part, new, instruction, gone.total())
    problems = tuple(Problem(each, final=False) for each in found)
    return EditResult(data, unified(file.data, data, target_of(file.name)), problems, notes)


def _hidden(text: str, unseen: Collection[str]) -> Counter[str]:
    """The characters of a text that a model does not see."""
    return Counter(letter for letter in text if letter in unseen) if unseen else Counter()


def _refused(file: TextFile, text: str) -> EditResult:
    return EditResult(file.data, b"", (Problem(text, final=True),))


def _around(file: TextFile, span: Span) -> tuple[str, str]:
    return file.text[: file.starts[span.start]], file.text[file.starts[span.end] :]


def _reaches_out(part: str, around: str, new: str) -> bool:
    """Whether the model wrote again what stands around the lines it was to rewrite."""
    outside = {line.strip() for line in around.split("\n")} - {line.strip() for line in part.split("\n")}
    telling = [line for each in new.split("\n") if len(line := each.strip()) >= _TELLING]
    from_outside = sum(line in outside for line in telling)
    return from_outside >= _OUTSIDE_LINES and from_outside >= _OUTSIDE_SHARE * len(telling)


def _inside(before: str, part: str, after: str, new: str) -> str | None:
    """What a reply that goes beyond the part makes of it; None where both cannot be told apart."""
    start, count = before.count("\n"), len(part.split("\n")) - part.endswith("\n")
    end = start + count
    old, lines = (before + part + after).split("\n"), new.split("\n")
    kept: list[str] = []
    at = start
    for hunk in hunks(old, lines):
        hunk = _slid_up(hunk, end, old, lines)
        if hunk.end < start or hunk.start > end or (hunk.start == end < hunk.end) or (hunk.end == start > hunk.start):
            continue
        if hunk.start < start or hunk.end > end:
            return None
        kept += old[at : hunk.start] + lines[hunk.new_start : hunk.new_end]
        at = hunk.end
    return "".join(line + "\n" for line in kept + old[at:end])


def _slid_up(hunk: Hunk, end: int, old: list[str], new: list[str]) -> Hunk:
    """The same insertion at the end of the part, where equal lines let it be seen there, too."""
    start, first, last = hunk.start, hunk.new_start, hunk.new_end
    while hunk.start == hunk.end and start > end and old[start - 1] == new[last - 1]:
        start, first, last = start - 1, first - 1, last - 1
    return Hunk(start, start, first, last) if hunk.start == hunk.end and start == end else hunk
