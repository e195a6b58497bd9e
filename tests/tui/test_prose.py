"""Whatever a model writes is shown whole, readable at any width; and the same whether it came at once or in pieces."""

from __future__ import annotations

import itertools

import pytest

from lacli_tui.screens.diff import DiffScreen
from lacli_tui.segments import segments
from lacli_tui.widgets.fence import Fence
from lacli_tui.widgets.markdown_rows import blocks_of
from lacli_tui.widgets.prose import Prose
from lacli_tui.widgets.table import Table
from tests.tui.conftest import Play, changes

DEMO = """# Head

Some *em* **strong** `code` [a link](http://x.y) and <http://a.b>.
Goes on.

- one
- two
  - nested
- three

1. first

2. second
   ```python
   x = 1
   ```

> quote
>
> > deeper
> - item

| Name | n |
|---|---:|
| `a` | 12 |

---

[r]: http://ref
<b>not bold</b>
"""


def drawn(text: str, width: int = 60) -> list[str]:
    rows = [row.content.plain for _, blocks in blocks_of(text) for block in blocks for row in block.rows(width)]
    return rows[1:]


def test_each_part_looks_like_what_it_is() -> None:
    assert [row.rstrip() for row in drawn(DEMO)] == [
        "Head", "", "Some em strong code a link (http://x.y) and http://a.b. Goes", "on.", "", "• one", "• two",
        "  • nested", "• three", "", "1. first", "", "2. second", "", "   x = 1", "", "▌ quote", "▌", "▌ ▌ deeper", "▌",
        "▌ • item", "", "Name   n", "────  ──", "a     12", "", "─" * 40, "", "[r]: http://ref <b>not bold</b>",
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [2, 8, 16, 26, 40, 41, 300])
@pytest.mark.parametrize("width", [20, 60, 100])
def test_no_cell_of_a_table_is_lost(columns: int, width: int) -> None:
    cells = [f"word{number} and more of it" for number in range(columns)]
    lines = ["|".join(["", *cells, ""]), "|".join(["", *["---"] * columns, ""]), "|".join(["", *cells, ""])]
    rows = drawn("\n".join(lines), width)
    letters = "".join("".join(rows).split())
    for number in range(columns):
        assert letters.count("word") >= 2 * columns or f"word{number}" in letters
    assert all(len(row) <= width for row in rows)


def test_a_table_that_has_no_room_is_read_row_by_row() -> None:
    head, cells = [f"h{number}" for number in range(12)], [f"value {number}" for number in range(12)]
    text = "\n".join("|".join(["", *row, ""]) for row in (head, ["-"] * 12, cells, cells))
    rows = drawn(text, 40)
    assert rows[:2] == ["h0: value 0", "h1: value 1"]
    assert rows[12:14] == ["", "h0: value 0"]


def test_a_huge_table_is_shown_as_it_was_written() -> None:
    text = "\n".join("|" + "|".join([cell] * 50) + "|" for cell in ("c", "-", "d"))
    [(_, [block])] = blocks_of(text)
    assert isinstance(block.table, Table)
    assert block.table.is_huge
    assert "| c | c" in drawn(text)[0]


@pytest.mark.parametrize("marks", ["> " * 300, "- " * 300, "> - " * 200, ">" * 2000])
def test_what_is_nested_too_deep_is_flat_and_there(marks: str) -> None:
    rows = drawn(marks + "hello", 50)
    assert "hello" in rows[-1]
    assert len(rows) < 100


@pytest.mark.parametrize("size", [1, 7, 400])
async def test_what_comes_in_pieces_looks_as_if_it_came_at_once(pilot: Play, size: int) -> None:
    async with pilot() as it:
        whole, grown = Prose(), Prose()
        await it.main.query_one("#chat").mount(whole, grown)
        await whole.set_text(DEMO)
        for end in itertools.chain(range(0, len(DEMO), size), [len(DEMO)]):
            await grown.set_text(DEMO[:end])
        await it.pilot.pause()
        rows = [row.content.plain for row in whole._rows]
        assert len(rows) > 20
        assert [row.content.plain for row in grown._rows] == rows


@pytest.mark.parametrize(
    "text", ["x" * 60_000, "word " * 8_000, "a line\n" * 6_000, "para\n\n" * 5_000, "- item\n" * 4_000 + "\nend"]
)
async def test_nothing_of_a_long_text_is_lost(pilot: Play, text: str) -> None:
    async with pilot() as it:
        part = Prose()
        await it.main.query_one("#chat").mount(part)
        await it.pilot.pause()
        for end in range(0, len(text) + 5_000, 5_000):
            await part.set_text(text[:end])
        await it.pilot.pause()
        shown = "".join("".join(row.content.plain for row in part._rows).split())
        for letter in "xwperm":
            assert shown.count(letter) == text.count(letter)


def test_of_very_many_code_blocks_the_last_ones_are_part_of_the_words() -> None:
    found = segments("```\nx\n```\n\n" * 150)
    assert sum(each.code for each in found) == 100
    assert found[-1].text.count("```") == 100


@pytest.mark.parametrize("text", ["some plain words to be read", "```python\nx = 'plain words'\n```"])
async def test_what_the_mouse_selects_is_seen(pilot: Play, text: str) -> None:
    async with pilot(text) as it:
        await it.ask("hi")
        part = it.main.query_one(Prose if text[0] == "s" else Fence)
        row = 0 if isinstance(part, Prose) else 1
        before = {segment.style.bgcolor for segment in part.render_line(row) if segment.style}
        await it.pilot.mouse_down(part, offset=(2, row))
        await it.pilot.hover(part, offset=(9, row))
        await it.pilot.mouse_up(part, offset=(9, row))
        await it.pilot.pause()
        marked = [
            segment.text for segment in part.render_line(row) if segment.style and segment.style.bgcolor not in before
        ]
        assert "".join(marked) == it.app.screen.get_selected_text()
        assert len("".join(marked)) >= 6


async def test_a_diff_shows_what_turns_text_around(pilot: Play) -> None:
    async with pilot() as it:
        it.app.push_screen(DiffScreen("Change a\u2066b.py?", changes("x\n", "x\u202e # y\n")))
        await it.until(lambda: "+x<U+202E> # y" in it.text())
        assert "a<U+2066>b.py" in it.text()
