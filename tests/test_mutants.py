"""The hand-made mutants stay where the code is that they change; running them is `python -m tests.mutants`."""

from __future__ import annotations

from tests.mutants import MUTANTS, problems


def test_the_line_of_every_mutant_stands_once_in_its_file() -> None:
    assert len(MUTANTS) == 30
    assert list(problems()) == []
