"""What is done with answers: copy, save, apply. What touches the disk is done behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from lacli.errors import LacliError, UsageError
from lacli.text import slash
from lacli.text.slash import path_of
from lacli.verbs import answers
from lacli.wording import counted
from lacli_tui.behind import done
from lacli_tui.verbs.reading import Reading

if TYPE_CHECKING:
    from lacli.edits.textfile import TextFile
    from lacli.sessions.records import Turn
    from lacli.verbs.places import Place

_COPY_FILE = "copied.txt"


class Answers(Reading):
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

    @work(group="copy")
    async def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        where = await done(lambda: _given(text))
        self.notify(f"{counted(len(text), 'character', 'characters')} copied {where}", markup=False)

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
                await self._save_somewhere(self._answer(), number)
                return
            typed = rest or await self._path("Save the chat to", file_name())
            path = path_of(typed)
            if typed and takes_chat(path) and not number:
                await self._put(path, as_markdown(self.talk.conversation.system, turns), "the chat")
            elif typed:
                await self._put(path, *answers.code_of(self._answer(), number))
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def action_message_save(self, turn: int | None, block: int | None) -> None:
        """Ask for a path and save a code block there."""
        self._save_block(turn, block)

    @work(group="file", exclusive=True)
    async def _save_block(self, turn: int | None, block: int | None) -> None:
        try:
            await self._save_somewhere(self._answer(turn), str(block or ""))
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def _save_somewhere(self, answer: str, number: str) -> None:
        text, what = answers.code_of(answer, number)
        typed = await self._path(f"Save {what} to", answers.file_meant(answer, (), number))
        if typed:
            await self._put(path_of(typed), text, what)

    async def _path(self, question: str, value: str) -> str:
        """What is typed; empty for going back."""
        from lacli.verbs.places import completions
        from lacli_tui.screens.line import LineScreen

        return await self.app.push_screen_wait(LineScreen(question, "a path", value, completions)) or ""

    async def _put(self, path: Path, text: str, what: str) -> None:
        from lacli.verbs import places
        from lacli_tui.screens.confirm import ConfirmScreen

        place = await self._place(path)
        question = place.question(what)
        yes = "overwrite" if place.exists else "make it"
        if question and not await self.app.push_screen_wait(ConfirmScreen(question, yes=yes)):
            await self.tell("nothing was written")
            return
        await self.aside(lambda: places.put(place, text), f"writing {path}")
        await self.tell(f"{what} is in {place}")

    async def _place(self, path: Path) -> Place:
        from lacli.verbs import places

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
        try:
            said = answers.turn_of(self.talk.conversation.turns, turn)
            code, what = answers.new_file_of(said.answer.text, number)
            meant = answers.file_meant(said.answer.text, self.talk.conversation.attachments, number)
            typed = rest or await self._path(f"Apply {what} to", meant)
            if not typed:
                return
            place = await self._place(path_of(typed))
            if place.exists:
                await self._change(place, said, number)
            else:
                await self._put(place.path, code, what)
        except (LacliError, OSError) as error:
            await self.blame(error)

    async def _change(self, place: Place, said: Turn, number: str) -> None:
        from lacli.edits.textfile import TextFile
        from lacli_tui.screens.diff import DiffScreen

        path = place.path

        def look() -> tuple[TextFile, answers.Change]:
            file = TextFile.read(path)
            return file, answers.change_of(file, said, number)

        file, change = await self.aside(look, f"reading {path}")
        if not change.diff:
            await self.tell(f"{path} has just this text already")
            return
        remarks = [str(place), *change.remarks] if place.link or place.outside else change.remarks
        if await self.app.push_screen_wait(DiffScreen(f"{change.what} → {path}", change.diff, remarks)):
            await self.aside(lambda: file.write(change.data), f"writing {path}")
            await self.tell(f"{place} was changed")
        else:
            await self.tell("nothing was changed")

    def _answer(self, turn: int | None = None) -> str:
        return answers.turn_of(self.talk.conversation.turns, turn).answer.text


def _given(text: str) -> str:
    """Who took it besides the terminal, which was asked already."""
    from lacli import atomic, clipboard, paths

    taker = clipboard.by_tool(text)
    if taker:
        return f"to {taker}"
    where = "to the terminal, which may not allow it"
    file = paths.state_dir() / _COPY_FILE
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.replace(str(file), text.encode("utf-8", "replace"))
    except OSError as error:
        return f"{where}; {file} cannot be written: {error.strerror}"
    return f"{where}; it is in {file}, too"
