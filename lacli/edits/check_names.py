"""Names that an edit left undefined, defined anew or forgot to rename. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from lacli.edits.fault import Fault
from lacli.edits.occurrences import missed
from lacli.edits.pieces import Pieces, renamed
from lacli.edits.scope import Scope

_TELLING = {
    "UndefinedName": "`{0}` is used but not defined",
    "UndefinedLocal": "`{0}` is used before it is defined",
    "UndefinedExport": "`{0}` is in __all__ but not defined",
    "RedefinedWhileUnused": "`{0}` is defined twice",
    "DuplicateArgument": "the parameter `{0}` stands twice",
    "ReturnOutsideFunction": "a return stands outside of any function",
    "YieldOutsideFunction": "a yield stands outside of any function",
    "ContinueOutsideLoop": "a continue stands outside of any loop",
    "BreakOutsideLoop": "a break stands outside of any loop",
}


def names(scope: Scope) -> Iterator[Fault]:
    """What is new of such faults."""
    had = {renamed(line, scope.renames) for _, _, line in flakes(scope.old.text, scope.old.language)}
    said: set[str] = set()
    for _, row, line in flakes(scope.new.text, scope.new.language):
        if renamed(line, scope.renames) not in had and line not in said:
            said.add(line)
            yield Fault("undefined", f"{line} (line {row})")
    for name, lines in dangling(scope):
        if f"`{name}` is used but not defined" not in said:
            yield Fault("undefined", f"`{name}` is gone, and line {lines[0] + 1} still uses it")
    for (old, new), places in missed(scope).items():
        where = ", ".join(str(place.row + 1) for place in places[:5])
        yield Fault("rename", f"`{old}` is not yet renamed to `{new}` in line {where}")


def undefined(text: str, language: str) -> list[str]:
    """The names that Python would not find, in order."""
    return list(dict.fromkeys(name for kind, name, _, _ in _messages(text, language) if kind == "UndefinedName"))


def flakes(text: str, language: str) -> list[tuple[str, int, str]]:
    """The kind, line and wording of what pyflakes has to say against a text."""
    return [(kind, row, _TELLING[kind].format(name)) for kind, name, row, _ in _messages(text, language)]


@functools.lru_cache(maxsize=24)
def _messages(text: str, language: str) -> tuple[tuple[str, str, int, int], ...]:
    if language != "python":
        return ()
    import ast
    import warnings

    from pyflakes.checker import Checker

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            found = Checker(tree).messages
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # a fault of its own
    return tuple(
        (type(each).__name__, str(each.message_args[0]) if each.message_args else "", each.lineno, each.col)
        for each in sorted(found, key=lambda each: (each.lineno, each.col))
        if type(each).__name__ in _TELLING
    )


def dangling(scope: Scope) -> list[tuple[str, list[int]]]:
    """Functions and classes of the top level that are gone on request and still used, with the lines that use them.

    For languages other than Python, whose own checker sees them.
    """
    if scope.old.language in ("python", "markdown", "toml", "json", "yaml"):
        return []
    there = {each.name for each in scope.new.definitions} | {each.bound for each in scope.new.imports}
    gone = [
        each.name
        for at, each in enumerate(scope.old.definitions)
        if each.parent is None
        and len(each.path) == 1
        and each.kind in ("function", "class")
        and scope.became[at] is None
        and each.name.isidentifier()
        and each.name not in there
    ]
    return [(name, lines) for name in gone if (lines := _lines_with(scope.new, name))]


def _lines_with(text: Pieces, name: str) -> list[int]:
    return [
        row
        for row in range(len(text.lines))
        if name in (tokens := text.tokens(row, row + 1)) and tokens[max(0, tokens.index(name) - 1)] != "."
    ]
