"""Line ends, quotes, indentation and remarks of a model set right. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence

from lacli.edits.checks import layout as check_layout
from lacli.edits.checks.marks import is_file_name, is_prose, notes_of_the_change
from lacli.edits.checks.scope import Scope, scope_of
from lacli.edits.mend.mending import Mended, fresh_rows, with_lines
from lacli.edits.tree.hunks import Hunk, hunks
from lacli.edits.tree.pieces import regions

_REMARK_LINES = 8
"""So many lines a remark before or behind the part may have."""
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w.+-]*\s*")


def line_ends(scope: Scope) -> Iterator[Mended]:
    """No carriage returns, and a line end at the end of the file, as it was."""
    if "\r" not in scope.old.text and "\r" in scope.new.text:
        yield Mended(scope.new.text.replace("\r\n", "\n").replace("\r", "\n"), "took back the other line ends")
    if scope.old.text.endswith("\n") and not scope.new.text.endswith("\n"):
        yield Mended(scope.new.text + "\n", "put back the line end at the end of the file")


def without_remarks(scope: Scope) -> Iterator[Mended]:
    """Prose and fences around the part cut away, where what is left parses."""
    lines = scope.new.lines
    for start, end in regions(scope.old, scope.new, scope.spans):
        for cut in range(end - 1, max(start, end - _REMARK_LINES - 1), -1):
            if is_prose(lines[cut]) or _FENCE.fullmatch(lines[cut]):
                first = cut if lines[cut - 1].strip() else cut - 1
                kept = lines[end - 1 : end] if end == len(lines) and not lines[end - 1] else []
                yield Mended(with_lines(lines, max(start, first), end, kept), "cut off the remark behind the code")
        for cut in range(start + 1, min(end, start + _REMARK_LINES)):
            top = lines[start]
            if not lines[cut].strip():
                continue  # goes with the remark
            if is_prose(top) or is_file_name(top) or top.startswith("#!") or _FENCE.fullmatch(lines[cut - 1]):
                yield Mended(with_lines(lines, start, cut, []), "cut off the remark before the code")


def without_notes(scope: Scope) -> Iterator[Mended]:
    """No comments that tell what was changed; a comment at the end of a line that gave way to one is put back."""
    lines = scope.new.lines
    for each in notes_of_the_change(scope):
        row, done, rest = each.start, f"took out the comment `{each.text[:50]}`", []
        if not each.alone:
            before = _comment_before(scope, row)
            rest = [lines[row][: lines[row].rindex(each.text)].rstrip() + before]
            done = f"put back the comment `{before.strip()[:50]}`" if before else done
        yield Mended(with_lines(lines, row, each.end, rest), done)


def _comment_before(scope: Scope, row: int) -> str:
    """The comment at the end of the line that a new line replaces, with the blanks before it; "" for none."""
    for hunk in hunks(scope.old.lines, scope.new.lines):
        if not hunk.new_start <= row < hunk.new_end or hunk.end - hunk.start != hunk.new_end - hunk.new_start:
            continue
        old = hunk.start + row - hunk.new_start
        for each in scope.old.comments:
            if each.start == old and not each.alone and "\n" not in each.text:
                code = scope.old.lines[old][: scope.old.lines[old].rindex(each.text)]
                return code[len(code.rstrip()) :] + each.text
    return ""


def without_entities(scope: Scope) -> Iterator[Mended]:
    """`&lt;` as `<`."""
    yield from _on_fresh_lines(scope, html.unescape, "wrote HTML entities as plain characters")


def plain_quotes(scope: Scope) -> Iterator[Mended]:
    """Typographic quotes as those of code."""

    def plain(line: str) -> str:
        for mark in check_layout.smart_in(scope, line):
            line = line.replace(mark, check_layout.SMART[mark])
        return line

    yield from _on_fresh_lines(scope, plain, "made typographic quotes plain")


def without_trailing(scope: Scope) -> Iterator[Mended]:
    """No blanks at the ends of new lines."""
    if scope.old.language != "markdown":
        yield from _on_fresh_lines(scope, lambda line: line.rstrip(" \t"), "took blanks off the ends of lines")


def indentation(scope: Scope) -> Iterator[Mended]:
    """New lines indented as the file is."""
    old = scope.old.lines
    kind, width = check_layout.indent_kind(old), check_layout.indent_width(old)
    fresh = [scope.new.lines[row] for row in fresh_rows(scope)]
    has = check_layout.indent_width(fresh) if kind == "\t" else check_layout.fresh_width(fresh, width)
    note = "indented the new lines as the file is"
    if kind == "\t" and has:
        yield from _on_fresh_leads(scope, lambda lead: _tabs(lead, has), note)
    if kind == " " and width:
        yield from _on_fresh_leads(scope, lambda lead: lead.replace("\t", " " * width), note)
        if has:
            yield from _on_fresh_leads(scope, lambda lead: _scaled(lead, has, width), note)


def long_gaps(scope: Scope) -> Iterator[Mended]:
    """No more blank lines in a row than the file has elsewhere."""
    lines = list(scope.new.lines)
    for start, end in reversed(check_layout.long_gaps(scope)):
        del lines[start:end]
    if lines != scope.new.lines:
        yield Mended("\n".join(lines), "took out blank lines")


def gaps(scope: Scope) -> Iterator[Mended]:
    """Blank lines that went and nothing came for."""
    if not check_layout.lost_gaps(scope):
        return
    lines = list(scope.new.lines)
    ours, theirs = ([row for row, line in enumerate(text.lines) if line.strip()] for text in (scope.old, scope.new))
    differing = hunks([scope.old.lines[row] for row in ours], [scope.new.lines[row] for row in theirs])
    pairs = _equal(differing, len(ours))
    for at, row in reversed(pairs):
        if (at + 1, row + 1) in pairs:
            lost = (ours[at + 1] - ours[at]) - (theirs[row + 1] - theirs[row])
            lines[theirs[row] + 1 : theirs[row] + 1] = [""] * max(0, lost)
    between = "\n".join(lines)
    now = scope_of(scope.old.text, between, scope.old.language, scope.intent, scope.spans)
    for at in reversed(check_layout.lost_gaps(now)):  # beside lines that changed
        became, each = now.became[at], scope.old.definitions[at]
        if became is not None:
            start = each.start
            blanks = next((row for row in range(start) if scope.old.lines[start - row - 1].strip()), start)
            row = max(became.start, became.head - (each.head - start))  # below a comment that stood apart
            lines[row:row] = [""] * max(1, blanks)
    yield Mended("\n".join(lines), "put back blank lines between definitions")


def _equal(differing: Sequence[Hunk], count: int) -> dict[tuple[int, int], None]:
    """The pairs of places of two lists, the first of so many, that are equal; in order."""
    pairs: dict[tuple[int, int], None] = {}
    at, place = 0, 0
    for each in [*differing, Hunk(count, count, 0, 0)]:
        pairs.update(((at + step, place + step), None) for step in range(each.start - at))
        at, place = each.end, each.new_end
    return pairs


def _on_fresh_lines(scope: Scope, change: Callable[[str], str], note: str) -> Iterator[Mended]:
    lines = list(scope.new.lines)
    for row in fresh_rows(scope):
        lines[row] = change(lines[row])
    if lines != scope.new.lines:
        yield Mended("\n".join(lines), note)


def _on_fresh_leads(scope: Scope, change: Callable[[str], str], note: str) -> Iterator[Mended]:
    def changed(line: str) -> str:
        rest = line.lstrip(" \t")
        return change(line[: len(line) - len(rest)]) + rest

    yield from _on_fresh_lines(scope, changed, note)


def _tabs(lead: str, width: int) -> str:
    blanks = len(lead.expandtabs(width))
    return "\t" * (blanks // width) + " " * (blanks % width)


def _scaled(lead: str, has: int, width: int) -> str:
    levels, rest = divmod(len(lead), has)
    return " " * (levels * width + rest)
