"""What can be done with an answer: copy it, save it, apply it to a file. Whatever touches the disk runs in threads."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from lacli.chat import slash
from lacli.chat.chat import ChatSession
from lacli.errors import LacliError
from lacli_tui.background import in_thread
from lacli_tui.controllers.slow_work import SlowWork
from lacli_tui.notifications import Notifications

if TYPE_CHECKING:
    from lacli.chat.writing import PathQuestion

_COPY_FILE = "copied.txt"


@dataclass(eq=False)
class AnswerActions:
    """Actions on the last answer, or on that of a turn.

    `_edited` lets the user edit a text in an editor.
    """

    _screen: Screen[Any]
    _chat: ChatSession
    _edited: Callable[[str], str]
    _slow_work: SlowWork
    _notifications: Notifications

    # Copying

    async def copy(self, number: str = "") -> None:
        """Copy the last answer, or one of its code blocks."""
        from lacli.chat import writing

        try:
            part = writing.part(self._chat, number)
            self.copy_text(part.text, part.what)
        except LacliError as error:
            await self._notifications.report(error)

    def copy_block(self, turn: int | None, block: int | None) -> None:
        """Copy a code block of this answer."""
        from lacli.chat import writing

        try:
            part = writing.part(self._chat, str(block), turn)
            self.copy_text(part.text, part.what)
        except LacliError as error:
            self._notifications.notify(error.message)

    def copy_text(self, text: str, what: str = "") -> None:
        """Copy to the clipboard; where no tool is sure to have taken it, to a file, too. `what` names it."""
        self._screen.run_worker(self._copy(text, what), group="copy")

    async def _copy(self, text: str, what: str) -> None:
        from lacli.chat.writing import Part

        self._screen.app.copy_to_clipboard(text)
        where = await in_thread(lambda: _put_on_clipboard(text))
        self._notifications.notify(Part(text, what).copied(where))

    # Saving

    def save(self, rest: str = "") -> None:
        """Save the chat (.md), or a code block of the last answer: `[n] [PATH]`."""
        number, path = slash.numbered(rest)
        self._start(self._save(path, number))

    def save_block(self, turn: int | None, block: int | None) -> None:
        """Ask for a path and save a code block of this answer there."""
        self._start(self._save("", str(block or ""), turn, code=True))

    async def _save(self, path: str, number: str, turn: int | None = None, code: bool = False) -> None:
        from lacli.chat import writing
        from lacli_tui.screens.confirm import ConfirmScreen

        if not path:
            path = await self._ask_path(writing.where_to_save(self._chat, number, turn, code))
            code = code or bool(number)
        if not path:
            return
        plan = await self._slow_work.run(
            lambda: writing.plan_save(self._chat, path, number, turn, code), f"looking at {path}"
        )
        target = plan.target
        yes = "overwrite" if target.exists else "make it" if target.missing is not None else "write it"
        if plan.question and not await self._screen.app.push_screen_wait(ConfirmScreen(plan.question, yes=yes)):
            self._notifications.show(writing.NOT_WRITTEN)
            return
        self._notifications.show(await self._slow_work.run(plan.write, f"writing {target.path}"))

    # Applying

    def apply(self, rest: str = "") -> None:
        """Apply code of the last answer to a file, after showing a diff: `[n] [PATH]`."""
        number, path = slash.numbered(rest)
        self._start(self._apply(path, number))

    def apply_block(self, turn: int | None, block: int | None) -> None:
        """Apply this answer, or one block of it, to a file."""
        self._start(self._apply("", str(block or ""), turn))

    async def _apply(self, path: str, number: str, turn: int | None = None) -> None:
        from lacli.chat import writing
        from lacli.edits.write.choosing import Choosing
        from lacli_tui.screens.diff import DiffScreen

        path = path or await self._ask_path(writing.where_to_apply(self._chat, number, turn))
        if not path:
            return

        def read() -> tuple[writing.PlannedChange, Choosing]:
            plan = writing.plan_change(self._chat, path, number, turn)
            return plan, Choosing(plan.file, plan.change.data)

        plan, choosing = await self._slow_work.run(read, f"reading {path}")
        if plan.nothing:
            self._notifications.show(plan.nothing)
            return
        screen = DiffScreen(plan.title, choosing, plan.remarks, self._edited)
        data = await self._screen.app.push_screen_wait(screen)
        self._notifications.show(await self._slow_work.run(lambda: plan.write(data), f"writing {path}"))

    # Shared

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this in a worker, in the place of what is being done with a file; report its errors."""

        async def run() -> None:
            try:
                await work
            except (LacliError, OSError) as error:
                await self._notifications.report(error)

        self._screen.run_worker(run(), group="file", exclusive=True)

    async def _ask_path(self, question: PathQuestion) -> str:
        """Ask for a path; empty if the user goes back."""
        from lacli.chat.targets import completions
        from lacli_tui.screens.line import LineScreen

        title = question.text[0].upper() + question.text[1:]
        return await self._screen.app.push_screen_wait(LineScreen(title, "a path", question.likely, completions)) or ""


def _put_on_clipboard(text: str) -> str:
    """Hand the text to a clipboard tool, or write it to a file; says where it went, besides the terminal."""
    from lacli import paths
    from lacli.shared import clipboard
    from lacli.storage import atomic

    tool = clipboard.by_tool(text)
    if tool:
        return f"to {tool}"
    where = "to the terminal, which may not allow it"
    file = paths.state_dir() / _COPY_FILE
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.put(str(file), text.encode("utf-8", "replace"))
    except OSError as error:
        return f"{where}; {file} cannot be written: {error.strerror}"
    return f"{where}; it is in {file}, too"
