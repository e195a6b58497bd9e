"""`lacli complete`: prints what belongs at a place in a file, and nothing else; or puts it there."""

from __future__ import annotations

import functools
import os
from typing import Annotated

import typer

from lacli.cli.complete.cursor import parse_target, with_place
from lacli.cli.complete.job import CompleteOutput, ContextOptions, check_once, read
from lacli.cli.complete.run import CompleteRunner
from lacli.cli.framework import assistants
from lacli.cli.framework.flags import BackupOption, InPlaceOption, ReadMsOption
from lacli.cli.framework.options import Common, with_common
from lacli.cli.models import first_model
from lacli.cli.terminal import live
from lacli.completion.window import READ_MS
from lacli.errors import UsageError
from lacli.text import languages

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_SCOPES = ("line", "block", "file")
_EXAMPLES = """
Examples:

  lacli complete app.py:42              (at the end of line 42; without it at the end of the file)

  lacli complete app.py:42:5 --diff | patch -p0

  lacli complete a.py:10 b.go:7:3 --in-place --backup .bak

  :r !lacli complete - --stdin-filename % --at 12 < %          (in vim)

The text has \\n line ends; --full, --diff and --in-place give it the file's. Every option can be set by a variable:
--top-p is LACLI_TOP_P.
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(without=("system", "no_instructions", "truncate", "plain"), max_tokens=128)
def complete(
    file: Annotated[list[str], typer.Argument(metavar="FILE[:LINE[:COL]]...", help="Where to continue; - is stdin.")],
    *,
    at: Annotated[str | None, typer.Option("--at", metavar="LINE[:COL]", help="The place, both from 1.")] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="BYTES", help="The place, as bytes before it.")
    ] = None,
    marker: Annotated[
        str | None, typer.Option("--marker", metavar="TEXT", help="The place is where this text stands; it goes away.")
    ] = None,
    stdin_filename: Annotated[
        str, typer.Option("--stdin-filename", metavar="NAME", help="What stdin is a file of.", show_default=False)
    ] = "",
    language: Annotated[
        str, typer.Option("--language", metavar="NAME", help="If the name does not tell.", show_default=False)
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="Print the whole file with the text in it.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print a diff for `patch -p0`.")] = False,
    in_place: InPlaceOption = False,
    backup: BackupOption = None,
    scope: Annotated[
        str, typer.Option("--scope", metavar="|".join(_SCOPES), help="Where the text must end at the latest.")
    ] = "block",
    max_lines: Annotated[int, typer.Option("--max-lines", min=0, help="Most lines; 0 is no limit.")] = 0,
    alternatives: Annotated[
        int,
        typer.Option("--alternatives", metavar="N", min=1, max=8, help="Print N different texts, the likeliest first."),
    ] = 1,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", metavar="PATH", help="Show this file or folder, too; may be repeated."),
    ] = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Show no other files of the project.")] = False,
    prefix_lines: Annotated[int, typer.Option("--prefix-lines", min=0, help="Lines shown before the place.")] = 256,
    suffix_lines: Annotated[int, typer.Option("--suffix-lines", min=0, help="Lines shown after it.")] = 64,
    read_ms: ReadMsOption = READ_MS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the prompt as the model would be given it.")
    ] = False,
    common: Common,
) -> None:
    """Print what belongs at a place in a file: its end, or a line and column of it."""
    if scope not in _SCOPES:
        raise UsageError(f"--scope {scope!r} is unknown", f"choose one of {', '.join(_SCOPES)}")
    if language and languages.by_name(language) is None:
        raise UsageError(f"--language {language!r} is unknown", f"choose one of {', '.join(languages.names())}")
    targets = [with_place(parse_target(each), at, offset, marker) for each in file]
    out = CompleteOutput(full, diff, in_place, common.json, backup, len(targets) > 1, alternatives)
    out.check(targets)
    context_options = ContextOptions(
        language=language,
        stdin_name=stdin_filename,
        scope=scope,
        max_lines=max_lines,
        lines_before=prefix_lines,
        lines_after=suffix_lines,
        paths=tuple(context or ()),
        neighbours=not no_context,
        read_ms=read_ms,
    )
    for path in context_options.paths:
        if not os.path.exists(path):
            raise UsageError(f"--context {path} does not exist", "check the path")
    common = first_model.choose_model(common)
    run = CompleteRunner(context_options, out, common, dry_run)
    jobs = [run.attempt(functools.partial(read, target, stdin_filename)) for target in targets]
    found = [job for job in jobs if job is not None]
    if in_place or diff:
        check_once(found)
    if in_place:
        for job in found:
            job.file.check_writable()

    assistant = assistants.assistant(common)
    try:
        if found and not dry_run:
            live.load(assistant, common)
        for job in found:
            run.attempt(functools.partial(run.complete, assistant, job))
    finally:
        assistant.close()
    run.finish()
