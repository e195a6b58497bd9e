"""How an edited text is set: indentation, line ends, quotes, blanks at line ends. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.tree.hunks import hunks
from lacli.edits.tree.outline import Definition

SMART = {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "}
_FEWEST_STEPS = 3
"""A step of indentation seen less often may be an alignment."""
_OTHER_ENDS = re.compile(r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def layout(scope: Scope) -> Iterator[Fault]:
    """Each kind once, with its first line."""
    old, new = scope.old.lines, scope.new.lines
    fresh = [row for change in hunks(old, new) for row in range(change.new_start, change.new_end)]
    yield from _ends(scope, fresh)
    yield from _quotes(scope, fresh)
    yield from _indentation(old, new, fresh, scope.old.language)
    if blanks := trailing(old, new, fresh, scope.old.language):
        yield Fault("layout", f"line {blanks[0] + 1} ends with blanks")
    if runs := long_gaps(scope):
        yield Fault("layout", f"{runs[0][1] - runs[0][0]} blank lines stand from line {runs[0][0] + 1} on")
    if gaps := lost_gaps(scope):
        yield Fault("layout", f"the blank line before `{scope.old.definitions[gaps[0]].label}` is gone")


def _ends(scope: Scope, fresh: Sequence[int]) -> Iterator[Fault]:
    kept = {found for found in _OTHER_ENDS.findall(scope.old.text)}
    for row in fresh:
        if set(_OTHER_ENDS.findall(scope.new.lines[row])) - kept:
            yield Fault("layout", f"line {row + 1} has a line end of another kind")
            break
    if scope.old.text.endswith("\n") and scope.new.text and not scope.new.text.endswith("\n"):
        yield Fault("layout", "the line end at the end of the file is gone")


def _quotes(scope: Scope, fresh: Sequence[int]) -> Iterator[Fault]:
    if scope.old.language == "markdown":
        return
    for row in fresh:
        found = smart_in(scope, scope.new.lines[row])
        if found:
            yield Fault("layout", f"line {row + 1} has `{found[0]}` where code has `{SMART[found[0]]}`")
            return


def smart_in(scope: Scope, line: str) -> list[str]:
    """The typographic quotes of a line that neither the file nor the instruction has."""
    return [mark for mark in SMART if mark in line and mark not in scope.old.text and mark not in scope.intent.text]


def _indentation(old: Sequence[str], new: Sequence[str], fresh: Sequence[int], language: str) -> Iterator[Fault]:
    kind = indent_kind(old)
    for row in fresh:
        blanks = re.match(r"[ \t]*", new[row])
        lead = blanks.group() if blanks is not None else ""
        if kind == "\t" and lead.startswith("  ") and language != "markdown":
            yield Fault("layout", f"line {row + 1} is indented with spaces where the file has tabs")
            return
        if kind == " " and "\t" in lead:
            yield Fault("layout", f"line {row + 1} is indented with a tab where the file has spaces")
            return
    if kind == " " and language not in ("markdown", "yaml"):
        had, has = indent_width(old), fresh_width([new[row] for row in fresh], indent_width(old))
        if has:
            yield Fault("layout", f"the new lines are indented by {has} spaces where the file has {had}")


def indent_kind(lines: Sequence[str]) -> str:
    """A tab or a blank, whichever indents this text; empty where both do, or none."""
    tabs = sum(line.startswith("\t") for line in lines)
    blanks = sum(line.startswith("  ") for line in lines)
    if tabs and not blanks:
        return "\t"
    return " " if blanks and not tabs else ("\t" if tabs > 20 * blanks else "")


def fresh_width(lines: Sequence[str], width: int) -> int:
    """By how many blanks new lines are indented, where that is not the width of the file; else 0."""
    steps = _steps(lines)
    if not width or not steps or steps[width]:
        return 0
    step, count = steps.most_common(1)[0]
    return step if count >= _FEWEST_STEPS else 0


def indent_width(lines: Sequence[str]) -> int:
    """By how many blanks a level is indented; 0 where that cannot be told."""
    steps = _steps(lines)
    return steps.most_common(1)[0][0] if steps else 0


def _steps(lines: Sequence[str]) -> Counter[int]:
    """By how many blanks lines stand deeper than the one above, counted."""
    steps: Counter[int] = Counter()
    last: int | None = None
    for line in lines:
        if line.strip():
            width = len(line) - len(line.lstrip(" "))
            if last is not None and width > last:
                steps[width - last] += 1
            last = width
    return steps


def trailing(old: Sequence[str], new: Sequence[str], fresh: Sequence[int], language: str) -> list[int]:
    """New lines that end with blanks. In Markdown two of them break a line."""
    if language == "markdown":
        return []
    had = Counter(line for line in old if line != line.rstrip())
    return [row for row in fresh if new[row] != new[row].rstrip(" \t") and not had[new[row]]]


def long_gaps(scope: Scope) -> list[tuple[int, int]]:
    """Runs of blank lines that are longer than any the file had, and than two: the lines that are too many of each."""
    had = [end - start for start, end in _blank_runs(scope.old.lines)]
    most = max([*had, 1 + (scope.old.language == "python")])
    return [(start + most, end) for start, end in _blank_runs(scope.new.lines) if end - start > most]


def _blank_runs(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The runs of blank lines; the empty text behind the last line end is none."""
    found: list[tuple[int, int]] = []
    for row, line in enumerate(lines[: len(lines) - (not lines[-1])]):
        if line.strip():
            continue
        if found and found[-1][1] == row:
            found[-1] = (found[-1][0], row + 1)
        else:
            found.append((row, row + 1))
    return found


def _is_comment_above(scope: Scope, each: Definition, now: Definition) -> bool:
    """Whether a comment that stood apart from a definition is part of it now."""
    above = {comment.text for comment in scope.new.comments if comment.start == now.start}
    apart = {comment.text for comment in scope.old.comments if comment.end < each.start}
    return bool(above & apart)


def lost_gaps(scope: Scope) -> list[int]:
    """The places of definitions that a blank line parted from what stands before, and does no more."""
    found: list[int] = []
    for at, each in enumerate(scope.old.definitions):
        now = scope.became[at]
        if now is None or each.start == 0 or (now.start == 0 and each.head - each.start == now.head):
            continue
        if now.head - now.start > each.head - each.start and _is_comment_above(scope, each, now):
            found.append(at)
        elif each.kind in ("variable", "key") or now.start == 0:
            continue
        elif not scope.old.lines[each.start - 1].strip() and scope.new.lines[now.start - 1].strip():
            opens = scope.new.lines[now.start - 1].rstrip().endswith(("{", ":"))
            if not opens:
                found.append(at)
    return found
