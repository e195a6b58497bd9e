"""What `edit` does with the result: print a diff or the file, change the file, or say why not.

Whatever is refused leaves the file untouched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lacli.cli.edit.hunks import check_terminal, choose_hunks
from lacli.cli.edit.job import EditJob
from lacli.cli.framework.options import Common
from lacli.cli.models.first_model import better_than
from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.tty import sanitize
from lacli.editing.edit import Outcome
from lacli.editing.replies import joined
from lacli.editing.target import EditTarget
from lacli.edits.write import disk
from lacli.edits.write.apply import EditResult
from lacli.edits.write.diff import target_of, unified
from lacli.errors import LacliError, UsageError
from lacli.events import Finished
from lacli.project.mentions import files_with
from lacli.shared.wording import counted, reply_record

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_BOLD = "\x1b[1m"
_HEADER_LINES = 2
_PLAIN = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class EditOutput:
    """What is done with the result."""

    diff: bool = False
    in_place: bool = False
    full: bool = False
    backup: str | None = None
    force: bool = False
    """Whether the result is accepted in spite of problems."""
    explain: bool = False
    """Whether parts, forms and attempts are reported."""
    keep_reply: str = ""
    """The file that gets the diff of a refused edit, or the reply where there is none."""
    interactive: bool = False
    """Whether each hunk is asked about; `in_place` then, too."""

    def check(self, target: EditTarget, as_json: bool = False) -> None:
        """Refuse options that exclude each other, and --interactive without a terminal."""
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
        if self.keep_reply and os.path.realpath(self.keep_reply) == os.path.realpath(target.path):
            raise UsageError("--keep-reply names the file that is edited", "give another one")
        if self.keep_reply and not os.path.isdir(os.path.dirname(os.path.abspath(self.keep_reply))):
            raise UsageError(
                f"--keep-reply {self.keep_reply}: there is no such folder", "make it, or give another path"
            )
        if self.interactive:
            check_terminal()


def write_result(job: EditJob, outcome: Outcome, replies: Sequence[Finished], out: EditOutput, common: Common) -> None:
    """Write or print the result. Raises LacliError where it is refused."""
    result = outcome.result
    nothing = "nothing changed"
    if out.explain:
        for line in outcome.story():
            diagnostics.note(line)
    try:
        _check(job, outcome, out, common.model)
        for note in (*result.notes, *_elsewhere(job, outcome)):
            diagnostics.note(note)
        if out.interactive and result.diff:
            data = choose_hunks(job.file, result.data, job.edit.doubt)
            result = replace(result, data=data, diff=unified(job.file.data, data, target_of(job.file.name)))
            nothing = "nothing was changed"
        written = out.in_place and bool(result.diff)
        if written:
            job.file.write(result.data, out.backup)
    except LacliError as error:
        if common.json:
            output.document(_record(job, outcome, replies, problem=error.message))
        raise
    if common.json:
        output.document(_record(job, outcome, replies, written=written))
    elif out.full or (job.file.stamp is None and not out.diff):
        output.content(result.data, lambda: job.file.reads(result.data))
    elif not out.in_place:
        _print_diff(job, result)
    if not result.diff:
        diagnostics.note(nothing)
    elif written:
        plus, minus = _counts(result.diff)
        diagnostics.note(f"{job.file.name}: {counted(plus, 'line', 'lines')} in, {minus} out")


def _check(job: EditJob, outcome: Outcome, out: EditOutput, model: str | None) -> None:
    """Refuse what is no result, or in which something is wrong; what came of it is kept where asked for."""
    result = outcome.result
    untouched = f"{job.file.name} is as it was"
    final = next((problem for problem in result.problems if problem.final), None)
    if final is not None:
        kept = _kept(out.keep_reply, outcome)
        raise LacliError(f"{final.text}; {untouched}{kept}", _remedy(outcome, model))
    if out.force:
        for problem in result.problems:
            diagnostics.warning(problem.text)
        return
    if result.problems:
        kept = _kept(out.keep_reply, outcome)
        more = f" (and {len(result.problems) - 1} more)" if len(result.problems) > 1 else ""
        hint = "say it differently or name the part (FILE::NAME, FILE:A-B); --force takes it anyway"
        hint += _other_model(outcome, model)
        raise LacliError(f"{result.problems[0].text}{more}; {untouched}{kept}", hint)


def _elsewhere(job: EditJob, outcome: Outcome) -> Iterator[str]:
    """A note of the other files that may use what the file defines no more; they are not changed."""
    result = outcome.result
    count = files_with(result.gone, Path(job.file.name)) if result.gone and job.file.stamp is not None else 0
    if count:
        names = " or ".join(f"`{name}`" for name in result.gone)
        verb = "has" if count == 1 else "have"
        yield f"{counted(count, 'other file', 'other files')} of this project {verb} {names}, too, unchanged"


def _kept(path: str, outcome: Outcome) -> str:
    """What is said of what a refused edit came to, where that was to be kept: its diff, else the model's last words."""
    diff = outcome.result.diff
    last = outcome.tries[-1].reply if outcome.tries else ""
    if not path or not (diff or last):
        return ""
    what = "its diff" if diff else "the reply"
    try:
        disk.put(path, diff or last.encode("utf-8", "replace"))
    except LacliError as error:  # why the edit is refused matters more
        return f"; {what} could not be kept: {error.message}"
    return f"; {what} is in {path}"


def _remedy(outcome: Outcome, model: str | None) -> str:
    reason = outcome.tries[-1].finished.reason if outcome.tries else ""
    if reason == "length":
        return "give more tokens with -n, or fewer lines"
    if reason == "context":
        return "give fewer lines: FILE:A-B"
    return "say it differently, or name the part: FILE::NAME, FILE:A-B" + _other_model(outcome, model)


def _other_model(outcome: Outcome, model: str | None) -> str:
    """What is added to a hint where the demonstration model was asked and did not manage."""
    better = better_than(model) if outcome.tries else ""
    return f"; -m {better} takes a real coding model" if better else ""


def _record(
    job: EditJob, outcome: Outcome, replies: Sequence[Finished], written: bool = False, problem: str = ""
) -> dict[str, Any]:
    parts = (*outcome.picked.parts, *outcome.picked.beside)
    return {
        "file": job.file.name,
        "lines": [min(part.start for part in parts) + 1, max(part.end for part in parts)],
        "parts": [{"label": part.label, "kind": part.kind, "lines": [part.start + 1, part.end]} for part in parts],
        "tries": [{"part": each.label, "form": each.form, "faults": list(each.faults)} for each in outcome.tries],
        "changed": bool(outcome.result.diff),
        "written": written,
        "problem": problem or None,
        "diff": _diff_text(job, outcome.result),
        **(reply_record(joined(replies)) if replies else {"text": "", "finish_reason": "stop", "stats": None}),
    }


def _counts(diff: bytes) -> tuple[int, int]:
    lines = diff.split(b"\n")[_HEADER_LINES:]
    return sum(line.startswith(b"+") for line in lines), sum(line.startswith(b"-") for line in lines)


def _print_diff(job: EditJob, result: EditResult) -> None:
    """As bytes for a program; with colours for people."""
    if not result.diff or not output.coloured() or not output.to_terminal():  # a pipe gets what `patch` takes
        output.content(result.diff, lambda: _diff_text(job, result))
        return
    for number, line in enumerate(_diff_text(job, result).removesuffix("\n").split("\n")):
        colour = _BOLD if number < _HEADER_LINES else _COLOURS.get(line[:1], "")
        output.styled(f"{colour}{sanitize(line)}{_PLAIN * bool(colour)}\n")


def _diff_text(job: EditJob, result: EditResult) -> str:
    """The diff as text, whatever the file's encoding."""
    file = job.file
    if file.encoding.startswith(("utf-16", "utf-32")):
        new = file.reads(result.data)
        return unified(file.text.encode(), new.encode(), target_of(file.name)).decode("utf-8", "replace")
    return result.diff.decode(file.encoding, "replace")
