"""New functions made the methods that they were to be. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.edits.checks import members as check_members
from lacli.edits.checks.scope import Scope
from lacli.edits.find.owners import receiver
from lacli.edits.mend.mending import Mended, with_lines


def with_receiver(scope: Scope) -> Iterator[Mended]:
    """A function of Go made the method that it was to be."""
    if scope.old.language != "go":
        return
    for each, of in check_members.strangers(scope):
        of_others = receiver(each.name, scope.intent.text, scope.old.outline)
        line = scope.new.lines[each.head]
        if of_others and line.startswith(f"func {each.name}("):
            method = line.replace("func ", f"func {of_others} ", 1)
            note = f"made `{each.name}` a method of `{of}`"
            yield Mended(with_lines(scope.new.lines, each.head, each.head + 1, [method]), note)
