"""Where a window may begin: at lines told by their text, so that what happens elsewhere moves none."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lacli.completion.anchors import anchors, between, is_anchor

SOURCES = sorted((Path(__file__).parents[1] / "data" / "sources").iterdir())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_some_lines_are_anchors_and_most_are_none(path: Path) -> None:
    lines = path.read_text().split("\n")
    found = len(anchors(path.read_text(), begins_file=True))
    assert len(lines) / 30 < found < len(lines) / 4


def test_an_anchor_is_the_beginning_of_a_line_and_the_files_first_one_always_is() -> None:
    text = SOURCES[0].read_text()
    found = anchors(text, begins_file=True)
    assert found[0] == 0
    assert found == sorted(set(found))
    assert all(text[at - 1] == "\n" and is_anchor(text[at:].partition("\n")[0]) for at in found[1:])


def test_the_first_line_of_a_text_that_was_cut_is_none_and_neither_is_the_cursors() -> None:
    line = next(f"value_{number} = 0" for number in range(100) if is_anchor(f"value_{number} = 0"))
    assert anchors(f"{line}\nx\n{line}", begins_file=False) == []
    assert anchors(f"x\n{line}\nx", begins_file=False) == [2]
    assert anchors("", begins_file=True) == [0]


def test_blank_and_short_lines_are_none() -> None:
    assert not any(map(is_anchor, ("", "    ", "}", "\t]);", "  x  ")))


def test_edits_and_lines_above_leave_the_other_anchors_where_they_are() -> None:
    lines = SOURCES[0].read_text().split("\n")
    drawn = random.Random(5)
    for _ in range(30):
        changed, at = list(lines), drawn.randrange(len(lines))
        changed[at : at + drawn.randrange(2)] = ["an edit"] * drawn.randrange(3)
        behind = len("\n".join(lines[at + 2 :]))
        before, after = "\n".join(lines), "\n".join(changed)
        kept = [len(before) - each for each in anchors(before, True) if len(before) - each <= behind]
        assert kept == [len(after) - each for each in anchors(after, True) if len(after) - each <= behind]


def test_the_text_between_two_anchors_holds_what_is_in_reach_and_changes_seldom() -> None:
    text = "\n".join(path.read_text() for path in SOURCES)
    found = set()
    for at in range(20_000, 20_400, 20):
        part = between(text, at, 1_000)
        assert text[at - 1_000 : at + 1_000] in part
        assert len(part) < 6_000
        found.add(part)
    assert len(found) <= 4
    assert between("short", 2, 1_000) == "short"
