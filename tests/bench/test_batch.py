"""The measurement of many prompts side by side runs as a whole on the default model, and compares the texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.bench import batch


@pytest.mark.model
def test_all_ways_are_measured_and_have_the_same_texts(
    sandbox_with_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batch, "_TASKS", "adds two numbers; reverses a string; counts words")
    assert batch.main(["--tokens", "4", "--rounds", "1"]) == 0
    printed = capsys.readouterr().out
    assert "3 prompts, 12 tokens" in printed
    assert printed.endswith("the texts are the same\n")
    assert printed.count("x one by one") == 4
