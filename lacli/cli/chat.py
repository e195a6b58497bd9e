"""`lacli chat`: a conversation on the terminal, or one turn of one where a prompt or a pipe is given.

The prompt is on the screen before anything heavy is imported; the model loads behind it. Parsing and what a
conversation begins with are here; the loop, its commands and its prompt are `lacli.cli.repl`.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from lacli.cli import diagnostics, live, output
from lacli.cli.options import Common, with_common
from lacli.cli.record import Recorder, recorder
from lacli.cli.render import reply_record
from lacli.cli.repl import material
from lacli.cli.repl.loop import Repl
from lacli.cli.stdin import Stdin, argument, piped
from lacli.cli.terminal import is_terminal, wants_colour
from lacli.errors import UsageError
from lacli.events import Attachment
from lacli.scripted import Replier
from lacli.sessions.conversation import Conversation
from lacli.sessions.records import Session

app = typer.Typer(add_completion=False, rich_markup_mode=None)

KINDS = ("ask", "chat")
"""Commands whose sessions -c goes on with."""
_EXAMPLES = """
Examples:

  lacli chat

  lacli chat -c                                     (go on where you left)

  lacli chat "Explain list comprehensions"          (one turn)

  git diff | lacli chat -i "what does this change?" (then ask on)

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(max_tokens=512)
def chat(
    prompt: Annotated[list[str] | None, typer.Argument(help="With a prompt or piped stdin: one turn.")] = None,
    file: Annotated[
        list[str] | None, typer.Option("-f", "--file", metavar="PATH", help="Show this file; may be repeated.")
    ] = None,
    continue_: Annotated[
        bool, typer.Option("-c", "--continue", help="Go on with this project's last conversation.")
    ] = False,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Go on with this one; its first letters will do.")
    ] = None,
    interactive: Annotated[
        bool, typer.Option("-i", "--interactive", help="Ask on at the terminal after a prompt or a pipe.")
    ] = False,
    *,
    common: Common,
) -> None:
    """Talk with the model; Ctrl-C stops a reply, Ctrl-D leaves."""
    at_keyboard = diagnostics.stdin_is_terminal()
    one_turn = bool(prompt) or not at_keyboard
    if common.json and (interactive or not one_turn):
        raise UsageError("--json is for one turn", "give a prompt and no -i, or leave --json away")
    going_on = _session(continue_, session)
    if going_on is not None and common.model is None:
        common = _with_model(common, going_on.model)
    keeper = recorder(common, "chat")
    repl = Repl(common, _make, _conversation(going_on, common, keeper), keeper)
    code = 0
    try:
        if one_turn:
            _one_turn(repl, prompt or [], file or [], more_follow=interactive)
        else:
            for path in file or []:
                material.file(repl, path)
        if one_turn and interactive and not at_keyboard and not _take_terminal():
            diagnostics.note("there is no terminal to ask on at: this was the only turn")
        elif interactive or not one_turn:
            code = _talk(repl, resumed=going_on is not None and not one_turn)
    finally:
        repl.close()
    if repl.assistant.leaves_work_behind:  # an import that cannot be stopped, and must not be torn down under way
        output.flush()
        os._exit(code)
    if code:
        raise typer.Exit(code)


def _make(common: Common) -> Replier:
    from lacli.assistant import Assistant

    return Assistant(common.settings())


def _session(continue_: bool, prefix: str | None) -> Session | None:
    """The saved conversation that is to go on."""
    if not continue_ and prefix is None:
        return None
    from lacli.pool.identity import project_root
    from lacli.sessions.store import SessionStore, path

    store = SessionStore(path())
    if prefix is not None:
        return store.session(prefix)
    found = store.latest(project_root(Path(".")), KINDS)
    if found is None:
        diagnostics.note("no conversation is kept of this project yet; this is a new one")
    return found


def _with_model(common: Common, name: str) -> Common:
    """The model a conversation was held with serves again where nobody chose another."""
    from lacli.models.registry import load_registry

    registry = load_registry()
    if name in registry.models and name != registry.default:
        return dataclasses.replace(common, model=name)
    if name not in registry.models:
        diagnostics.note(f"this conversation was held with {name or 'an unknown model'}; the default model goes on")
    return common


def _conversation(session: Session | None, common: Common, keeper: Recorder) -> Conversation:
    if session is None:
        return Conversation(common.system or "")
    from lacli.models.registry import load_registry

    keeper.resume(session)
    conversation = Conversation.of(session, common.system)
    if load_registry().resolve(common.model).alias != session.model:
        conversation.forget_ids()
    return conversation


def _one_turn(repl: Repl, words: list[str], files: list[str], more_follow: bool) -> None:
    """The turn a prompt or a pipe asks for."""
    common = repl.common
    text, attachments = _asked(repl, words, files)
    if more_follow:
        repl.ask(text, attachments)
        return
    live.load(repl.assistant, common)
    messages = repl.conversation.ask(text, attachments)
    finished = live.stream(repl.assistant, repl.request(messages), common, silent=common.json)
    turn = repl.conversation.answered(finished)
    if turn is not None:
        repl.recorder.keep(turn, finished.stats.model)
    if common.json:
        output.document(reply_record(finished))
    live.report_stats(finished, common)
    live.conclude(finished)


def _asked(repl: Repl, words: list[str], files: list[str]) -> tuple[str, tuple[Attachment, ...]]:
    """The question and what goes with it: what is piped in comes first, the words last."""
    from lacli.prompts.attach import attached

    stdin = Stdin() if words == ["-"] or "-" in files else piped(repl.common.no_stdin)
    if stdin is not None and stdin.is_slow():  # the model loads meanwhile
        live.load(repl.assistant, repl.common)
    text, found = attached(
        "" if words == ["-"] else argument(" ".join(words)),
        [name for name in files if name != "-"],
        diagnostics.note,
    )
    content = stdin.text() if stdin is not None else ""
    if not text.strip():
        text, content = content, ""
    if not text.strip():
        raise UsageError("there is nothing to ask", "give a prompt, or pipe text into stdin")
    return text, ((Attachment("stdin", content),) if content.strip() else ()) + found


def _talk(repl: Repl, resumed: bool) -> int:
    """The conversation itself; returns the exit code."""
    from lacli.cli.history import file_of, open_history
    from lacli.cli.repl.completer import ChatCompleter
    from lacli.cli.repl.reader import Reader
    from lacli.cli.repl.turns import show_resumed

    history = open_history(keep=repl.common.pool and not repl.common.no_log)
    repl.history_file = file_of(history)
    reader = Reader(history, ChatCompleter(), wants_colour(sys.stderr, repl.common.color))
    diagnostics.note("/help lists the commands, Ctrl-D leaves")
    if resumed:
        show_resumed(repl)
    try:
        return repl.run(reader)
    finally:
        if repl.recorder.id and repl.conversation.turns and is_terminal(sys.stderr):
            diagnostics.note(f"lacli chat --session {repl.recorder.id[:8]} goes on with this conversation")


def _take_terminal() -> bool:
    """Make the terminal this process's stdin, for us and for the editors we start; False where there is none."""
    from lacli.cli.keyboard import open_terminal

    terminal = open_terminal()
    if terminal is None:
        return False
    with terminal:
        os.dup2(terminal.fileno(), 0)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - as long as we live
    return True
