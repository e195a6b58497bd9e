"""Places cut out of real files, and what two ways of filling them are worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.bench.infill.cut import FORMS, Cut, cuts
from lacli.bench.infill.run import Answer, Result, judged, main, table
from lacli.errors import UsageError
from lacli.events import Place

SOURCES = Path(__file__).parents[1] / "data" / "sources"


def test_places_are_the_same_each_time_and_the_files_are_whole_with_what_was_cut() -> None:
    found = cuts(SOURCES, 60, each=90)
    assert found == cuts(SOURCES, 60, each=90)
    assert {cut.form for cut in found} == set(FORMS)
    assert sum(cut.form in ("line", "span", "block") for cut in found) == 60
    for cut in found:
        place = cut.place
        assert place.prefix + cut.wanted + place.suffix == (SOURCES / place.path).read_text()
        assert cut.sound
        assert cut.parses(cut.wanted)
        assert (cut.form == "nothing") is not cut.wanted.strip()
        if cut.form in ("line", "span"):
            assert "\n" not in cut.wanted
        if cut.form == "span":
            assert place.prefix[-1] != "\n"
            assert place.suffix[0] != "\n"


def test_places_of_a_file_are_apart() -> None:
    at = [(cut.place.path, cut.place.prefix.count("\n")) for cut in cuts(SOURCES, 60)]
    assert all(
        abs(one - other) > 2 for path, one in at for name, other in at if (path, one) != (name, other) and path == name
    )


def test_a_folder_without_sources_is_said(tmp_path: Path) -> None:
    (tmp_path / "LICENSE.txt").write_text("free")
    with pytest.raises(UsageError, match="has no source files"):
        cuts(tmp_path, 3)
    with pytest.raises(SystemExit, match="has no source files"):
        main([str(tmp_path)])


@pytest.mark.parametrize(
    ("text", "equal", "parses", "empty"),
    [
        (" a + b\n", True, True, False),
        ("a +", False, False, False),
        ("c", False, True, False),
        ("\n", False, True, True),
    ],
)
def test_a_completion_is_judged_by_letter_and_by_tree(text: str, equal: bool, parses: bool, empty: bool) -> None:
    cut = Cut(Place("def f(a, b):\n    return ", "\n", "a.py"), "a + b", "line", "python", True)
    found = judged(text, cut, 0.0)
    assert (found.equal, found.parses, found.empty) == (equal, parses, empty)


def test_the_table_counts_controls_apart() -> None:
    good, empty = Answer("x", True, True, False, 1.0), Answer("", False, None, True, 1.0)
    results = [
        Result("a.py", "python", form, 1, "x", good, empty, good) for form in ("line", "span", "nothing", "nothing")
    ]
    lines = table(results)
    assert lines[1].split() == ["all", "lacli", "2", "100.0%", "100.0%", "0.0%"]
    assert lines[3].split() == ["all", "raw", "2", "0.0%", "-", "100.0%"]
    assert lines[-1].split()[:3] == ["nothing", "raw", "2"]
