"""The main screen: transcript, prompt and what shows how decoding goes; from top to bottom and left to right:

`#header` · `#talk` (with `#transcript`), `#decode` in `#body` · `#status` · `#chips` · `#prompt` · footer.

What the engine says arrives in the bridge's queue; `Arrived` has it taken out by a timer of our own, at most fifteen
times a second and so that appending never takes more than a quarter of the time. What actions do is in the mixins of
`lacli_tui/verbs`.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import Static

from lacli.errors import WorkerDied
from lacli.events import Finished
from lacli.shared.wording import cut_note, live_line
from lacli_tui.actions import MAIN, bindings_of
from lacli_tui.background import done
from lacli_tui.messages import About, Arrived, Stats
from lacli_tui.talk import Talk, Took
from lacli_tui.verbs.sending import Sending
from lacli_tui.widgets.chips import Chips
from lacli_tui.widgets.decode_panel import DecodePanel
from lacli_tui.widgets.header import Header
from lacli_tui.widgets.keys import Keys
from lacli_tui.widgets.message import Answer
from lacli_tui.widgets.moment import Moment
from lacli_tui.widgets.offered import Offered
from lacli_tui.widgets.prompt import Prompt
from lacli_tui.widgets.sidebar import Sidebar
from lacli_tui.widgets.status_line import StatusLine
from lacli_tui.widgets.transcript import Transcript
from lacli_tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from lacli_tui.app import Start

FLUSH_S = 0.066
"""Least time between two appends."""
_SHARE = 4
"""An append may take one part in so many of the time."""
_PRACTICE_S = 0.3
_STATS_S = 0.2
"""Least time between two messages of statistics."""


class MainScreen(Sending):
    """The chat."""

    BINDINGS = bindings_of(MAIN)
    DEFAULT_CSS = """
    MainScreen {
        & #new-text { height: 1; display: none; text-align: center; color: $accent; }
        & #new-text.-shown { display: block; }
    }
    """

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.begun = start
        self.talk = Talk(start, self._wake)
        self._flushing: Timer | None = None
        self._next_stats = 0.0
        self._late: Timer | None = None
        """Tells what came too soon after the last statistics."""
        self._steps = []
        self._waits = []
        self._about: dict[str, Any] = {}
        self._keys_for_reply = False
        """Whether the footer shows the keys that apply while a reply is written."""

    @property
    def idle(self) -> bool:
        """Whether no reply is being written."""
        return (
            not self.talk.is_replying
            and self._flushing is None
            and self.talk.phase != "loading"
            and not self.is_reading
        )

    @property
    def session_id(self) -> str:
        """Of the session that is being kept; empty until there is one."""
        return self.talk.session_id if self.talk.conversation.turns else ""

    def compose(self) -> ComposeResult:
        """The widgets at their places."""
        yield Header(id="header")
        with Horizontal(id="body"):
            yield Sidebar(id="sidebar")
            with Vertical(id="talk"):
                yield Transcript(id="transcript")
                yield Static("↓ new text: ctrl+end", id="new-text", markup=False)
            yield DecodePanel(id="decode")
        yield StatusLine(id="status")
        yield Moment(id="moment")
        yield (offered := Offered(id="offered"))
        yield Chips(id="chips")
        yield Prompt(offered, id="prompt")
        yield Keys()

    async def on_mount(self) -> None:
        """Typing begins at once; everything else behind the first paint."""
        self.prompt.focus()
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        self.talk.begin()
        self.watch_surroundings()
        self.changed()
        await self.show_all()
        self._remember()
        if not self.app.is_headless:
            self.set_timer(_PRACTICE_S, self._practise)

    @work(group="remember", exit_on_error=False)
    async def _remember(self) -> None:
        self.prompt.remember(await done(self.talk.history))

    async def _practise(self) -> None:
        """Have the looks of an answer read and its libraries imported before the first one is written."""
        answer = Answer("# a\n\nb `c`\n\n- d\n\n1. e\n\n> f\n\n```python\ng = 1\n```\n")
        answer.display = False
        await self.query_one("#talk").mount(answer)
        await answer.remove()

    # What comes from the engine

    def _wake(self) -> None:
        """From any thread."""
        with contextlib.suppress(RuntimeError):  # the program has ended meanwhile
            if self.is_attached:
                self.post_message(Arrived())

    def on_arrived(self) -> None:
        """Take it as soon as the last append allows."""
        if self._flushing is None:
            wait = max(0.0, self._next_flush - time.monotonic())
            self._flushing = self.set_timer(max(wait, 0.001), self._flush)

    async def _flush(self) -> None:
        if self.talk.is_replying and self._answer_now is None:  # its widget is still being mounted
            self._flushing = self.set_timer(FLUSH_S, self._flush)
            return
        begun = time.monotonic()
        took = self.talk.take()
        try:
            await self._show(took)
        finally:
            now = time.monotonic()
            self._next_flush = now + max(FLUSH_S, _SHARE * (now - begun))
            self._flushing = None
        self.changed(ended=took.finished is not None)
        await self.settle(took)

    async def _show(self, took: Took) -> None:
        answer = self._answer_now
        await self.show_preparing(took)
        for notice in took.notices:
            await self.add(notice.text, notice.level)
        if answer is not None and took.steps:
            answer.trace.add(took.steps)
            if self.talk.purpose != "summary":
                self._steps += took.steps
            await answer.think(took.thought)
            await answer.append(took.text)
            self._mark_new_text()
        if took.finished is not None:
            await self._finish(took)
        if took.error is not None:
            await self._failed(took)
        if took.preview is not None:
            size, of = len(took.preview.token_ids), took.preview.ctx_size
            left = max(0, of - size - self.talk.request.max_tokens)
            await self.tell(f"{size:,} tokens so far; {left:,} left for the question, of {of:,}")

    async def _finish(self, took: Took) -> None:
        """The reply has ended."""
        finished, answer, self._answer_now = took.finished, self._answer_now, None
        assert finished is not None
        if self.talk.purpose == "summary":
            await self.show_all()
            await self.summed_up(took)
            return
        if answer is None:
            return
        if took.turn is None and finished.reason != "stop":
            await self._nothing_came(answer)
            return
        await answer.finish(finished.text, _below(finished, self.talk.most_tokens), finished.thought)
        self._asked = ""

    async def _nothing_came(self, answer: Answer) -> None:
        """The question is back at the prompt."""
        if self.talk.purpose == "again":
            await self.show_all()
        elif answer.turn is not None:
            await self.transcript.take_back(answer.turn)
        self.put_back()

    async def _failed(self, took: Took) -> None:
        """Something went wrong: what, and what to do."""
        error = took.error
        assert error is not None
        await self.blame(error, stays=True)
        if self.talk.phase == "dead" and await self.go_back():
            return
        if isinstance(error, WorkerDied):
            said = ["what was written is kept"] if took.turn is not None else []
            said += ["the next question starts a new engine", "F5 starts it now"] if error.again else []
            if said:
                await self.add("; ".join(said), "warning")
        elif took.failed == "open":
            await self.add("F5 tries again, ctrl+t chooses another model", "warning")

    def _mark_new_text(self) -> None:
        self.query_one("#new-text").set_class(not self.transcript.follows, "-shown")

    def on_transcript_followed(self, event: Transcript.Followed) -> None:
        """The end of the text came into view, or left it."""
        if event.follows:
            self.query_one("#new-text").remove_class("-shown")

    def changed(self, ended: bool = False) -> None:
        """Tell header, panel and status line; statistics five times a second at most."""
        now = time.monotonic()
        if not ended and now < self._next_stats and self.talk.is_replying:
            if self._late is None:
                self._late = self.set_timer(self._next_stats - now, self._changed_late)
            return
        self._next_stats = now + _STATS_S
        self._tell_about()
        if ended:
            self.look_at_pool()
            self.fill_sidebar()
        if self._steps or ended or not self.talk.is_replying:
            steps, self._steps = self._steps, []
            begins, self._begins = self._begins, False
            for widget in self.watching():
                widget.post_message(Stats(self.talk.stats, self.talk.counts, steps, begins))
        if self.talk.is_replying != self._keys_for_reply:
            self._keys_for_reply = self.talk.is_replying
            self.refresh_bindings()

    def _changed_late(self) -> None:
        """What came too soon after the last time; nothing else may come for a while."""
        self._late = None
        self.changed()

    def _tell_about(self) -> None:
        talk, stats = self.talk, self.talk.stats
        values: dict[str, Any] = {
            "project": self.begun.project,
            "model": talk.model,
            "quant": stats.quant if stats else "",
            "phase": talk.phase,
            "loading": self.loading_told() if talk.phase == "loading" else None,
            "prefill": talk.prefill if talk.phase == "prefill" else None,
            "system": bool(talk.conversation.system),
        }
        if values != self._about:
            self._about = values
            for widget in self.watching():
                widget.post_message(About(**values))

    # What is seen

    def show_chips(self) -> None:
        """What waits, the files that go with the next question, and what it stands in place of."""
        chips = self.query_one(Chips)
        editing = self._editing
        chips.label("" if editing is None else f"question {editing + 1} again; escape leaves it as it is")
        chips.show(self.talk.conversation.pending)
        chips.wait([each.text for each in self._waits])
        self.prompt.waits = bool(self._waits)

    async def show_all(self) -> None:
        """The whole conversation anew."""
        self._editing = None
        self._answer_now = None
        await self.transcript.show(self.talk.conversation.turns, Welcome())
        self.show_chips()
        self.changed(ended=True)


def _below(finished: Finished, max_tokens: int) -> str:
    """The line below an answer: why it is no whole one, and how it was decoded."""
    parts = ["interrupted"] if finished.reason == "cancelled" else []
    parts += filter(None, [cut_note(finished, max_tokens, "/set max-tokens N for more")])
    if finished.stats.predicted_n:
        parts.append(live_line(finished.stats))
    return " · ".join(parts)
