"""`lacli edit`: a file, or lines of it, rewritten by an instruction. Prints a diff unless told otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from lacli.cli import live, record
from lacli.cli.edit_job import Job, budget, parse_target, read
from lacli.cli.edit_result import Wanted, deliver
from lacli.cli.flags import BackupOption, InPlaceOption
from lacli.cli.one_turn import show_prompt
from lacli.cli.options import Common, with_common
from lacli.events import Finished
from lacli.scripted import Replier

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli edit app.py "rename load to read_config" | patch -p0

  lacli edit app.py:40-72 -i --backup .bak "use pathlib"

  git diff | lacli edit notes.md "mention these changes" --in-place

  :%!lacli edit - "sort the imports"          (in vim)

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(without=("truncate", "plain", "no_stream"), max_tokens=None)
def edit(
    file: Annotated[str, typer.Argument(metavar="FILE[:A[-B]]", help="A file, or lines of it; - is stdin.")],
    instruction: Annotated[
        list[str] | None, typer.Argument(help="What is to become of it; without words, stdin says it.")
    ] = None,
    *,
    diff: Annotated[bool, typer.Option("--diff", help="Print a diff for `patch -p0`; the default.")] = False,
    in_place: InPlaceOption = False,
    interactive: Annotated[
        bool, typer.Option("-i", "--interactive", help="Ask of each hunk whether to take it, then change the file.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print the whole file as it would be.")] = False,
    backup: BackupOption = None,
    files: Annotated[
        list[str] | None,
        typer.Option("-f", "--file", metavar="PATH", help="Show this file, too; may be repeated."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the prompt, and load no model.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Take a result that leaves out much, too.")] = False,
    common: Common,
) -> None:
    """Rewrite a file, or lines of it, by an instruction. Lines that stay the same keep their very bytes.

    Without -n the reply may take as many tokens as the part to be rewritten needs.
    """
    target = parse_target(file)
    wanted = Wanted(diff, in_place or interactive, full, backup, yes, interactive)
    wanted.check(target, common.json)
    job = read(target, instruction or [], files or [], common)
    if wanted.in_place:
        job.file.check_writable()

    from lacli.assistant import Assistant

    assistant = Assistant(common.settings())
    try:
        _edit(assistant, job, wanted, common, dry_run)
    finally:
        assistant.close()


def _edit(assistant: Replier, job: Job, wanted: Wanted, common: Common, dry_run: bool) -> None:
    """Ask for the rewritten text and do with it what is wanted."""
    common, preview = budget(assistant, job, common)
    if dry_run:
        show_prompt(assistant, common.request((job.question,)), common)
        return
    live.load(assistant, common)
    finished = live.stream(assistant, job.request(common), common, silent=True)
    record.recorder(common, "edit").turn(job.question, finished)
    try:
        if finished.reason not in ("cancelled", "timeout"):
            deliver(job, job.result(finished, preview.unseen), finished, wanted, common)
    finally:
        live.report_stats(_to_report(finished), common)
    live.conclude(finished)


def _to_report(finished: Finished) -> Finished:
    """The reply itself is not shown, and whether it is whole is said of the result."""
    if finished.reason in ("length", "context"):
        return replace(finished, reason="stop")
    return finished if finished.reason == "stop" else replace(finished, text="")
