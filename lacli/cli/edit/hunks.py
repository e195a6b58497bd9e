"""Hunk by hunk: which changes of a file are made, asked at the terminal with the keys of `git add --patch`.

Questions and answers go by the terminal itself, whatever the standard streams are. Writes no file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.editor import edited
from lacli.cli.terminal.keyboard import SCREEN, keys_of, open_terminal
from lacli.cli.terminal.tty import sanitize
from lacli.edits.write.choosing import Choosing, Decision, Group
from lacli.edits.write.textfile import TextFile
from lacli.errors import LacliError, UsageError

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_HELP = {
    "y": "take this hunk",
    "n": "leave it",
    "e": "edit it, then take that",
    "a": "take this one and all that follow",
    "d": "leave this one and all that follow",
    "s": "split it into smaller ones",
    "q": "leave this one and all that follow; those taken before stay taken",
    "?": "show this help",
}


def unchecked(data: bytes) -> str:
    """Accepts every result."""
    return ""


def check_terminal() -> None:
    """Raise UsageError if there is no terminal to ask at."""
    keyboard = open_terminal()
    if keyboard is None:
        raise UsageError("--interactive needs a terminal to ask at", "leave it out: a diff is printed")
    keyboard.close()


def choose_hunks(file: TextFile, new: bytes, check: Callable[[bytes], str] = unchecked) -> bytes:
    """The file with the hunks that the user accepts; its old bytes if there are none.

    `check` says what speaks against bytes that are neither the old nor the new ones, and "" where nothing does.
    """
    diagnostics.erase_status()
    keyboard = open_terminal()
    if keyboard is None:
        raise UsageError("nobody is here to say which hunks to take", "leave out --interactive")
    choosing = Choosing(file, new)
    with keyboard, open(SCREEN, "w", encoding="utf-8", errors="replace") as screen:
        data = choosing.result(_HunkPrompt(choosing, keyboard, screen).decided())
    against = "" if data in (file.data, new) else check(data)
    if against:
        diagnostics.warning(against)
    return data


@dataclass
class _HunkPrompt:
    """The dialogue at the terminal."""

    choosing: Choosing
    keyboard: TextIO
    screen: TextIO
    unfinished: str = ""
    """What was written in the editor and does not fit yet."""

    def decided(self) -> list[tuple[Group, Decision]]:
        """Ask of each hunk; those that are not asked of any more are as the last key says, or not there: left."""
        groups = self.choosing.groups()
        found: list[tuple[Group, Decision]] = []
        shown: Group | None = None
        while len(found) < len(groups):
            group = groups[len(found)]
            parts = self.choosing.split(group)
            if group is not shown:
                self._show(group)
                shown = group
            key = self._key(f"({len(found) + 1}/{len(groups)})", can_split=len(parts) > 1)
            if key != "e":
                self.unfinished = ""
            if key in ("y", "n"):
                found.append((group, key == "y"))
            elif key == "a":
                return [*found, *((each, True) for each in groups[len(found) :])]
            elif key in ("d", "q"):
                return found
            elif key == "s" and len(parts) > 1:
                groups[len(found) : len(found) + 1] = parts
            elif key == "e":
                edit = self._edited(group)
                if edit is not None:
                    found.append((group, edit))
            else:
                self._help(can_split=len(parts) > 1)
        return found

    def _show(self, group: Group) -> None:
        colours = output.coloured(self.screen)
        for line in (self.choosing.header(group), *self.choosing.body(group)):
            colour = _COLOURS.get(line[0], "") if colours else ""
            self._say(f"{colour}{sanitize(line)}{_PLAIN * bool(colour)}")

    def _key(self, number: str, can_split: bool) -> str:
        """The key that is pressed; q at the end of input. Enter alone is ignored."""
        keys = ",".join(key for key in _HELP if can_split or key != "s")
        bold, end = (_BOLD, _PLAIN) if output.coloured(self.screen) else ("", "")
        try:
            with keys_of(self.keyboard) as next_key:
                self.screen.write(f"{bold}{number} take this hunk? [{keys}]{end} ")
                self.screen.flush()
                while (key := next_key()) in ("\n", "\r"):
                    pass
        except KeyboardInterrupt:
            self._say("")
            raise
        key = key.lower() or "q"
        self._say(key if key.isprintable() else "")
        return key

    def _edited(self, group: Group) -> Decision | None:
        """What the user makes of it; None to ask again: what does not fit is in the editor the next time."""
        text, self.unfinished = self.unfinished or self.choosing.to_edit(group), ""
        try:
            text = self.unfinished = edited(text, ".diff")
            made = self.choosing.edited(group, text)
        except LacliError as error:
            self._say(sanitize("; ".join(filter(None, (error.message, error.hint)))))
            return None
        self.unfinished = ""
        if made is None:
            self._say("nothing is left of it: the hunk is as it was")
        return made

    def _help(self, can_split: bool) -> None:
        for key, says in _HELP.items():
            if can_split or key != "s":
                self._say(f"{key} - {says}")

    def _say(self, line: str) -> None:
        self.screen.write(line + "\n")
        self.screen.flush()
