"""A reply from events onto the two streams: text to stdout, progress, live tokens per step and statistics to stderr.
The live status stands on the line below the text and is erased before the text moves there, so that it never mixes with
the reply: not on the screen, and not in a pipe, where it is never drawn.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lacli.assistant.base import Replier, Report
from lacli.cli.framework.options import Common
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.interrupt import LoadingInterrupt, ReplyInterrupt, raise_pending
from lacli.cli.terminal.keyboard import unechoed
from lacli.cli.terminal.tty import column_after, columns, size
from lacli.events import Event, Finished, Loading, Notice, Piece, Prefill, ReplyStats, Request
from lacli.shared.wording import SEPARATOR, cut_note, live_line, loading_line, stats_line, stats_record
from lacli.text.quoting import Quoting

if TYPE_CHECKING:
    from lacli.cli.terminal.markdown.page import Change, Page

_REDRAW_S = 0.5
_MARGIN = 4
"""Within this many columns of the right edge no status is drawn beside the text, as the width of text is a guess."""


class ReplyDisplay:
    """What the terminal shows of one reply: its text, `page` rendering it, and what stands beside it.

    `at_end`: nothing of the text before the end, only the numbers. What the model thinks is shown to people only, as a
    quotation before the text; a pipe or a file gets the text alone.
    """

    def __init__(self, page: Page | None = None, at_end: bool = False) -> None:
        self._page = page
        self._at_end = at_end
        self._status = diagnostics.can_show_status()
        self._progress = diagnostics.can_show_progress()
        self._column = 0
        self._near_end = False
        self._drawn_at = float("-inf")
        self._numbers = ""
        self._written = False
        self._late: list[Notice] = []
        self._quoting = Quoting()

    def notify(self, event: Event) -> None:
        """Show a notice or a stage of loading or prefill; other events are not shown here."""
        if isinstance(event, Notice):
            self._late.append(event)
            if not self._written:  # a note never cuts a line of the reply in two
                self.finish()
        elif isinstance(event, Loading) and self._progress:
            self._draw(loading_line(event))
        elif isinstance(event, Prefill) and self._progress and event.done < event.total:
            self._draw(f"reading the prompt… {event.done}/{event.total}")

    def text(self, piece: Piece) -> None:
        """Write a piece of the reply, and the live numbers below it, which stay still while the text stays on its
        line."""
        now = time.monotonic()
        due = now - self._drawn_at >= _REDRAW_S
        if due:
            self._drawn_at, self._numbers = now, live_line(piece.stats)
        if self._at_end:
            if due and self._progress:
                self._draw(self._numbers)
            return
        text = self._shown(piece.text, piece.thought)
        if self._page is not None:
            self._place(self._page.push(text))
        elif text:
            self._write(text)
        if self._status and not self._near_end and (due or not diagnostics.status_is_shown()):
            diagnostics.show_status_below(self._numbers)

    def end(self, text: str, thought: str, newline: bool) -> None:
        """Complete the text, or write all of it now; a terminal's last line always ends."""
        whole = self._shown(text, thought) if self._at_end else text or thought
        if self._page is not None:
            if self._at_end:
                self._place(self._page.push(whole))
            self._place(self._page.finish())
            return
        if self._at_end:
            output.text(whole)
        wanted = newline or (output.to_terminal() and whole)
        output.end_text("\n" if wanted and not whole.endswith("\n") else "")

    def finish(self) -> None:
        """Remove the status and print the notices that had to wait for the end of the text."""
        diagnostics.erase_status()
        for late in self._late:
            diagnostics.notice(late)
        self._late.clear()

    def _shown(self, text: str, thought: str) -> str:
        """The part of the reply that is shown: to people with what the model thinks."""
        return self._quoting.push(text, thought) if output.to_terminal() else text

    def _write(self, text: str) -> None:
        """The text as it is."""
        width = columns(sys.stderr)
        *above, last = text.split("\n")
        start = 0 if above else self._column
        self._column = column_after(start, last, width)
        self._near_end = self._column + _MARGIN > width
        if above or not self._written or column_after(start, last) + _MARGIN > width:
            diagnostics.erase_status()
        output.text(text)
        self._written = True

    def _place(self, change: Change) -> None:
        """What the page wants written; the status goes before the cursor leaves its line."""
        if not change.text:
            return
        self._near_end = change.column + _MARGIN > columns(sys.stderr)
        if change.moves or self._near_end or not self._written:
            diagnostics.erase_status()
        output.styled(change.text)
        self._written = True

    def _draw(self, text: str) -> None:
        if len(text) + _MARGIN <= columns(sys.stderr):
            diagnostics.show_status(text)


def load(assistant: Replier, common: Common) -> None:
    """Load the model with its progress on stderr; Ctrl-C here ends the program."""
    if common.max_tokens == 0:  # the model will not be used
        return
    if common.verbose and common.pool and not _in_project():
        diagnostics.note("nothing is learned here: the home, temporary and top folders themselves are not projects")
    with show_progress() as report:
        assistant.open(report)


@contextlib.contextmanager
def show_progress() -> Iterator[Report]:
    """Shows what is reported of fetching, preparing and loading; Ctrl-C and the end of --timeout end the program."""
    live = ReplyDisplay()
    with LoadingInterrupt() as pressed:

        def report(event: Event) -> None:
            pressed.check()
            pressed.skips = isinstance(event, Loading) and event.stage == "prime"
            live.notify(event)

        try:
            yield report
        finally:
            live.finish()


def stream(
    assistant: Replier,
    request: Request,
    common: Common,
    *,
    silent: bool = False,
    newline: bool = True,
    prompt_follows: bool = False,
    markdown: bool = True,
) -> Finished:
    """Let the assistant reply and write it as it comes; returns how it ended.

    `silent` writes no text (for --json), `newline` ends it with one even where nobody but a program reads,
    `prompt_follows` where another question is asked after it (`unechoed`), `markdown` where the model writes it: it is
    rendered on a terminal, unless --plain. Ctrl-C ends the reply between two steps, as a signal to terminate does,
    which then ends the program: the reason is "cancelled". The end of --timeout makes it "timeout". `conclude` comes
    last.
    """
    finished: Finished | None = None
    quiet = unechoed(prompt_follows)
    with ReplyInterrupt() as interrupt, quiet, contextlib.closing(_events(assistant, request, interrupt)) as events:
        # Within: this imports, for long enough that Ctrl-C comes meanwhile.
        live = ReplyDisplay(_page(markdown and not common.plain and not silent), at_end=silent or common.no_stream)
        try:
            for event in events:
                if isinstance(event, Finished):
                    finished = event
                elif isinstance(event, Piece):
                    live.text(event)
                else:
                    live.notify(event)
        finally:
            diagnostics.erase_status()
    if finished is None:
        raise RuntimeError("a reply ended without its last event")
    if not silent:
        live.end(finished.text, finished.thought, newline)
    live.finish()
    if markdown and not silent and not finished.text and finished.reason == "stop":
        diagnostics.note("the model only thought, and gave no answer" if finished.thought else "the reply is empty")
    if finished.reason == "cancelled" and interrupt.timed_out:
        finished = replace(finished, reason="timeout", stats=replace(finished.stats, finish_reason="timeout"))
        if prompt_follows:
            diagnostics.note(Run.current.deadline.failure("before the reply was").message)
    return finished


def show_answer(text: str, as_text: bool) -> None:
    """Show an answer that was written before: on a terminal as it was shown then, elsewhere beside the notes, as it is
    no part of what is asked now."""
    page = _page(not as_text)
    if page is not None:
        output.styled(page.push(text).text + page.finish().text)
    else:
        for line in text.split("\n"):
            diagnostics.plain_line(line)


def _page(markdown: bool) -> Page | None:
    """The renderer of Markdown, if it is wanted and can be drawn."""
    if not markdown or not output.can_draw():
        return None
    from lacli.cli.terminal.markdown.page import Page

    return Page(lambda: size(sys.stdout), output.coloured())


def conclude(finished: Finished) -> None:
    """End the command as the reply ended: by a signal to terminate, with exit code 130 after Ctrl-C, with 6 after a
    timeout."""
    raise_pending()
    if finished.reason == "timeout":
        raise Run.current.deadline.failure("before the reply was")
    if finished.reason == "cancelled":
        raise typer.Exit(diagnostics.INTERRUPTED)


def report_stats(finished: Finished, common: Common, remedy: str = "-n N for more") -> None:
    """Print a note if the reply was cut, then its statistics: as JSON for --stats, or as a line for people.

    `remedy` is what helps where the token budget was too small.
    With --stats or --json the cut is the `finish_reason` there, so that a program reads one line and nothing else.
    """
    if not common.stats and not common.json:
        cut = cut_note(finished, common.max_tokens, remedy)
        if cut:
            diagnostics.note(cut)
        elif finished.reason == "cancelled":
            diagnostics.stopped("stopped; this is the text so far" if finished.text else "stopped")
    if common.stats:
        diagnostics.plain_line(json.dumps(stats_record(finished.stats), ensure_ascii=False, allow_nan=False))
    asked = common.usage or (common.verbose and not common.stats)
    if asked or (finished.text and not common.stats and diagnostics.can_show_status()):
        show_stats(finished.stats, common)


def show_stats(stats: ReplyStats, common: Common) -> None:
    """The line for people."""
    nowhere = "pool off" if not common.pool else "" if stats.pool_size or _in_project() else "no pool here"
    diagnostics.plain_line(stats_line(stats, nowhere), SEPARATOR, dim=True)


def _in_project() -> bool:
    from lacli.project.root import project_root

    return project_root(Path(".")) is not None


def _events(assistant: Replier, request: Request, interrupt: ReplyInterrupt) -> Generator[Event, None, None]:
    yield from assistant.reply(request, interrupt)
