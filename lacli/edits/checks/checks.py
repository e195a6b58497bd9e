"""What speaks against writing an edited file: the one entry to all checks. Pure. Each topic has a
module of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lacli.edits.checks import (
    asked,
    changes,
    guards,
    items,
    layout,
    losses,
    marks,
    members,
    names,
    strays,
    untouched,
)
from lacli.edits.checks.fault import Fault, FaultKind
from lacli.edits.checks.scope import Scope, scope_of
from lacli.edits.find.intent import Intent
from lacli.edits.reply.doubts import lost_runs
from lacli.edits.tree.syntax import parsed

__all__ = ["Fault", "FaultKind", "faults"]


def faults(
    before: str, after: str, language: str, intent: Intent, spans: Sequence[tuple[int, int]]
) -> tuple[Fault, ...]:
    """What is wrong with `after`, the whole text of the file that was `before`. Empty where it may be written.

    `spans` are the line ranges of `before`, from 0, that the edit was to rewrite.
    """
    if before == after:
        return ()
    scope = scope_of(before, after, language, intent, spans)
    return tuple(dict.fromkeys((*_syntax(scope), *_content(scope), *layout.layout(scope))))


def _content(scope: Scope) -> Iterator[Fault]:
    yield from marks.marks(scope)
    if scope.old.outline is not None and scope.old.outline.definitions and not _is_broken_anew(scope):
        yield from losses.losses(scope)
        yield from untouched.untouched(scope)
        yield from losses.doubled(scope)
        yield from losses.order(scope)
        yield from changes.changes(scope)
        yield from changes.signatures(scope)
        yield from changes.additions(scope)
        yield from strays.strays(scope)
        yield from names.names(scope)
        yield from members.members(scope)
        yield from items.items(scope)
        yield from guards.guards(scope)
        yield from asked.unused(scope)
    else:
        yield from _lines_gone(scope)
    yield from changes.shrinking(scope)
    yield from asked.asked(scope)
    yield from asked.kept(scope)


def _syntax(scope: Scope) -> Iterator[Fault]:
    """Whether the text parses, where it did."""
    if scope.old.language == "markdown":
        if _open_fences(scope.new.lines) and not _open_fences(scope.old.lines):
            yield Fault("syntax", "a fenced block is not closed any more")
    elif _is_broken_anew(scope):
        yield Fault("syntax", f"{_where(scope)}, and the file did before")


def _is_broken_anew(scope: Scope) -> bool:
    return scope.old.sound is True and scope.new.sound is False


def _where(scope: Scope) -> str:
    """That the text does not parse, with the line where that shows."""
    if scope.old.language == "python":
        import ast

        try:
            ast.parse(scope.new.text)
        except SyntaxError as error:
            return f"line {error.lineno} does not parse ({error.msg})"
        except (ValueError, RecursionError, MemoryError):
            return "the file does not parse"
    tree = parsed(scope.new.text, scope.new.language)
    if tree is not None:
        node = tree.root_node
        while (inner := next((each for each in node.children if each.has_error or each.is_missing), None)) is not None:
            node = inner
        if node.is_error or node.is_missing:
            return f"line {node.start_point[0] + 1} does not parse"
    return "the file does not parse"


def _open_fences(lines: Sequence[str]) -> bool:
    opened = ""
    for line in lines:
        found = re.match(r" {0,3}(`{3,}|~{3,})\s*(\S*)", line)
        if found is None:
            continue
        if not opened:
            opened = found[1]
        elif found[1][0] == opened[0] and len(found[1]) >= len(opened) and not found[2]:
            opened = ""
    return bool(opened)


def _lines_gone(scope: Scope) -> Iterator[Fault]:
    """Of what has no tree: a long run of lines with next to nothing in its stead."""
    if scope.intent.removes:
        return
    for line, count in lost_runs(scope.old.lines, scope.new.lines):
        yield Fault("lost", f"{count} lines from line {line + 1} on are gone")
