"""Places in the middle of functions, in twenty files of four languages: what a completion is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.text.judge import in_text, unbalanced

SOURCES = sorted((Path(__file__).parents[1] / "data" / "sources").iterdir())
_INSIDE = re.compile(r"(?:\t|    |  )[ \t]*\w")


@dataclass(frozen=True)
class Cut:
    """A place in a file, and what stood there."""

    name: str
    prefix: str
    middle: str
    suffix: str

    @property
    def language(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def line(self) -> int:
        return self.prefix.count("\n") + 1

    @property
    def column(self) -> int:
        return len(self.prefix.rpartition("\n")[2]) + 1


def cuts(path: Path, each: int, first: int = 12) -> Iterator[Cut]:
    """Places in functions: one or two balanced lines are taken out, whole or from a word in them."""
    lines, language = path.read_text("utf-8").split("\n"), path.suffix[1:]
    number, at = 0, first
    while at < len(lines) - 6:
        cut = _cut(path.name, lines, at, number)
        if cut is not None and not in_text(cut.prefix, language):
            yield cut
            number, at = number + 1, at + each
        else:
            at += 1


def _cut(name: str, lines: list[str], at: int, number: int) -> Cut | None:
    part = lines[at : at + 1 + number % 2]
    wrong, left = unbalanced("\n".join(part), name.rpartition(".")[2])
    if wrong or left or not all(_INSIDE.match(line) for line in (lines[at - 1], *part)):
        return None
    head, text, behind = "\n".join(lines[:at]), "\n".join(part), "\n" + "\n".join(lines[at + len(part) :])
    words = [found.end() for found in re.finditer(r"[ (]", part[0]) if found.start() > indent_of(part[0])]
    skipped = (-1, indent_of(part[0]), words[len(words) // 2] if words else -1)[number % 3]
    if skipped < 0:
        return Cut(name, head, "\n" + text, behind)
    return Cut(name, f"{head}\n{text[:skipped]}", text[skipped:], behind)


def indent_of(line: str) -> int:
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip())
