"""What a change would do to a file, before it is made. Not to make it is marked at first.

`DiffScreen(title, diff, notes)` -> True to make it, else False.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.widget import Widget
from textual.widgets import Static

from lacli.wording import counted
from lacli_tui.actions import DIFF, bindings_of
from lacli_tui.inert import shown
from lacli_tui.screens.confirm import Answers
from lacli_tui.screens.dialog import Dialog
from lacli_tui.widgets.lines import Lines


class DiffScreen(Dialog[bool]):
    """A unified diff to read."""

    WHERES = (DIFF,)
    BINDINGS = bindings_of(DIFF)
    DEFAULT_CSS = """
    DiffScreen > #frame > #notes { height: auto; max-height: 4; color: $warning; }
    DiffScreen > #frame > #answers { height: 1; }
    """

    def __init__(self, title: str, diff: str, notes: Sequence[str] = ()) -> None:
        super().__init__()
        self.title = title
        lines = diff.split("\n")
        self._lines = lines[:-1] if lines[-1] == "" else lines
        self._notes = tuple(notes)
        self._marked = 0

    def body(self) -> Iterable[Widget]:
        """The diff, and what is to be said of it."""
        yield Lines(self._lines, _Kinds(), id="diff")
        if self._notes:
            yield Static(shown("\n".join(self._notes)), id="notes", markup=False)
        yield Answers(id="answers")

    def on_mount(self) -> None:
        """How much it is."""
        self.query_one(Lines).focus()
        self._mark(0)
        kinds = _Kinds()
        found = [kinds(line) for line in self._lines]
        places = counted(found.count("place"), "place", "places")
        self.frame_note(f"+{found.count('added'):,} −{found.count('gone'):,} in {places}")

    def _mark(self, which: int) -> None:
        self._marked = which
        self.query_one(Answers).offer(("leave it", "apply"), ("diff-refuse", "diff-apply"), which)

    def action_diff_other(self) -> None:
        """Mark the other answer."""
        self._mark(1 - self._marked)

    def action_diff_take(self) -> None:
        """Take the marked one."""
        self.dismiss(bool(self._marked))

    def on_answers_chosen(self, chosen: Answers.Chosen) -> None:
        """An answer was clicked."""
        self.dismiss(bool(chosen.which))

    def action_diff_apply(self) -> None:
        """Make the change."""
        self.dismiss(True)

    def action_diff_refuse(self) -> None:
        """Leave the file as it is."""
        self.dismiss(False)

    def action_close(self) -> None:
        """Leave the file as it is."""
        self.dismiss(False)

    def action_diff_wrap(self) -> None:
        """Wrap long lines, or not."""
        lines = self.query_one(Lines)
        lines.wrap(not lines.wraps)


class _Kinds:
    """What each line of a unified diff is, asked for in order: the two names at its head look like changes."""

    def __init__(self) -> None:
        self._in_hunk = False

    def __call__(self, line: str) -> str:
        if line.startswith("@@"):
            self._in_hunk = True
            return "place"
        if not self._in_hunk:
            return "head"
        return {"+": "added", "-": "gone"}.get(line[:1], "")
