"""`lacli sessions rm` and `export`: what deletes sessions, or writes one to a file. Registered by `sessions`."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Annotated

import typer

from lacli.cli.framework.flags import YesOption
from lacli.cli.sessions.common import IdArgument, here, log, session_of
from lacli.errors import UsageError, unwritable
from lacli.shared.wording import counted
from lacli.storage import atomic

RM_EXAMPLES = (
    "For example: lacli sessions rm 3fa9 8c01  |  lacli sessions rm --older-than 30d -y  |  "
    "lacli sessions rm --all-in-project"
)
EXPORT_EXAMPLES = (
    "For example: lacli sessions export 3fa9 -o talk.md  |  lacli sessions export 3fa9 --json | jq .turns[0]"
)
_UNITS = {"h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}


def rm(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="The beginnings of ids.")] = None,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Those of all projects not used for this long: 30d, 12w.")
    ] = "",
    all_in_project: Annotated[
        bool, typer.Option("--all-in-project", help="Those of this project; with --older-than the old ones of them.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Delete sessions for good.

    The numbers of `lacli stats` stay: sums by day and project, without a word of what was said.
    """
    from lacli.cli.terminal import diagnostics
    from lacli.cli.terminal.confirm import confirm

    if bool(ids) == bool(older_than or all_in_project):
        raise UsageError("it is not clear what to delete", "give ids, or --older-than AGE, or --all-in-project")
    store = log()
    if ids:
        gone = {store.full_id(each) for each in ids}
    else:
        before = time.time() - _seconds(older_than)
        listed = store.list(here(), everywhere=not all_in_project)
        gone = {each.id for each in listed if not older_than or each.used < before}
    if not gone:
        diagnostics.note("there is nothing to delete")
        return
    if not confirm(f"Delete {counted(len(gone), 'session', 'sessions')} for good?", yes):
        diagnostics.note("nothing was deleted")
        raise typer.Exit(1)
    diagnostics.note(f"deleted {counted(store.remove(gone), 'session', 'sessions')}")


def _seconds(text: str) -> float:
    """An age as --older-than has it."""
    match = re.fullmatch(r"(\d{1,6})\s*([hdwy])", text.strip().lower())
    if text and not match:
        raise UsageError(f"--older-than {text!r} is not an age", "give a number and h, d, w or y, such as 30d")
    return int(match[1]) * _UNITS[match[2]] if match else 0.0


def export(
    id: IdArgument = "",  # noqa: A002 - what it is called everywhere
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to; default: stdout.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Markdown; the default.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON; the default for a FILE that ends so.")] = False,
) -> None:
    """Write one session as Markdown or JSON, attached text included."""
    from lacli.cli.terminal import output
    from lacli.sessions import export as documents

    if as_markdown and as_json:
        raise UsageError("--markdown and --json exclude each other", "give one of them")
    session = session_of(id)
    if as_json or (file is not None and file.suffix.lower() == ".json" and not as_markdown):
        text = json.dumps(documents.record(session), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    else:
        text = documents.markdown(session)
    if file is None or str(file) == "-":
        output.text(text)
        output.end_text()
    else:
        _write(file, text, force)


def _write(file: Path, text: str, force: bool) -> None:
    """Into a file that only its owner can read, as a whole or not at all."""
    from lacli.cli.terminal import diagnostics

    if os.path.lexists(file) and not force:
        raise UsageError(f"{file} exists", "choose another name, or add --force")
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is not a regular file", "give the name of a file, or - for stdout")
    try:
        atomic.put(str(file), text.encode("utf-8", "replace"))
    except OSError as error:
        raise unwritable(file, error, "choose another place") from error
    diagnostics.note(f"wrote {file}")
