"""What `complete` is asked to do: files, places in them, and what is done with the inserted text.

Everything that can be refused is refused here, before a model is loaded. Called by `complete`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.cli import diagnostics, output
from lacli.cli.cursor import Spot, Target, position, spot_of
from lacli.cli.stdin import Stdin, argument
from lacli.edits.diff import label_of, target_of, unified
from lacli.edits.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Attachment, Finished, Message, Place
from lacli.wording import counted, reply_record

_REACH = 1 << 16
"""Characters on either side of the cursor that a completion can depend on."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is done with the inserted text; printed alone, unless one of these is set."""

    full: bool = False
    diff: bool = False
    in_place: bool = False
    json: bool = False
    backup: str | None = None
    several: bool = False
    """Whether there are several files."""

    @property
    def silent(self) -> bool:
        """Whether the text is not to be printed while it comes."""
        return self.full or self.diff or self.in_place or self.json

    def check(self, targets: Sequence[Target]) -> None:
        """Refuse choices that exclude each other."""
        if self.full + self.diff + self.in_place > 1:
            raise UsageError("--full, --diff and --in-place exclude each other", "give one of them")
        if self.backup is not None and not self.in_place:
            raise UsageError("--backup is for --in-place", "give both, or neither")
        if self.full and self.several:
            raise UsageError("--full prints one file", "give one, or use --diff or --in-place")
        stdins = sum(target.path == "-" for target in targets)
        if stdins > 1:
            raise UsageError("stdin is one file", "give - once")
        if stdins and self.in_place:
            raise UsageError("stdin cannot be changed in place", "use --full to print it with the completion")


@dataclass(frozen=True, slots=True)
class View:
    """How much the model is shown, and where it must end."""

    language: str = ""
    stdin_name: str = ""
    scope: str = "block"
    max_lines: int = 0
    lines_before: int = 256
    lines_after: int = 64
    paths: tuple[str, ...] = ()
    """Files that are shown besides, first."""
    neighbours: bool = True
    """Whether such files are looked for, too."""


@dataclass(frozen=True, slots=True)
class Job:
    """A file and the place in it that is completed."""

    file: TextFile
    spot: Spot
    path: str
    """The name of the file for its language and for the model; empty: unknown."""

    @property
    def where(self) -> str:
        """The place as a user would give it."""
        at = position(self.file, self.spot.start)
        return f"{self.file.name}:{at['line']}:{at['column']}"

    @property
    def question(self) -> Message:
        """For the log: the place, without the file's text."""
        return Message("user", argument(self.where))

    def place(self, view: View, context: tuple[Attachment, ...], project: Path | None) -> Place:
        """What the model is asked."""
        text, spot = self.file.text, self.spot
        return Place(
            prefix=text[max(0, spot.start - _REACH) : spot.start],
            suffix=text[spot.end : spot.end + _REACH],
            path=argument(label_of(self.path)) if self.path else "",
            language=view.language,
            project=project.name if project is not None else "",
            lines_before=view.lines_before,
            lines_after=view.lines_after,
            scope=view.scope,
            max_lines=view.max_lines,
            context=context,
        )

    def deliver(self, finished: Finished, wanted: Wanted) -> None:
        """Do with the inserted text what is wanted; the plain text has been printed while it came."""
        data = self.file.data
        if wanted.silent and finished.text:
            data = self.file.replaced(self.spot.start, self.spot.end, finished.text)
        changed = data != self.file.data
        written = wanted.in_place and changed
        if written:
            self.file.write(data, wanted.backup)
        diff = unified(self.file.data, data, target_of(self.path or self.file.name)) if wanted.diff else b""
        if wanted.json:
            output.document(self._record(finished, wanted, data, diff))
        elif wanted.full:
            output.content(data, lambda: self.file.reads(data))
        elif wanted.diff:
            output.content(diff, lambda: diff.decode("utf-8", "replace"))
        if not finished.text:
            diagnostics.note("nothing to insert here" + (f": {self.where}" if wanted.several else ""))
        elif written and not wanted.json:
            lines = finished.text.strip("\n").count("\n") + 1
            diagnostics.note(f"{self.where}: {counted(lines, 'line', 'lines')} inserted")

    def _record(self, finished: Finished, wanted: Wanted, data: bytes, diff: bytes) -> dict[str, Any]:
        record: dict[str, Any] = {"file": self.file.name, **self.spot.record(self.file), **reply_record(finished)}
        if wanted.diff:
            record["diff"] = diff.decode("utf-8", "replace")
        if wanted.full:
            record["full"] = self.file.reads(data)
        if wanted.in_place:
            record["written"] = data != self.file.data
        return record


def check_once(jobs: Sequence[Job]) -> None:
    """Refuse two places of one file: what is inserted at the first moves the second."""
    seen: set[str] = set()
    for job in jobs:
        if job.file.stamp is None:
            continue
        if job.file.stamp.path in seen:
            raise UsageError(f"{job.file.name} is given twice", "with --diff and --in-place give one place a run")
        seen.add(job.file.stamp.path)


def read(target: Target, stdin_name: str) -> Job:
    """The file and the place. Raises UsageError before a model is made."""
    if target.path == "-":
        file = TextFile.of_bytes(Stdin().data(), "stdin")
        path = stdin_name
    else:
        file = TextFile.read(target.path, streams_too=True)
        path = stdin_name if file.stamp is None else target.path
    if file.odd:
        odd = counted(file.odd, "byte is", "bytes are")
        diagnostics.note(f"{file.name}: {odd} not {file.encoding}, and shown as Latin-1")
    return Job(file, spot_of(file, target), path)
