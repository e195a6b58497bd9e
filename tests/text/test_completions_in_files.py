"""Twenty files, the cursor in the middle of functions, replies that misbehave in every way: judged by `judge` alone."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from lacli.completion import without_fim
from lacli.events import Place
from tests.completions import completed_at
from tests.text.judge import faults
from tests.text.places import SOURCES, Cut, cuts, indent_of

OTHER = {
    "py": "\n\ndef other(a):\n    return a\n\n\nclass More:\n    pass\n",
    "js": "\n}\n\nexport function other(a) {\n  return a;\n}\n",
    "go": "\n}\n\nfunc other(a int) int {\n\treturn a\n}\n",
    "rs": "\n}\n\npub fn other(a: i32) -> i32 {\n    a\n}\n",
}


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
@pytest.mark.default_cases(6)
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
        assert text or alike or indent_of(cut.middle.lstrip("\n")) < indent_of(cut.prefix.rpartition("\n")[2] + "x")
