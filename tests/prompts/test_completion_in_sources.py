"""Twenty files in the manner of real projects, lines taken out in functions, and replies that know no end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.bench.infill.prompts import Hole, holes
from lacli.completion import without_fim
from tests.completions import completed_at

SOURCES = sorted((Path(__file__).parents[1] / "data" / "sources").iterdir())


def places(path: Path) -> Iterator[Hole]:
    for number in range(4):
        yield from holes(path, 23, number)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_who_writes_the_file_to_its_end_is_stopped_where_the_suffix_begins(path: Path) -> None:
    for hole in places(path):
        hidden = without_fim.hidden(hole.place)
        text = completed_at(hole.place, hidden + hole.middle + hole.place.suffix[:600], hidden, steps=(5,))
        assert hole.middle.rstrip().startswith(text.rstrip()), (hole.place.prefix[-200:], hole.middle, text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_who_begins_the_next_function_writes_none(path: Path) -> None:
    other = {
        ".py": "\n\ndef zz_next(a):\n    return a\n",
        ".js": "\n}\n\nfunction zz_next(a) {\n  return a;\n}\n",
        ".go": "\n}\n\nfunc zz_next(a int) int {\n\treturn a\n}\n",
        ".rs": "\n}\n\nfn zz_next(a: i32) -> i32 {\n    a\n}\n",
    }[path.suffix]
    for hole in places(path):
        hidden = without_fim.hidden(hole.place)
        first = hole.middle.strip("\n").split("\n")[0]
        text = completed_at(hole.place, hidden + first + other, hidden, steps=())
        assert "zz_next" not in text, (hole.place.prefix[-200:], text)
