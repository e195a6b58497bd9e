"""Definitions, docstrings, decorators and comments put back where they stood, and what came too often or unasked taken
out. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from lacli.edits.checks import changes as check_changes
from lacli.edits.checks import losses as check_losses
from lacli.edits.checks import marks as check_marks
from lacli.edits.checks.occurrences import with_new_names
from lacli.edits.checks.scope import Scope
from lacli.edits.mend.mending import Mended, undone, with_lines
from lacli.edits.tree.hunks import hunks
from lacli.edits.tree.outline import Definition
from lacli.edits.tree.pieces import Comment, Pieces, file_docstring, renamed


def siblings(scope: Scope) -> Iterator[Mended]:
    """A definition that has to stay as it was: all of it, or its head where something in it may change."""
    changed = check_changes.changed_siblings(scope)
    for at in changed:
        each, now = scope.old.definitions[at], scope.became[at]
        if now is None or any(scope.old.place(up) in changed for up in scope.old.ancestors(each)):
            continue
        note = f"put back `{each.label}` as it was"
        if not _holds_change(scope, at):
            old = with_new_names(scope, each.start, each.end)
            yield Mended(with_lines(scope.new.lines, now.start, now.end, old), note)
        head = with_new_names(scope, each.start, each.signature_end)
        yield Mended(with_lines(scope.new.lines, now.start, now.signature_end, head), note)


def statements(scope: Scope) -> Iterator[Mended]:
    """Lines that went with nothing in their place."""
    if scope.old.outline is None:
        return  # what belongs together cannot be told
    for line in check_changes.lost_statements(scope):
        note = f"put back `{scope.old.lines[line].strip()[:50]}`"
        yield from (Mended(text, note) for text in undone(scope, line, line + 1))


def order(scope: Scope) -> Iterator[Mended]:
    """A definition that changed places, behind the one it stood behind."""
    for before, each in check_losses.swapped(scope)[:1]:
        ahead, now = scope.became[scope.old.place(before)], scope.became[scope.old.place(each)]
        if ahead is None or now is None:
            continue
        lines = scope.new.lines
        moved, above = lines[now.start : now.end], [""] * _blanks_above(scope.old, each.start)
        rest = [*lines[now.end : ahead.end], *above, *moved, *lines[ahead.end :]]
        blanks = 0
        while blanks < len(rest) and not rest[blanks].strip():
            blanks += 1
        yield Mended(
            "\n".join([*lines[: now.start], *rest[blanks:]]), f"put `{each.label}` back behind `{before.label}`"
        )


def outside(scope: Scope) -> Iterator[Mended]:
    """Code outside of definitions as it was."""
    lines = list(scope.new.lines)
    changed = set(check_changes.changed_outside(scope))
    for each in reversed(hunks(scope.old.lines, scope.new.lines)):
        if changed.intersection(range(each.start, each.end)):
            lines[each.new_start : each.new_end] = with_new_names(scope, each.start, each.end)
    if changed:
        yield Mended("\n".join(lines), "put back code outside of definitions as it was")


def _holds_change(scope: Scope, at: int) -> bool:
    """Whether a definition holds another that may change, or a new one."""
    each, now = scope.old.definitions[at], scope.became[at]
    inside = [other for other, one in enumerate(scope.old.definitions) if each in scope.old.ancestors(one)]
    if any(not scope.has_to_stay(other) for other in inside):
        return True
    had = {one.path for one in scope.old.definitions}
    return now is not None and any(
        now in scope.new.ancestors(one) and one.path not in had and one.name in scope.intent.adds
        for one in scope.new.definitions
    )


def definitions(scope: Scope) -> Iterator[Mended]:
    """A lost definition, beside what it stood beside."""
    for at in check_losses.lost_definitions(scope):
        each = scope.old.definitions[at]
        lines = scope.old.lines[each.start : each.end]
        note = f"put back `{each.label}`"
        yield from (Mended(text, note) for text in undone(scope, each.start, each.end))
        for row, ahead, behind in _places_of(scope, each):
            yield Mended(with_lines(scope.new.lines, row, row, [*ahead, *lines, *behind]), note)


def _places_of(scope: Scope, each: Definition) -> Iterator[tuple[int, list[str], list[str]]]:
    """Where a definition may be put back, with the blank lines before and behind it, the likeliest first."""
    old, new = scope.old, scope.new
    parent = None if each.parent is None else old.definitions[each.parent]
    family = old.children(parent)
    place = family.index(each)
    above = [""] * _blanks_above(old, each.start)
    for before in reversed(family[:place]):
        now = scope.became[old.place(before)]
        if now is not None:
            yield now.end, above, []
            break
    for behind in family[place + 1 :]:
        now = scope.became[old.place(behind)]
        if now is not None:
            yield now.start, [], [""] * _blanks_above(old, behind.start)
            break
    inside = scope.became[each.parent] if each.parent is not None else None
    if inside is not None:
        yield (inside.doc[1] if inside.doc is not None else inside.signature_end), above, []
    elif each.parent is None:
        end = len(new.lines) - (not new.lines[-1])
        yield max([end if end else 0, 0]), above, []


def _blanks_above(text: Pieces, row: int) -> int:
    count = 0
    while row - count > 0 and not text.lines[row - count - 1].strip():
        count += 1
    return count


def decorators(scope: Scope) -> Iterator[Mended]:
    """A lost decorator, above the next one that is there or the definition itself."""
    for at, decorator in check_losses.lost_decorators(scope):
        each, now = scope.old.definitions[at], scope.became[at]
        if now is None:
            continue
        rows = range(each.start, max(each.signature_end, each.head + 1))
        line = next(row for row in rows if scope.old.lines[row].strip() == decorator)
        below = [text.strip() for text in scope.old.lines[line + 1 : rows.stop]]
        there = [
            row
            for row in range(now.start, now.head)
            if scope.new.lines[row].strip() in below and scope.new.lines[row].strip().startswith(("@", "#["))
        ]
        place = there[0] if there else now.head
        yield from (Mended(text, f"put back `{decorator}` on `{each.label}`") for text in undone(scope, line, line + 1))
        yield Mended(
            with_lines(scope.new.lines, place, place, [scope.old.lines[line]]),
            f"put back `{decorator}` on `{each.label}`",
        )


def docstrings(scope: Scope) -> Iterator[Mended]:
    """A docstring as it was."""
    for at in check_losses.lost_docstrings(scope):
        each, now = scope.old.definitions[at], scope.became[at]
        if now is None or each.doc is None:
            continue
        lines = scope.old.lines[each.doc[0] : each.doc[1]]
        note = f"put back the docstring of `{each.label}`"
        yield from (Mended(text, note) for text in undone(scope, *each.doc))
        if now.doc is not None:
            yield Mended(with_lines(scope.new.lines, *now.doc, lines), note)
        else:
            row = now.signature_end
            gap = scope.old.lines[each.doc[1] : each.doc[1] + 1]
            blank = [""] if gap == [""] and each.doc[1] < each.end and scope.new.lines[row].strip() else []
            yield Mended(with_lines(scope.new.lines, row, row, [*lines, *blank]), note)
    if check_losses.lost_heading(scope):
        yield from _heading(scope)


def _heading(scope: Scope) -> Iterator[Mended]:
    """The docstring of the file."""
    was, now = (file_docstring(each.text) for each in (scope.old, scope.new))
    if was is None:
        return
    _, start, end = was
    lines = scope.old.lines[start:end]
    note = "put back the docstring at the top of the file"
    yield from (Mended(text, note) for text in undone(scope, start, end))
    if now is not None:
        yield Mended(with_lines(scope.new.lines, *now[1:], lines), note)
        return
    row = start if scope.old.lines[:start] == scope.new.lines[:start] else 0
    blanks = 0
    while end + blanks < len(scope.old.lines) and not scope.old.lines[end + blanks].strip():
        blanks += 1
    have = 0
    while row + have < len(scope.new.lines) and not scope.new.lines[row + have].strip():
        have += 1
    yield Mended(with_lines(scope.new.lines, row, row, [*lines, *[""] * max(0, blanks - have)]), note)


def comments(scope: Scope) -> Iterator[Mended]:
    """A comment, at its code."""
    for comment in check_losses.lost_comments(scope):
        first = comment.text.split("\n")[0]
        note = f"put back the comment `{first[:50]}`"
        if comment.alone:
            yield from (Mended(text, note) for text in undone(scope, comment.start, comment.end))
            yield from _block_of_comment(scope, comment, note)
            continue
        code = renamed(comment.code, scope.renames)
        rows = [row for row, line in enumerate(scope.new.lines) if _code_of(scope, row, line) == code]
        if len(rows) > 1:
            rows = _within(scope, comment.start, rows)
        if len(rows) == 1:
            old, row = scope.old.lines[comment.start], rows[0]
            behind = old[old.index(comment.code) + len(comment.code) :]
            line = scope.new.lines[row]
            code = _code_of(scope, row, line)
            lead = line[: len(line) - len(line.lstrip())]
            yield Mended(with_lines(scope.new.lines, row, row + 1, [lead + code + behind]), note)
        yield from (Mended(text, note) for text in undone(scope, comment.start, comment.end))


def _code_of(scope: Scope, row: int, line: str) -> str:
    """A line without the comment behind it."""
    behind = next((each.code for each in scope.new.comments if each.start == row and not each.alone), None)
    return renamed(line.strip() if behind is None else behind, scope.renames)


def _block_of_comment(scope: Scope, comment: Comment, note: str) -> Iterator[Mended]:
    old, new = scope.old, scope.new
    lines = old.lines[comment.start : comment.end]
    below = comment.end
    while below < len(old.lines) and not old.lines[below].strip():
        below += 1
    gap = [""] * (below - comment.end)
    heads = [at for at, each in enumerate(old.definitions) if each.start == comment.start]
    rows = [now.start for at in heads if (now := scope.became[at]) is not None]
    if not rows and comment.code:
        code = renamed(comment.code, scope.renames)
        rows = [row for row, line in enumerate(new.lines) if renamed(line.strip(), scope.renames) == code]
    if len(rows) > 1:
        rows = _within(scope, comment.start, rows)
    if not comment.code:
        rows = [len(new.lines) - (not new.lines[-1])]
    if not rows:
        return
    row = rows[0]
    had = {renamed(each.text, scope.renames) for each in old.comments}
    other = next(
        (
            each
            for each in new.comments
            if each.alone and (each.start == row or each.end == row) and renamed(each.text, scope.renames) not in had
        ),
        None,
    )
    if other is not None:
        yield Mended(with_lines(new.lines, other.start, other.end, lines), note)
    yield Mended(with_lines(new.lines, row, row, [*lines, *gap]), note)


def _within(scope: Scope, row: int, rows: list[int]) -> list[int]:
    """Those of the rows that lie in what the old row's definition became; only where that leaves one."""
    around = [at for at, each in enumerate(scope.old.definitions) if each.start <= row < each.end]
    for at in reversed(around):
        now = scope.became[at]
        if now is not None:
            inside = [each for each in rows if now.start <= each < now.end]
            return inside if len(inside) == 1 else []
    return []


def without_repeats(scope: Scope) -> Iterator[Mended]:
    """What is there twice, once."""
    repeated = check_marks.repeats(scope.old.lines, scope.new.lines)
    if repeated is not None:
        yield Mended(with_lines(scope.new.lines, *repeated, []), "took out lines that were given twice")
    doubled = check_losses.doubled_paths(scope)
    for path in doubled:
        same = [each for each in scope.new.definitions if each.path == path]
        for one, other in itertools.pairwise(same):
            if scope.new.tokens_of(one) == scope.new.tokens_of(other):
                blanks = _blanks_above(scope.new, other.start)
                yield Mended(
                    with_lines(scope.new.lines, other.start - blanks, other.end, []),
                    f"took out the second `{other.label}`",
                )


def placeholders(scope: Scope) -> Iterator[Mended]:
    """What a placeholder stands for, in its place; where that is there already, no placeholder."""
    for change, row in check_marks.placeholders(scope):
        lost = scope.old.lines[change.start : change.end]
        note = f"put back what stood in the place of `{scope.new.lines[row].strip()[:50]}`"
        yield Mended(with_lines(scope.new.lines, row, row + 1, lost), note)
        yield Mended(with_lines(scope.new.lines, row, row + 1, []), note)


def without_extras(scope: Scope) -> Iterator[Mended]:
    """Definitions nobody asked for, and old code that stands there again as a comment."""
    for each in check_changes.extras(scope):
        blanks = _blanks_above(scope.new, each.start)
        yield Mended(
            with_lines(scope.new.lines, each.start - blanks, each.end, []),
            f"took out `{each.label}`, which was not asked for",
        )
    rows = check_changes.commented_out(scope)
    if rows:
        lines = [line for row, line in enumerate(scope.new.lines) if row not in rows]
        yield Mended("\n".join(lines), "took out old code that stood there as a comment")
