"""`lacli edit`: a file, or lines of it, rewritten by an instruction. Prints a diff by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from lacli.assistant.base import Replier
from lacli.cli.ask.one_turn import show_prompt
from lacli.cli.edit.job import EditJob, read, requests
from lacli.cli.edit.result import EditOutput, write_result
from lacli.cli.framework import assistants, record
from lacli.cli.framework.flags import BackupOption, InPlaceOption
from lacli.cli.framework.options import Common, with_common
from lacli.cli.models import first_model
from lacli.cli.terminal import live
from lacli.editing.replies import given_up, joined
from lacli.editing.target import parse_target
from lacli.events import Finished, Message

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli edit app.py "rename load to read_config" | patch -p0

  lacli edit app.py:40-72 -i --backup .bak "use pathlib"

  lacli edit app.py::Config.load "raise ValueError if path is empty" --in-place

  :%!lacli edit - "sort the imports"          (in vim)

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(without=("truncate", "plain", "no_stream"), max_tokens=None)
def edit(
    file: Annotated[
        str, typer.Argument(metavar="FILE[:A[-B]|::NAME]", help="A file, or lines or definitions of it; - is stdin.")
    ],
    instruction: Annotated[
        list[str] | None, typer.Argument(help="What should become of it; without words, stdin says it.")
    ] = None,
    *,
    diff: Annotated[bool, typer.Option("--diff", help="Print a diff for `patch -p0`; the default.")] = False,
    in_place: InPlaceOption = False,
    interactive: Annotated[
        bool, typer.Option("-i", "--interactive", help="Ask about each hunk whether to take it, then change the file.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print the whole file as it would be.")] = False,
    backup: BackupOption = None,
    files: Annotated[
        list[str] | None,
        typer.Option("-f", "--file", metavar="PATH", help="Show this file, too; may be repeated."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the prompt, and load no model.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say on stderr what is asked about which part, and what was found.")
    ] = False,
    keep_reply: Annotated[
        str,
        typer.Option(
            "--keep-reply",
            metavar="PATH",
            help="Where an edit is refused, put its diff, else the reply, into this file.",
        ),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Take a result in which something is wrong, too.")] = False,
    common: Common,
) -> None:
    """Change a file by an instruction. Lines that stay the same keep their very bytes.

    The names in the instruction tell which part it is about; nothing else can change. What comes of it is checked: it
    parses if the file did, and nothing is missing that was not to go. What is wrong is mended or asked for again, else
    the edit is refused.
    """
    target = parse_target(file)
    out = EditOutput(diff, in_place or interactive, full, backup, force, explain, keep_reply, interactive)
    out.check(target, common.json)
    job = read(target, instruction or [], files or [], common)
    if out.in_place:
        job.file.check_writable()

    certain = job.edit.without_model()
    if certain is not None:
        write_result(job, certain, (), out, common)
        return
    common = first_model.choose_model(common)
    assistant = assistants.assistant(common)
    try:
        _edit(assistant, job, out, common, dry_run)
    finally:
        assistant.close()


def _edit(assistant: Replier, job: EditJob, out: EditOutput, common: Common, dry_run: bool) -> None:
    """Ask the model for the changed parts, then print or write the result."""
    from lacli.editing.edit import Interrupted
    from lacli.editing.question import Question

    asking = requests(assistant, common)
    with live.show_progress() as report:
        edit = asking.fitted(job.edit, report)
    if dry_run:
        for question in edit.questions():
            show_prompt(assistant, asking.of(edit, question), common)
        return
    live.load(assistant, common)
    asked: list[Message] = []
    replies: list[Finished] = []

    def ask(question: Question) -> Finished:
        asked.append(question.messages[-1] if asked else job.asked)
        replies.append(live.stream(assistant, asking.of(edit, question), common, silent=True))
        return replies[-1]

    used: list[Finished] = []
    try:
        outcome = edit.run(ask)
        used = outcome.replies(out.force)
        write_result(job, outcome, used, out, common)
    except Interrupted:
        pass
    finally:
        used = used or [given_up(each) for each in replies]
        recorder = record.recorder(common, "edit")
        for message, finished in zip(asked, used, strict=False):  # one more was asked where no reply came
            recorder.turn(message, finished)
        if used:
            live.report_stats(_to_report(used), common)
    live.conclude(replies[-1])


def _to_report(replies: Sequence[Finished]) -> Finished:
    """All replies as one. They are not shown themselves, and the result already says whether they are complete."""
    finished = joined(replies)
    if finished.reason in ("length", "context"):
        return replace(finished, reason="stop")
    return finished if finished.reason == "stop" else replace(finished, text="")
