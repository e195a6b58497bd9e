"""`lacli ask`: one question, one answer. The verb for pipelines.

Turns options into a prompt, a request and a place for the reply; `one_turn` does the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lacli.cli.ask.one_turn import one_turn, show_prompt
from lacli.cli.ask.prompt_input import PromptInput
from lacli.cli.ask.reply_output import ReplyOutput
from lacli.cli.ask.tee import TeeAssistant
from lacli.cli.ask.template_option import TemplateOption, load_template
from lacli.cli.chat import resume
from lacli.cli.framework import assistants, environment
from lacli.cli.framework.flags import ContinueOption, FileOption, SessionOption
from lacli.cli.framework.options import Common, with_common
from lacli.cli.framework.record import recorder
from lacli.cli.framework.tree import Command
from lacli.cli.framework.typer_private import take_pairs
from lacli.cli.models import first_model
from lacli.cli.terminal import diagnostics
from lacli.errors import UsageError
from lacli.events import Message, Request

if TYPE_CHECKING:
    from lacli.sessions.records import Session

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  git diff | lacli ask "write a commit message"

  lacli ask -x -f slug.py "rewrite this in Go" > slug.go

  lacli ask -c "and in Rust?"                   (goes on with the last conversation here)

  lacli ask --batch prompts.jsonl -o replies.jsonl

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


class _Ask(Command):
    """-p takes two values."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        take_pairs(next(param for param in self.params if param.name == "param"))


@app.command(cls=_Ask, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(max_tokens=512)
def ask(
    context: typer.Context,
    prompt: Annotated[
        list[str] | None, typer.Argument(help="The question or instruction; @PATH shows a file, - is stdin.")
    ] = None,
    template: TemplateOption = None,
    param: Annotated[
        list[str] | None,
        typer.Option("-p", "--param", metavar="NAME VALUE", help="For a $NAME of the template; may be repeated."),
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="NAME", help="Keep prompt, -s and -p as a template; ask nothing.")
    ] = None,
    file: FileOption = None,
    extract: Annotated[bool, typer.Option("-x", "--extract", help="Print the first code block only.")] = False,
    extract_last: Annotated[
        bool, typer.Option("--xl", "--extract-last", help="Print the last code block only.")
    ] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object on stdout for each event.")] = False,
    out: Annotated[
        str | None, typer.Option("-o", "--output", metavar="PATH", help="Write the reply to this file.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the prompt as the model would be given it; ask nothing.")
    ] = False,
    continue_: ContinueOption = False,
    session_id: SessionOption = None,
    interactive: Annotated[bool, typer.Option("-i", "--interactive", help="Keep asking at the terminal.")] = False,
    edit: Annotated[bool, typer.Option("-e", "--edit", help="Write the prompt in your editor.")] = False,
    batch: Annotated[
        str | None, typer.Option("--batch", metavar="FILE", help="Ask each prompt of a JSON Lines file; - is stdin.")
    ] = None,
    *,
    common: Common,
) -> None:
    """Ask one question; piped stdin is content, the argument says what to do with it.

    A line of --batch is the prompt as a JSON string, or an object: `prompt` or `messages`, and if wanted `id`,
    `system`, `stop`, `max_tokens`, `temperature`, `top_p`, `top_k`, `repetition_penalty`, `seed`.
    """
    given = _pairs(param or ())
    names = environment.shown_names(context)
    if save is not None:
        _save(save, prompt or [], given, common)
        return
    if batch is not None:
        beside = {"template": template, "param": param, "file": file, "extract": extract, "extract_last": extract_last}
        beside |= {"jsonl": jsonl, "dry_run": dry_run, "continue_": continue_, "session_id": session_id}
        beside |= {"interactive": interactive, "edit": edit}
        given_too = ["a prompt"] * bool(prompt) + [names[each] for each, value in beside.items() if value]
        _ask_all(batch, "" if out == "-" else out or "", common, given_too)
        return
    block = "first" if extract else "last" if extract_last else ""
    reply_output = ReplyOutput(common.json, jsonl, block, "" if out == "-" else out or "")
    reply_output.check(names)
    session = resume.going_on(continue_, session_id)
    if interactive and not (prompt or edit or template) and diagnostics.stdin_is_terminal():
        _ask_on(None, session, common, reply_output, file or [])
        return
    prompt_input = PromptInput(prompt or [], common, file or [], load_template(template), given, edit)
    if interactive:
        _ask_on(prompt_input, session, common, reply_output)
        return
    _ask_once(prompt_input, session, common, reply_output, dry_run)


def _ask_once(
    prompt_input: PromptInput, session: Session | None, common: Common, reply_output: ReplyOutput, dry_run: bool
) -> None:
    """Answer one prompt, as the next turn of a session if one was named."""
    common = first_model.choose_model(resume.with_its_model(session, common))
    system = prompt_input.system(common)
    session_recorder = recorder(replace(common, system=system), "ask")
    conversation = resume.conversation(session, common, session_recorder, system)

    def request(question: Message) -> Request:
        messages = conversation.ask(question.text, question.attachments)
        return common.request(messages, drop_oldest=session is not None)

    assistant = TeeAssistant(assistants.assistant(common), reply_output.on_event)
    try:
        if dry_run:
            show_prompt(assistant, request(prompt_input.message()), common, reply_output.path)
            return
        one_turn(assistant, prompt_input, request, reply_output, session_recorder, common)
    finally:
        assistant.close()


def _ask_all(path: str, out: str, common: Common, given_too: Sequence[str]) -> None:
    """Answer every prompt of a file; `given_too` are options that were given and are only for a single prompt."""
    if given_too:
        raise UsageError(f"--batch and {given_too[0]} exclude each other", "a line of the file says all of its prompt")
    from lacli.cli.ask.batch import ask_all

    ask_all(path, out, common)


def _ask_on(
    prompt_input: PromptInput | None,
    session: Session | None,
    common: Common,
    reply_output: ReplyOutput,
    files: Sequence[str] = (),
) -> None:
    """Answer the prompt, if there is one, then those that are typed: a chat, and stored as one."""
    if reply_output.silent:
        raise UsageError("-i is for a conversation", "leave out what changes the output: --json, --jsonl, -x, -o")
    from lacli.cli.chat.command import converse

    system = prompt_input.system(common) if prompt_input else common.system
    session_recorder = recorder(replace(common, system=system), "chat")
    converse(prompt_input, session, common, session_recorder, files)


def _pairs(values: Sequence[Any]) -> dict[str, str]:
    """The parameters of a template, the last of each name."""
    return {str(name): str(value) for name, value in values}


def _save(name: str, words: Sequence[str], given: Mapping[str, str], common: Common) -> None:
    from lacli.cli.terminal.stdin import argument_text
    from lacli.prompts.saved import Saved, save

    path = save(Saved(name, argument_text(" ".join(words)), common.system or "", given))
    diagnostics.note(f"saved as {path}; use it with -t {name}")
