"""What a model left in the text that belongs to its way of answering: placeholders, marks of diffs, notes.

Pure. What the file or the instruction holds already is no fault.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.reply.doubts import BARE_DOTS, COMMENT, DOTS_FOR, MARKS, PLACEHOLDER
from lacli.edits.tree.file_names import ENDING
from lacli.edits.tree.hunks import Hunk, hunks
from lacli.edits.tree.pieces import Comment, regions, renamed
from lacli.text.lines import written

_TO_BE_FILLED_IN = re.compile(
    r"""(?:\.{3}|…)?\s*(?:the\ |keep\ |all\ )*
    (?:(?:your|add|put|insert|implement\w*)\b.{0,20}?\b(?:code|implementation|logic|it|this)\b.{0,20}?(?:\bhere\b|$)
    |todo\b:?\s*implement\w*\b)
    .{0,40}""",
    re.VERBOSE | re.IGNORECASE,
)
"""What a line of a comment says besides what `PLACEHOLDER` knows, where a body is left to the user."""
_STUB = re.compile(
    r"pass|raise NotImplementedError(?:\(.*\))?|todo!\(.*\);?|unimplemented!\(.*\);?|"
    r"panic\(\"(?:todo|not implemented).*\"\)|throw new Error\([\"'](?:todo|not implemented).*\);?",
    re.IGNORECASE,
)
_FORMS = (
    (re.compile(r"<{5,9}(?: .*)?|={7}|>{5,9}(?: .*)?|[+-]{7,9} (?:SEARCH|REPLACE)"), "a mark of search and replace"),
    (re.compile(r"@@ .*@@.*|(?:---|\+\+\+) (?:a/|b/)?\S+\.\w+(?:\s.*)?|diff --git .*"), "a mark of a diff"),
    (re.compile(r"`{3,}[\w.+-]*|~{3,}[\w.+-]*"), "a fence"),
    (re.compile(r"</?(?:think|code|file|answer|output)>|<\|\w+\|>"), "a mark of the reply"),
)
_PROSE = re.compile(
    r"(?:(?:note|explanation|changes?(?: made)?|summary|output|example usage)\s*:"
    r"|(?:here(?:'s| is| are)|sure|certainly|of course|okay"
    r"|i(?:'ve| have)? (?:\w+ )?(?:added|changed|made|updated|renamed|removed|modified)"
    r"|this (?:change|code|version|edit|function|update|method|class)"
    r"|the (?:above|following|updated|rest|code|function|change)"
    r"|in this (?:version|code|example)|let me know|hope this|please|as requested)\b)",
    re.IGNORECASE,
)
"""How the prose begins that models set beside what they give."""
_OF_THE_CHANGE = re.compile(
    r"(?:(?:\w+ ){0,3}(?:changed|updated|modified|renamed|replaced) (?:from|to|with|by|as)\b"
    r"|(?:changed|updated|modified|renamed|replaced|fixed|added|removed)\b"
    r"|(?:new|was|previously|no longer|instead of)\b"
    r"|now (?:uses?|returns?|raises?|throws?|takes?|has|is)\b)",
    re.IGNORECASE,
)
"""How a comment begins that tells of the edit instead of the code."""
_NUMBERED = re.compile(r"\s*\d+\s?[:|]\s?")
_DIFFED = re.compile(r"[+-](?:\s|$|\w)")
_FILE_NAME = re.compile(rf"(?:(?:#|//|/\*)\s*)?(?:[\w.-]+/)*[\w.-]+\.(?:{ENDING}):?(?:\s*\*/)?")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#39|apos);")
_REPEATED = 6
"""So many lines in a row that stand a second time were not written twice on purpose."""


def marks(scope: Scope) -> Iterator[Fault]:
    """Each kind once, with its first line."""
    old, new = scope.old.lines, scope.new.lines
    had = Counter(line.strip() for line in old)
    changed = hunks(old, new)
    fresh = [
        (row, new[row].strip())
        for change in changed
        for row in range(change.new_start, change.new_end)
        if not had[new[row].strip()] and not (new[row].strip() and new[row].strip() in scope.intent.text)
    ]
    for _, row in placeholders(scope)[:1]:
        yield Fault("placeholder", f"line {row + 1} leaves out what was to be kept (`{new[row].strip()[:60]}`)")
    yield from _forms(scope, fresh)
    yield from _entities(scope, fresh)
    if repeated := repeats(old, new):
        yield Fault("doubled", f"the lines from {repeated[0] + 1} to {repeated[1]} stand there twice")


def placeholders(scope: Scope) -> list[tuple[Hunk, int]]:
    """The new lines that stand for what the model did not write again, each with the change it is part of."""
    old, new = scope.old.lines, scope.new.lines
    had = {line.strip() for line in old}
    found: list[tuple[Hunk, int]] = []
    for change in hunks(old, new):
        lost = written(old[change.start : change.end])
        for row in range(change.new_start, change.new_end):
            line = new[row].strip()
            above = next((text.strip() for text in reversed(new[:row]) if text.strip()), "")
            if not line or line in scope.intent.text or (line in had and lost < DOTS_FOR):
                continue
            if (
                (_is_body(scope, row) and BARE_DOTS.fullmatch(line) and lost)
                or _stands_for(line, lost)
                or (BARE_DOTS.fullmatch(line) and not above.endswith((":", "{")))
            ):
                found.append((change, row))
    return found


def _is_body(scope: Scope, row: int) -> bool:
    """Whether a line is all that is left of a function's body which was written out before."""
    for each in scope.new.definitions:
        if each.kind != "function" or not each.signature_end <= row < each.end:
            continue
        body = [line for line in scope.new.lines[each.signature_end : each.end] if line.strip()]
        old = next((one for one in scope.old.definitions if one.path == each.path), None)
        had = scope.old.lines[old.signature_end : old.end] if old is not None else []
        return len(body) == 1 and not any(BARE_DOTS.fullmatch(line.strip()) for line in had)
    return False


def _stands_for(line: str, lost: int) -> bool:
    """Whether this line is written in place of so many."""
    if BARE_DOTS.fullmatch(line) or _STUB.fullmatch(line):
        return lost >= DOTS_FOR
    if not COMMENT.match(line):
        return False
    inner = line.strip(MARKS)
    says = PLACEHOLDER.fullmatch(inner) or _TO_BE_FILLED_IN.fullmatch(inner)
    return bool(says) and (lost > 0 or not BARE_DOTS.fullmatch(inner))


def _forms(scope: Scope, fresh: Sequence[tuple[int, str]]) -> Iterator[Fault]:
    prose, plain = scope.old.language == "markdown", scope.old.outline is None
    for pattern, what in _FORMS:
        if (prose and what in ("a fence", "a mark of the reply")) or (plain and what == "a mark of a diff"):
            continue
        for row, line in fresh:
            if pattern.fullmatch(line):
                yield Fault("form", f"line {row + 1} (`{line[:40]}`) is {what}, not part of the file")
                break
    numbered = [row for row, line in fresh if _NUMBERED.match(line)]
    if scope.old.language not in ("yaml", "json") and len(numbered) > max(1, len(fresh) // 2):
        yield Fault("form", f"line {numbered[0] + 1} begins with its number")
    diffed = [row for row, line in fresh if _DIFFED.match(line)]
    if not prose and scope.old.language != "yaml" and len(diffed) > 1 and len(diffed) >= 0.8 * len(fresh):
        yield Fault("form", f"line {diffed[0] + 1} begins with the mark of a diff")
    if not prose or _is_at_border(scope, fresh):
        for row, line in fresh:
            if is_prose(line) and not _is_in_prose(scope, row):
                yield Fault("form", f"line {row + 1} (`{line[:50]}`) is a remark, not part of the file")
                break
    yield from _first_line(scope, fresh)
    for each in notes_of_the_change(scope)[:1]:
        yield Fault("form", f"the comment `{each.text[:50]}` tells of the edit, not of the code")


def notes_of_the_change(scope: Scope) -> list[Comment]:
    """New comments that tell what was changed, where no comments are asked for."""
    if scope.about_comments or scope.about_docs or scope.old.language == "markdown" or not scope.new.sound:
        return []
    had = {renamed(each.text, scope.renames) for each in scope.old.comments}
    return [
        each
        for each in scope.new.comments
        if each.text not in had and "\n" not in each.text and _OF_THE_CHANGE.match(each.text.strip(MARKS))
    ]


def _first_line(scope: Scope, fresh: Sequence[tuple[int, str]]) -> Iterator[Fault]:
    """A file's name or an interpreter's that was set on top."""
    tops = {start for start, _ in regions(scope.old, scope.new, scope.spans)}
    for row, line in fresh:
        if row in tops and is_file_name(line) and scope.old.language != "markdown":
            yield Fault("form", f"line {row + 1} (`{line}`) is a file's name, not part of the file")
        if line.startswith("#!") and not line.startswith("#![") and "shebang" not in scope.words.lower():
            yield Fault("form", f"line {row + 1} (`{line[:40]}`) was not asked for")


def is_file_name(line: str) -> bool:
    """Whether a line is the name of a file, with or without the mark of a comment."""
    return bool(_FILE_NAME.fullmatch(line.strip()))


def _is_at_border(scope: Scope, fresh: Sequence[tuple[int, str]]) -> bool:
    """Whether something new stands at the very beginning or end of the text."""
    filled = [row for row, line in enumerate(scope.new.lines) if line.strip()]
    return bool(fresh and filled) and (fresh[0][0] == filled[0] or fresh[-1][0] == filled[-1])


def is_prose(line: str) -> bool:
    """Whether a line reads like what a model says about its answer."""
    bare = line.strip().strip("*_ ")
    return len(bare.split()) >= 3 and bool(_PROSE.match(bare)) and not bare.endswith((";", "{", ")"))


def _is_in_prose(scope: Scope, row: int) -> bool:
    """Whether a line stands in a docstring or comment."""
    if scope.new.language == "markdown":
        return False
    if any(each.start <= row < each.end for each in scope.new.comments):
        return bool(scope.new.sound)
    return bool(scope.new.sound) and not scope.new.tokens(row, row + 1)


def _entities(scope: Scope, fresh: Sequence[tuple[int, str]]) -> Iterator[Fault]:
    if scope.old.language == "markdown" or _ENTITY.search(scope.old.text) or _ENTITY.search(scope.intent.text):
        return
    for row, line in fresh:
        if found := _ENTITY.search(line):
            yield Fault("form", f"line {row + 1} has `{found.group()}` for a plain character")
            return


def repeats(old: Sequence[str], new: Sequence[str]) -> tuple[int, int] | None:
    """The lines that stand a second time in a row, where they stood once."""
    filled = [row for row, line in enumerate(new) if line.strip()]
    texts = [new[row].strip() for row in filled]
    had = "\n".join(line.strip() for line in old if line.strip())
    seen: dict[tuple[str, ...], int] = {}
    for at in range(len(texts) - _REPEATED + 1):
        run = tuple(texts[at : at + _REPEATED])
        first = seen.setdefault(run, at)
        if first + _REPEATED <= at and len(set(run)) > _REPEATED // 2:
            joined = "\n".join(run)
            if had.count(joined) < 2:
                end = at
                while end < len(texts) and texts[end] == texts[first + end - at]:
                    end += 1
                return filled[at], filled[end - 1] + 1
    return None
