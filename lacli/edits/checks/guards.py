"""Guards of Python that were put into a loop although what they look at never changes there. Pure.

`raise ValueError if most is below 1` is asked of a call, not of a round: in the loop it comes too late, or never.
`mend.guards` puts them at the beginning.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard in a loop; lines from 0."""

    test: str
    start: int
    end: int
    first: int
    """The first statement of its function behind the docstring."""
    indent: int
    """How deep that stands."""


def guards(scope: Scope) -> Iterator[Fault]:
    """Each guard that is new there."""
    for each in late(scope):
        yield Fault(
            "asked",
            f"`if {each.test}` stands in a loop, where it is the same in each round",
            "let it stand before the loop",
        )


def late(scope: Scope) -> list[Guard]:
    """New guards in loops that only look at parameters."""
    if scope.old.language != "python":
        return []
    had = {each.test for each in _in_loops(scope.old.text)}
    return [each for each in _in_loops(scope.new.text) if each.test not in had]


@functools.lru_cache(maxsize=24)
def _in_loops(text: str) -> tuple[Guard, ...]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(
        guard
        for function in ast.walk(tree)
        if isinstance(function, _Function)
        for loop in _own(function)
        if isinstance(loop, _LOOPS)
        for each in [*loop.body, *loop.orelse]
        if isinstance(each, ast.If) and (guard := _guard(function, each)) is not None
    )


def _guard(function: _Function, each: ast.If) -> Guard | None:
    """A statement as a guard of its function, if all it does is to raise, and all it looks at are parameters."""
    arguments = function.args
    parameters = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    looked_at = {node.id for node in ast.walk(each.test) if isinstance(node, ast.Name)}
    bound = {node.id for node in _own(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    plain = not any(
        isinstance(node, (ast.Call, ast.Attribute, ast.Subscript, ast.Await, ast.NamedExpr))
        for node in ast.walk(each.test)
    )
    raises = len(each.body) == 1 and isinstance(each.body[0], ast.Raise) and not each.orelse
    if not (raises and plain and looked_at and looked_at <= parameters - bound):
        return None
    body = function.body[ast.get_docstring(function, clean=False) is not None :]
    return Guard(
        ast.unparse(each.test), each.lineno - 1, each.end_lineno or each.lineno, body[0].lineno - 1, body[0].col_offset
    )


def _own(function: _Function) -> Iterator[ast.AST]:
    """All nodes of a function but those of functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))
