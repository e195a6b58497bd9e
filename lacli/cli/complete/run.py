"""One run of `complete`: each file in turn with the model loaded once; an error of one does not stop the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import typer

from lacli.assistant.base import BatchReplier
from lacli.cli.ask.one_turn import show_prompt
from lacli.cli.complete import alternatives
from lacli.cli.complete.job import CompleteJob, CompleteOutput, ContextOptions
from lacli.cli.framework import record
from lacli.cli.framework.options import Common
from lacli.cli.models.first_model import better_than
from lacli.cli.terminal import diagnostics, live, output
from lacli.completion.around import other_files, project_of
from lacli.configuration.remotes import is_remote
from lacli.errors import LacliError
from lacli.events import Attachment, Finished, Request

_Result = TypeVar("_Result")


class CompleteRunner:
    """Completes the files one after the other."""

    def __init__(self, context_options: ContextOptions, out: CompleteOutput, common: Common, dry_run: bool) -> None:
        self.worst = 0
        """The highest exit code so far."""
        self._context_options = context_options
        self._output = out
        self._common = common
        self._dry_run = dry_run
        self._recorder = record.recorder(common, "complete")

    def attempt(self, work: Callable[[], _Result]) -> _Result | None:
        """Do work for one of several files and report its failure; with a single file the failure is raised."""
        try:
            return work()
        except LacliError as error:
            if not self._output.several:
                raise
            diagnostics.error(error.message, error.hint)
            self.worst = max(self.worst, error.exit_code)
            return None

    def complete(self, assistant: BatchReplier, job: CompleteJob) -> None:
        """Complete one place, then print or insert the text."""
        common, out = self._common, self._output
        root = project_of(job.path)
        place = job.place(self._context_options, *self._context(job, root), root)
        request = replace(common.request(place=place, drop_oldest=True), begins_again=True)
        if self._dry_run:
            show_prompt(assistant, request, common)
            return
        if out.alternatives > 1:
            self._several(assistant, job, request)
            return
        headed = out.several and not out.silent
        if headed:
            output.line(f"==> {job.where} <==")
        finished = live.stream(assistant, request, common, silent=out.silent, newline=headed, markdown=False)
        self._recorder.turn(job.question, finished)
        try:
            if finished.reason not in ("cancelled", "timeout"):
                job.write(finished, out)
                if not finished.text:
                    self._say_nothing_comes(job)
            elif out.json:
                job.write(finished, CompleteOutput(json=True))
        finally:
            self._report(finished)
        live.conclude(finished)

    def _several(self, assistant: BatchReplier, job: CompleteJob, request: Request) -> None:
        """Several completions of one place, the likeliest first."""
        out = self._output
        replies, interrupt = alternatives.write_replies(assistant, request, out.alternatives)
        finished = alternatives.overall_result(replies, interrupt, job.fits)
        self._recorder.turn(job.question, finished)
        try:
            found = alternatives.distinct(replies, job.fits)
            if finished.reason not in ("cancelled", "timeout") or found:
                job.write_several(finished, [each.text for each in found], out)
                if not found:
                    self._say_nothing_comes(job)
        finally:
            self._report(finished)
        live.conclude(finished)

    def _say_nothing_comes(self, job: CompleteJob) -> None:
        """Say that nothing is to be inserted, and what else can be tried."""
        where = f": {job.where}" if self._output.several else ""
        offers_more = self._output.alternatives == 1 and not is_remote(self._common.model)
        tries = ["--alternatives 3 tries other beginnings"] if offers_more else []
        tries.append("a comment before the cursor tells the model what is missing")
        better = better_than(self._common.model)
        tries += [f"-m {better} takes a real coding model"] if better else []
        diagnostics.note(f"nothing to insert here{where}; {'; '.join(tries)}")

    def _report(self, finished: Finished) -> None:
        """Report how it ended. That nothing is to be inserted was said by then, and a larger budget would not help."""
        if finished.reason == "length" and not finished.text:
            finished = replace(finished, reason="stop")
        live.report_stats(finished, self._common)

    def finish(self) -> None:
        """End with the highest exit code."""
        if self.worst:
            raise typer.Exit(self.worst)

    def _context(self, job: CompleteJob, root: Path | None) -> tuple[tuple[Attachment, ...], int]:
        """Pieces of other files, where the model has a form for them or the user named some, and how many are named."""
        text, at, _ = job.shown
        options = self._context_options
        return other_files(
            text,
            at,
            job.path,
            root,
            self._common.model,
            options.language or job.language,
            [Path(path) for path in options.paths],
            options.neighbours,
            diagnostics.note,
        )
