"""The loop of a conversation: a prompt, a question or a slash command, a reply, and again.

What was said is `sessions.conversation`'s, keeping it `sessions.recorder`'s, what the terminal shows of a reply
`cli.live`'s. Here is what connects them, and what Ctrl-C means where.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lacli.assistant.base import Replier
from lacli.chat import slash
from lacli.chat.conversation import Conversation
from lacli.cli.chat import commands
from lacli.cli.chat.background import Background
from lacli.cli.framework.options import Common
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics, live
from lacli.cli.terminal.interrupt import SECOND_WITHIN_S, TerminationHandler
from lacli.errors import LacliError, PromptTooLong, folder_gone
from lacli.events import Attachment, Finished, Message, Request
from lacli.sessions.recorder import Recorder
from lacli.shared.wording import loading_line

if TYPE_CHECKING:
    from lacli.cli.chat.reader import Reader

_TOO_LONG = "/drop n takes a file away, /set truncate middle leaves out a part of it; --ctx N at the start makes room"
Make = Callable[[Common], Replier]


class Repl:
    """A conversation with one model at a time."""

    def __init__(self, common: Common, make: Make, conversation: Conversation, recorder: Recorder) -> None:
        self.common = common
        self.conversation = conversation
        self.recorder = recorder
        self.last: Finished | None = None
        """The reply last seen."""
        self.draft = ""
        """What the prompt begins with the next time."""
        self.history_file: Path | None = None
        self.assistant = self._behind(make(common))
        self._make = make
        self._reader: Reader | None = None
        self._before_model: Common | None = None
        self._is_loaded = False
        self._interrupted_at = float("-inf")
        self._ending = TerminationHandler(lambda end: self._reader is not None and self._reader.leave(end))

    def run(self, reader: Reader) -> int:
        """Read and answer until the user leaves; returns the exit code. Raises what loading the first model raised."""
        self._reader = reader
        with self._ending:
            while True:
                try:
                    code = self._once(reader)
                except KeyboardInterrupt:  # between two places of which each knows what it means
                    self._stopped()
                    continue
                if code is not None:
                    return code

    def _once(self, reader: Reader) -> int | None:
        """A prompt and what comes of it; the exit code where the user leaves."""
        self._ending.release()
        draft, self.draft = self.draft, ""
        try:
            self._read_ahead()
            text = reader.read(draft, self._drawn)
        except EOFError:
            return 0
        except KeyboardInterrupt:
            return diagnostics.INTERRUPTED if self._interrupted(reader.draft, draft) else None
        except BaseException as failure:
            if failure is not self.assistant.failure:
                raise
            reader.remember(reader.draft)
            self.draft = reader.draft
            self._loading_failed(failure)
            return None
        if reader.is_stopped:
            self.draft = text
            self._stopped()
        elif not self.handle(text):
            return 0
        if self.draft == text and not reader.has_room(text):
            self.draft = ""
            reader.remember(text)
            diagnostics.note("the question is kept: the up arrow brings it back")
        return None

    def handle(self, text: str) -> bool:
        """Answer one question or obey one command; False ends the conversation."""
        from lacli.cli.chat.reader import unquoted

        words, is_block = unquoted(text)
        try:
            if not is_block and (obeyed := commands.obey(self, text)) is not None:
                return obeyed
            if words.strip():
                self.draft = text  # until it is known what becomes of it
                from lacli.prompts.attach import attached

                asked = words if is_block else slash.question(words)
                self.ask(*attached(asked, note=diagnostics.note, context=self.context))
        except LacliError as error:  # one failed turn does not end the conversation
            if error is self.assistant.failure:
                raise
            by_flags = isinstance(error, PromptTooLong) and "--" in error.hint
            diagnostics.error(error.message, _TOO_LONG if by_flags else error.hint)
        except OSError as error:  # of a file that a command was to read or write
            gone = folder_gone(error)
            if gone is not None:
                diagnostics.error(gone.message, gone.hint)
            else:
                diagnostics.error(f"{error.filename or 'a file'}: {error.strerror}", "check its path and permissions")
        except KeyboardInterrupt:  # at a question of ours, or before a command was done
            self._stopped()
        return True

    def ask(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """One turn. Where it comes to nothing, the question is back at the prompt."""
        self._turn(self.conversation.ask(text, attachments))

    def retry(self) -> None:
        """Ask the last question again."""
        messages = self.conversation.retry()
        if messages:
            self._turn(messages, again=True)

    def stream(self, messages: tuple[Message, ...]) -> Finished | None:
        """Write a reply to these messages; None where Ctrl-C was pressed while the model was still loading."""
        Run.current.deadline.restart()
        if not self.loaded():
            return None
        self._ending.hold()
        try:
            finished = live.stream(self.assistant, self.request(messages), self.common, prompt_follows=True)
        except KeyboardInterrupt:  # the second one, while a step is still under way
            raise typer.Exit(diagnostics.INTERRUPTED) from None
        if finished.reason == "cancelled":
            self._interrupted_at = time.monotonic()
        self.last = finished
        live.report_stats(finished, self.common, "/set max-tokens N for more")
        return finished

    def loaded(self) -> bool:
        """Wait until the model is there, with its progress; False where Ctrl-C said not to: loading goes on behind."""
        from lacli.cli.terminal.keyboard import unechoed

        if self._is_loaded:
            return True
        try:
            with unechoed(prompt_follows=True):
                live.load(self.assistant, self.common)
        except KeyboardInterrupt:
            self._interrupted_at = time.monotonic()
            diagnostics.note("the model goes on loading")
            return False
        except BaseException as failure:
            if failure is not self.assistant.failure:
                raise
            self._loading_failed(failure)
            return False
        self._before_model = None
        self._is_loaded = True
        return True

    def request(self, messages: tuple[Message, ...]) -> Request:
        """What is asked of the assistant."""
        return self.common.request(messages, drop_oldest=True)

    def change_model(self, common: Common) -> None:
        """Go on with the model these options name; the one before serves again if it cannot be loaded."""
        self._before_model = self._before_model or self.common
        self._replace_assistant(common)

    @property
    def model(self) -> str:
        """The name of the model."""
        from lacli.models.registry.registry import load_registry

        return load_registry().resolve(self.common.model).alias

    @property
    def context(self) -> int:
        """Most tokens of a question; 0 where that is not known yet, or what is too long is cut."""
        from lacli.chat.attaching import context_of

        return context_of(self.common.model, self.common.ctx, self.common.truncate)

    def close(self) -> None:
        """Let go of the model."""
        self.assistant.close()

    def _turn(self, messages: tuple[Message, ...], again: bool = False) -> None:
        finished = None
        try:
            finished = self.stream(messages)
        finally:
            if finished is None:
                self.conversation.failed()
        if finished is None:
            return
        turn = self.conversation.answered(finished)
        if turn is not None:
            self.recorder.keep(turn, finished.stats.model, replaces=again)
        if turn is not None or finished.reason == "stop":
            self.draft = ""

    def _drawn(self) -> None:
        """The prompt is on the screen: now the heavy part may begin."""
        if self.common.max_tokens:
            self.assistant.start()
        if self.assistant.failure is not None and self._reader is not None:  # it failed while nobody was reading
            self._reader.leave(self.assistant.failure)

    def _read_ahead(self) -> None:
        ahead = self.conversation.ahead()
        if ahead and self.common.max_tokens:
            self.assistant.warm(self.request(ahead))

    def _behind(self, assistant: Replier) -> Background:
        return Background(assistant, self._loading_changed)

    def _loading_changed(self) -> None:
        """Called from the thread that loads."""
        reader = self._reader
        if reader is None:
            return
        stage = self.assistant.stage
        reader.show(loading_line(stage) if stage is not None else "")
        if self.assistant.failure is not None:
            reader.leave(self.assistant.failure)

    def _loading_failed(self, failure: BaseException) -> None:
        """The end of the conversation, but for a model that was changed to: then the one before serves again."""
        if self._before_model is None or not isinstance(failure, LacliError):
            raise failure
        diagnostics.error(failure.message, failure.hint)
        before, self._before_model = self._before_model, None
        diagnostics.note("going on with the model before")
        self._replace_assistant(before)

    def _replace_assistant(self, common: Common) -> None:
        self.assistant.close()
        self._is_loaded = False
        self.common = common
        self.conversation.forget_ids()
        self.assistant = self._behind(self._make(common))
        self.assistant.start()

    def _stopped(self) -> None:
        self._interrupted_at = time.monotonic()
        diagnostics.stopped()

    def _interrupted(self, typed: str, draft: str) -> bool:
        """Ctrl-C at the prompt: forget what was typed; a second one within two seconds leaves."""
        now = time.monotonic()
        if typed and typed != draft:
            if self._reader is not None:
                self._reader.remember(typed)
            return False
        if now - self._interrupted_at <= SECOND_WITHIN_S:
            return True
        if not typed:
            diagnostics.note("Ctrl-D or /exit leaves")
        self._interrupted_at = now
        return False
