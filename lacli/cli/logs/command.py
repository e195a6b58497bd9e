"""`lacli logs`: whether conversations are kept, and where. Loads no model."""

from __future__ import annotations

import time
from typing import Any

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.errors import unwritable
from lacli.shared.wording import age, counted, size

app = typer.Typer(
    help="Whether what is asked and answered is kept, and where.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli logs  |  lacli logs off  |  lacli logs path",
)


@app.callback()
def logs(context: typer.Context) -> None:
    """Without a command: `status`."""
    if context.invoked_subcommand is None:
        status()


@app.command(epilog="For example: lacli logs on  |  lacli logs on && lacli logs status")
def on() -> None:
    """Keep questions and answers from now on, which is the default."""
    from lacli.cli.terminal import diagnostics

    _turn(True)
    diagnostics.note("sessions are kept from now on; --no-log keeps nothing of one run")


@app.command(epilog="For example: lacli logs off  |  lacli logs off && lacli sessions rm --older-than 0d")
def off() -> None:
    """Keep no word of what is said until `lacli logs on`.

    Only the sums that `lacli stats` shows go on: how many replies, tokens and steps there were in a project on a day.
    With --no-log or LACLI_NO_LOG=1 not even these. What was kept so far stays: see `lacli sessions rm`.
    """
    from lacli.cli.terminal import diagnostics

    _turn(False)
    diagnostics.note("no word of what is said is kept from now on, only the sums for `lacli stats`")


@app.command(epilog="For example: lacli logs status  |  lacli logs status --json")
def status(as_json: JsonOption = False) -> None:
    """Say whether sessions are kept, where, and how much there is."""
    from lacli.cli.terminal import output
    from lacli.sessions import switch
    from lacli.sessions.store import SessionStore, path

    is_on = switch.is_on()
    if not as_json:
        output.line("on: questions and answers are kept" if is_on else "off: only the sums for `lacli stats` are kept")
    extent = SessionStore(path()).size()
    if as_json:
        record: dict[str, Any] = {"on": is_on, "path": str(path()), "sessions": extent.sessions, "turns": extent.turns}
        output.document({**record, "bytes": extent.byte_size, "oldest": round(extent.oldest) or None})
        return
    output.line(f"file  {path()}" + (f", {size(extent.byte_size)}" if extent.byte_size else ", not there yet"))
    if extent.sessions:
        held = f"{counted(extent.sessions, 'session', 'sessions')} of {counted(extent.turns, 'turn', 'turns')}"
        output.line(f"held  {held}, the oldest begun {age(extent.oldest, time.time())}")


@app.command("path", epilog='For example: lacli logs path  |  sqlite3 "$(lacli logs path)" .schema')
def path_() -> None:
    """Print the path of the file, which may not exist yet."""
    from lacli.cli.terminal import output
    from lacli.sessions.store import path

    output.line(str(path()))


def _turn(on: bool) -> None:
    from lacli.sessions import switch

    try:
        switch.turn(on)
    except OSError as error:
        raise unwritable("the data folder", error, f"see {error.filename}") from error
