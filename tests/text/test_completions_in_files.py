"""Twenty files, the cursor in the middle of functions, replies that misbehave in every way: judged by `judge` alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from lacli.events import Place
from lacli.prompts import without_fim
from tests.completions import completed_at
from tests.text.judge import faults, in_text, unbalanced

SOURCES = sorted((Path(__file__).parents[1] / "data" / "sources").iterdir())
_INSIDE = re.compile(r"(?:\t|    |  )[ \t]*\w")
OTHER = {
    "py": "\n\ndef other(a):\n    return a\n\n\nclass More:\n    pass\n",
    "js": "\n}\n\nexport function other(a) {\n  return a;\n}\n",
    "go": "\n}\n\nfunc other(a int) int {\n\treturn a\n}\n",
    "rs": "\n}\n\npub fn other(a: i32) -> i32 {\n    a\n}\n",
}


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
    words = [found.end() for found in re.finditer(r"[ (]", part[0]) if found.start() > _indent(part[0])]
    skipped = (-1, _indent(part[0]), words[len(words) // 2] if words else -1)[number % 3]
    if skipped < 0:
        return Cut(name, head, "\n" + text, behind)
    return Cut(name, f"{head}\n{text[:skipped]}", text[skipped:], behind)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def replies(cut: Cut) -> dict[str, str]:
    """What a model might say instead of the middle."""
    first = cut.middle.lstrip("\n").split("\n")[0]
    indent = re.match(r"\s*", cut.suffix.lstrip("\n") or "")[0]
    following = next(line for line in cut.suffix.split("\n") if line.strip())
    above = "\n".join(cut.prefix.split("\n")[-5:-1])
    lead = "" if cut.middle.startswith("\n") is False else "\n"
    middle = cut.middle
    return {
        "it and the suffix": middle + cut.suffix[:500],
        "the suffix": cut.suffix[:500],
        "the suffix without its line end": cut.suffix.lstrip("\n")[:500],
        "it and the next function": lead + first + OTHER[cut.language],
        "the next function": OTHER[cut.language],
        "one line over and over": (lead + first + "\n") * 30,
        "what stands above, over and over": f"\n{above}" * 8,
        "too many brackets": middle + ")]}" * 5,
        "too many lines of brackets": middle + "\n}\n}\n}\n" + "    )\n" * 3,
        "a fence": f"```{cut.language}\n{middle}\n```\nThis code does it.\n",
        "a fence before the suffix": f"{middle}\n```\n",
        "only a fence": "```\n```\n",
        "blanks": "   \n\n \t\n\n",
        "half of the next line": f"{middle}\n{following[: len(following) // 2 + len(indent) // 2 + 1]}",
        "the next line a little different": f"{middle}\n{following[:-1]}_{following[-1:]}\n",
        "it, blank lines and the suffix": middle + "\n\n\n" + cut.suffix.lstrip("\n")[:300],
        "all of the file again": middle + "\n\n" + (cut.prefix + middle + cut.suffix)[:1200],
        "no end": middle + "".join(f"\n{indent}value_{number} = {number}" for number in range(60)),
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_whatever_is_replied_the_completion_keeps_to_its_place(path: Path) -> None:
    found = []
    for cut in cuts(path, 35):
        place = Place(cut.prefix, cut.suffix, cut.name, scope="block")
        for number, (what, reply) in enumerate(replies(cut).items()):
            hidden = without_fim.hidden(place) if (number + cut.line) % 2 else ""  # with and without fill-in-the-middle
            text = completed_at(place, hidden + reply, hidden, goes_on=bool(hidden), steps=())
            found += [
                f"{path.name}:{cut.line}:{cut.column}, {what}{', blanks left to it' if hidden else ''}: {fault}"
                for fault in faults(cut.prefix, text, cut.suffix, cut.language)
            ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_what_stood_there_is_right_to_the_judge_and_not_taken_away(path: Path) -> None:
    places = list(cuts(path, 35))
    assert len(places) >= 2
    for cut in places:
        assert list(faults(cut.prefix, cut.middle, cut.suffix, cut.language)) == []
        place = Place(cut.prefix, cut.suffix, cut.name, scope="block")
        text = completed_at(place, cut.middle, steps=()).rstrip()
        assert cut.middle.startswith(text)
        alike = SequenceMatcher(None, cut.middle.strip(), cut.suffix.strip().split("\n")[0]).ratio() > 0.85
        assert text or alike or _indent(cut.middle.lstrip("\n")) < _indent(cut.prefix.rpartition("\n")[2] + "x")
