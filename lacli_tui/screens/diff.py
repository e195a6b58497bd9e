"""What a change would do to a file, before it is made: hunk by hunk, of which each can be left out or edited.

`DiffScreen(title, choosing, notes, edited)` -> the bytes the file becomes; None to leave it as it is, which is
marked at first. All hunks are taken until the user says otherwise.
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
from lacli_tui.glyphs import drawable, plain_terminal
from lacli_tui.sanitize import shown
from lacli_tui.screens.confirm import Answers
from lacli_tui.screens.dialog import Dialog
from lacli_tui.widgets.lines import Line, Lines

_KINDS = {"+": "added", "-": "gone"}


@dataclass
class _Hunk:
    """A hunk with what was decided of it."""

    group: Group
    taken: bool = True
    made: Edited | None = None
    """What the user made of it."""
    begun: str = ""
    """What was written in the editor and does not fit yet."""

    @property
    def decision(self) -> Decision:
        return (self.made or True) if self.taken else False


class DiffScreen(Dialog[bytes]):
    """A diff to read and to choose from."""

    WHERES = (DIFF,)
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
        """The diff, and what is to be said of it."""
        yield Lines(id="diff")
        if self._notes:
            yield Static(shown("\n".join(self._notes)), id="notes", markup=False)
        yield Answers(id="answers")

    def on_mount(self) -> None:
        """All of it is taken."""
        self.query_one(Lines).focus()
        self._show()

    def _show(self) -> None:
        """The hunks as they are now, how much is taken, and the answers."""
        drawn = [list(self._drawn(hunk, at == self._at)) for at, hunk in enumerate(self._hunks)]
        lines = self.query_one(Lines)
        lines.put(line for hunk in drawn for line in hunk)
        if drawn:
            first = sum(map(len, drawn[: self._at]))
            lines.reveal(first, first + len(drawn[self._at]) - 1)
        taken = [hunk for hunk in self._hunks if hunk.taken]
        kinds = [_KINDS.get(line[0]) for hunk in taken for line in self._choosing.body(hunk.group, hunk.decision)]
        of = f"{len(taken):,} of {counted(len(self._hunks), 'hunk', 'hunks')}"
        self.frame_note(f"{of} · +{kinds.count('added'):,} −{kinds.count('gone'):,}")
        self._mark(self._marked)
        self.show_hints()

    def _drawn(self, hunk: _Hunk, is_current: bool) -> Iterator[Line]:
        """Its lines. What is left out is told by a sign on each of its rows, too: colours may be few, or none."""
        bar = ("|" if plain_terminal() else "▌") if is_current else " "
        sign = ("[e]" if hunk.made else "[x]") if hunk.taken else "[ ]"
        seen = hunk.made or True
        yield Line(f"{sign} {self._choosing.header(hunk.group, seen)}", "place", bar + " ")
        for line in self._choosing.body(hunk.group, seen):
            kind = _KINDS.get(line[0], "")
            out = bool(kind) and not hunk.taken
            yield Line(line, "left" if out else kind, bar + (drawable("×") if out else " "))

    def _mark(self, which: int) -> None:
        self._marked = which
        taken = sum(hunk.taken for hunk in self._hunks)
        apply = "apply" if taken == len(self._hunks) else f"apply {taken:,} of {len(self._hunks):,}"
        self.query_one(Answers).offer(("leave it", apply), ("diff-refuse", "diff-apply"), which)

    def action_diff_other(self) -> None:
        """Mark the other answer."""
        self._mark(1 - self._marked)

    def footer_of(self, id_: str, footer: str) -> str:
        """One hunk is followed by none."""
        return "" if id_ == "diff-next" and len(self._hunks) < 2 else footer

    def _take(self, which: int) -> None:
        """Leave the file, or make it what was chosen; with no hunk taken that is the same."""
        chosen = which and (not self._hunks or any(hunk.taken for hunk in self._hunks))
        decided = ((hunk.group, hunk.decision) for hunk in self._hunks)
        self.dismiss(self._choosing.result(decided) if chosen else None)

    def action_diff_take(self) -> None:
        """Take the marked one."""
        self._take(self._marked)

    def on_answers_chosen(self, chosen: Answers.Chosen) -> None:
        """An answer was clicked."""
        self._take(chosen.which)

    def action_diff_apply(self) -> None:
        """Make the change."""
        self._take(1)

    def action_diff_refuse(self) -> None:
        """Leave the file as it is."""
        self._take(0)

    def action_diff_toggle(self) -> None:
        """Take the hunk, or leave it."""
        for hunk in self._hunks[self._at : self._at + 1]:
            hunk.taken = not hunk.taken
        self._changed()

    def action_diff_all(self) -> None:
        """Take all hunks, or none where all are taken."""
        taken = not all(hunk.taken for hunk in self._hunks)
        for hunk in self._hunks:
            hunk.taken = taken
        self._changed()

    def action_diff_next(self) -> None:
        """The next hunk."""
        self._at = max(0, min(self._at + 1, len(self._hunks) - 1))
        self._changed()

    def action_diff_before(self) -> None:
        """The hunk before."""
        self._at = max(0, self._at - 1)
        self._changed()

    def action_diff_split(self) -> None:
        """Split the hunk into smaller ones."""
        for hunk in self._hunks[self._at : self._at + 1]:
            parts = self._choosing.split(hunk.group)
            if hunk.made or len(parts) == 1:
                self.say("an edited hunk is not split" if hunk.made else "there is nothing to split in this hunk")
                return
            self._hunks[self._at : self._at + 1] = [_Hunk(part, hunk.taken) for part in parts]
        self._changed()

    def action_diff_edit(self) -> None:
        """Edit the hunk in the user's editor, which has the terminal meanwhile."""
        for hunk in self._hunks[self._at : self._at + 1]:
            said = self._edit(hunk)
            self._changed()
            self.say(said)

    def _edit(self, hunk: _Hunk) -> str:
        """What is to be said of it; what does not fit is in the editor the next time."""
        failed = ""
        text = hunk.begun or self._choosing.to_edit(hunk.group, hunk.made or True)
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
        hunk.begun = text
        try:
            made = self._choosing.edited(hunk.group, text)
        except LacliError as error:
            return f"{error.message}; {error.hint}"
        hunk.begun = ""
        if made is None:
            return "nothing is left of it: the hunk is as it was"
        hunk.made, hunk.taken = made, True
        return ""

    def _changed(self) -> None:
        self.say("")
        self._show()

    def action_close(self) -> None:
        """Leave the file as it is."""
        self._take(0)

    def action_diff_wrap(self) -> None:
        """Wrap long lines, or not."""
        lines = self.query_one(Lines)
        lines.wrap(not lines.wraps)
