"""A question, an answer, a notice: the messages of the transcript. Plain data in, no engine.

An answer grows by `append` while it is written and is complete after `finish`. `turn` is the message's place in the
conversation; None while it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from lacli.events import Attachment
from lacli.sessions.records import SUMMARISED
from lacli.shared import wording
from lacli.text.quoting import quoted
from lacli_tui.actions import MESSAGE, bindings_of
from lacli_tui.decoding import SourceTrace
from lacli_tui.messages import ActionRequested
from lacli_tui.sanitize import visible
from lacli_tui.segments import Segment, Segments, segments
from lacli_tui.widgets.fence import Fence
from lacli_tui.widgets.prose import Prose


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A message without its widget: what it takes to show it again."""

    make: Callable[[], Widget]
    turn: int | None = None
    answer: Callable[[], Answer] | None = None
    """The same as `make`, for an answer."""


class ChatMessage(Vertical, can_focus=True):
    """A message that can have the focus."""

    BINDINGS = bindings_of(MESSAGE)
    DEFAULT_CSS = """
    ChatMessage {
        height: auto;
        max-width: 124;
        padding: 0 1;
        margin: 0 0 1 0;
        border-left: blank;
        &:focus { border-left: outer $accent; }
        &> .who { color: $text-muted; text-style: bold; height: 1; width: 1fr; }
        &> .below { color: $text-muted; height: auto; }
        &> .below.-empty { display: none; }
    }
    """

    def __init__(self, turn: int | None = None) -> None:
        super().__init__()
        self.turn = turn
        self.block: int | None = None
        """The code block that was chosen last."""

    @property
    def source(self) -> str:
        """The text as it was written."""
        return ""

    @property
    def blocks(self) -> Sequence[int]:
        """The numbers of its code blocks."""
        return ()

    def record(self) -> MessageRecord:
        raise NotImplementedError

    def action_message_copy(self) -> None:
        self.block = None
        self.post_message(ActionRequested("message-copy", self.source, self.turn))

    def action_message_block(self, key: str) -> None:
        """Copy a code block and choose it; a number without a block chooses none."""
        number = int(key)
        self.block = number if number in self.blocks else None
        self.post_message(ActionRequested("message-block", turn=self.turn, block=number))

    def action_request(self, id_: str) -> None:
        """Ask the screen for this action on the message."""
        self.post_message(ActionRequested(id_, turn=self.turn, block=self.block))


class Question(ChatMessage):
    DEFAULT_CSS = """
    Question {
        background: $panel 50%;
        &> .who { color: $text-primary; }
        &> .words { height: auto; width: 1fr; }
    }
    """

    def __init__(self, text: str, attachments: Sequence[Attachment] = (), turn: int | None = None) -> None:
        super().__init__(turn)
        self._text = text
        self._attachments = tuple(attachments)

    @property
    def source(self) -> str:
        return self._text

    def record(self) -> MessageRecord:
        return MessageRecord(partial(Question, self._text, self._attachments, self.turn), self.turn)

    def compose(self) -> ComposeResult:
        if self._text == SUMMARISED:  # nobody asked that
            yield Static("In the place of older turns", classes="who", markup=False)
        else:
            yield Static("You", classes="who", markup=False)
            yield Static(Text(visible(self._text)), classes="words", markup=False)
        files = "\n".join(described(each) for each in self._attachments)
        yield Static(Text(files), classes="below" if files else "below -empty", markup=False)


class Answer(ChatMessage):
    """What the model writes, and above it what it thought before, which is not part of `source`."""

    DEFAULT_CSS = """
    Answer > .thought { color: $text-muted; }
    """

    def __init__(
        self,
        text: str = "",
        note: str = "",
        turn: int | None = None,
        trace: SourceTrace | None = None,
        *,
        thought: str = "",
    ) -> None:
        super().__init__(turn)
        self._thought = thought
        self._thinking: Prose | None = None
        self._segments = Segments()
        self._segments.text = text
        self._note = note
        self._parts: list[Prose | Fence] = []
        self.trace = trace if trace is not None else SourceTrace()
        """The sources of its tokens; known for answers written since the program began."""
        self.is_written = bool(text or thought)
        """Whether it is complete."""

    @property
    def source(self) -> str:
        return self._segments.text

    @property
    def blocks(self) -> Sequence[int]:
        if not self.is_mounted:
            return [segment.number for segment in segments(self.source) if segment.code]
        return [part.number for part in self._parts if isinstance(part, Fence)]

    def record(self) -> MessageRecord:
        make = partial(Answer, self.source, self._note, self.turn, self.trace, thought=self._thought)
        return MessageRecord(make, self.turn, make)

    def compose(self) -> ComposeResult:
        yield Static("Assistant", classes="who", markup=False)
        yield Static(Text(visible(self._note)), classes="below" if self._note else "below -empty", markup=False)

    async def on_mount(self) -> None:
        if self.is_written:
            await self._show_thought()
            await self._show(segments(self.source), ended=True)

    async def think(self, text: str) -> None:
        if text:
            self._thought += text
            await self._show_thought()

    async def append(self, text: str) -> None:
        if text:
            await self._show(self._segments.append(text))

    async def finish(self, text: str, note: str = "", thought: str = "") -> None:
        """Show the complete text and a note below it."""
        self._thought = thought
        await self._show_thought()
        self._segments.text = text
        self.is_written = True
        self.note(note)
        await self._show(segments(text), ended=True)

    def note(self, text: str) -> None:
        """Show a note below the text."""
        self._note = text
        if self.is_mounted:
            below = self.query_one(".below", Static)
            below.update(Text(visible(text)))
            below.set_class(not text, "-empty")

    async def _show_thought(self) -> None:
        shown = quoted(self._thought)
        if not shown:
            return
        if self._thinking is None:
            self._thinking = Prose()
            self._thinking.add_class("thought")
            await self.mount(self._thinking, after=self.query_one(".who"))
        await self._thinking.set_text(shown)

    async def _show(self, wanted: list[Segment], ended: bool = False) -> None:
        for index, segment in enumerate(wanted):
            part = self._parts[index] if index < len(self._parts) else None
            if part is None or isinstance(part, Fence) != segment.code:
                await self._replace(index, segment)
                part = self._parts[index]
            if isinstance(part, Fence):
                part.set_text(segment.text, segment.language)
                if segment.closed or ended:
                    part.close()
            else:
                await part.set_text(segment.text)
        await self._cut(len(wanted))

    async def _replace(self, index: int, segment: Segment) -> None:
        """Another kind of part begins here than the one shown."""
        await self._cut(index)
        part = Fence(segment.number, segment.language) if segment.code else Prose()
        self._parts.append(part)
        await self.mount(part, before=self.query_one(".below"))

    async def _cut(self, index: int) -> None:
        gone, self._parts[index:] = self._parts[index:], []
        for part in gone:
            await part.remove()


class ChatNotice(Static):
    """A notice from the program; a warning or an error with what to do about it."""

    DEFAULT_CSS = """
    ChatNotice {
        height: auto;
        padding: 0 2;
        margin: 0 0 1 0;
        color: $text-muted;
        &.warning { color: $text-warning; }
        &.error { color: $text-error; }
    }
    """

    def __init__(self, text: str, level: str = "note", hint: str = "") -> None:
        self._notice = text, level, hint
        mark = {"error": "error: ", "warning": "warning: "}.get(level, "")
        whole = Text(visible(mark + text))
        if hint:
            whole.append(visible(f"\n{hint}"), "dim")
        super().__init__(whole, classes=level, markup=False)

    def record(self) -> MessageRecord:
        return MessageRecord(partial(ChatNotice, *self._notice))


def described(attachment: Attachment) -> str:
    """A file, and about how long it is."""
    return f"+ {visible(wording.attachment_label(attachment))}"
