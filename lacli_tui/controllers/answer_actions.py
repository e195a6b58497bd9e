"""What can be done with an answer: copy it, save it, apply it to a file. Whatever touches the disk runs in threads."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from lacli.chat import blocks, slash
from lacli.errors import LacliError, UsageError
from lacli.shared.wording import counted
from lacli_tui.background import in_thread
from lacli_tui.chat_session import ChatSession
from lacli_tui.controllers.slow_work import SlowWork
from lacli_tui.notifications import Notifications

if TYPE_CHECKING:
    from lacli.chat.targets import WriteTarget
    from lacli.sessions.records import Turn

_COPY_FILE = "copied.txt"


class AnswerActions:
    """Actions on the last answer, or on that of a turn."""

    def __init__(
        self,
        screen: Screen[Any],
        chat: ChatSession,
        folder: Path,
        edited: Callable[[str], str],
        slow_work: SlowWork,
        notifications: Notifications,
    ) -> None:
        """`edited` lets the user edit a text in an editor."""
        self._screen = screen
        self._chat = chat
        self._folder = folder
        self._edited = edited
        self._slow_work = slow_work
        self._notifications = notifications

    # Copying

    async def copy(self, number: str = "") -> None:
        """Copy the last answer, or one of its code blocks."""
        try:
            if number:
                turn, so_far = self._turn()
                text, what = blocks.named_block(turn.answer.text, number, "/copy takes all of it")
                self.copy_text(text, what + so_far)
            else:
                unfinished = self._chat.unfinished
                text = (unfinished or self._turn()[0]).answer.text
                self.copy_text(text, "the answer so far" if unfinished else "")
        except LacliError as error:
            await self._notifications.report(error)

    def copy_block(self, turn: int | None, block: int | None) -> None:
        """Copy a code block of this answer."""
        try:
            said, so_far = self._turn(turn)
            text, what = blocks.named_block(said.answer.text, str(block))
            self.copy_text(text, what + so_far)
        except LacliError as error:
            self._notifications.notify(error.message)

    def copy_text(self, text: str, what: str = "") -> None:
        """Copy to the clipboard; where no tool is sure to have taken it, to a file, too. `what` names it."""
        self._screen.run_worker(self._copy(text, what), group="copy")

    async def _copy(self, text: str, what: str) -> None:
        self._screen.app.copy_to_clipboard(text)
        where = await in_thread(lambda: _put_on_clipboard(text))
        size = counted(len(text), "character", "characters")
        self._notifications.notify(f"{what}: {size} copied {where}" if what else f"{size} copied {where}")

    # Saving

    def save(self, rest: str = "") -> None:
        """Save the chat (.md), or a code block of the last answer: `[n] [PATH]`."""
        self._start(self._save(*slash.numbered(rest)))

    def save_block(self, turn: int | None, block: int | None) -> None:
        """Ask for a path and save a code block of this answer there."""
        self._start(self._ask_and_save(turn, str(block or "")))

    async def _save(self, number: str, rest: str) -> None:
        from lacli.chat.targets import file_typed
        from lacli.sessions.export import as_markdown, file_name, takes_chat

        turns = self._chat.conversation.turns
        if not turns and self._chat.unfinished is None:
            raise UsageError("there is nothing to save yet", "ask a question first")
        if number and not rest:
            await self._ask_and_save(None, number)
            return
        typed = rest or await self._ask_path("Save the chat to", file_name())
        path = file_typed(typed)
        if typed and takes_chat(path) and not number:
            what = "the chat before this question" if self._chat.unfinished else "the chat"
            await self._write(path, as_markdown(self._chat.conversation.system, turns), what)
        elif typed:
            await self._write(path, *self._code(None, number))

    async def _ask_and_save(self, turn: int | None, number: str) -> None:
        from lacli.chat.targets import file_typed

        answer = self._turn(turn)[0].answer.text
        text, what = self._code(turn, number)
        typed = await self._ask_path(f"Save {what} to", blocks.file_meant(answer, (), number))
        if typed:
            await self._write(file_typed(typed), text, what)

    def _code(self, turn: int | None, number: str) -> tuple[str, str]:
        said, so_far = self._turn(turn)
        text, what = blocks.code_of(said.answer.text, number)
        return text, what + so_far

    async def _write(self, path: Path, text: str, what: str) -> None:
        from lacli.chat import targets
        from lacli_tui.screens.confirm import ConfirmScreen

        target = await self._target(path)
        question = target.question(what)
        yes = "overwrite" if target.exists else "make it" if target.missing is not None else "write it"
        if question and not await self._screen.app.push_screen_wait(ConfirmScreen(question, yes=yes)):
            self._notifications.show("nothing was written")
            return
        data = text.encode("utf-8", "replace")
        await self._slow_work.run(lambda: targets.put(target, data), f"writing {path}")
        self._notifications.show(f"{what} is in {target}")

    # Applying

    def apply(self, rest: str = "") -> None:
        """Apply code of the last answer to a file, after showing a diff: `[n] [PATH]`."""
        number, path = slash.numbered(rest)
        self._start(self._apply(path, None, number))

    def apply_block(self, turn: int | None, block: int | None) -> None:
        """Apply this answer, or one block of it, to a file."""
        self._start(self._apply("", turn, str(block or "")))

    async def _apply(self, path: str, turn: int | None, number: str) -> None:
        from lacli.chat.targets import file_typed

        said, so_far = self._turn(turn)
        what = blocks.new_file_of(said.answer.text, number)[1] + so_far
        meant = blocks.file_meant(said.answer.text, self._chat.conversation.attachments, number)
        typed = path or await self._ask_path(f"Apply {what} to", meant)
        if typed:
            await self._change(await self._target(file_typed(typed)), said, number, so_far)

    async def _change(self, target: WriteTarget, said: Turn, number: str, so_far: str) -> None:
        from lacli.chat import targets
        from lacli.edits.choosing import Choosing
        from lacli.edits.textfile import TextFile
        from lacli_tui.screens.diff import DiffScreen

        path = target.path

        def read() -> tuple[blocks.Change, Choosing, Callable[[bytes], None]]:
            if not target.exists:
                made = blocks.file_made(path, said.answer.text, number)
                nothing = TextFile.of_bytes(b"", str(path))
                return made, Choosing(nothing, made.data), lambda data: targets.put(target, data)
            file = target.read()
            change = blocks.change_of(file, said, number)
            return change, Choosing(file, change.data), file.write

        change, choosing, write = await self._slow_work.run(read, f"reading {path}")
        if target.exists and not change.diff:
            self._notifications.show(f"{path} has just this text already")
            return
        title = f"{change.what}{so_far} → {path}" + ("" if target.exists else " (a new file)")
        screen = DiffScreen(title, choosing, (*target.remarks, *change.remarks), self._edited)
        data = await self._screen.app.push_screen_wait(screen)
        if data is None:
            self._notifications.show("nothing was changed" if target.exists else "nothing was written")
        else:
            await self._slow_work.run(lambda: write(data), f"writing {path}")
            self._notifications.show(f"{target} was {'changed' if target.exists else 'made'}")

    # Shared

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this in a worker, in the place of what is being done with a file; report its errors."""

        async def run() -> None:
            try:
                await work
            except (LacliError, OSError) as error:
                await self._notifications.report(error)

        self._screen.run_worker(run(), group="file", exclusive=True)

    async def _ask_path(self, question: str, value: str) -> str:
        """Ask for a path; empty if the user goes back."""
        from lacli.chat.targets import completions
        from lacli_tui.screens.line import LineScreen

        return await self._screen.app.push_screen_wait(LineScreen(question, "a path", value, completions)) or ""

    async def _target(self, path: Path) -> WriteTarget:
        from lacli.chat import targets

        return await self._slow_work.run(lambda: targets.write_target(path, self._folder), f"looking at {path}")

    def _turn(self, turn: int | None = None) -> tuple[Turn, str]:
        """A turn, by default the last on the screen, and what is appended to the names of its parts.

        One that is still being written is taken as far as its blocks are closed.
        """
        unfinished = self._chat.unfinished if turn is None else None
        if unfinished is None:
            return blocks.turn_of(self._chat.conversation.turns, turn), ""
        answer = replace(unfinished.answer, text=blocks.so_far(unfinished.answer.text))
        return replace(unfinished, answer=answer, reason="stop"), " so far"


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
