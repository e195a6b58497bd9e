"""A completion job: the file, the place in it, and what to do with the inserted text.

All input is checked here, before a model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.cli.complete.cursor import CursorTarget, InsertRange, insert_range, position
from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.interrupt import WaitingInterrupt
from lacli.cli.terminal.stdin import Stdin, argument_text
from lacli.completion.window import REACH
from lacli.edits.write.diff import label_of, target_of, unified
from lacli.edits.write.notebook import BOUNDARY, Notebook, is_notebook
from lacli.edits.write.textfile import TextFile
from lacli.errors import LacliError, UsageError
from lacli.events import Attachment, Finished, Message, Place
from lacli.shared.wording import counted, reply_record
from lacli.text import languages

_DATA = ("json", "toml", "yaml")
"""Data languages: a file with a syntax error is useless to the program that reads it."""


@dataclass(frozen=True, slots=True)
class CompleteOutput:
    """What to do with the inserted text; it is printed alone unless one of these is set."""

    full: bool = False
    diff: bool = False
    in_place: bool = False
    json: bool = False
    backup: str | None = None
    several: bool = False
    """Whether there are several files."""
    alternatives: int = 1
    """How many completions of a place are shown."""

    @property
    def silent(self) -> bool:
        """Whether the text is not to be printed while it comes."""
        return self.full or self.diff or self.in_place or self.json

    def check(self, targets: Sequence[CursorTarget]) -> None:
        """Refuse choices that exclude each other."""
        if self.full + self.diff + self.in_place > 1:
            raise UsageError("--full, --diff and --in-place exclude each other", "give one of them")
        if self.backup is not None and not self.in_place:
            raise UsageError("--backup is for --in-place", "give both, or neither")
        if self.alternatives > 1 and (self.full or self.diff or self.in_place):
            raise UsageError(
                "--alternatives prints several texts, and --full, --diff and --in-place put one into the file",
                "leave out one of them",
            )
        if self.full and self.several:
            raise UsageError("--full prints one file", "give one, or use --diff or --in-place")
        stdins = sum(target.path == "-" for target in targets)
        if stdins > 1:
            raise UsageError("stdin is one file", "give - once")
        if stdins and self.in_place:
            raise UsageError("stdin cannot be changed in place", "use --full to print it with the completion")


@dataclass(frozen=True, slots=True)
class ContextOptions:
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
    read_ms: int = 0
    """What reading may take; 0 is no bound."""


@dataclass(frozen=True, slots=True)
class CompleteJob:
    """A file and the place in it that is completed."""

    file: TextFile
    insert_at: InsertRange
    path: str
    """The name of the file for its language and for the model; empty: unknown."""
    notebook: Notebook | None = None
    """The file's cells, where it is a notebook: they are what the model is shown."""
    span: tuple[int, int] = (0, 0)
    """The same place in the cells' text."""

    @property
    def where(self) -> str:
        """The place as a user would give it."""
        at = position(self.file, self.insert_at.start)
        return f"{self.file.name}:{at['line']}:{at['column']}"

    @property
    def shown(self) -> tuple[str, int, int]:
        """The text that is completed, and where in it."""
        if self.notebook is not None:
            return self.notebook.text, *self.span
        return self.file.text, self.insert_at.start, self.insert_at.end

    @property
    def language(self) -> str:
        """The language of a notebook's cells, where it is one that we know; empty: the name tells it."""
        known = None if self.notebook is None else languages.by_name(self.notebook.language)
        return "" if known is None else known.name

    @property
    def question(self) -> Message:
        """For the log: the place, without the file's text."""
        return Message("user", argument_text(self.where))

    def place(
        self, context_options: ContextOptions, context: tuple[Attachment, ...], named: int, project: Path | None
    ) -> Place:
        """What the model is asked; the first `named` pieces of other files are those the user named."""
        text, start, end = self.shown
        return Place(
            prefix=text[max(0, start - REACH) : start],
            suffix=text[end : end + REACH],
            path=argument_text(label_of(self.path)) if self.path else "",
            language=context_options.language or self.language,
            project=project.name if project is not None else "",
            lines_before=context_options.lines_before,
            lines_after=context_options.lines_after,
            read_ms=context_options.read_ms,
            scope=context_options.scope,  # type: ignore[arg-type]  # checked by the command
            max_lines=context_options.max_lines,
            context=context,
            named=named,
            boundary="" if self.notebook is None else BOUNDARY,
        )

    def write(self, finished: Finished, out: CompleteOutput) -> None:
        """Print or write the result; plain text has been printed while it was generated."""
        data = self.file.data
        if out.silent and finished.text:
            data = self._changed(finished.text)
        changed = data != self.file.data
        written = out.in_place and changed
        if written:
            self.file.write(data, out.backup)
        diff = unified(self.file.data, data, target_of(self.path or self.file.name)) if out.diff else b""
        if out.json:
            output.document(self._record(finished, out, data, diff))
        elif out.full:
            output.content(data, lambda: self.file.reads(data))
        elif out.diff:
            output.content(diff, lambda: diff.decode("utf-8", "replace"))
        if written and not out.json:
            lines = finished.text.strip("\n").count("\n") + 1
            diagnostics.note(f"{self.where}: {counted(lines, 'line', 'lines')} inserted")

    def fits(self, text: str) -> bool:
        """Whether the file parses with this text at the place, as far as that can be told."""
        from lacli.edits.tree.syntax import is_sound

        around, start, end = self.shown
        language = self.language or languages.language_of(self.path, around).name
        return is_sound(around[:start] + text + around[end:], language) is not False

    def _changed(self, text: str) -> bytes:
        """The file with this text at the place. Raises LacliError where it would no longer be read as what it is."""
        if self.notebook is not None:
            return self.notebook.replaced(*self.span, text)
        data = self.file.replaced(self.insert_at.start, self.insert_at.end, text)
        from lacli.edits.tree.syntax import is_sound

        language = languages.language_of(self.path).name
        if (
            language in _DATA
            and is_sound(self.file.text, language)
            and is_sound(self.file.reads(data), language) is False
        ):
            raise LacliError(
                f"{self.file.name} would no longer be valid {language.upper()} with what the model writes here",
                "it is left as it is; without --full, --diff and --in-place the text alone is printed",
            )
        return data

    def write_several(self, finished: Finished, texts: Sequence[str], out: CompleteOutput) -> None:
        """Print these texts, each below a line that names it."""
        if out.json:
            record = self._record(finished, out, self.file.data, b"")
            output.document({**record, "alternatives": list(texts)})
        else:
            for number, text in enumerate(texts, start=1):
                output.line(f"==> {self.where} ({number} of {len(texts)}) <==")
                output.line(text.removesuffix("\n"))
        if texts and len(texts) < out.alternatives:
            count = counted(len(texts), "different text", "different texts")
            diagnostics.note(f"only {count}: the others say the same, or nothing")

    def _record(self, finished: Finished, out: CompleteOutput, data: bytes, diff: bytes) -> dict[str, Any]:
        record: dict[str, Any] = {"file": self.file.name, **self.insert_at.record(self.file), **reply_record(finished)}
        if out.diff:
            record["diff"] = diff.decode("utf-8", "replace")
        if out.full:
            record["full"] = self.file.reads(data)
        if out.in_place:
            record["written"] = data != self.file.data
        return record


def check_once(jobs: Sequence[CompleteJob]) -> None:
    """Refuse two places of one file: what is inserted at the first moves the second."""
    seen: set[str] = set()
    for job in jobs:
        if job.file.stamp is None:
            continue
        if job.file.stamp.path in seen:
            raise UsageError(f"{job.file.name} is given twice", "with --diff and --in-place give one place a run")
        seen.add(job.file.stamp.path)


def read(target: CursorTarget, stdin_name: str) -> CompleteJob:
    """The file and the place. Raises UsageError before a model is made."""
    if target.path == "-":
        file = TextFile.of_bytes(Stdin().data(), "stdin")
        path = stdin_name
    else:
        with WaitingInterrupt(f"before {target.path} was read"):
            file = TextFile.read(target.path, streams_too=True)
        path = stdin_name if file.stamp is None else target.path
    if file.odd:
        odd = counted(file.odd, "byte is", "bytes are")
        diagnostics.note(f"{file.name}: {odd} not {file.encoding}, and shown as Latin-1")
    if is_notebook(path, file.data):
        return _in_notebook(file, target, path)
    return CompleteJob(file, insert_range(file, target), path)


def _in_notebook(file: TextFile, target: CursorTarget, path: str) -> CompleteJob:
    """The place in a notebook: a line of the file itself, a marker in a cell's source, or the end of the last cell."""
    notebook = Notebook.of(file)
    if target.marker:
        text = notebook.text
        found = insert_range(TextFile.of_bytes(text.encode("utf-8", "replace"), file.name), target)
        spelled = json.dumps(target.marker, ensure_ascii=False)[1:-1]
        at = max(0, file.text.find(spelled))
        return CompleteJob(file, InsertRange(at, at + len(spelled)), path, notebook, (found.start, found.end))
    insert_at = insert_range(file, target)
    at = notebook.end() if target.line is None and target.byte is None else notebook.at(insert_at.start)
    return CompleteJob(file, insert_at, path, notebook, (at, at))
