"""`lacli sessions`: what was asked and answered before: listed, shown, searched. Loads no model.

The commands that delete or write files are in `sessions_change` and join `app` here. The document asked for goes to
stdout through `output`, remarks to stderr through `diagnostics`.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.sessions import change as sessions_change
from lacli.cli.sessions.common import AllOption, IdArgument, here, log, nothing_kept, session_of

app = typer.Typer(
    help="What was asked and answered before, kept on this computer.\n\n"
    "Questions, attached text, answers and their numbers are in one file that you alone can read; "
    "of a text beyond 200,000 characters the beginning and the end. "
    "`lacli logs off` keeps no word, --no-log nothing at all.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli sessions  |  lacli sessions search os.replace  |  lacli sessions show 3fa9",
)

_SHOWN = 20


@app.callback()
def sessions(context: typer.Context) -> None:
    """Without a command: `list`."""
    if context.invoked_subcommand is None:
        list_()


@app.command(
    "list",
    epilog="For example: lacli sessions list  |  lacli sessions list --all -n 100  |  "
    "lacli sessions list --json | jq -r '.[].id'",
)
def list_(
    everywhere: AllOption = False,
    number: Annotated[
        int | None,
        typer.Option(
            "-n", "--number", min=1, max=2**31, help="At most this many; default: 20 on a terminal, else all."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List sessions, the one used last first."""
    from lacli.cli.sessions import lines as sessions_lines
    from lacli.cli.terminal import diagnostics, output

    store = log()
    most = number if number is not None or as_json or not output.to_terminal() else _SHOWN
    found = store.list(here(), everywhere, None if most is None else most + 1)
    shown = found[:most]
    if as_json:
        output.document([sessions_lines.summary_record(each) for each in shown])
        return
    if not found:
        diagnostics.note(nothing_kept(everywhere))
    for line in sessions_lines.table(shown, store.short_length(), everywhere, _width(), header=output.to_terminal()):
        output.line(line)
    if len(found) > len(shown):
        diagnostics.note(f"only the last {len(shown)} are listed; -n N for more")


@app.command(epilog="For example: lacli sessions show  |  lacli sessions show 3fa9  |  lacli sessions show 3fa9 --json")
def show(id: IdArgument = "", as_json: JsonOption = False) -> None:  # noqa: A002 - what it is called everywhere
    """Print one session: questions, names of what was attached, answers."""
    from lacli.cli.sessions import lines as sessions_lines
    from lacli.cli.terminal import output
    from lacli.sessions import export

    session = session_of(id)
    if as_json:
        output.document(export.record(session))
        return
    for line in sessions_lines.shown(session):
        output.line(line)


@app.command(
    epilog="For example: lacli sessions search os.replace  |  lacli sessions search --all 'NEAR('  |  "
    "lacli sessions search -- --no-log"
)
def search(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="Found as it stands, in upper or lower case.")],
    everywhere: AllOption = False,
    as_json: JsonOption = False,
) -> None:
    """List sessions in which a text was said or attached."""
    from lacli.cli.sessions import lines as sessions_lines
    from lacli.cli.terminal import diagnostics, output

    store = log()
    hits = store.search(" ".join(text), here(), everywhere)
    if as_json:
        output.document([sessions_lines.hit_record(hit) for hit in hits])
        return
    if not hits:
        diagnostics.note("nothing was found" + ("" if everywhere else " in this project; --all looks everywhere"))
    length, width = store.short_length(), _width()
    for hit in hits:
        output.line(sessions_lines.table([hit.session], length, everywhere, width)[0])
        output.line(sessions_lines.place(hit, width))


def _width() -> int:
    """Columns to fit a line into; 0 if stdout is not a terminal."""
    from lacli.cli.terminal import output
    from lacli.cli.terminal.tty import columns

    return columns(sys.stdout) if output.to_terminal() else 0


app.command(epilog=sessions_change.RM_EXAMPLES)(sessions_change.rm)
app.command(epilog=sessions_change.EXPORT_EXAMPLES)(sessions_change.export)
