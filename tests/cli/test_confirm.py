"""A line that is asked for at the terminal, and what stands for it where nobody can be asked."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from lacli.cli.terminal import confirm
from lacli.errors import UsageError


@pytest.mark.parametrize(("typed", "answer"), [("\n", "a.md"), (" b.md \n", "b.md")])
def test_what_is_typed_counts_and_nothing_is_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: str, answer: str
) -> None:
    monkeypatch.setattr(confirm, "SCREEN", str(tmp_path / "screen"))
    monkeypatch.setattr(confirm, "open_terminal", lambda: io.StringIO(typed))
    assert confirm.answered("save to", "a.md") == answer
    assert (tmp_path / "screen").read_text() == "save to [a.md]: "


def test_where_nobody_is_the_default_serves_unless_there_is_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "open_terminal", lambda: None)
    assert confirm.answered("save to", "a.md") == "a.md"
    with pytest.raises(UsageError, match="nobody is here"):
        confirm.answered("save to", "a.md", "/save 1 PATH")
