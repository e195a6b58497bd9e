"""Shows a change to a file before it is made, hunk by hunk; each can be left out or edited.

`DiffScreen(title, choosing, notes, edited)` -> the new bytes of the file, or None to leave it as it is, which is marked
at first. All hunks are taken until the user decides otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from textual.app import SuspendNotSupported
from textual.widget import Widget
from textual.widgets import Static

from lacli.edits.write.choosing import Choosing, Decision, Edited, Group
from lacli.errors import LacliError
from lacli.shared.wording import counted
from lacli_tui.actions import DIFF, bindings_of
from lacli_tui.glyphs import is_ascii_terminal, to_terminal
from lacli_tui.sanitize import visible
from lacli_tui.screens.confirm import Answers
from lacli_tui.screens.dialog import Dialog
from lacli_tui.widgets.lines import Line, Lines

_KINDS = {"+": "added", "-": "gone"}


@dataclass
class _Hunk:
    """A hunk and what the user decided."""

    group: Group
    taken: bool = True
    edited: Edited | None = None
    """What the user edited it to."""
    unfinished: str = ""
    """What was written in the editor and does not fit yet."""

    @property
    def decision(self) -> Decision:
        return (self.edited or True) if self.taken else False


class DiffScreen(Dialog[bytes]):
    PLACES = (DIFF,)
    BINDINGS = bindings_of(DIFF)
    DEFAULT_CSS = """
    DiffScreen > #frame > #notes { height: auto; max-height: 4; color: $warning; }
    DiffScreen > #frame > #answers { height: 1; }
    """

    def __init__(
        self, title: str, choosing: Choosing, notes: Sequence[str] = (), edited: Callable[[str], str] = str
    ) -> None:
        super().__init__()
        self.title = title
        self._choosing = choosing
        self._hunks = [_Hunk(group) for group in choosing.groups()]
        self._at = 0
        self._notes = tuple(notes)
        self._edited = edited
        self._marked = 0

    def body(self) -> Iterable[Widget]:
        yield Lines(id="diff")
        if self._notes:
            yield Static(visible("\n".join(self._notes)), id="notes", markup=False)
        yield Answers(id="answers")

    def on_mount(self) -> None:
        self.query_one(Lines).focus()
        self._show()

    def _show(self) -> None:
        """Show the hunks as decided so far, how much is taken, and the answers."""
        drawn = [list(self._lines_of(hunk, at == self._at)) for at, hunk in enumerate(self._hunks)]
        lines = self.query_one(Lines)
        lines.put(line for hunk in drawn for line in hunk)
        if drawn:
            first = sum(map(len, drawn[: self._at]))
            lines.reveal(first, first + len(drawn[self._at]) - 1)
        taken = [hunk for hunk in self._hunks if hunk.taken]
        kinds = [_KINDS.get(line[0]) for hunk in taken for line in self._choosing.body(hunk.group, hunk.decision)]
        of = f"{len(taken):,} of {counted(len(self._hunks), 'hunk', 'hunks')}"
        self.show_in_frame(f"{of} · +{kinds.count('added'):,} −{kinds.count('gone'):,}")
        self._mark(self._marked)
        self.show_hints()

    def _lines_of(self, hunk: _Hunk, is_current: bool) -> Iterator[Line]:
        """The lines of a hunk. What is left out has a sign on each of its rows as well: there may be no colours."""
        bar = ("|" if is_ascii_terminal() else "▌") if is_current else " "
        sign = ("[e]" if hunk.edited else "[x]") if hunk.taken else "[ ]"
        seen = hunk.edited or True
        yield Line(f"{sign} {self._choosing.header(hunk.group, seen)}", "place", bar + " ")
        for line in self._choosing.body(hunk.group, seen):
            kind = _KINDS.get(line[0], "")
            out = bool(kind) and not hunk.taken
            yield Line(line, "left" if out else kind, bar + (to_terminal("×") if out else " "))

    def _mark(self, which: int) -> None:
        self._marked = which
        taken = sum(hunk.taken for hunk in self._hunks)
        apply = "apply" if taken == len(self._hunks) else f"apply {taken:,} of {len(self._hunks):,}"
        self.query_one(Answers).show(("leave it", apply), ("diff-refuse", "diff-apply"), which)

    def action_diff_other(self) -> None:
        self._mark(1 - self._marked)

    def footer_of(self, id_: str, footer: str) -> str:
        return "" if id_ == "diff-next" and len(self._hunks) < 2 else footer

    def _take(self, which: int) -> None:
        """Leave with the answer; taking no hunk is the same as leaving the file."""
        chosen = which and (not self._hunks or any(hunk.taken for hunk in self._hunks))
        decided = ((hunk.group, hunk.decision) for hunk in self._hunks)
        self.dismiss(self._choosing.result(decided) if chosen else None)

    def action_diff_take(self) -> None:
        self._take(self._marked)

    def on_answers_chosen(self, chosen: Answers.Chosen) -> None:
        self._take(chosen.which)

    def action_diff_apply(self) -> None:
        self._take(1)

    def action_diff_refuse(self) -> None:
        self._take(0)

    def action_diff_toggle(self) -> None:
        for hunk in self._hunks[self._at : self._at + 1]:
            hunk.taken = not hunk.taken
        self._changed()

    def action_diff_all(self) -> None:
        """Take all hunks, or none if all are taken."""
        taken = not all(hunk.taken for hunk in self._hunks)
        for hunk in self._hunks:
            hunk.taken = taken
        self._changed()

    def action_diff_next(self) -> None:
        self._at = max(0, min(self._at + 1, len(self._hunks) - 1))
        self._changed()

    def action_diff_before(self) -> None:
        self._at = max(0, self._at - 1)
        self._changed()

    def action_diff_split(self) -> None:
        for hunk in self._hunks[self._at : self._at + 1]:
            parts = self._choosing.split(hunk.group)
            if hunk.edited or len(parts) == 1:
                self.show_notice(
                    "an edited hunk is not split" if hunk.edited else "there is nothing to split in this hunk"
                )
                return
            self._hunks[self._at : self._at + 1] = [_Hunk(part, hunk.taken) for part in parts]
        self._changed()

    def action_diff_edit(self) -> None:
        for hunk in self._hunks[self._at : self._at + 1]:
            said = self._edit(hunk)
            self._changed()
            self.show_notice(said)

    def _edit(self, hunk: _Hunk) -> str:
        """Edit the hunk in the user's editor; returns what to say. A text that does not fit is in the editor the next
        time."""
        failed = ""
        text = hunk.unfinished or self._choosing.to_edit(hunk.group, hunk.edited or True)
        try:
            with self.app.suspend():
                try:
                    text = self._edited(text)
                except (LacliError, OSError) as error:  # out of here the terminal would stay the editor's
                    failed = error.message if isinstance(error, LacliError) else str(error)
        except SuspendNotSupported:
            return "an editor needs the whole screen: start without --inline"
        if failed:
            return failed
        hunk.unfinished = text
        try:
            edited = self._choosing.edited(hunk.group, text)
        except LacliError as error:
            return f"{error.message}; {error.hint}"
        hunk.unfinished = ""
        if edited is None:
            return "nothing is left of it: the hunk is as it was"
        hunk.edited, hunk.taken = edited, True
        return ""

    def _changed(self) -> None:
        self.show_notice("")
        self._show()

    def action_close(self) -> None:
        self._take(0)

    def action_diff_wrap(self) -> None:
        lines = self.query_one(Lines)
        lines.wrap(not lines.wraps)
