"""Which file a code block is meant for, according to the answer. Pure.

Models name it behind the opening fence, in the line before the block, or in a comment at its top. The name is only a
suggestion from the model, so absolute paths and paths out of the folder are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from lacli.text.fences import Block
from lacli.text.languages import of_path

_NAME = r"[\w.@+-]+(?:/[\w.@+-]+)*"
_QUOTED = re.compile(rf"(?:`|\*\*|__|\"|')({_NAME})(?:`|\*\*|__|\"|')")
_ALONE = re.compile(
    rf"(?:\#+\s*|[-*+]\s+|\d+[.)]\s*)?(?:(?:(?:new\s+)?file(?:name)?|path|in|create|update)\b\s*:?\s*)?({_NAME})\s*:?",
    re.IGNORECASE,
)
_KEYED = re.compile(rf"(?:file(?:name)?|path|title|name)\s*[=:]\s*[\"']?({_NAME})", re.IGNORECASE)
_COMMENT = re.compile(
    rf"\s*(?:\#|//|--|;+|%|/\*+|<!--)\s*(?:file(?:name)?\s*:\s*|path\s*:\s*)?({_NAME})\s*(?:\*/|-->)?\s*"
)
_PLAIN = ("Makefile", "Dockerfile", "Justfile", "Rakefile", "Gemfile", "Procfile", "CMakeLists.txt")
_ENDING = re.compile(r"[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,7}")


def file_of(answer: str, block: Block, known: Iterable[str] = ()) -> str:
    """The file that a block is meant for, empty if the answer does not say. If it is the end of the path of one of the
    `known` (attached) files, that one."""
    known = list(known)
    found = next((name for name in _said(answer, block) if _is_offered(name)), "")
    if not found:
        return ""
    ends = [each for each in known if PurePosixPath(each).parts[-len(PurePosixPath(found).parts) :] == _parts(found)]
    return ends[0] if len(ends) == 1 else found


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).parts


def _said(answer: str, block: Block) -> Iterable[str]:
    """Candidates for a name, the most likely first."""
    keyed = _KEYED.search(block.info)
    yield keyed[1] if keyed else ""
    for word in block.info.split():
        yield word.rpartition(":")[2] if ":" in word else word
    before = next((line.strip() for line in reversed(answer[: block.start].splitlines()) if line.strip()), "")
    alone = _ALONE.fullmatch(before.strip("*_` "))
    if alone:
        yield alone[1]
    yield from (each[1] for each in reversed(list(_QUOTED.finditer(before))))
    comment = _COMMENT.fullmatch(block.text.split("\n", 1)[0])
    yield comment[1] if comment else ""


def _is_offered(name: str) -> bool:
    parts = _parts(name)
    if not parts or name.startswith(("/", "~")) or ".." in parts or any(part.startswith(".git") for part in parts[:1]):
        return False
    return parts[-1] in _PLAIN or (bool(_ENDING.fullmatch(parts[-1])) and (of_path(name) is not None or "/" in name))
