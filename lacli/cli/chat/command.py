"""`lacli chat`: a conversation on the terminal, or one turn of one where a prompt or a pipe is given.

The prompt is on the screen before anything heavy is imported; the model loads behind it. Parsing and what a
conversation begins with are here.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from lacli.chat.chat import ChatSession
from lacli.chat.outcome import Outcome
from lacli.cli.ask.template_option import TemplateOption, load_template
from lacli.cli.chat import commands, resume
from lacli.cli.chat.loop import ChatLoop
from lacli.cli.chat.option_values import checked
from lacli.cli.framework import assistants
from lacli.cli.framework.flags import ContinueOption, FileOption, SessionOption
from lacli.cli.framework.instructions import project_instructions
from lacli.cli.framework.options import Common, with_common
from lacli.cli.framework.record import recorder
from lacli.cli.models import first_model
from lacli.cli.terminal import diagnostics, live, output
from lacli.cli.terminal.tty import is_terminal, wants_colour
from lacli.errors import UsageError
from lacli.sessions.recorder import Recorder
from lacli.shared.wording import turn_record

if TYPE_CHECKING:
    from lacli.cli.ask.prompt_input import PromptInput
    from lacli.sessions.records import Session

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli chat

  lacli chat -c                                     (go on where you left off)

  lacli chat "Explain list comprehensions"          (one turn)

  git diff | lacli chat -i "what does this change?"      (then ask on)

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(max_tokens=512)
def chat(
    prompt: Annotated[list[str] | None, typer.Argument(help="With a prompt or piped stdin: one turn.")] = None,
    template: TemplateOption = None,
    file: FileOption = None,
    continue_: ContinueOption = False,
    session: SessionOption = None,
    interactive: Annotated[
        bool, typer.Option("-i", "--interactive", help="Keep asking at the terminal after a prompt or a pipe.")
    ] = False,
    *,
    common: Common,
) -> None:
    """Talk with the model; Ctrl-C stops a reply, Ctrl-D leaves."""
    one_turn = bool(prompt) or not diagnostics.stdin_is_terminal()
    if common.json and (interactive or not one_turn):
        raise UsageError("--json is for one turn", "give a prompt and no -i, or leave --json away")
    asked = _question(prompt or [], common, file or [], template) if one_turn else None
    going_on = resume.going_on(continue_, session)
    system = asked.system(common) if asked else common.system
    keeper = recorder(dataclasses.replace(common, system=system), "chat")
    converse(asked, going_on, common, keeper, [] if one_turn else file or [], interactive, template or "")


def converse(
    asked: PromptInput | None,
    going_on: Session | None,
    common: Common,
    keeper: Recorder,
    files: Sequence[str] = (),
    interactive: bool = True,
    template: str = "",
) -> None:
    """Answer the question, if there is one, then those that are typed, if more are wanted or there was none.

    `files` go with the first one typed, and `template` is put at its prompt. Also what `ask -i` does.
    """
    at_keyboard = diagnostics.stdin_is_terminal()
    common = first_model.choose_model(resume.with_its_model(going_on, common))
    chat = ChatSession(
        common.settings(),
        common.request(),
        keeper,
        system=asked.system(common) if asked else common.system or "",
        session=going_on,
        instructions=project_instructions(common, is_told=interactive or asked is None),
        check=checked,
    )
    loop = ChatLoop(common, lambda settings: assistants.assistant(common, settings), chat)
    code = 0
    try:
        for path in files:
            loop.show(chat.attach(chat.read_file(path, stream_too=True)))
        if template and asked is None:
            from lacli.prompts.saved import named

            loop.show(chat.template(named(template)))
        if asked is not None:
            _one_turn(loop, asked, more_follow=interactive)
        if asked is not None and interactive and not at_keyboard and not _take_terminal():
            diagnostics.note("there is no terminal to ask on at: this was the only turn")
        elif interactive or asked is None:
            code = _talk(loop, resumed=going_on is not None and asked is None)
    finally:
        loop.close()
    if code:
        raise typer.Exit(code)


def _question(words: list[str], common: Common, files: list[str], template: str | None) -> PromptInput:
    from lacli.cli.ask.prompt_input import PromptInput

    return PromptInput(words, common, files, load_template(template))


def _one_turn(loop: ChatLoop, asked: PromptInput, more_follow: bool) -> None:
    """The turn a prompt or a pipe asks for."""
    from lacli.cli.ask.one_turn import read_and_load

    common = loop.common
    if more_follow:
        if asked.is_slow():  # the model loads meanwhile
            live.load(loop.assistant, common)
        question = asked.message()
        for each in question.attachments:  # named by options and pipes: they stay where the words come to nothing
            loop.chat.conversation.attach(each)
        loop.show(loop.chat.ask(question.text))
        return
    question = read_and_load(loop.assistant, asked, common)
    request = loop.chat.ask(question.text, question.attachments).send
    assert request is not None
    finished = live.stream(loop.assistant, request, common, silent=common.json)
    loop.chat.answered(finished)
    if common.json:
        output.document(turn_record(finished, loop.chat.recorder.id))
    live.report_stats(finished, common)
    live.conclude(finished)


def _talk(loop: ChatLoop, resumed: bool) -> int:
    """The conversation itself; returns the exit code."""
    from lacli.cli.chat.completer import ChatCompleter
    from lacli.cli.chat.history import file_of, open_history
    from lacli.cli.chat.reader import Reader

    history = open_history(keep=not loop.common.no_log)
    loop.history_file = file_of(history)
    reader = Reader(history, ChatCompleter(), wants_colour(sys.stderr, loop.common.color))
    diagnostics.note("/help lists the commands, Ctrl-D leaves")
    if resumed:
        commands.say(Outcome(lines=loop.chat.resumed()), loop.common.plain)
    try:
        return loop.run(reader)
    finally:
        kept = loop.chat.recorder.id
        if kept and loop.chat.conversation.turns and is_terminal(sys.stderr):
            diagnostics.note(f"`lacli chat --session {kept[:8]}` goes on with this conversation")


def _take_terminal() -> bool:
    """Make the terminal this process's stdin, for us and for the editors we start; False where there is none."""
    from lacli.cli.terminal.keyboard import open_terminal

    terminal = open_terminal()
    if terminal is None:
        return False
    with terminal:
        os.dup2(terminal.fileno(), 0)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - as long as we live
    return True
