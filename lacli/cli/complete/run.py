"""One run of `complete`: each file in turn with the model loaded once; an error of one does not stop the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import typer

from lacli.assistant.base import BatchReplier
from lacli.cli.ask.one_turn import show_prompt
from lacli.cli.complete import alternatives
from lacli.cli.complete.job import Job, View, Wanted
from lacli.cli.framework import record
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics, live, output
from lacli.errors import LacliError
from lacli.events import Attachment, Request

_Result = TypeVar("_Result")
_AROUND = 4_000
"""Characters on either side of the cursor that pieces of other files are compared with."""
_HEAD = 1 << 16
"""Characters at a file's beginning in which its imports are looked for."""


class Run:
    """What is common to all files of a run."""

    def __init__(self, view: View, wanted: Wanted, common: Common, dry_run: bool) -> None:
        self.worst = 0
        """The exit code of what went worst."""
        self._view = view
        self._wanted = wanted
        self._common = common
        self._dry_run = dry_run
        self._recorder = record.recorder(common, "complete")

    def attempt(self, work: Callable[[], _Result]) -> _Result | None:
        """Do something for one of several files; with one file alone its failure is the command's."""
        try:
            return work()
        except LacliError as error:
            if not self._wanted.several:
                raise
            diagnostics.error(error.message, error.hint)
            self.worst = max(self.worst, error.exit_code)
            return None

    def complete(self, assistant: BatchReplier, job: Job) -> None:
        """Complete one place and do with the text what is wanted."""
        common, wanted = self._common, self._wanted
        root = _project(job)
        request = common.request(place=job.place(self._view, self._context(job, root), root), drop_oldest=True)
        request = replace(request, begins_again=True)
        if self._dry_run:
            show_prompt(assistant, request, common)
            return
        if wanted.alternatives > 1:
            self._several(assistant, job, request)
            return
        headed = wanted.several and not wanted.silent
        if headed:
            output.line(f"==> {job.where} <==")
        finished = live.stream(assistant, request, common, silent=wanted.silent, newline=headed, markdown=False)
        self._recorder.turn(job.question, finished)
        try:
            if finished.reason not in ("cancelled", "timeout"):
                job.deliver(finished, wanted)
            elif wanted.json:
                job.deliver(finished, Wanted(json=True))
        finally:
            live.report_stats(finished, common)
        live.conclude(finished)

    def _several(self, assistant: BatchReplier, job: Job, request: Request) -> None:
        """Several completions of one place, the likeliest first."""
        common, wanted = self._common, self._wanted
        replies, interrupt = alternatives.written(assistant, request, wanted.alternatives)
        finished = alternatives.ended(replies, interrupt)
        self._recorder.turn(job.question, finished)
        try:
            found = alternatives.different(replies)
            if finished.reason not in ("cancelled", "timeout") or found:
                job.deliver_several(finished, [each.text for each in found], wanted)
        finally:
            live.report_stats(finished, common)
        live.conclude(finished)

    def finish(self) -> None:
        """End with the exit code of what went worst."""
        if self.worst:
            raise typer.Exit(self.worst)

    def _context(self, job: Job, root: Path | None) -> tuple[Attachment, ...]:
        """Pieces of other files, where the model has a form for them or the user named some."""
        view = self._view
        if not view.paths and not (view.neighbours and root is not None and _takes_files(self._common.model)):
            return ()
        from lacli.project.neighbours import neighbours
        from lacli.text.languages import language_of

        text, at, _ = job.shown
        top = root or Path(os.path.abspath("."))
        name = os.path.relpath(os.path.realpath(job.path or "untitled"), os.path.realpath(top)).replace(os.sep, "/")
        return neighbours(
            text[:_HEAD],
            text[max(0, at - _AROUND) : at + _AROUND],
            name,
            top,
            language_of(job.path, text[:_HEAD], view.language or job.language),
            [Path(path) for path in view.paths],
            view.neighbours and root is not None,
            diagnostics.note,
        )


def _project(job: Job) -> Path | None:
    from lacli.project.root import project_root

    return project_root(Path(os.path.dirname(os.path.abspath(job.path or "x"))))


def _takes_files(model: str | None) -> bool:
    """Whether a model's form has a place for other files; of one that is not registered only its vocabulary tells."""
    from lacli.models.registry.registry import load_registry

    try:
        spec = load_registry().resolve(model)
    except LacliError:  # said by whoever loads it
        return False
    return spec.path is not None or (spec.fim is not None and bool(spec.fim.file_separator))
