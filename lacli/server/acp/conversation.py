"""One conversation of an editor: a `ChatSession` for its folder, and one prompt of it at a time.

Everything here blocks, and runs in the thread of its prompt. What a prompt does is `lacli.chat`'s; this carries out
what comes of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lacli.assistant.cancel import CancelToken
from lacli.chat import slash
from lacli.chat.chat import ChatSession
from lacli.chat.commands import parse
from lacli.chat.outcome import Line, Outcome, fault
from lacli.errors import LacliError, UsageError, WorkerDied
from lacli.events import Attachment, Event, Finished, Loading, Notice, Piece, Request
from lacli.models.registry.inventory import presence
from lacli.models.registry.registry import load_registry
from lacli.project.instructions import find
from lacli.server.acp import blocks, commands
from lacli.server.acp.base import End
from lacli.server.acp.editor import Editor
from lacli.server.acp.start import Start
from lacli.server.stdio.engine import Engines, ProjectEngine
from lacli.sessions.recorder import Recorder
from lacli.sessions.records import Session
from lacli.shared.wording import loading_line


class AgentConversation:
    """What an editor calls a session."""

    def __init__(
        self,
        start: Start,
        folder: Path,
        first_id: str,
        editor: Editor,
        engines: Engines,
        session: Session | None = None,
    ) -> None:
        """A new conversation, to be kept under `first_id`, or `session` from the log. Raises LacliError."""
        self.start = start
        self.folder = folder
        self.editor = editor
        self.cancel: CancelToken | None = None
        """Of the prompt that is being answered."""
        self.idle = threading.Event()
        """Set while no prompt is being answered."""
        self.idle.set()
        self.model_changed: Callable[[], None] = lambda: None
        """Called when the conversation has gone over to another model."""
        self.edits = 0
        """How many edits of files were begun."""
        self._engines = engines
        self._announced: str | None = None
        """What is still to be said with the first answer."""
        settings = replace(start.settings, folder=folder)
        recorder = Recorder("chat", self._hear, start.keep, start.system, folder, first_id)
        instructions = find(folder, self._defer) if start.instructions else None
        self.chat = ChatSession(
            settings,
            start.request,
            recorder,
            system=start.system,
            session=session,
            instructions=instructions,
            check=start.checked,
        )
        if instructions is not None:
            self._defer(instructions.note)
        self._engine = engines.of(settings)

    def prepare(self) -> None:
        """Have the model loaded while nobody waits; where it is to be fetched first, the first answer does and says so.

        Raises LacliError for a model that nobody knows.
        """
        if presence(load_registry().resolve(self.chat.settings.model)).ready and self.chat.request.max_tokens:
            self._engine.load()
            self.read_ahead()

    def answer(self, prompt: Sequence[Any], cancel: CancelToken) -> End:
        """Answer a prompt, which may be a slash command. Raises LacliError or OSError."""
        try:
            return self._answer(prompt, cancel)
        except LacliError:
            if not cancel():
                raise
            return End("cancelled")

    def _answer(self, prompt: Sequence[Any], cancel: CancelToken) -> End:
        if self._announced is not None:
            self.editor.note(self._announced)
            self._announced = None
        asked = blocks.read(prompt, self.folder, self.editor.unsaved, self.editor.note)
        command = parse(asked.words, commands.WORDS)
        if command is not None:
            return commands.run(self, command[0], command[1], asked.files, cancel)
        words = slash.question(asked.words)
        if not words.strip() and not asked.files:
            raise UsageError("there is nothing to ask", "write a question")
        return self.carry_out(self.chat.ask(words, asked.files), cancel)

    def carry_out(self, outcome: Outcome, cancel: CancelToken) -> End:
        """Do and show what comes of a command or a question."""
        if outcome.restart:
            self.editor.show(outcome.lines)
            return self._load(cancel)
        if outcome.draft is not None:
            for line in outcome.lines:
                self.editor.note(line.text)
            return self.carry_out(self.chat.ask(slash.question(outcome.draft)), cancel)
        if outcome.send is None:
            self.editor.show(outcome.lines)
            return End()
        for line in outcome.lines:
            self.editor.note(line.text)
        return self._reply(outcome.send, cancel)

    def read_file(self, path: str) -> Attachment:
        """A file of the folder, by a path as typed. Raises UsageError."""
        real = blocks.inside(self.folder, str(slash.path_of(path)))
        return blocks.file(real, self.folder, self.editor.unsaved, self.editor.note)

    def engine_until(self, cancel: CancelToken) -> ProjectEngine:
        """The engine, whose calls end with this."""
        return self._engine.until(cancel)

    def finished(self, request: Request, cancel: CancelToken) -> Finished:
        """The end of a reply that nobody is shown as it is written."""
        for event in self._engine.until(cancel).reply(request):
            if isinstance(event, Finished):
                return event
            self.show_progress(event)
        raise LacliError("the engine gave no answer")

    def show_progress(self, event: Event) -> None:
        """What is told of a reply besides its text."""
        if isinstance(event, Notice):
            self.editor.note(event.text)
        elif isinstance(event, Loading) and event.done == 0:
            self.editor.note(loading_line(event))

    def read_ahead(self) -> None:
        """Have the beginning of the next prompt read while nobody waits."""
        ahead = self.chat.ahead()
        if ahead is not None:
            self._engine.warm(ahead)

    def _reply(self, request: Request, cancel: CancelToken) -> End:
        try:
            finished = self._streamed(request, cancel)
        except WorkerDied:
            if self.chat.has_text:
                self.chat.broken_off()
            else:
                self.chat.failed()
            raise
        except BaseException:
            self.chat.failed()
            raise
        outcome = self.chat.answered(finished)
        self.editor.show(outcome.lines)
        self.editor.report_usage(finished.stats)
        self.read_ahead()
        return End.of(finished)

    def _streamed(self, request: Request, cancel: CancelToken) -> Finished:
        shown = self.chat.purpose != "summary"
        for event in self._engine.until(cancel).reply(request):
            if isinstance(event, Finished):
                self.chat.model_loaded()
                return event
            if isinstance(event, Piece):
                self.chat.wrote(event)
                self.editor.think(event.thought)
                self.editor.say(event.text * shown)
            else:
                self.show_progress(event)
        raise LacliError("the engine gave no answer")

    def _load(self, cancel: CancelToken) -> End:
        """Load the model that the chat was changed to; where that fails, the one before serves again."""
        before, self._engine = self._engine, self._engines.of(self.chat.settings)
        said: tuple[Line, ...] = ()
        try:
            self._engine.until(cancel).open(self.show_progress)
        except LacliError as error:
            said = (fault(error),)
        if said or cancel():
            back = self.chat.fall_back()
            self._engine = before
            self.editor.show(said if back is None else (*said, *back.lines))
            return End("cancelled" if cancel() else "stop")
        self.chat.model_loaded()
        self.model_changed()
        self.read_ahead()
        return End()

    def _defer(self, text: str) -> None:
        self._announced = text if self._announced is None else f"{self._announced}\n\n{text}"

    def _hear(self, notice: Notice) -> None:
        """What the log has to say, at any time."""
        self.editor.note(notice.text)
