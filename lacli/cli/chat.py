"""`lacli chat`: a conversation on the terminal. The prompt goes to stderr, so that stdout holds model text only.

The conversation is a list of messages that carry the ids the model wrote; the assistant prefills only what is new.
"""

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lacli.cli import diagnostics, live
from lacli.cli.ask import one_turn
from lacli.cli.options import Common, with_common
from lacli.cli.render import counts_table
from lacli.errors import LacliError, UsageError
from lacli.events import Counts, Message, ReplyStats
from lacli.scripted import Replier

if TYPE_CHECKING:
    from prompt_toolkit.history import History

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_SECOND_WITHIN_S = 2.0
_COMMANDS = ("help", "?", "clear", "stats", "exit", "quit")
_HELP = (
    "/help   this list",
    "/clear  forget the conversation",
    "/stats  numbers of the last reply and of the chat",
    "/exit   leave (or Ctrl-D)",
    "Ctrl-J  new line; Ctrl-C stops a reply and keeps what was written",
)
_EXAMPLES = """
Examples:

  lacli chat

  lacli chat "Explain list comprehensions"          (one turn)

  lacli chat -m ./my-model --temperature 0.7 --seed 1

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(max_tokens=512)
def chat(
    prompt: Annotated[list[str] | None, typer.Argument(help="With a prompt or piped stdin: one turn.")] = None,
    *,
    common: Common,
) -> None:
    """Talk with the model; Ctrl-C stops a reply, Ctrl-D leaves."""
    from lacli.assistant import Assistant

    assistant = Assistant(common.settings())
    try:
        if prompt or not diagnostics.stdin_is_terminal():
            one_turn(assistant, prompt or [], common)
        else:
            if common.json:
                raise UsageError("--json is for one turn", "give a prompt, or leave --json away")
            live.load(assistant, common)
            Conversation(assistant, common).run()
    finally:
        assistant.close()


class Conversation:
    """The loop of turns and slash commands."""

    def __init__(self, assistant: Replier, common: Common) -> None:
        from lacli.cli.history import open_history

        self._assistant = assistant
        self._common = common
        self._history = open_history(keep=common.pool)
        self._messages: list[Message] = []
        self._last: ReplyStats | None = None
        self._sums = Counts()
        self._interrupted_at = float("-inf")

    def run(self) -> None:
        """Read and answer until the user leaves."""
        session = _prompt_session(self._history)
        diagnostics.note("/help lists the commands, Ctrl-D leaves")
        while True:
            try:
                text = session.prompt("> ")
            except EOFError:
                return
            except KeyboardInterrupt:
                self._interrupted(session.default_buffer.text)
                continue
            if not self.handle(text):
                return

    def handle(self, text: str) -> bool:
        """Answer one line or obey one command; False ends the conversation."""
        command = re.fullmatch(r"\s*/([a-z?]+)(\s.*)?", text, re.DOTALL)
        if command and not (command[2] or "").strip():
            return self._obey(command[1])
        if command and command[1] in _COMMANDS:  # other words after a slash may be a path
            diagnostics.note(f"/{command[1]} takes nothing after it; a question must not begin with it")
            return True
        if text.strip():
            try:
                self._turn(text)
            except LacliError as error:  # one failed turn does not end the conversation
                diagnostics.error(error.message, error.hint)
        return True

    def _obey(self, command: str) -> bool:
        if command in ("exit", "quit"):
            return False
        if command in ("help", "?"):
            self._help()
        elif command == "clear":
            self._messages.clear()
            self._last, self._sums = None, Counts()
            diagnostics.note("the conversation is forgotten")
        elif command == "stats":
            self._stats()
        else:
            diagnostics.note(f"there is no command /{command}; /help lists them")
        return True

    def _stats(self) -> None:
        if self._last is None:
            diagnostics.plain_line("no reply yet")
            return
        live.show_stats(self._last, self._common)
        for line in counts_table([("this reply", self._last), ("this chat", self._sums)]):
            diagnostics.plain_line(line)

    def _help(self) -> None:
        from lacli.cli.history import file_of

        for line in _HELP:
            diagnostics.plain_line(line)
        file = file_of(self._history)
        diagnostics.plain_line(f"What you type is kept in {file}" if file else "What you type is not kept")

    def _turn(self, text: str) -> None:
        question = Message("user", text)
        request = self._common.request((*self._messages, question), drop_oldest=True)
        finished = live.stream(self._assistant, request, prompt_follows=True)
        if finished.reason == "cancelled":
            self._interrupted_at = time.monotonic()
        self._last = finished.stats
        self._sums += finished.stats
        del self._messages[: finished.dropped]
        if finished.token_ids:  # a turn that was stopped before its first token never happened
            self._messages += [question, Message("assistant", finished.text, finished.token_ids)]
        live.report_stats(finished, self._common)

    def _interrupted(self, typed: str) -> None:
        """Ctrl-C at the prompt: forget what was typed; on an empty line a second one within two seconds leaves."""
        now = time.monotonic()
        if not typed:
            if now - self._interrupted_at <= _SECOND_WITHIN_S:
                raise typer.Exit(diagnostics.INTERRUPTED)
            diagnostics.note("Ctrl-D or /exit leaves")
            self._interrupted_at = now


def _prompt_session(history: History) -> Any:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import create_output

    # No menus are shown, so the cursor's position is not asked for: some terminals never answer.
    os.environ.setdefault("PROMPT_TOOLKIT_NO_CPR", "1")
    bindings = KeyBindings()

    @bindings.add("c-j")  # arrives distinct from Enter everywhere, tmux included
    def _(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return PromptSession(history=history, key_bindings=bindings, output=create_output(stdout=sys.stderr))
