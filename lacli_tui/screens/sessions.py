"""Choose an earlier chat to resume: what was said in it is searched, word for word, while typing.

`SessionsScreen(current, project)` -> an id, or None. Reads and deletes sessions in the background.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from lacli.shared.wording import age, counted, short_path
from lacli_tui.actions import PICKER, SESSIONS, bindings_of
from lacli_tui.background import BackgroundResult, error_line
from lacli_tui.screens.picker import Picker
from lacli_tui.widgets.choices import Choice

if TYPE_CHECKING:
    from lacli.sessions.records import Hit, Summary
    from lacli.sessions.store import SessionStore

_MOST = 300


def _opened() -> SessionStore:
    from lacli.sessions.store import SessionStore, path

    return SessionStore(path())


class SessionsScreen(Picker):
    """The chats of this project, or of all projects; completions and edits, which are kept as well, on request."""

    TITLE = "Chats"
    PLACES = (PICKER, SESSIONS)
    BINDINGS = bindings_of(SESSIONS)
    PLACEHOLDER = "words that were said"

    def __init__(
        self,
        current: str = "",
        project: Path | None = None,
        store: Callable[[], SessionStore] = _opened,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._current = current
        self._project = project
        self._everywhere = project is None
        self._all_kinds = False
        self._store = store
        self._now = now

    def search(self, query: str) -> None:
        everywhere, all_kinds = self._everywhere, self._all_kinds
        self.search_in_background(lambda: self._search(query, everywhere, all_kinds))

    def _search(self, query: str, everywhere: bool, all_kinds: bool) -> Sequence[Hit] | Sequence[Summary]:
        from lacli.sessions.records import CONVERSATIONS

        store, kinds = self._store(), () if all_kinds else CONVERSATIONS
        if query.strip():
            return store.search(query, self._project, everywhere, _MOST, kinds)
        return store.list(self._project, everywhere, _MOST, kinds)

    def on_background_result(self, result: BackgroundResult) -> None:
        if result.error is not None:
            self.show_notice(error_line(result.error))
            self.choices.show([], "the log cannot be used")
        elif result.name == "delete":
            self.show_notice(f"deleted {counted(int(str(result.value)), 'chat', 'chats')}")
            self.search(self.query_text)
        else:
            self._show(result.value)  # type: ignore[arg-type]  # what `_search` returns

    def _show(self, found: Sequence[Hit] | Sequence[Summary]) -> None:
        kept = "kept yet" if self._everywhere else "kept of this project"
        none = "nowhere was this said" if self.query_text.strip() else f"no chat is {kept}"
        current = self.choices.current
        self.choices.show([self._choice(each) for each in found], none, current.key if current else "")
        self.found()

    def _choice(self, found: Hit | Summary) -> Choice:
        from lacli.sessions.records import Hit

        session = found.session if isinstance(found, Hit) else found
        here = session.id == self._current
        marks = [mark for mark in ("this one" if here else "", "stopped" if session.interrupted else "") if mark]
        where = (short_path(session.project, 24), "dim")
        cells = (
            (age(session.used, self._now()), "dim"),
            (counted(session.turns, "turn", "turns"), "dim"),
            (session.kind if session.kind != "chat" else "", "dim"),
            (", ".join(marks), "$accent"),
        )
        note = ""
        if isinstance(found, Hit):
            note = f"{found.turn}. {found.where}: {found.excerpt}"
        return Choice(session.id, session.title or "(no words)", (*cells, where) if self._everywhere else cells, note)

    def footer_of(self, id_: str, footer: str) -> str:
        if id_ == "everywhere":
            return "" if self._project is None else "this project" if self._everywhere else "all projects"
        if id_ == "all-kinds":
            return "chats alone" if self._all_kinds else "edits, too"
        return footer

    def action_all_kinds(self) -> None:
        self._all_kinds = not self._all_kinds
        self.show_hints()
        self.search(self.query_text)

    def action_everywhere(self) -> None:
        if self._project is not None:
            self._everywhere = not self._everywhere
            self.show_hints()
            self.search(self.query_text)

    @work(exclusive=True)
    async def action_session_delete(self) -> None:
        from lacli_tui.screens.confirm import ConfirmScreen

        choice = self.choices.current
        if choice is None:
            return
        if choice.key == self._current:
            self.show_notice("this is the chat that is open: begin a new one first")
            return
        if await self.app.push_screen_wait(ConfirmScreen(f"Delete “{choice.title}” for good?", yes="delete")):
            id_ = choice.key
            self.background.run("delete", lambda: self._store().remove([id_]))
