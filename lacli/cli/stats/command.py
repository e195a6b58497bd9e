"""`lacli stats`: what guessing and the pool brought, week by week. Loads no model.

The numbers are those the log adds up by day; they stay when sessions are removed.
"""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.pool.common import project_at
from lacli.cli.stats.weeks import chart, table, weekly
from lacli.events import Counts
from lacli.shared.wording import counts_record

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_PIPE = 1000
"""Columns without a terminal, where no column is left out."""
_EXAMPLES = "For example: lacli stats  |  lacli stats --all --weeks 26  |  lacli stats --project ~/src/site --json"


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def stats(
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="The project DIR lies in; default: this folder's.")
    ] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="All projects together.")] = False,
    weeks: Annotated[int, typer.Option("--weeks", min=1, max=520, help="The last N weeks.")] = 8,
    as_json: JsonOption = False,
) -> None:
    """Show what guessing brought over the last weeks: tokens per step, time saved, and who guessed right.

    tok/step is tokens for each step of the model, 1 without guessing; saved is the time that plain decoding would have
    taken longer, as measured; the shares say how much of the text each source had guessed: the project's pool, its
    files, the prompt, this session, and so on.
    """
    from lacli.cli.terminal import diagnostics, output
    from lacli.cli.terminal.tty import columns
    from lacli.sessions.store import SessionStore, path

    root = None if everywhere else project_at(project)
    found = weekly(SessionStore(path()).days(root, everywhere), weeks, datetime.date.today())
    if as_json:
        output.document({"project": str(root) if root else None, "all": everywhere, "weeks": _records(found)})
        return
    if not any(counts.replies for _, counts in found):
        where = "" if everywhere else " in this project; --all shows all of them"
        diagnostics.note("there were no replies in these weeks" + where)
        return
    width = columns(sys.stdout) if output.to_terminal() else _PIPE
    for line in [*table(found, width), "", *chart(found, width)]:
        output.line(line)


def _records(found: list[tuple[datetime.date, Counts]]) -> list[dict[str, Any]]:
    return [
        {"week": monday.isoformat(), "replies": counts.replies, **counts_record(counts)} for monday, counts in found
    ]
