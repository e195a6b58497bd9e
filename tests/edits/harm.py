"""Whether an edit did harm: something it was not to touch is lost or changed.

Written apart from `lacli.edits.checks.checks`, and plainer, so that a test of those checks is not blind where they
are: of every definition the words and signs are compared, comments among them, one definition after the other.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence

from lacli.edits.tree.outline import Definition, Outline, outline
from lacli.edits.tree.syntax import is_sound

_TOKEN = re.compile(r"\w+|[^\w\s]")
Path = tuple[str, ...]


def is_harm(before: str, after: str, language: str, allowed: Sequence[Path]) -> bool:
    """Whether anything but the definitions of these paths, and what stands in them, is not as it was."""
    return bool(harm(before, after, language, allowed))


def harm(before: str, after: str, language: str, allowed: Sequence[Path]) -> str:
    """The first harm found, in words for whoever reads a failed test; empty where there is none."""
    if is_sound(before, language) and is_sound(after, language) is False:
        return "the file does not parse any more"
    if ("\r" in after) > ("\r" in before) or ("\t" in after) > ("\t" in before):
        return "there are other line ends or tabs"
    old, new = (outline(text, language) for text in (before, after))
    if old is None or new is None:
        return "" if before == after else "the text of a file without a grammar is changed"
    was, now = _parts(before, old, allowed), _parts(after, new, allowed)
    if [path for path, _ in was] != [path for path, _ in now]:
        gone = [path for path, _ in was if path not in dict(now)]
        return f"definitions are gone, came or moved: {gone or [path for path, _ in now if path not in dict(was)]}"
    for (path, one), (_, other) in zip(was, now, strict=True):
        if one != other:
            return f"{'.'.join(path) or 'what stands outside of definitions'} is changed"
    return ""


def _parts(text: str, of: Outline, allowed: Sequence[Path]) -> list[tuple[Path, list[str]]]:
    """The tokens of every definition that is not allowed, and of what stands outside, in order."""
    lines = text.split("\n")
    free = [each for each in of.definitions if any(each.path[: len(path)] == path for path in allowed)]
    parts: list[tuple[Path, list[str]]] = [((), _tokens(lines, 0, len(lines), _children(of, None), of.language))]
    for each in of.definitions:
        if each not in free:
            parts.append((each.path, _tokens(lines, each.start, each.end, _children(of, each), of.language)))
    return parts


def _children(of: Outline, parent: Definition | None) -> list[Definition]:
    at = None if parent is None else of.definitions.index(parent)
    return [each for each in of.definitions if each.parent == at]


def _tokens(lines: list[str], start: int, end: int, without: list[Definition], language: str) -> list[str]:
    """The tokens of these lines but for those of the definitions inside."""
    inside = {row for each in without for row in range(each.start, each.end)}
    kept = "\n".join(line for row, line in enumerate(lines[start:end], start) if row not in inside)
    if language != "python":
        return _TOKEN.findall(kept)
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(kept).readline):
            if token.type == tokenize.INDENT:
                found.append("indent")
            elif token.type == tokenize.DEDENT:
                found.append("dedent")
            elif token.string.strip():
                found.append(token.string)
    except (tokenize.TokenError, IndentationError):
        return _TOKEN.findall(kept)
    return found
