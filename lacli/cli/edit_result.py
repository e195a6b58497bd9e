"""What `edit` does with the result: print a diff or the file, change the file, or say why not.

Called by `edit` once the reply is complete. Whatever is refused leaves the file untouched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lacli.cli import diagnostics, output
from lacli.cli.confirm import confirm
from lacli.cli.edit_hunks import check_terminal, chosen, unchecked
from lacli.cli.edit_job import Job, Target
from lacli.cli.keyboard import open_terminal
from lacli.cli.options import Common
from lacli.cli.terminal import plain
from lacli.edits.apply import EditResult
from lacli.edits.diff import target_of, unified
from lacli.errors import LacliError, UsageError
from lacli.events import Finished
from lacli.wording import counted, reply_record

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_BOLD = "\x1b[1m"
_HEADER_LINES = 2
_PLAIN = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is done with the result."""

    diff: bool = False
    in_place: bool = False
    full: bool = False
    backup: str | None = None
    yes: bool = False
    """Whether what speaks against the result is overruled."""
    interactive: bool = False
    """Whether each hunk is asked about; `in_place` then, too."""

    def check(self, target: Target, as_json: bool = False) -> None:
        """Refuse choices that exclude each other, and --interactive where nobody could answer."""
        if self.interactive and (self.diff or self.full or as_json):
            given = "--diff" if self.diff else "--full" if self.full else "--json"
            raise UsageError(f"--interactive and {given} exclude each other", "give one of them")
        if self.diff + self.in_place + self.full > 1:
            raise UsageError("--diff, --in-place and --full exclude each other", "give one of them")
        if self.in_place and target.path == "-":
            flag = "--interactive" if self.interactive else "--in-place"
            raise UsageError("stdin cannot be edited in place", f"leave out {flag}: the result is printed")
        if self.backup is not None and not self.in_place:
            raise UsageError("--backup is for --in-place", "give both, or neither")
        if self.interactive:
            check_terminal()


def deliver(
    job: Job,
    result: EditResult,
    finished: Finished,
    wanted: Wanted,
    common: Common,
    check: Callable[[bytes], str] = unchecked,
) -> None:
    """Write or print the result. Raises LacliError where it is refused.

    `check` says what speaks against a file of some of the result's hunks.
    """
    nothing = "nothing changed"
    for note in result.notes:
        diagnostics.note(note)
    try:
        _check(job, result, finished, wanted)
        if wanted.interactive and result.diff:
            data = chosen(job.file, result.data, check)
            result = replace(result, data=data, diff=unified(job.file.data, data, target_of(job.file.name)))
            nothing = "nothing was changed"
        written = wanted.in_place and bool(result.diff)
        if written:
            job.file.write(result.data, wanted.backup)
    except LacliError as error:
        if common.json:
            output.document(_record(job, result, finished, problem=error.message))
        raise
    if common.json:
        output.document(_record(job, result, finished, written=written))
    elif wanted.full or (job.file.stamp is None and not wanted.diff):
        output.content(result.data, lambda: job.file.reads(result.data))
    elif not wanted.in_place:
        _print_diff(job, result)
    if not result.diff:
        diagnostics.note(nothing)
    elif written:
        plus, minus = _counts(result.diff)
        diagnostics.note(f"{job.file.name}: {counted(plus, 'line', 'lines')} in, {minus} out")


def _check(job: Job, result: EditResult, finished: Finished, wanted: Wanted) -> None:
    """Refuse what is no result, and ask about what is doubtful where someone can be asked."""
    untouched = f"{job.file.name} is as it was"
    for problem in result.problems:
        if problem.final:
            cut = f" after {finished.stats.predicted_n} tokens" if finished.reason in ("length", "context") else ""
            raise LacliError(f"{problem.text}{cut}; {untouched}", _remedy(finished))
        if wanted.yes:
            diagnostics.warning(problem.text)
            continue
        if wanted.in_place and _someone_is_there():
            if confirm(f"{problem.text}; take it all the same?"):
                continue
            raise LacliError(f"the result was not taken; {untouched}", "say it differently, or give fewer lines")
        raise LacliError(f"{problem.text}; {untouched}", "-y takes it all the same")


def _remedy(finished: Finished) -> str:
    if finished.reason == "length":
        return "give more tokens with -n, or fewer lines"
    if finished.reason == "context":
        return "give fewer lines: FILE:A-B"
    return "say it differently, or give fewer lines: FILE:A-B"


def _someone_is_there() -> bool:
    keyboard = open_terminal()
    if keyboard is None:
        return False
    keyboard.close()
    return True


def _record(
    job: Job, result: EditResult, finished: Finished, written: bool = False, problem: str = ""
) -> dict[str, Any]:
    return {
        "file": job.file.name,
        "lines": [job.span.start + 1, job.span.end],
        "changed": bool(result.diff),
        "written": written,
        "problem": problem or None,
        "diff": _diff_text(job, result),
        **reply_record(finished),
    }


def _counts(diff: bytes) -> tuple[int, int]:
    lines = diff.split(b"\n")[_HEADER_LINES:]
    return sum(line.startswith(b"+") for line in lines), sum(line.startswith(b"-") for line in lines)


def _print_diff(job: Job, result: EditResult) -> None:
    """As bytes for a program; with colours for people."""
    if not result.diff or not output.coloured() or not output.to_terminal():  # a pipe gets what `patch` takes
        output.content(result.diff, lambda: _diff_text(job, result))
        return
    for number, line in enumerate(_diff_text(job, result).removesuffix("\n").split("\n")):
        colour = _BOLD if number < _HEADER_LINES else _COLOURS.get(line[:1], "")
        output.drawn(f"{colour}{plain(line)}{_PLAIN * bool(colour)}\n")


def _diff_text(job: Job, result: EditResult) -> str:
    """The diff as text, whatever the file's encoding."""
    file = job.file
    if file.encoding.startswith(("utf-16", "utf-32")):
        new = file.reads(result.data)
        return unified(file.text.encode(), new.encode(), target_of(file.name)).decode("utf-8", "replace")
    return result.diff.decode(file.encoding, "replace")
