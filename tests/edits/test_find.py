"""Sixty instructions as users write them: the part that each is about, and never a wrong one taken silently."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from lacli.edits.find import Picked, find
from lacli.edits.outline import Definition, Outline, outline
from lacli.edits.reading import intent_of
from lacli.text.languages import language_of

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = tomllib.loads((HERE / "instructions.toml").read_text(encoding="utf-8"))["case"]
LANGUAGES = ("python", "javascript", "go", "rust", "c", "toml", "markdown")


def read(file: str) -> tuple[str, Outline]:
    text = (HERE / "files" / file).read_text(encoding="utf-8")
    found = outline(text, language_of(file).name)
    assert found is not None
    return text, found


def label(definition: Definition, lines: list[str]) -> str:
    return definition.label + (" (impl)" if lines[definition.head].startswith(f"impl {definition.name} ") else "")


def answer(text: str, of: Outline, picked: Picked) -> dict[str, Any]:
    """What was picked, as the cases write it."""
    lines = text.split("\n")
    labels = {(each.start, each.end): label(each, lines) for each in reversed(of.definitions)}
    names = {"imports": "imports", "file": "file"}
    return {
        "parts": [
            labels[part.start, part.end]
            if part.kind == "definition"
            else names.get(part.kind, f"L{part.start + 1}-{part.end}")
            for part in picked.parts
        ],
        "insert": picked.form == "insert",
        "into": label(picked.into, lines) if picked.into else "",
        "after": label(picked.after, lines) if picked.after else "",
    }


def picked(case: dict[str, Any]) -> tuple[Picked, dict[str, Any]]:
    text, of = read(case["file"])
    found = find(text, of, intent_of(case["ask"], text, of))
    return found, answer(text, of, found)


def wanted(case: dict[str, Any]) -> dict[str, Any]:
    return {"parts": [], "insert": False, "into": "", "after": ""} | {
        key: case[key] for key in ("parts", "insert", "into", "after") if key in case
    }


@pytest.mark.parametrize("case", CASES, ids=[f"{each['file']}: {each['ask']}" for each in CASES])
def test_no_wrong_part_is_taken_silently(case: dict[str, Any]) -> None:
    found, given = picked(case)
    if found.sure:
        assert given == wanted(case)
        assert not case.get("unsure")


def test_nine_of_ten_instructions_find_the_smallest_right_part() -> None:
    right = 0
    for case in CASES:
        found, given = picked(case)
        right += not found.sure if case.get("unsure") else found.sure and given == wanted(case)
    assert right / len(CASES) >= 0.9
