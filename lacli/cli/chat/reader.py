"""Reading a question from the keyboard: editing, history, pastes, blocks of lines, completion.

The prompt goes to stderr, as stdout is for model text.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition, is_done, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth, create_output
from prompt_toolkit.shortcuts import CompleteStyle

from lacli.cli.terminal.interrupt import SignalNotifier
from lacli.cli.terminal.keyboard import keys_as_typed, typed_lines

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input

QUOTES = '"""'
"""Begins and ends a block of lines, in which Enter makes a new line."""
_PROMPT, _CONTINUED = "> ", "  "


class Reader:
    """The prompt."""

    def __init__(self, history: History, completer: Completer | None, colour: bool, given: Input | None = None) -> None:
        # Nothing hangs on where the cursor is, so it is not asked for: some terminals never answer.
        os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
        self.label = ""
        """Stands before the prompt: the remote that is asked."""
        self.is_stopped = False
        """Whether Ctrl-C was pressed right behind the Enter that ended reading: nothing is to come of what was sent."""
        self._status = ""
        self._listens = given is None
        self._session: PromptSession[str] = PromptSession(
            history=history,
            completer=completer,
            complete_while_typing=False,
            complete_style=CompleteStyle.COLUMN,
            key_bindings=_bindings(),
            prompt_continuation=_CONTINUED,
            rprompt=self._right,
            input=given,
            output=create_output(stdout=sys.stderr),
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
        )

    @property
    def draft(self) -> str:
        """The text at the prompt when reading ended."""
        return self._session.default_buffer.text

    def read(self, draft: str = "", drawn: Callable[[], None] | None = None) -> str:
        """A question or command, as it was typed. `drawn` is called once, when the prompt is on the screen.

        `draft` stands at the prompt, unless something was typed ahead, which would be put behind it and sent with it.
        Raises EOFError at Ctrl-D on an empty prompt, KeyboardInterrupt at Ctrl-C, and what `leave` was given.
        """
        app = self._session.app

        def rendered(app: Any) -> None:
            app.after_render -= rendered
            if self.is_stopped:  # before there was a loop to tell
                app.exit(exception=KeyboardInterrupt())
                return
            if draft and (self._session.default_buffer.text or app.is_done or _key_waits(app.input)):
                self.remember(draft)
            elif draft:
                self._session.default_buffer.insert_text(draft)
            if drawn is not None:
                drawn()

        app.after_render += rendered
        self.is_stopped = False
        with SignalNotifier(self._stop):
            try:
                ahead = typed_lines().decode("utf-8", "surrogateescape") if self._listens else ""
                is_sent = ahead.count("\n") == 1 and ahead.endswith("\n")  # of several, which may be a paste, none is
                typed = ahead.rstrip("\n") if is_sent else ahead
                text = self._session.prompt(
                    self.label + _PROMPT,
                    default=typed,
                    accept_default=is_sent,
                    enable_suspend=True,
                    handle_sigint=False,
                )
            finally:
                app.after_render -= rendered
            self._take_stop()
        return _decoded(text)

    def show(self, status: str) -> None:
        """Show a status at the right of the prompt; may be called from any thread."""
        if status != self._status:
            self._status = status
            with contextlib.suppress(RuntimeError, AttributeError):  # reading ends just now, and its loop goes
                self._session.app.invalidate()

    def leave(self, reason: BaseException) -> bool:
        """End `read` from another thread or a signal handler; False if it is not running."""
        app = self._session.app
        loop = app.loop
        if not app.is_running or loop is None:
            return False

        def end() -> None:
            if app.future is not None and not app.future.done():  # Enter, or an earlier call, may have ended it
                app.exit(exception=reason)

        try:
            loop.call_soon_threadsafe(end)
        except RuntimeError:  # reading has just ended, and its loop is closed
            return False
        return True

    def has_room(self, text: str) -> bool:
        """Whether the screen, with this text at the prompt, still shows the message above it."""
        size = self._session.output.get_size()
        rows = sum(1 + len(line) // size.columns for line in text.split("\n"))
        return rows <= size.rows // 2

    def remember(self, text: str) -> None:
        """Add a text that was not sent to the history."""
        if text.strip() and text not in self._session.history.get_strings():
            self._session.history.append_string(text)

    def _stop(self) -> None:
        """Ctrl-C, as a signal: at a time when the terminal is not the prompt's, or from another program."""
        self.is_stopped = True
        self.leave(KeyboardInterrupt())

    def _take_stop(self) -> None:
        """Look for a Ctrl-C among the keys behind Enter. The prompt was not gone yet, so the terminal made no signal of
        it, and the next prompt would find it when the reply has run to its end. Other keys wait for that prompt."""
        keyboard = self._session.input
        keys = get_typeahead(keyboard)
        if self._listens:
            with keys_as_typed() as can_be_read:
                if can_be_read:
                    keys += keyboard.read_keys()
        stop = next((key for key in keys if key.key == Keys.ControlC), None)
        if stop is not None:
            keys.remove(stop)
            self.is_stopped = True
        store_typeahead(keyboard, keys)

    def _right(self) -> StyleAndTextTuples:
        return [] if get_app().is_done or not self._status else [("fg:ansibrightblack", self._status)]


def unquoted(text: str) -> tuple[str, bool]:
    """The text without the quotes of a block of lines, and whether it was one; a block is never a command."""
    stripped = text.strip()
    if not stripped.startswith(QUOTES):
        return text, False
    inner = stripped.removeprefix(QUOTES)
    return inner.removesuffix(QUOTES).strip("\n"), True


def _decoded(text: str) -> str:
    """The text with undecoded bytes (a locale without UTF-8, a terminal with another encoding) decoded again."""
    from lacli.prompts.content import text_of
    from lacli.sessions.clipping import valid_unicode

    if text.isascii():
        return text
    try:
        return text_of(text.encode("utf-8", "surrogateescape"), "")[0]
    except UnicodeEncodeError:  # half of a character, as Windows writes it
        return valid_unicode(text)


def _key_waits(keyboard: Input) -> bool:
    """Whether unread input waits; False if that is unknown (Windows)."""
    try:
        return bool(select.select([keyboard.fileno()], [], [], 0)[0])
    except (OSError, ValueError, NotImplementedError):
        return False


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("c-j")  # arrives distinct from Enter everywhere, tmux included
    @bindings.add("enter", filter=Condition(_block_is_open) & ~is_searching & ~is_done)
    def _(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


def _block_is_open() -> bool:
    text = get_app().current_buffer.text.strip()
    return text.startswith(QUOTES) and (len(text) < 2 * len(QUOTES) or not text.endswith(QUOTES))
