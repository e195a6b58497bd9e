"""A question with two answers. `ConfirmScreen(question, yes="yes")` -> True, or False for no and for going back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from lacli_tui.actions import CONFIRM, bindings_of
from lacli_tui.glyphs import to_terminal
from lacli_tui.keys import key_name, keys_of
from lacli_tui.sanitize import visible
from lacli_tui.screens.dialog import Dialog


class ConfirmScreen(Dialog[bool]):
    """No is marked at first, so that a key pressed once too often does no harm."""

    PLACES = (CONFIRM,)
    BINDINGS = bindings_of(CONFIRM)
    DEFAULT_CSS = """
    ConfirmScreen > #frame > #question { height: auto; max-height: 10; margin: 1 0; }
    ConfirmScreen > #frame > #answers { height: 1; }
    """

    def __init__(self, question: str, yes: str = "yes") -> None:
        super().__init__()
        self.title = "Sure?"
        self.add_class("-small")
        self._question = question
        self._answers = ("no", yes)
        self._marked = 0

    def body(self) -> Iterable[Widget]:
        yield Static(Content(to_terminal(visible(self._question))), id="question", markup=False)
        yield Answers(id="answers")

    def on_mount(self) -> None:
        self._mark(0)

    def _mark(self, which: int) -> None:
        self._marked = which
        self.query_one(Answers).show(self._answers, ("confirm-no", "confirm-yes"), which)

    def action_confirm_other(self) -> None:
        self._mark(1 - self._marked)

    def action_confirm_take(self) -> None:
        self.dismiss(bool(self._marked))

    def action_confirm_yes(self) -> None:
        self.dismiss(True)

    def action_confirm_no(self) -> None:
        self.dismiss(False)

    def action_close(self) -> None:
        self.dismiss(False)

    def on_answers_chosen(self, chosen: Answers.Chosen) -> None:
        self.dismiss(bool(chosen.which))


class Answers(Static):
    @dataclass
    class Chosen(Message):
        which: int

    def __init__(self, id: str) -> None:  # noqa: A002 - textual's name
        super().__init__("", markup=False, id=id)
        self._first = 0

    def show(self, answers: Sequence[str], ids: Sequence[str], marked: int) -> None:
        """Show these answers, each with the key of its action."""
        names = []
        for at, (answer, id_) in enumerate(zip(answers, ids, strict=True)):
            key = key_name(keys_of(id_, self.app)[0])
            mark = to_terminal("› ") if at == marked else "  "
            names.append((f" {mark}{answer} ({key}) ", at == marked))
        self._draw(names)

    def _draw(self, answers: list[tuple[str, bool]]) -> None:
        marked = "$block-cursor-foreground on $block-cursor-background bold"
        marked += " reverse" if self.app.no_color else ""
        self._first = len(answers[0][0])
        self.update(Content.assemble(*((text, marked if mark else "") for text, mark in answers)))

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Chosen(int(event.x >= self._first)))
