"""A list that is searched while typing: the base of the pickers of models, sessions, files and commands.

A subclass fills it by `choices.show` in `search(query)`, which is called at the start and whenever the query changes;
whatever may wait runs in the background. The result is the key of the chosen line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from lacli_tui.actions import PICKER, bindings_of
from lacli_tui.screens.dialog import Dialog
from lacli_tui.widgets.choices import Choice, Choices
from lacli_tui.widgets.field import Field


class ListDialog(Dialog[str]):
    """A list with a mark that keys move."""

    PLACES: Sequence[str] = (PICKER,)
    BINDINGS = bindings_of(PICKER)

    @property
    def choices(self) -> Choices:
        return self.query_one(Choices)

    @on(Choices.Moved)
    def _moved(self) -> None:
        self.show_in_frame(self.choices.place)
        self.marked(self.choices.current)

    def marked(self, choice: Choice | None) -> None:
        """Another line was marked."""

    @on(Choices.Chosen)
    def _clicked(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        choice = self.choices.current
        if choice is not None:
            self.take(choice)

    def take(self, choice: Choice) -> None:
        """A line was chosen."""
        self.dismiss(choice.key)

    def action_choice_up(self) -> None:
        self.choices.move(-1)

    def action_choice_down(self) -> None:
        self.choices.move(1)

    def action_choice_page_up(self) -> None:
        self.choices.page(-1)

    def action_choice_page_down(self) -> None:
        self.choices.page(1)

    def action_choice_first(self) -> None:
        self.choices.to_end(last=False)

    def action_choice_last(self) -> None:
        self.choices.to_end(last=True)


class Picker(ListDialog):
    """A search field above a list."""

    PLACEHOLDER = "type to search"
    DEFAULT_CSS = """
    Picker > #frame > #search {
        height: 1;
        border: none;
        padding: 0 1;
        margin: 0 0 1 0;
        background: $panel;
        &:ansi { background: ansi_default; text-style: underline; }
    }
    Picker.-low > #frame > #search { margin: 0; }
    """

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self._query = query
        self._searching = False
        self._wants_first = False
        """Whether enter was pressed before the search for what is typed was done."""

    def body(self) -> Iterable[Widget]:
        yield Field(self._query, self.PLACEHOLDER, "search")
        yield Choices(id="choices", empty="…")

    @property
    def query_text(self) -> str:
        return self.query_one("#search", Input).value

    def on_mount(self) -> None:
        field = self.query_one("#search", Input)
        field.cursor_blink = False
        field.focus()
        self.search(self._query)

    def search(self, query: str) -> None:
        """Show what fits."""
        raise NotImplementedError

    @on(Input.Changed, "#search")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._search_typed()

    def _search_typed(self) -> None:
        """Search for what is typed, unless that was done."""
        query = self.query_text
        if query != self._query:
            self._query = query
            self._wants_first = False
            self.search(query)

    def search_in_background(self, work: Callable[[], object]) -> None:
        """Search in a thread; its result is named "search", and `found` is to be called once it is shown."""
        self._searching = True
        self.background.run("search", work)

    def found(self) -> None:
        """The results for what is typed are shown."""
        self._searching = False
        if self._wants_first:
            self._wants_first = False
            self.action_choose()

    def action_choose(self) -> None:
        """Take the marked line of the results for what is typed now: keys may be faster than searches."""
        self._search_typed()
        if self._searching and self._query:
            self._wants_first = True
        else:
            super().action_choose()
