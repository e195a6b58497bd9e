"""What is done with answers: copy, save, apply, ask again."""

from __future__ import annotations

import os
from pathlib import Path

from textual import work

from lacli.errors import LacliError, UsageError
from lacli.sessions.records import Turn
from lacli.text.fences import Block, blocks
from lacli.wording import counted, number_of
from lacli_tui.verbs import Verbs

_COPY_FILE = "copied.txt"


class Answers(Verbs):
    """Of the main screen."""

    async def action_copy(self, rest: str = "") -> None:
        """Copy the last answer, or one of its code blocks."""
        try:
            answer = self._answer()
            self.copy(self._block(answer, rest).text.rstrip("\n") if rest else answer)
        except LacliError as error:
            await self.blame(error)

    async def action_message_block(self, turn: int | None, block: int | None) -> None:
        """Copy a code block of this answer."""
        try:
            self.copy(self._block(self._answer(turn), str(block)).text.rstrip("\n"))
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
        """Save the chat (.md) or the last answer's last code block."""
        self._save(rest)

    @work(group="file", exclusive=True)
    async def _save(self, rest: str) -> None:
        from lacli.sessions.export import as_markdown, file_name, takes_chat

        try:
            turns = self.talk.conversation.turns
            if not turns:
                raise UsageError("there is nothing to save yet", "ask a question first")
            path = Path(os.path.expanduser(rest or file_name()))
            if takes_chat(path):
                text, what = as_markdown(self.talk.conversation.system, turns), "the chat"
            else:
                text, what = self._code(None, None)
            await self._put(path, text, what)
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def action_message_save(self, turn: int | None, block: int | None) -> None:
        """Ask for a path and save a code block there."""
        self._save_block(turn, block)

    @work(group="file", exclusive=True)
    async def _save_block(self, turn: int | None, block: int | None) -> None:
        from lacli_tui.screens.line import LineScreen

        try:
            text, what = self._code(turn, block)
            path = await self.app.push_screen_wait(LineScreen(f"Save {what} to", "a path"))
            if path:
                await self._put(Path(os.path.expanduser(path)), text, what)
        except (LacliError, OSError) as error:
            await self.blame(error)

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
        """Put the last answer's code into a file, after showing a diff."""
        self._apply(rest)

    async def action_message_apply(self, turn: int | None, block: int | None) -> None:
        """The same of this answer, or of one block of it."""
        self._apply("", turn, block)

    @work(group="file", exclusive=True)
    async def _apply(self, rest: str, turn: int | None = None, block: int | None = None) -> None:
        from lacli_tui.screens.line import LineScreen

        try:
            self._code(turn, block)
            path = rest or self._only_file()
            if not rest:
                typed = await self.app.push_screen_wait(LineScreen("Apply the code to", "a path", path))
                path = typed or ""
            if path:
                await self._apply_to(Path(os.path.expanduser(path)), turn, block)
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def _apply_to(self, path: Path, turn: int | None, block: int | None) -> None:
        from lacli.edits.apply import edited, replaced, span_of
        from lacli.edits.textfile import TextFile
        from lacli_tui.screens.diff import DiffScreen

        if not path.exists():
            await self._put(path, *self._code(turn, block))
            return
        said = self._turn(turn)
        file = TextFile.read(path)
        file.check_writable()
        if block is None:
            result = edited(file, span_of(file), said.answer.text, said.question.text, ended=said.reason == "stop")
        else:
            result = replaced(file, span_of(file), self._code(turn, block)[0], said.question.text)
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

    def _turn(self, number: int | None) -> Turn:
        turns = self.talk.conversation.turns
        if not turns or (number is not None and number >= len(turns)):
            raise UsageError("there is no answer yet", "ask a question first")
        return turns[-1 if number is None else number]

    def _answer(self, number: int | None = None) -> str:
        return self._turn(number).answer.text

    @staticmethod
    def _block(answer: str, number: str) -> Block:
        found = blocks(answer)
        chosen = number_of(number, len(found))
        if chosen is None:
            have = counted(len(found), "code block", "code blocks")
            raise UsageError(f"there is no code block {number}: the answer has {have}")
        return found[chosen - 1]

    def _code(self, turn: int | None, block: int | None) -> tuple[str, str]:
        """A code block and what it is called; without one, all of an answer that has none."""
        answer = self._answer(turn)
        found = blocks(answer)
        if block is None and not found:
            return answer + "\n", "the answer"
        chosen = self._block(answer, str(block)) if block is not None else found[-1]
        if not chosen.closed:
            raise UsageError("this code block is not complete", "ask again, with a higher --max-tokens")
        return chosen.text, f"code block {found.index(chosen) + 1}"

    def _only_file(self) -> str:
        """The file that is likely meant: the only one that was attached."""
        files = {each.label for each in self.talk.conversation.attachments if os.path.isfile(each.label)}
        return files.pop() if len(files) == 1 else ""
