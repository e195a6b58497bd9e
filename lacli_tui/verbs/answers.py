"""What is done with answers: copy, save, apply, ask again."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from textual import work

from lacli.errors import LacliError, UsageError
from lacli.text import slash
from lacli.text.slash import path_of
from lacli.verbs import answers
from lacli.wording import counted
from lacli_tui.verbs import Verbs

_COPY_FILE = "copied.txt"


class Answers(Verbs):
    """Of the main screen."""

    async def action_copy(self, rest: str = "") -> None:
        """Copy the last answer, or one of its code blocks."""
        try:
            answer = self._answer()
            hint = "/copy takes all of it"
            self.copy(answers.block_of(answer, rest, hint).text.rstrip("\n") if rest else answer)
        except LacliError as error:
            await self.blame(error)

    async def action_message_block(self, turn: int | None, block: int | None) -> None:
        """Copy a code block of this answer."""
        try:
            self.copy(answers.block_of(self._answer(turn), str(block)).text.rstrip("\n"))
        except LacliError as error:
            self.notify(error.message, markup=False, severity="warning")

    def copy(self, text: str) -> None:
        """To the clipboard, and where none is sure to take it, to a file as well."""
        self._copy(text)

    @work(thread=True, group="copy")
    def _copy(self, text: str) -> None:
        from lacli import clipboard, paths

        taker = clipboard.by_tool(text)
        self.app.call_from_thread(self.app.copy_to_clipboard, text)
        where = f"to {taker}" if taker else "to the terminal, which may not allow it"
        if not taker:
            file = paths.state_dir() / _COPY_FILE
            try:
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
                    opened.write(text.encode("utf-8", "replace"))
                where += f"; it is in {file}, too"
            except OSError:
                pass
        said = f"{counted(len(text), 'character', 'characters')} copied {where}"
        self.app.call_from_thread(self.notify, said, markup=False)

    async def action_save(self, rest: str = "") -> None:
        """Save the chat (.md), or a code block of the last answer: `[n] [PATH]`."""
        self._save(*slash.numbered(rest))

    @work(group="file", exclusive=True)
    async def _save(self, number: str, rest: str) -> None:
        from lacli.sessions.export import as_markdown, file_name, takes_chat

        try:
            turns = self.talk.conversation.turns
            if not turns:
                raise UsageError("there is nothing to save yet", "ask a question first")
            if number and not rest:
                await self._save_somewhere(*answers.code_of(self._answer(), number))
                return
            path = path_of(rest or file_name())
            if takes_chat(path) and not number:
                text, what = as_markdown(self.talk.conversation.system, turns), "the chat"
            else:
                text, what = answers.code_of(self._answer(), number)
            await self._put(path, text, what)
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def action_message_save(self, turn: int | None, block: int | None) -> None:
        """Ask for a path and save a code block there."""
        self._save_block(turn, block)

    @work(group="file", exclusive=True)
    async def _save_block(self, turn: int | None, block: int | None) -> None:
        try:
            await self._save_somewhere(*answers.code_of(self._answer(turn), str(block or "")))
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def _save_somewhere(self, text: str, what: str) -> None:
        from lacli_tui.screens.line import LineScreen

        path = await self.app.push_screen_wait(LineScreen(f"Save {what} to", "a path"))
        if path:
            await self._put(path_of(path), text, what)

    async def _put(self, path: Path, text: str, what: str) -> None:
        from lacli.edits import disk
        from lacli_tui.screens.confirm import ConfirmScreen

        if path.is_dir():
            raise UsageError(f"{path} is a folder", "give the name of a file in it")
        if os.path.lexists(path) and not await self.app.push_screen_wait(
            ConfirmScreen(f"{path} exists; overwrite it?", yes="overwrite")
        ):
            return
        disk.put(path, text.encode("utf-8", "replace"))
        await self.tell(f"{what} is in {path}")

    async def action_apply(self, rest: str = "") -> None:
        """Put code of the last answer into a file, after showing a diff: `[n] [PATH]`."""
        number, path = slash.numbered(rest)
        self._apply(path, None, number)

    async def action_message_apply(self, turn: int | None, block: int | None) -> None:
        """The same of this answer, or of one block of it."""
        self._apply("", turn, str(block or ""))

    @work(group="file", exclusive=True)
    async def _apply(self, rest: str, turn: int | None, number: str) -> None:
        from lacli_tui.screens.line import LineScreen

        try:
            code, what = answers.new_file_of(self._answer(turn), number)
            asking = LineScreen(f"Apply {what} to", "a path", self._likely_file())
            path = rest if rest else await self.app.push_screen_wait(asking)
            if path:
                await self._apply_to(path_of(path), turn, number, code, what)
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def _apply_to(self, path: Path, turn: int | None, number: str, code: str, what: str) -> None:
        from lacli.edits.textfile import TextFile
        from lacli_tui.screens.diff import DiffScreen

        if not path.exists():
            await self._put(path, code, what)
            return
        file = TextFile.read(path)
        result = answers.change_of(file, answers.turn_of(self.talk.conversation.turns, turn), number)
        remarks = result.remarks(path)
        if not result.diff:
            await self.tell(f"{path} has just this text already")
            return
        diff = result.diff.decode("utf-8", "replace")
        if await self.app.push_screen_wait(DiffScreen(f"Change {path}?", diff, remarks)):
            file.write(result.data)
            await self.tell(f"{path} was changed")
        else:
            await self.tell("nothing was changed")

    def _answer(self, turn: int | None = None) -> str:
        return answers.turn_of(self.talk.conversation.turns, turn).answer.text

    def _likely_file(self) -> str:
        """The only one that was attached."""
        with contextlib.suppress(UsageError):
            return answers.only_file(self.talk.conversation.attachments)
        return ""
