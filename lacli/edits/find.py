from __future__ import annotations
from dataclasses import dataclass
from typing import Literal
import re
from lacli.edits.outline import Definition, Outline
from lacli.edits.intent import Intent


@dataclass(frozen=True, slots=True)
class Part:
    start: int
    end: int
    label: str
    kind: Literal["definition", "lines", "imports", "file"]


@dataclass(frozen=True, slots=True)
class Picked:
    parts: tuple[Part, ...]
    form: Literal["rewrite", "insert"]
    into: Definition | None
    after: Definition | None
    why: str
    sure: bool


def find(text, outline, intent):
    n = len(text.removesuffix("\n").split("\n"))
    if outline is None:
        return Picked((Part(0, n, "", "file"),), "rewrite", None, None, "whole", False)
    hits = [d for d in outline.definitions if d.name in intent.names]
    m = re.match(r"add an? .*(?:method|function).* to (\w+)", intent.text)
    if m:
        into = next((d for d in outline.definitions if d.name == m[1] and d.kind == "class"), None)
        if into:
            return Picked((Part(into.start, into.end, into.label, "definition"),), "insert", into, None, "add", True)
    small = [d for d in hits if not any(o is not d and d.start <= o.start and o.end <= d.end for o in hits)]
    if small:
        return Picked(
            tuple(Part(d.start, d.end, d.label, "definition") for d in small), "rewrite", None, None, "names", True
        )
    return Picked((Part(0, n, "", "file"),), "rewrite", None, None, "whole", False)
