"""A reply cut into prose and code while it comes: the same as at its end, whatever the pieces."""

from __future__ import annotations

import random

import pytest

from lacli.text.fences import blocks
from lacli_tui.segments import Segments, segments
from lacli_tui.widgets.fence import _column, _expanded, _wrapped
from tests.slow import TEN

REPLY = (
    "Intro `x`\n\n1. a\n   ```py\n   x = 1\n   ```\n2. b ~~gone~~\n\n````md\n```\ninner\n```\n````\n"
    + "```python\n"
    + "".join(f"def f{number}(x):\n\treturn x * {number}\n" for number in range(40))
    + "```\n\nbye ```inline``` ok\n~~~\nopen to the end\n"
)


def kinds(found: list) -> list[tuple[bool, str, str]]:  # type: ignore[type-arg]
    return [(each.code, each.language, each.text.strip()) for each in found]


@pytest.mark.default_cases(TEN)
@pytest.mark.parametrize("seed", range(12))
def test_in_pieces_of_any_size_it_ends_as_the_whole(seed: int) -> None:
    chance = random.Random(seed)
    coming, at, last = Segments(), 0, []
    while at < len(REPLY):
        size = chance.choice([1, 3, 17, 200])
        last = coming.append(REPLY[at : at + size])
        at += size
    assert kinds(last) == kinds(segments(REPLY))


def test_blocks_are_numbered_as_copy_and_save_count_them() -> None:
    code = [each for each in segments(REPLY) if each.code]
    assert [each.number for each in code] == list(range(1, len(blocks(REPLY)) + 1))
    assert [each.text for each in code] == [each.text for each in blocks(REPLY)]
    assert not code[-1].closed


def test_what_may_become_a_fence_is_not_shown_as_words() -> None:
    coming = Segments()
    coming.append("word\n")
    assert kinds(coming.append("``")) == [(False, "", "word")]
    assert kinds(coming.append("`py")) == [(False, "", "word")]
    assert kinds(coming.append("\nx")) == [(False, "", "word"), (True, "py", "x")]
    assert kinds(Segments().append("`code` begins")) == [(False, "", "`code` begins")]


def test_lines_are_wrapped_by_cells_and_lose_nothing() -> None:
    for line in ("x" * 25, "漢字" * 9, "\t\tindented\tand more", "", "👩‍💻e\u0301"):
        rows = _wrapped(0, line, 10)
        assert "".join(row.text for row in rows) == line
        assert all(_expanded(row.text, 0)[1] <= 10 for row in rows)


def test_a_selection_of_drawn_characters_finds_those_of_the_text() -> None:
    drawn, _ = _expanded("\ta漢\tb", 0)
    for x, letter in enumerate(drawn):
        if letter != " ":
            assert "\ta漢\tb"[_column("\ta漢\tb", x)] == letter
    assert _column("\ta", -1) == 2
