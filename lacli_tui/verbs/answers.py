"""What is done with answers: copy, save, apply. What touches the disk is done behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from lacli.chat import blocks as answers
from lacli.chat import slash
from lacli.errors import LacliError, UsageError
from lacli.shared.wording import counted
from lacli_tui.background import done
from lacli_tui.verbs.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from lacli.chat.targets import Place
    from lacli.sessions.records import Turn

_COPY_FILE = "copied.txt"


class Answers(Reading):
    """Of the main screen."""

    async def action_copy(self, rest: str = "") -> None:
        """Copy the last answer, or one of its code blocks."""
        try:
            if rest:
                said, so_far = self._said()
                text, what = answers.named_block(said.answer.text, rest, "/copy takes all of it")
                self.copy(text, what + so_far)
            else:
                unfinished = self.talk.unfinished
                self.copy((unfinished or self._said()[0]).answer.text, "the answer so far" if unfinished else "")
        except LacliError as error:
            await self.blame(error)

    async def action_message_block(self, turn: int | None, block: int | None) -> None:
        """Copy a code block of this answer."""
        try:
            said, so_far = self._said(turn)
            text, what = answers.named_block(said.answer.text, str(block))
            self.copy(text, what + so_far)
        except LacliError as error:
            self.notify(error.message, markup=False, severity="warning")

    def copy(self, text: str, what: str = "") -> None:
        """To the clipboard, and where none is sure to take it, to a file as well. `what`: what it is of an answer."""
        self._copy(text, what)

    @work(group="copy")
    async def _copy(self, text: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        where = await done(lambda: _given(text))
        size = counted(len(text), "character", "characters")
        self.notify(f"{what}: {size} copied {where}" if what else f"{size} copied {where}", markup=False)

    async def action_save(self, rest: str = "") -> None:
        """Save the chat (.md), or a code block of the last answer: `[n] [PATH]`."""
        self._save(*slash.numbered(rest))

    @work(group="file", exclusive=True)
    async def _save(self, number: str, rest: str) -> None:
        from lacli.chat.targets import file_typed
        from lacli.sessions.export import as_markdown, file_name, takes_chat

        try:
            turns = self.talk.conversation.turns
            if not turns and self.talk.unfinished is None:
                raise UsageError("there is nothing to save yet", "ask a question first")
            if number and not rest:
                await self._save_somewhere(None, number)
                return
            typed = rest or await self._path("Save the chat to", file_name())
            path = file_typed(typed)
            if typed and takes_chat(path) and not number:
                what = "the chat before this question" if self.talk.unfinished else "the chat"
                await self._put(path, as_markdown(self.talk.conversation.system, turns), what)
            elif typed:
                await self._put(path, *self._code(None, number))
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def action_message_save(self, turn: int | None, block: int | None) -> None:
        """Ask for a path and save a code block there."""
        self._save_block(turn, block)

    @work(group="file", exclusive=True)
    async def _save_block(self, turn: int | None, block: int | None) -> None:
        try:
            await self._save_somewhere(turn, str(block or ""))
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def _save_somewhere(self, turn: int | None, number: str) -> None:
        from lacli.chat.targets import file_typed

        answer = self._said(turn)[0].answer.text
        text, what = self._code(turn, number)
        typed = await self._path(f"Save {what} to", answers.file_meant(answer, (), number))
        if typed:
            await self._put(file_typed(typed), text, what)

    def _code(self, turn: int | None, number: str) -> tuple[str, str]:
        said, so_far = self._said(turn)
        text, what = answers.code_of(said.answer.text, number)
        return text, what + so_far

    async def _path(self, question: str, value: str) -> str:
        """What is typed; empty for going back."""
        from lacli.chat.targets import completions
        from lacli_tui.screens.line import LineScreen

        return await self.app.push_screen_wait(LineScreen(question, "a path", value, completions)) or ""

    async def _put(self, path: Path, text: str, what: str) -> None:
        from lacli.chat import targets as places
        from lacli_tui.screens.confirm import ConfirmScreen

        place = await self._place(path)
        question = place.question(what)
        yes = "overwrite" if place.exists else "make it" if place.missing is not None else "write it"
        if question and not await self.app.push_screen_wait(ConfirmScreen(question, yes=yes)):
            await self.tell("nothing was written")
            return
        data = text.encode("utf-8", "replace")
        await self.aside(lambda: places.put(place, data), f"writing {path}")
        await self.tell(f"{what} is in {place}")

    async def _place(self, path: Path) -> Place:
        from lacli.chat import targets as places

        return await self.aside(lambda: places.place_of(path, self.begun.folder), f"looking at {path}")

    async def action_apply(self, rest: str = "") -> None:
        """Put code of the last answer into a file, after showing a diff: `[n] [PATH]`."""
        number, path = slash.numbered(rest)
        self._apply(path, None, number)

    async def action_message_apply(self, turn: int | None, block: int | None) -> None:
        """The same of this answer, or of one block of it."""
        self._apply("", turn, str(block or ""))

    @work(group="file", exclusive=True)
    async def _apply(self, rest: str, turn: int | None, number: str) -> None:
        from lacli.chat.targets import file_typed

        try:
            said, so_far = self._said(turn)
            what = answers.new_file_of(said.answer.text, number)[1] + so_far
            meant = answers.file_meant(said.answer.text, self.talk.conversation.attachments, number)
            typed = rest or await self._path(f"Apply {what} to", meant)
            if typed:
                await self._change(await self._place(file_typed(typed)), said, number, so_far)
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def _change(self, place: Place, said: Turn, number: str, so_far: str) -> None:
        from lacli.chat import targets as places
        from lacli.edits.write.choosing import Choosing
        from lacli.edits.write.textfile import TextFile
        from lacli_tui.screens.diff import DiffScreen

        path = place.path

        def look() -> tuple[answers.Change, Choosing, Callable[[bytes], None]]:
            if not place.exists:
                made = answers.file_made(path, said.answer.text, number)
                nothing = TextFile.of_bytes(b"", str(path))
                return made, Choosing(nothing, made.data), lambda data: places.put(place, data)
            file = place.read()
            change = answers.change_of(file, said, number)
            return change, Choosing(file, change.data), file.write

        change, choosing, write = await self.aside(look, f"reading {path}")
        if place.exists and not change.diff:
            await self.tell(f"{path} has just this text already")
            return
        title = f"{change.what}{so_far} → {path}" + ("" if place.exists else " (a new file)")
        screen = DiffScreen(title, choosing, (*place.remarks, *change.remarks), self.begun.edited)
        data = await self.app.push_screen_wait(screen)
        if data is None:
            await self.tell("nothing was changed" if place.exists else "nothing was written")
        else:
            await self.aside(lambda: write(data), f"writing {path}")
            await self.tell(f"{place} was {'changed' if place.exists else 'made'}")

    def _said(self, turn: int | None = None) -> tuple[Turn, str]:
        """The turn, by default the one that is last on the screen, and what is said of its parts: one that is still
        written is taken as far as its blocks are closed."""
        written = self.talk.unfinished if turn is None else None
        if written is None:
            return answers.turn_of(self.talk.conversation.turns, turn), ""
        answer = replace(written.answer, text=answers.so_far(written.answer.text))
        return replace(written, answer=answer, reason="stop"), " so far"


def _given(text: str) -> str:
    """Who took it besides the terminal, which was asked already."""
    from lacli import paths
    from lacli.shared import clipboard
    from lacli.storage import atomic

    taker = clipboard.by_tool(text)
    if taker:
        return f"to {taker}"
    where = "to the terminal, which may not allow it"
    file = paths.state_dir() / _COPY_FILE
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.put(str(file), text.encode("utf-8", "replace"))
    except OSError as error:
        return f"{where}; {file} cannot be written: {error.strerror}"
    return f"{where}; it is in {file}, too"
