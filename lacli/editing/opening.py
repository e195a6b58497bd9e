"""How an answer of an edit is begun for the model, so that it goes on with what was asked for. Pure."""

from __future__ import annotations

import re

from lacli.edits.find.find import Picked
from lacli.edits.find.owners import receiver
from lacli.edits.tree.outline import Definition, Outline

_CALLABLE = re.compile(r"\b(?:method|function|helper|test|getter|setter|property|constructor)\b", re.IGNORECASE)
_SECTION = re.compile(r"\b(?:section|heading|chapter|subsection)\b", re.IGNORECASE)
_NO_INSTANCE = re.compile(r"\b(?:static|class ?method|property|alternative constructor|factory)\b", re.IGNORECASE)
_WORDS = {"python": "def", "go": "func", "javascript": "function", "typescript": "function"}


def of_something_new(name: str, picked: Picked, outline: Outline | None, language: str, instruction: str) -> str:
    """How the text of something new begins, where its name tells: models repeat what is there less often so."""
    if not _CALLABLE.search(instruction):
        return ""
    if picked.into is not None and language in ("javascript", "typescript"):
        return name
    if language == "python" and _is_method(picked.into, outline, instruction):
        return f"def {name}(self"
    if language == "go" and (found := receiver(name, instruction, outline)):
        return f"func {found} {name}"
    word = _WORDS.get(language)
    return f"{word} {name}" if (word and picked.into is None) or language == "python" else ""


def of_section(name: str, after: Definition | None, text: str, instruction: str) -> str:
    """The heading of a new section, of the level of the one it stands behind: without it models write no section."""
    if not name or after is None or after.kind != "heading" or not _SECTION.search(instruction):
        return ""
    marks = re.match(r"#{1,6}(?=\s)", text.split("\n")[after.head])
    written = re.search(rf"[\w.]*(?<!\w){re.escape(name)}(?:\(\))?(?!\w)", instruction)
    return f"{marks[0]} {written[0]}\n\n" if marks and written else ""


def of_all(whole: Definition | None, part: str) -> str:
    """The part itself as far as its name goes: so begun, a model gives all of a definition rather than the lines it
    would change in there."""
    if whole is None:
        return ""
    *above, line = part.split("\n")[: whole.head - whole.start + 1]
    if whole.name not in line:
        return ""
    return "\n".join([*above, line[: line.find(whole.name) + len(whole.name)]])


def _is_method(into: Definition | None, outline: Outline | None, instruction: str) -> bool:
    """Whether what is new is a method of instances, as those are that its class has."""
    if into is None or into.kind != "class" or outline is None or _NO_INSTANCE.search(instruction):
        return False
    methods = [each for each in outline.children(into) if each.kind == "function"]
    return bool(methods) and all(each.parameters[:1] == ("self",) for each in methods)
