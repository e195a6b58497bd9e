"""What an edit lost that nobody asked to remove: definitions, imports, docstrings, comments, decorators. Pure.

`mend.losses` puts back what is found here.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.tree.imports import Import
from lacli.edits.tree.outline import Definition
from lacli.edits.tree.pieces import Comment, Pieces, file_docstring, mentions, renamed

_REWORDED = 0.5
"""Likeness from which a comment inside what the instruction names counts as the old one, brought up to date."""
_CUT = 4
"""So many words gone from a text in a row are a loss, not other words."""
_NAMES = frozenset("{[")
"""What the name of a pattern begins with: `{ a, b }` of JavaScript is no name but a list of them."""


def losses(scope: Scope) -> Iterator[Fault]:
    """Everything that is gone."""
    for at in lost_definitions(scope):
        yield Fault("lost", f"`{scope.old.definitions[at].label}` is gone")
    for each in lost_imports(scope):
        yield Fault("lost", f"the import of {each.label} is gone")
    for at in lost_docstrings(scope):
        yield Fault("lost", f"the docstring of `{scope.old.definitions[at].label}` is gone or changed")
    if lost_heading(scope):
        yield Fault("lost", "the docstring at the top of the file is gone or changed")
    for at, decorator in lost_decorators(scope):
        yield Fault("lost", f"`{decorator}` above `{scope.old.definitions[at].label}` is gone")
    for comment in lost_comments(scope):
        yield Fault("lost", f"the comment `{_short(comment.text)}` is gone or changed (line {comment.start + 1})")


def doubled(scope: Scope) -> Iterator[Fault]:
    """Definitions that stand twice where they stood once."""
    for path in doubled_paths(scope):
        yield Fault("doubled", f"`{'.'.join(path)}` is defined twice")


def doubled_paths(scope: Scope) -> list[tuple[str, ...]]:
    """The paths of what is there more often than before with one and the same head."""
    kinds = {"function", "class", "heading"}
    if scope.old.language != "python":  # where a name may be bound again
        kinds |= {"variable", "key", "table"}

    def heads(text: Pieces) -> Counter[tuple[tuple[str, ...], str]]:
        return Counter(
            (tuple(renamed(name, scope.renames) for name in each.path), renamed(_head(text, each), scope.renames))
            for each in text.definitions
            if each.kind in kinds and not _is_repeatable(text, each)
        )

    had = heads(scope.old)
    found = [path for (path, head), count in heads(scope.new).items() if count > max(1, had[path, head])]
    return list(dict.fromkeys(found))


def _is_repeatable(text: Pieces, definition: Definition) -> bool:
    """Whether the same head may stand more than once: Rust's blocks of one type, TOML's arrays of tables, what lies
    in one of these."""
    family = (definition, *text.ancestors(definition))
    return any(_head(text, each).startswith(("impl", "[[", "-")) for each in family)


def order(scope: Scope) -> Iterator[Fault]:
    """Definitions that changed places."""
    for ahead, each in swapped(scope)[:1]:
        yield Fault("order", f"`{each.label}` stands before `{ahead.label}` now", "keep their order")


def swapped(scope: Scope) -> list[tuple[Definition, Definition]]:
    """Neighbours of which the second stands before the first now."""
    found: list[tuple[Definition, Definition]] = []
    for parent in (None, *scope.old.definitions):
        children = [
            (each, now.start)
            for each in scope.old.children(parent)
            if (now := scope.became[scope.old.place(each)]) is not None
            and not (scope.moves and (scope.is_named(each) or not scope.intent.names))
        ]
        found += [(one, other) for (one, first), (other, second) in itertools.pairwise(children) if second < first]
    return found


def lost_definitions(scope: Scope) -> list[int]:
    """The places of definitions that are gone; of what is gone with all it holds only the outermost."""
    found: list[int] = []
    for at, each in enumerate(scope.old.definitions):
        if scope.became[at] is not None or scope.may_lose(each) or each.parent in found:
            continue
        if each.parent is not None and scope.became[each.parent] is None:
            continue
        if each.name[:1] in _NAMES and _is_covered(each.name, scope.new):
            continue
        found.append(at)
    return found


def _is_covered(pattern: str, text: Pieces) -> bool:
    """Whether every name of a pattern is in a pattern of the text."""
    wanted = _listed(pattern)
    return any(wanted <= _listed(each.name) for each in text.definitions if each.name[:1] in _NAMES)


def _listed(pattern: str) -> set[str]:
    return set(pattern.strip("{}[] ").replace(",", " ").split())


def lost_imports(scope: Scope) -> list[Import]:
    """Imports that are gone although what they bind is still used, or never was."""
    there = {each.label for each in scope.new.imports}
    bound = {each.bound for each in scope.new.imports} | {each.name for each in scope.new.definitions}
    found: list[Import] = []
    for each in scope.old.imports:
        if each.label in there or renamed(each.label, scope.renames) in there:
            continue
        names = (each.label, each.bound, each.label.rsplit(".", 1)[-1])
        if any(name and scope.intent.allows_loss_of(name) for name in names) or (each.bound and each.bound in bound):
            continue
        gone = each.bound and _uses(scope.old, each.bound) and not _uses(scope.new, each.bound)
        if gone and scope.names:  # with what is named its imports may go, without a name nothing may
            continue
        found.append(each)
    return found


def _uses(text: Pieces, name: str) -> bool:
    """Whether a name stands anywhere outside the imports."""
    held = {line for each in text.imports for line in range(each.start, each.end)}
    rest = [token for line in range(len(text.lines)) if line not in held for token in text.tokens(line, line + 1)]
    return mentions(rest, (name,))


def lost_docstrings(scope: Scope) -> list[int]:
    """The places of definitions that lost their docstring, or got another one that nobody asked for."""
    found: list[int] = []
    for at, each in enumerate(scope.old.definitions):
        now = scope.became[at]
        if now is None or each.doc is None:
            continue
        was = scope.old.text_of(*each.doc)
        about = scope.about_docs and scope.concerns(at)
        if now.doc is None:
            if not (about and scope.may_shorten):
                found.append(at)
        elif not about and not _is_same_prose(scope, was, scope.new.text_of(*now.doc), at in scope.free):
            found.append(at)
    return found


def lost_heading(scope: Scope) -> bool:
    """Whether the docstring of the file (Python) is gone or another one."""
    if scope.old.language != "python" or (scope.about_docs and not scope.names):
        return False
    was, now = (file_docstring(each.text) for each in (scope.old, scope.new))
    return was is not None and (now is None or renamed(was[0], scope.renames) != renamed(now[0], scope.renames))


def lost_decorators(scope: Scope) -> list[tuple[int, str]]:
    """Decorators and attributes that stood above what is still there."""
    found: list[tuple[int, str]] = []
    for at, each in enumerate(scope.old.definitions):
        now = scope.became[at]
        if now is None:
            continue
        there = Counter(renamed(line, scope.renames) for line in decorators(scope.new, now))
        for line in decorators(scope.old, each):
            name = line.strip("@#[]!").split("(")[0].split(".")[-1]
            if there[renamed(line, scope.renames)]:
                there[renamed(line, scope.renames)] -= 1
            elif (names := _derived(line)) and names <= set().union(*map(_derived, there)):
                continue
            elif not scope.intent.allows_loss_of(name) and not mentions([scope.intent.text], [name]):
                found.append((at, line))
    return found


def _derived(attribute: str) -> set[str]:
    """The traits that an attribute of Rust derives."""
    return set(re.findall(r"[\w:]+", attribute)[1:]) if attribute.startswith("#[derive(") else set()


def decorators(text: Pieces, definition: Definition) -> list[str]:
    """The decorators and attributes of a definition."""
    lines = text.lines[definition.start : max(definition.signature_end, definition.head + 1)]
    return [line.strip() for line in lines if line.strip().startswith(("@", "#["))]


def lost_comments(scope: Scope) -> list[Comment]:
    """Comments that are gone or changed although their code is there."""
    there = Counter(renamed(each.text, scope.renames) for each in scope.new.comments)
    lines = {renamed(line.strip(), scope.renames) for line in scope.new.lines}
    codes = {renamed(each.code, scope.renames) for each in scope.new.comments if not each.alone} | lines
    found: list[Comment] = []
    for each in scope.old.comments:
        text = renamed(each.text, scope.renames)
        if there[text]:
            there[text] -= 1
        elif _may_change(scope, each):
            continue
        elif not _is_gone_with_its_code(scope, each, codes) and not _is_reworded(scope, each):
            found.append(each)
    return found


def _may_change(scope: Scope, comment: Comment) -> bool:
    """Whether the instruction is about this comment. One that only adds some takes none away, but for its own kind."""
    if scope.only_documents:
        return _is_documentation(scope, comment)
    return scope.about_comments and _is_about(scope, comment)


def _is_documentation(scope: Scope, comment: Comment) -> bool:
    """Whether a comment stands right above something that the instruction wants documented."""
    return any(
        each.start <= comment.start and comment.end <= each.head and scope.is_named(each)
        for each in scope.old.definitions
    )


def _is_about(scope: Scope, comment: Comment) -> bool:
    """Whether an instruction about comments means this one."""
    around = [
        at for at, each in enumerate(scope.old.definitions) if each.start <= comment.start and comment.end <= each.end
    ]
    return not scope.names or bool(around and scope.concerns(around[-1]))


def _is_gone_with_its_code(scope: Scope, comment: Comment, codes: set[str]) -> bool:
    if not comment.code or not (scope.names or scope.intent.adds) or renamed(comment.code, scope.renames) in codes:
        return False
    row = comment.code_row
    heads = [at for at, each in enumerate(scope.old.definitions) if comment.alone and each.start <= row <= each.head]
    return not any(scope.became[at] is not None for at in heads)


def _is_reworded(scope: Scope, comment: Comment) -> bool:
    """Whether the comment is there in other words, within what may change."""
    around = [
        at for at, each in enumerate(scope.old.definitions) if each.start <= comment.start and comment.end <= each.end
    ]
    if scope.only_documents or (not scope.concerns(around[-1]) if around else scope.names):
        return False
    had = {each.text for each in scope.old.comments}
    lines = set(comment.text.split("\n"))
    return any(
        _is_same_prose(scope, comment.text, each.text, True) and not set(each.text.split("\n")) < lines
        for each in scope.new.comments
        if each.text not in had
    )


def _is_same_prose(scope: Scope, was: str, now: str, reworded: bool) -> bool:
    """Whether a text is the old one, blanks and new names apart. `reworded`: it may have been brought up to date."""
    one, other = (" ".join(renamed(text, scope.renames).split()) for text in (was, now))
    if one == other or not reworded:
        return one == other
    if SequenceMatcher(None, one, other, False).ratio() < _REWORDED:
        return False
    words = SequenceMatcher(None, one.split(), other.split(), False).get_opcodes()
    return not any(kind == "delete" and end - start >= _CUT for kind, start, end, _, _ in words)


def _head(text: Pieces, definition: Definition) -> str:
    return " ".join(line.strip() for line in text.lines[definition.head : definition.signature_end])


def _short(text: str) -> str:
    line = text.split("\n")[0]
    return line if len(line) <= 50 else line[:47] + "..."
