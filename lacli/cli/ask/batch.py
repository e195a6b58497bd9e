"""`lacli ask --batch FILE`: many prompts, one load, replies written side by side, a JSON line each.

The lines are read by `batch_input` and written by `batch_output`; here is the run between them.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Generator, Iterator

import typer

from lacli.assistant.base import BatchReplier, Cancel
from lacli.cli.ask import batch_output
from lacli.cli.ask.batch_input import BatchPrompt, PromptFile
from lacli.cli.ask.batch_output import Replies
from lacli.cli.framework.assistants import assistant
from lacli.cli.framework.options import Common
from lacli.cli.framework.record import recorder
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics, live
from lacli.cli.terminal.interrupt import ReplyInterrupt
from lacli.errors import LacliError, UsageError
from lacli.events import Counts, Event, Failed, Finished, Loading, Notice, Piece, Request
from lacli.shared.wording import SEPARATOR, counted, counts_record, reply_record

_REDRAW_S = 0.5


def ask_all(path: str, out: str, common: Common) -> None:
    """Reply to every prompt of the file that has no reply in `out` yet; `out` empty is stdout."""
    batch_output.check(out, path)
    with PromptFile(path, common) as prompts, Replies(out) as replies:
        count, left = replies.check(prompts.lines())
        if not count:
            raise UsageError(f"{prompts.name} holds no prompt", "give a prompt a line, as JSON")
        if left < count:
            diagnostics.note(f"{out} has {counted(count - left, 'reply', 'replies')} of {count:,} already")
        replier = assistant(common)
        run = _BatchRun(prompts, replies, count, left)
        try:
            if left:
                live.load(replier, common)
            interrupted = run.write_all(replier)
        finally:
            replier.close()
    run.report(common)
    if run.total.replies:
        recorder(common, "ask").count(run.total)
    if interrupted is not None:
        if interrupted.timed_out:
            raise Run.current.deadline.failure("before all replies were")
        diagnostics.stopped(f"stopped; the same command goes on with {out}" if out else "stopped")
        raise typer.Exit(diagnostics.INTERRUPTED)
    run.check_failures()


class _BatchRun:
    """One run over the prompts that have no reply yet."""

    def __init__(self, prompts: PromptFile, replies: Replies, count: int, left: int) -> None:
        self._prompts = prompts
        self._replies = replies
        self._count, self._left = count, left
        self._running: dict[int, BatchPrompt] = {}
        """The prompts whose replies are being written, by their place among the requests."""
        self._done = self._tokens = 0
        self.total = Counts()
        """Statistics of the replies that were written, cancelled ones included."""
        self._last_failure: Failed | None = None
        self._started = self._drawn_at = time.monotonic()
        self._progress = diagnostics.can_show_progress()

    def write_all(self, assistant: BatchReplier) -> ReplyInterrupt | None:
        """Write the replies; who interrupted, if somebody did before all were there."""
        self._started = time.monotonic()
        with (
            ReplyInterrupt() as interrupt,
            self._replies.writing(),
            contextlib.closing(_events(assistant, self._requests(), interrupt)) as events,
        ):
            try:
                for place, event in events if self._left else ():
                    self._handle(place, event)
            except LacliError as error:
                error.hint = "; ".join(filter(None, [error.hint, self._replies.way_on]))
                raise
            finally:
                diagnostics.erase_status()
        return interrupt if self._done < self._left else None

    def report(self, common: Common) -> None:
        """Print statistics: as JSON for --stats, or as a line for people."""
        seconds = time.monotonic() - self._started
        if common.stats:
            numbers = {"replies": self._done, "failed": self._replies.failed, **counts_record(self.total)}
            diagnostics.plain_line(json.dumps({**numbers, "wall_ms": round(1000 * seconds, 1)}))
        if common.usage or (not common.stats and (common.verbose or self._progress)):
            parts = [counted(self._done, "reply", "replies"), f"{self._tokens:,} tokens in {seconds:.1f} s"]
            parts.append(f"{self._tokens / max(seconds, 1e-9):.0f} tok/s")
            diagnostics.plain_line(SEPARATOR.join(parts), SEPARATOR)

    def check_failures(self) -> None:
        """End with the failure of a prompt that was alone, or with that of the run where some have no reply."""
        failed, failure = self._replies.failed, self._last_failure
        if self._count == 1 and failure is not None:
            diagnostics.error(failure.message, failure.hint)
            raise typer.Exit(failure.exit_code)
        if failed:
            raise LacliError(f"{failed:,} of {self._count:,} prompts got no reply", 'their lines say why: "error"')

    def _requests(self) -> Iterator[Request]:
        places = 0
        for line in self._prompts.lines():
            if line.index not in self._replies:
                self._running[places] = line
                places += 1
                yield line.request

    def _handle(self, place: int, event: Event | Failed) -> None:
        if isinstance(event, Notice):
            diagnostics.notice(event)
        elif isinstance(event, Piece):
            self._tokens += len(event.sources)
        elif isinstance(event, Failed):
            self._done += 1
            self._last_failure = event
            error = {"message": event.message, "hint": event.hint, "exit_code": event.exit_code}
            self._replies.put(self._running.pop(place), {"error": error})
        elif isinstance(event, Finished):
            line = self._running.pop(place)
            self._tokens += 0 if event.token_ids else event.stats.predicted_n  # a remote's pieces are no tokens
            self.total += event.stats
            if event.reason != "cancelled":
                self._done += 1
                self._replies.put(line, reply_record(event))
        if self._progress and not isinstance(event, Loading):
            self._show_progress()

    def _show_progress(self) -> None:
        now = time.monotonic()
        if now - self._drawn_at >= _REDRAW_S:
            self._drawn_at = now
            rate = self._tokens / (now - self._started)
            done = self._count - self._left + self._done
            diagnostics.show_status(
                SEPARATOR.join([f"{done:,}/{self._count:,} replies", f"{self._tokens:,} tok", f"{rate:.0f} tok/s"])
            )


def _events(
    assistant: BatchReplier, requests: Iterator[Request], cancel: Cancel
) -> Generator[tuple[int, Event | Failed], None, None]:
    yield from assistant.replies(requests, cancel)
