"""Code beside the definitions that nobody asked for: calls, prints, `if __name__` blocks, exports, imports below code.

Models end what they were asked for with a use of it. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.mend.mending import fresh_rows
from lacli.edits.tree.grammar import GRAMMARS
from lacli.edits.tree.hunks import hunks
from lacli.edits.tree.imports import Import
from lacli.edits.tree.outline import Definition
from lacli.edits.tree.pieces import Pieces, mentions, renamed
from lacli.edits.tree.syntax import parsed, text_of

_DATA = ("markdown", "toml", "json", "yaml")
_ASKS_FOR_CODE = re.compile(
    r"\b(?:module|top)[- ]level\b|\b__main__\b|\bmain\b|\bscripts?\b|\bentry ?points?\b|\b(?:examples?|demos?|usage)\b"
    r"|\b(?:end|bottom|top|beginning|start|head|foot) of (?:the|this|its) (?:file|module|script|program)"
    r"|\b(?:export|regist|statement|global)\w*"
    r"|(?:^|[.;,]\s*|\b(?:and|then|also)\s+)(?:print|call|run|invoke|show|execute|start|test|log|assign|set)\b",
    re.IGNORECASE,
)
"""How an instruction asks for code that stands in no definition."""
_OF_IMPORTS = re.compile(r"\b(?:import|include|use statement|header|__future__)\w*", re.IGNORECASE)
_ASKS_FOR_VALUES = re.compile(
    r"\b(?:constants?|consts?|variables?|globals?|alias\w*|settings?|defin\w*|tables?|lists?|maps?|dict\w*|names?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Item:
    """A statement at the top of a file."""

    text: str
    start: int
    end: int
    name: str
    """What it defines, if it is a variable."""


def strays(scope: Scope) -> Iterator[Fault]:
    """What is new of such code, each piece once."""
    for start, _ in stray_rows(scope):
        row = next(row for row in range(start, len(scope.new.lines)) if scope.new.tokens(row, row + 1))
        yield Fault(
            "changed",
            f"`{scope.new.lines[row].strip()[:50]}` was not asked for",
            "give no code beside the definition",
        )
    for each in unused_imports(scope):
        yield Fault("changed", f"the import of {each.label} was not asked for, and it is needless")
    for start, _ in late_imports(scope):
        yield Fault(
            "layout",
            f"`{scope.new.lines[start].strip()[:50]}` stands below other code",
            "imports stand at the top",
        )


def stray_rows(scope: Scope) -> list[tuple[int, int]]:
    """The lines of each run of new statements at the top level, with the new comments above."""
    if scope.old.language in _DATA or scope.old.outline is None or _may_have_code(scope):
        return []
    old, new = _items(scope.old), _items(scope.new)
    texts = [renamed(each.text, scope.renames) for each in old], [renamed(each.text, scope.renames) for each in new]
    fresh: list[_Item] = []
    for change in hunks(*texts):
        fresh += _came(scope, old[change.start : change.end], new[change.new_start : change.new_end])
    return _joined(scope, [(_with_comments(scope, each.start), each.end) for each in _unwanted(scope, fresh)])


def _came(scope: Scope, old: Sequence[_Item], new: Sequence[_Item]) -> list[_Item]:
    """Of statements in the place of others those that are more; the rest is judged as a change."""
    names = {renamed(each.name, scope.renames) for each in old if each.name}
    plain = sum(not each.name for each in old)
    fresh = [each for each in new if each.name and renamed(each.name, scope.renames) not in names]
    return [*fresh, *[each for each in new if not each.name][plain:]]


def _unwanted(scope: Scope, fresh: Sequence[_Item]) -> list[_Item]:
    """Of new statements those that are neither asked for nor define what the rest of the file uses."""
    left = [each for each in fresh if not _is_asked_for(scope, each)]
    while True:
        rows = {row for each in left for row in range(each.start, each.end)}
        kept = [row for row in range(len(scope.new.lines)) if row not in rows]
        rest = [token for row in kept for token in scope.new.tokens(row, row + 1)]
        unused = [each for each in left if not each.name or not mentions(rest, [each.name])]
        if len(unused) == len(left):
            return left
        left = unused  # what these use is used, too


def late_imports(scope: Scope) -> list[tuple[int, int]]:
    """The lines of new imports that stand below functions or classes, in a file whose imports stand above them."""
    if scope.old.outline is None or scope.new.outline is None or scope.old.language in _DATA:
        return []
    first = _first_block(scope.old)
    if any(start > first for start, _ in scope.old.outline.imports):
        return []
    here = _first_block(scope.new)
    had = {line.strip() for line in scope.old.lines}
    return [
        (start, end)
        for start, end in scope.new.outline.imports
        if start > here and scope.new.lines[start].strip() not in had
    ]


def unused_imports(scope: Scope) -> list[Import]:
    """New imports of what nothing uses, or what is imported already; of those that do not tell what they bring, where
    nothing new is used either."""
    if scope.old.language in _DATA or _OF_IMPORTS.search(scope.words):
        return []
    had = Counter(renamed(each.label, scope.renames) for each in scope.old.imports)
    bound = {each.bound for each in scope.old.imports if each.bound}
    has = Counter(renamed(each.label, scope.renames) for each in scope.new.imports)
    fresh = set(fresh_rows(scope))
    held = {row for each in scope.new.imports for row in range(each.start, each.end)}
    rest = [token for row in range(len(scope.new.lines)) if row not in held for token in scope.new.tokens(row, row + 1)]
    is_new = bool({token for token in rest if token.isidentifier()} - set(scope.old.tokens()) - _defined(scope.new))
    found: list[Import] = []
    for each in scope.new.imports:
        label = renamed(each.label, scope.renames)
        if had[label]:
            if has[label] > had[label] and fresh.intersection(range(each.start, each.end)):
                found.append(each)
        elif each.bound not in bound and not mentions([scope.intent.text], [each.label, each.bound]):
            # a trait of Rust is used by its methods, whose names tell nothing
            tells = each.bound.strip("_") and scope.old.language != "rust"
            is_used = mentions(rest, [each.bound]) if tells else is_new
            found += [] if is_used else [each]
    return found


def _defined(text: Pieces) -> set[str]:
    return {name for each in text.definitions for name in (each.name, *each.parameters)}


def _first_block(text: Pieces) -> int:
    blocks = (each.start for each in text.definitions if each.parent is None and each.kind in ("function", "class"))
    return min(blocks, default=len(text.lines))


def _may_have_code(scope: Scope) -> bool:
    """Whether such code may come: it is asked for, or what is rewritten is of that kind."""
    if _ASKS_FOR_CODE.search(scope.words):
        return True
    count = len(scope.old.lines) - (not scope.old.lines[-1])
    for start, end in scope.spans:
        whole = start == 0 and end >= count
        if whole and not (scope.names or scope.intent.adds):
            return True
        if not whole and any(start <= row < end for row in scope.old.loose_rows):
            return True
    return False


def _items(text: Pieces) -> list[_Item]:
    """The statements at the top of a file that are neither functions nor classes, imports or comments."""
    tree, grammar = parsed(text.text, text.language), GRAMMARS.get(text.language)
    if tree is None or grammar is None:
        return []
    found: list[_Item] = []
    for node in tree.root_node.named_children:
        if node.type in grammar.comments or node.type in grammar.imports or node.type in grammar.attributes:
            continue
        start, end = node.start_point[0], node.end_point[0] + (node.end_point[1] > 0)
        held = [each for each in text.definitions if each.parent is None and each.head < end and start < each.end]
        if any(each.kind in ("function", "class") for each in held):
            continue
        name = held[0].name if len(held) == 1 and not _is_of_a_member(text, held[0]) else ""
        name = name.strip("_") and name
        found.append(_Item(" ".join(text_of(node).split()), start, end, name))
    return found


def _is_of_a_member(text: Pieces, each: Definition) -> bool:
    """Whether it gives something to a member of an object: `module.exports = …`."""
    return re.match(r"\s*[\w$]+(?:\.[\w$]+)+\s*=", text.lines[each.head]) is not None


def _is_asked_for(scope: Scope, each: _Item) -> bool:
    """Whether the instruction wants this statement: it spells out the call or the name, or leaves the name open."""
    if not each.name:
        begin = re.match(r"[\w.]*", each.text)
        call = begin[0] if begin is not None else ""
        known = call in scope.intent.adds or call in scope.names
        return (
            bool(call)
            and not known
            and (f"{call}(" in scope.intent.text or ("." in call and call in scope.intent.text))
        )
    if each.name in scope.intent.adds or mentions([scope.intent.text], [each.name]):
        return True
    return not scope.intent.adds and _ASKS_FOR_VALUES.search(scope.words) is not None


def _with_comments(scope: Scope, start: int) -> int:
    """The first line with the new comments that lead to it."""
    had = {line.strip() for line in scope.old.lines}
    alone = {row for each in scope.new.comments if each.alone for row in range(each.start, each.end)}
    first, row = start, start - 1
    while row >= 0 and (not scope.new.lines[row].strip() or (row in alone and scope.new.lines[row].strip() not in had)):
        if row in alone:
            first = row
        row -= 1
    return first


def _joined(scope: Scope, rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs that only blank lines part, as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(rows):
        if found and not any(line.strip() for line in scope.new.lines[found[-1][1] : start]):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found
