"""Places for completions taken out of files, and what a completion of one is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.bench.infill.prompts import Hole, holes, score, table
from lacli.events import Place

SOURCE = Path(__file__).parents[1] / "data" / "sources" / "ledger.py"


def test_a_hole_and_what_stands_around_it_are_the_file() -> None:
    text = SOURCE.read_text()
    found = [hole for number in range(4) for hole in holes(SOURCE, 15, number)]
    assert {hole.kind for hole in found} == {"end", "left", "indent", "within"}
    for hole in found:
        assert hole.place.prefix + hole.middle + hole.place.suffix == text


@pytest.mark.parametrize(
    ("text", "first", "repeats", "empty"),
    [
        ("    y = 1\n    z", True, False, False),
        ("    y = 2", False, False, False),
        ("    y = 2\n    return y", False, True, False),
        ("\n", False, False, True),
    ],
)
def test_scores(text: str, first: bool, repeats: bool, empty: bool) -> None:
    hole = Hole(Place("def f():\n", "\n    return y\n"), "    y = 1", "left")
    result = score(text, hole)
    assert (result.first, result.repeats, result.empty) == (first, repeats, empty)
    assert (result.alike == 1) is (text == hole.middle)
    assert len(table({"form": [(hole, result)]})) == 6
