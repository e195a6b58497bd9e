"""The loop of a conversation: a prompt, a question or a slash command, a reply, and again.

The conversation itself and its messages are in `lacli.chat`, the display of a reply in `live`. This connects them and
decides what Ctrl-C means.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lacli.assistant.base import Replier
from lacli.chat.chat import ChatSession
from lacli.chat.commands import parse
from lacli.chat.outcome import Outcome, fault
from lacli.cli.ask.tee import TeeAssistant
from lacli.cli.chat import commands
from lacli.cli.chat.background import Background
from lacli.cli.framework.options import Common
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics, live
from lacli.cli.terminal.interrupt import SECOND_WITHIN_S, TerminationHandler
from lacli.config import Settings
from lacli.configuration.remotes import is_remote
from lacli.errors import LacliError
from lacli.events import Event, Finished, Piece, Request
from lacli.shared.wording import loading_line

if TYPE_CHECKING:
    from lacli.cli.chat.reader import Reader

Make = Callable[[Settings], Replier]


class ChatLoop:
    """A chat on the terminal, with one engine at a time."""

    def __init__(self, common: Common, make: Make, chat: ChatSession) -> None:
        self.chat: ChatSession = chat
        self.draft = ""
        """What the prompt begins with the next time."""
        self.history_file: Path | None = None
        self._given = common
        self._make = make
        self.assistant = self._engine()
        self._reader: Reader | None = None
        self._is_loaded = False
        self._interrupted_at = float("-inf")
        self._ending = TerminationHandler(lambda end: self._reader is not None and self._reader.leave(end))

    @property
    def common(self) -> Common:
        """The options of the command line, with the max-tokens that /set may have changed."""
        return dataclasses.replace(self._given, max_tokens=self.chat.request.max_tokens)

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
            reader.label = self.chat.model if is_remote(self.chat.settings.model) else ""
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
        """Answer one question or run one command; False ends the conversation."""
        from lacli.cli.chat.reader import unquoted

        words, is_block = unquoted(text)
        try:
            command = None if is_block else parse(text, commands.WORDS)
            if command is not None:
                if command[0].name == "exit":
                    return False
                self.show(commands.run(self, *command))
            elif words.strip():
                self.draft = text  # until it is known what becomes of it
                asked = self.chat.read_question(words, verbatim=is_block)
                commands.say(Outcome(lines=asked.notes))
                self.show(self.chat.ask(asked.words, asked.files))
        except (LacliError, OSError) as error:  # one failed turn, or file, does not end the conversation
            if error is self.assistant.failure:
                raise
            commands.say(Outcome(lines=(fault(error),)))
        except KeyboardInterrupt:  # at a question of ours, or before a command was done
            self._stopped()
        return True

    def show(self, outcome: Outcome) -> None:
        """Show an outcome and do what it says."""
        if outcome.restart:
            self._restart()
        commands.say(outcome, self.common.plain)
        if outcome.draft is not None:
            self.draft = outcome.draft
        if outcome.send is not None:
            self._answer(outcome.send)

    def _answer(self, request: Request) -> None:
        try:
            finished = self._stream(request)
        except LacliError:
            if not self.chat.has_text:
                self.chat.failed()
                raise
            self.draft = ""
            self.show(self.chat.broken_off()[1])  # what arrived is kept as an interrupted turn
            raise
        except BaseException:
            self.chat.failed()
            raise
        if finished is None:
            self.show(self.chat.failed())
            return
        outcome = self.chat.answered(finished)
        if outcome.turn is not None or finished.reason == "stop":
            self.draft = ""
        self.show(outcome)

    def _stream(self, request: Request) -> Finished | None:
        """Write the reply; None where Ctrl-C was pressed while the model was still loading."""
        Run.current.deadline.restart()
        if not self.loaded():
            return None
        self._ending.hold()
        try:
            finished = live.stream(TeeAssistant(self.assistant, self._wrote), request, self.common, prompt_follows=True)
        except KeyboardInterrupt:  # the second one, while a step is still under way
            raise typer.Exit(diagnostics.INTERRUPTED) from None
        if finished.reason == "cancelled":
            self._interrupted_at = time.monotonic()
        live.report_stats(finished, self.common, "/set max-tokens N for more")
        return finished

    def _wrote(self, event: Event) -> None:
        if isinstance(event, Piece):
            self.chat.wrote(event)

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
        self.chat.model_loaded()
        self._is_loaded = True
        return True

    def close(self) -> None:
        """Let go of the model."""
        self.assistant.close()

    def _drawn(self) -> None:
        """The prompt is on the screen: now the heavy part may begin."""
        if self.common.max_tokens:
            self.assistant.start()
        if self.assistant.failure is not None and self._reader is not None:  # it failed while nobody was reading
            self._reader.leave(self.assistant.failure)

    def _read_ahead(self) -> None:
        ahead = self.chat.ahead()
        if ahead is not None:
            self.assistant.warm(ahead)

    def _engine(self) -> Background:
        return Background(self._make(self.chat.settings), self._loading_changed)

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
        back = self.chat.fall_back() if isinstance(failure, LacliError) else None
        if back is None:
            raise failure
        commands.say(Outcome(lines=(fault(failure),)))
        self.show(back)

    def _restart(self) -> None:
        self.assistant.close()
        self._is_loaded = False
        self.assistant = self._engine()
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
