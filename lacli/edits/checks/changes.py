"""What an edit changed that the instruction does not speak of. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope, same_but_for
from lacli.edits.reply.doubts import FEW_LINES, LOST_SHARE
from lacli.edits.tree.hunks import hunks
from lacli.edits.tree.outline import Definition
from lacli.edits.tree.pieces import Pieces, mentions, renamed
from lacli.text.lines import written

_MOST_LOST_SHARE = 0.75
"""The share of lines that is missed in any edit."""
_OF_TYPES = re.compile(r"\b(?:type|types|typed|typing|hints?|annotat\w*|signature|parameters?|arguments?)\b", re.I)
_ADDS = re.compile(
    r"\b(?:add|creat|writ|implement|introduc|defin|insert|generat)\w*\s+(?:(?!to\b|in\b|of\b|from\b|on\b)[\w'-]+\s+){0,3}?"
    r"(?:helper|function|method|class|test|struct|type|enum|trait|interface|propert|constructor|getter|setter|section|"
    r"heading|chapter|table|wrapper|decorator)|\b(?:extract|split|overload)",
    re.IGNORECASE,
)
"""How an instruction asks for definitions whose names it leaves to the model."""
_TYPED = ("python", "typescript")
_LEAVE_IT = "leave it as it was"


def changes(scope: Scope) -> Iterator[Fault]:
    """Definitions that are not as they were, and statements that are gone."""
    for at in changed_siblings(scope):
        why = "and only names are to change" if scope.only_renames else "which was not asked for"
        yield Fault("changed", f"`{scope.old.definitions[at].label}` is changed, {why}", _LEAVE_IT)
    for row in changed_outside(scope)[:1]:
        shown = scope.old.lines[row].strip()[:50]
        yield Fault("changed", f"line {row + 1} (`{shown}`) is changed, which was not asked for", _LEAVE_IT)
    for line in lost_statements(scope):
        yield Fault("changed", f"line {line + 1} (`{scope.old.lines[line].strip()[:50]}`) is gone")


def changed_siblings(scope: Scope) -> list[int]:
    """The places of definitions that have to stay and did not."""
    return [
        at
        for at in range(len(scope.old.definitions))
        if scope.became[at] is not None and not scope.is_as_it_was(at) and scope.has_to_stay(at)
    ]


def changed_outside(scope: Scope) -> list[int]:
    """The lines outside of definitions that are not as they were, though the instruction names other things."""
    if not scope.names or scope.old.language == "markdown":
        return []
    old, new = scope.old, scope.new
    had = [old.tokens(row, row + 1) for row in old.loose_rows]
    has = [new.tokens(row, row + 1) for row in new.loose_rows]
    if same_but_for(sum(had, ()), sum(has, ()), scope.renames):
        return []
    names = scope.names | scope.intent.adds | scope.intent.removes
    return [
        old.loose_rows[at]
        for change in hunks(had, has)
        for at in range(change.start, change.end)
        if scope.only_renames or not mentions(sum(had[change.start : change.end], ()), names)
    ]


def lost_statements(scope: Scope) -> list[int]:
    """The first line of each run of code that went with nothing in its place.

    In an edit that may shorten, only what stands outside all that the instruction names.
    """
    lines = (
        [renamed(line, scope.renames) for line in scope.old.lines],
        [renamed(line, scope.renames) for line in scope.new.lines],
    )
    there = Counter(line.strip() for line in lines[1])
    had = Counter(line.strip() for line in lines[0])
    prose = _prose_rows(scope.old)
    found: list[int] = []
    for change in hunks(*lines):
        if written(lines[1][change.new_start : change.new_end]):
            continue
        for line in range(change.start, change.end):
            text = lines[0][line].strip()
            if there[text] >= had[text] or line in prose or _is_punctuation(text):
                continue
            if not _may_go(scope, line):
                found.append(line)
                break
    return found


def _prose_rows(text: Pieces) -> set[int]:
    """The lines of comments and docstrings, which are judged by themselves."""
    ranges = [(each.start, each.end) for each in text.comments if each.alone]
    ranges += [each.doc for each in text.definitions if each.doc is not None]
    if text.language == "python" and text.tokens()[:1] and text.tokens()[0][-1:] in "\"'":
        ranges.append((0, next((row for row in range(1, len(text.lines)) if text.tokens(row, row + 1)), 0)))
    return {row for start, end in ranges for row in range(start, end)}


def _may_go(scope: Scope, line: int) -> bool:
    if any(each.start <= line < each.end for each in scope.old.imports):
        return True  # judged by their names
    around = [at for at, each in enumerate(scope.old.definitions) if each.start <= line < each.end]
    if any(scope.became[at] is None for at in around):
        return True  # a loss of its own, or one that was asked for
    if mentions(scope.old.tokens(line, line + 1), scope.intent.removes):
        return True
    inside = not scope.restricted or bool(around and (around[-1] in scope.free or not scope.has_to_stay(around[-1])))
    return inside and scope.may_shorten and not scope.only_renames


def _is_punctuation(text: str) -> bool:
    return not re.search(r"\w", text)


def signatures(scope: Scope) -> Iterator[Fault]:
    """Parameters and type hints that went without being spoken of."""
    text = scope.words
    for at, each in enumerate(scope.old.definitions):
        now = scope.became[at]
        if now is None or each.kind != "function":
            continue
        kept = {renamed(name, scope.renames) for name in now.parameters}
        lost = [name for name in each.parameters if renamed(name, scope.renames) not in kept]
        lost = [name for name in lost if not scope.intent.allows_loss_of(name) and not mentions([text], [name])]
        lost = [name for name in lost if name not in scope.intent.names]
        if lost and not (_OF_TYPES.search(text) and scope.may_shorten):
            yield Fault("lost", f"`{each.label}` has lost its parameter {', '.join(lost)}")
        elif (
            scope.old.language in _TYPED
            and not _OF_TYPES.search(text)
            and not scope.intent.removes
            and _hints(scope.new, now) < _hints(scope.old, each)
        ):
            yield Fault("lost", f"`{each.label}` has lost type hints")


def _hints(text: Pieces, definition: Definition) -> int:
    head = text.tokens(definition.head, max(definition.signature_end, definition.head + 1))
    return sum(token in (":", "->", "?:") for token in head)


def shrinking(scope: Scope) -> Iterator[Fault]:
    """Parts of which too little is left for what was asked."""
    if not "".join(scope.new.lines).strip() and "".join(scope.old.lines).strip():
        yield Fault("size", "nothing is left of the file")
        return
    share = _MOST_LOST_SHARE if scope.may_shorten else LOST_SHARE
    for at, each in enumerate(scope.old.definitions):
        now = scope.became[at]
        if now is None or each.kind not in ("function", "class", "heading", "table"):
            continue
        had = written(scope.old.lines[each.start : each.end]) - _allowed(scope, each)
        has = written(scope.new.lines[now.start : now.end])
        if had >= FEW_LINES and had - has > had * share:
            yield Fault("size", f"`{each.label}` has {has} lines where {had} were")
            return
    had, has = (written(text.lines) for text in (scope.old, scope.new))
    had -= sum(_allowed(scope, each) for each in scope.old.children(None))
    if had >= FEW_LINES and had - has > had * share:
        yield Fault("size", f"{has} lines are left of {had}")


def _allowed(scope: Scope, definition: Definition) -> int:
    """How many lines of a definition went with what was asked to go."""
    at = scope.old.place(definition)
    if scope.became[at] is None and scope.may_lose(definition):
        return written(scope.old.lines[definition.start : definition.end])
    return sum(_allowed(scope, child) for child in scope.old.children(definition))


def additions(scope: Scope) -> Iterator[Fault]:
    """What came without being asked for."""
    for each in extras(scope):
        yield Fault("changed", f"`{each.label}` was not asked for, and nothing uses it")
    if rows := commented_out(scope):
        yield Fault("changed", f"line {min(rows) + 1} is old code made a comment")


def extras(scope: Scope) -> list[Definition]:
    """New functions and classes that nothing uses and the instruction does not want."""
    had = {each.path for each in scope.old.definitions}
    if not scope.intent.adds and _ADDS.search(scope.words):
        return []
    found: list[Definition] = []
    for each in scope.new.definitions:
        if each.kind not in ("function", "class", "table", "heading") or each.path in had or each.name.startswith("__"):
            continue
        if each in (now for now in scope.became if now is not None) or each.name in scope.intent.adds:
            continue
        if mentions([scope.intent.text], [each.name]):
            continue
        if any(up.path not in had or up.kind == "function" for up in scope.new.ancestors(each)):
            continue
        rest = scope.new.tokens(0, each.start) + scope.new.tokens(each.end)
        if not mentions(rest, [each.name]):
            found.append(each)
    return found


def commented_out(scope: Scope) -> set[int]:
    """The lines of new comments that are old code, where more than one is."""
    if scope.about_comments:
        return set()
    had = {line.strip() for each in scope.old.comments for line in scope.old.lines[each.start : each.end]}
    codes = {
        text
        for row, line in enumerate(scope.old.lines)
        if len(text := line.strip()) > 3 and scope.old.tokens(row, row + 1) and not _is_punctuation(text)
    }
    rows = {
        row
        for each in scope.new.comments
        if each.alone
        for row in range(each.start, each.end)
        if (line := scope.new.lines[row].strip()) not in had and line.strip("#/*-; ") in codes
    }
    return rows if len(rows) > 1 else set()
