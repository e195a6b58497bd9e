"""Sixty instructions as users write them: the part that each is about, and never a wrong one taken silently."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from lacli.edits.find.find import Picked, find
from lacli.edits.find.reading import intent_of
from lacli.edits.tree.outline import Definition, Outline, outline
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


BROKEN = {
    "store.py": ("in Store.save use an f-string", "Store.save", "\ndef half(:\n    return (\n"),
    "cart.js": ("make formatPrice round up", "formatPrice", "\nfunction half( {\n"),
    "cache.go": ("unlock by defer in Cache.Set", "Cache.Set", "\nfunc half( {\n"),
    "shapes.rs": ("don't unwrap in parse_point", "parse_point", "\nfn half( {\n"),
    "list.c": ("check malloc in make_node", "make_node", "\nint half( {\n"),
    "project.toml": ("set line-length to 120", "tool.ruff.line-length", "\n[half\n"),
}


@pytest.mark.parametrize("file", BROKEN)
def test_a_file_with_an_error_still_gives_its_definitions(file: str) -> None:
    ask, wanted_label, damage = BROKEN[file]
    text = read(file)[0] + damage
    of = outline(text, language_of(file).name)
    assert of is not None
    assert not of.sound
    found = find(text, of, intent_of(ask, text, of))
    assert [part.label for part in found.parts] == [wanted_label]


def test_a_language_has_eight_instructions_or_more() -> None:
    languages = [language_of(case["file"]).name for case in CASES]
    assert {each: languages.count(each) for each in LANGUAGES if languages.count(each) < 8} == {}


def test_parts_are_whole_lines_in_file_order_whatever_is_asked() -> None:
    asks = [case["ask"] for case in CASES[::3]]
    for file in BROKEN:
        text, of = read(file)
        for ask in asks:
            end = 0
            for part in find(text, of, intent_of(ask, text, of)).parts:
                assert end <= part.start < part.end <= len(text.split("\n"))
                end = part.end


def test_without_an_outline_or_a_name_the_whole_file_is_asked_for() -> None:
    text, of = read("store.py")
    for found in (find(text, None, intent_of("rename a", text, None)), find(text, of, intent_of("be nice", text, of))):
        assert [(part.start, part.end, part.kind) for part in found.parts] == [(0, text.count("\n"), "file")]
        assert not found.sure


def test_of_a_very_long_instruction_nothing_is_sure() -> None:
    text, of = read("store.py")
    ask = "in clean, " + "strip the title and " * 40 + "do the same in export"
    assert not find(text, of, intent_of(ask, text, of)).sure


def test_only_functions_have_parameters() -> None:
    of = read("store.py")[1]
    assert {each.name for each in of.definitions if each.parameters} >= {"find", "clean"}
    assert not any(each.parameters for each in of.definitions if each.kind == "class")


LISTED = """__all__ = ["f"]
table = {"f": 1}


def f():
    return 1
"""


def found_in(text: str, ask: str, language: str = "python") -> Picked:
    of = outline(text, language)
    assert of is not None
    return find(text, of, intent_of(ask, text, of))


def test_what_is_new_is_entered_where_it_is_said_to_be() -> None:
    found = found_in(LISTED, "Add a function g(x) that doubles x, and add its name to __all__.")
    assert found.form == "insert"
    assert [part.label for part in found.beside] == ["__all__"]
    assert found_in(LISTED, "Add a function g(x) that adds x to __all__.").beside == ()


def test_a_list_that_something_is_added_to_is_named() -> None:
    assert [part.label for part in found_in(LISTED, "add g (2) to table, and g to __all__").parts] == [
        "__all__",
        "table",
    ]


def test_a_sentence_may_begin_with_the_place() -> None:
    text = "def f(a):\n    return a\n\n\ndef g(a):\n    return a\n"
    found = found_in(text, "In g rename the parameter a to b.")
    assert ([part.label for part in found.parts], found.sure) == (["g"], True)


def test_a_generator_is_new_where_it_has_a_name() -> None:
    found = found_in(LISTED, "Add a generator linear(start=1) that yields start and so on")
    assert (found.form, found.sure) == ("insert", True)
    for ask in ("replace the loop in f by a generator expression", "let f use a loop with a generator"):
        assert [part.label for part in found_in(LISTED, ask).parts] == ["f"]


@pytest.mark.parametrize(
    ("instruction", "names"),
    [
        ("set host to 0.0.0.0 and port to 9090", ["server.host", "server.port"]),
        ("change level to debug, and host to 0.0.0.0", ["server.host", "log.level"]),
        ("set host to a, port to 9 and level to debug", ["server.host", "server.port", "log.level"]),
    ],
)
def test_changes_that_share_a_verb_are_all_picked(instruction: str, names: list[str]) -> None:
    text = '[server]\nhost = "localhost"\nport = 8080\n\n[log]\nlevel = "info"\n'
    known = outline(text, "toml")
    assert [each.label for each in find(text, known, intent_of(instruction, text, known)).parts] == names
