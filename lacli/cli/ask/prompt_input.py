"""Words, files and standard input as one message.

Files are read at once, so that a wrong name is reported before a model loads; standard input is read meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.interrupt import WaitingInterrupt
from lacli.cli.terminal.stdin import Stdin, argument_text, dash_for_stdin, piped_stdin
from lacli.errors import UsageError
from lacli.events import Attachment, Message
from lacli.prompts.attach import attached

if TYPE_CHECKING:
    from lacli.prompts.saved import Saved

STDIN = "stdin"
"""The label of what was piped in."""
_NOTHING = ("there is nothing to ask", "give a prompt, or pipe text into stdin")


class PromptInput:
    """A prompt whose standard input may still be incomplete."""

    def __init__(
        self,
        words: Sequence[str],
        common: Common,
        files: Sequence[str] = (),
        saved: Saved | None = None,
        given: Mapping[str, str] | None = None,
        edit: bool = False,
    ) -> None:
        """If `words` begin with -, stdin is read whatever the options say; `files` may name it, too.

        `saved` is the template with what is `given` for its parameters; `edit` lets the user write the words.
        """
        files = [dash_for_stdin(path) for path in files]
        self._place = "-" in files
        self._saved = saved
        self._given = given or {}
        if saved is not None:
            saved.check(self._given)
        elif given:
            raise UsageError("-p gives a parameter of a template, and none is used", "name one with -t")
        dash = list(words[:1]) == ["-"]
        text = argument_text(" ".join(words[1:] if dash else words))
        if edit:
            from lacli.cli.terminal.editor import edited

            text = edited(text)
        with WaitingInterrupt("before the files were read"):
            self._words, self._attachments = attached(text, files, diagnostics.note, stdin=str)
        _warn_of_secrets(self._attachments, common.no_log)
        self._stdin = Stdin() if dash or "-" in files else piped_stdin(common.no_stdin)

    def is_slow(self) -> bool:
        """Whether standard input is not complete after a short wait."""
        return self._stdin is not None and self._stdin.is_slow()

    def message(self, without: tuple[str, str] = _NOTHING) -> Message:
        """The whole message, once standard input has ended. Raises a UsageError of `without` if there is nothing to
        ask."""
        words, attachments = self._words, self._attachments
        content = self._stdin.text() if self._stdin is not None else ""
        saved = self._saved if self._saved is not None and self._saved.prompt.strip() else None
        if self._place:
            attachments = tuple(Attachment(STDIN, content) if _is_place(each) else each for each in attachments)
        elif not words.strip() and (saved is None or saved.takes_input()):
            words = content
        elif content.strip():
            attachments += (Attachment(STDIN, content),)
        attachments = tuple(each for each in attachments if each.text.strip())
        if saved is not None:
            if saved.takes_input() and not words.strip() and not attachments:
                raise UsageError(f"template {saved.name} needs its $input", "give words, or pipe text into stdin")
            words = saved.filled(words.rstrip("\n"), self._given)
        if not words.strip() and not attachments:
            raise UsageError(*without)
        return Message("user", words, attachments=attachments)

    def system(self, common: Common) -> str:
        """The system message; a template's own is filled in."""
        system = common.system or ""
        if self._saved is not None and self._saved.system and system == self._saved.system:
            return self._saved.filled_system(self._words, self._given)
        return system


def _is_place(attachment: Attachment) -> bool:
    """Whether standard input is to replace this attachment, which `attached` left empty."""
    return attachment.label == STDIN and not attachment.text


def _warn_of_secrets(attachments: Sequence[Attachment], no_log: bool) -> None:
    """Warn about attached files that usually hold secrets: a shell pattern may have matched them by accident."""
    for each in attachments:
        from lacli.project.skip import by_name

        if by_name(each.label.replace(os.sep, "/")) == "secret":
            diagnostics.warning(f"{each.label} looks like a file of secrets" + _KEPT * (not no_log))


_KEPT = "; the log keeps it with the question, unless --no-log"
