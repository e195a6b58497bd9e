"""`lacli sessions`: what was asked and answered before: listed, shown, searched, exported, removed. Loads no model.

The document asked for goes to stdout through `output`, remarks to stderr through `diagnostics`.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lacli.cli.pool_common import JsonOption, YesOption, age
from lacli.cli.render import counted
from lacli.errors import LacliError, UsageError

if TYPE_CHECKING:
    from lacli.sessions.records import Hit, Session, Summary
    from lacli.sessions.store import SessionStore

app = typer.Typer(
    help="What was asked and answered before, kept on this computer.\n\n"
    "Questions, attached text, answers and their numbers are in one file that you alone can read; "
    "of a text beyond 200,000 characters the beginning and the end. "
    "`lacli logs off` and --no-log keep nothing.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli sessions  |  lacli sessions search os.replace  |  lacli sessions show 3fa9",
)

AllOption = Annotated[bool, typer.Option("--all", help="Of all projects, not of the current folder's alone.")]
IdArgument = Annotated[
    str, typer.Argument(metavar="[ID]", help="The beginning of an id; default: the session used last in this project.")
]
_SHOWN = 20
_UNITS = {"h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}


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
        int | None, typer.Option("-n", "--number", min=1, help="At most so many; default: 20 on a terminal, else all.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List sessions, the one used last first."""
    from lacli.cli import diagnostics, output

    store = _store()
    most = number if number is not None or as_json or not output.to_terminal() else _SHOWN
    found = store.list(_project(), everywhere, None if most is None else most + 1)
    shown = found[:most]
    if as_json:
        output.document([_summary_record(each) for each in shown])
        return
    if not found:
        diagnostics.note(_nothing(everywhere))
    _print_table(shown, store.short_length(), everywhere)
    if len(found) > len(shown):
        diagnostics.note(f"only the last {len(shown)} are listed; -n N for more")


@app.command(epilog="For example: lacli sessions show  |  lacli sessions show 3fa9  |  lacli sessions show 3fa9 --json")
def show(id: IdArgument = "", as_json: JsonOption = False) -> None:  # noqa: A002 - what it is called everywhere
    """Print one session: questions, names of what was attached, answers."""
    from lacli.cli import output
    from lacli.sessions import export as documents

    session = _session(id)
    if as_json:
        output.document(documents.record(session))
        return
    for line in _shown(session):
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
    from lacli.cli import diagnostics, output

    store = _store()
    hits = store.search(" ".join(text), _project(), everywhere)
    if as_json:
        output.document([_hit_record(hit) for hit in hits])
        return
    if not hits:
        diagnostics.note("nothing was found" + ("" if everywhere else " in this project; --all looks everywhere"))
    length, width = store.short_length(), _width()
    for hit in hits:
        _print_table([hit.session], length, everywhere, header=False)
        matches = f" ({counted(hit.matches, 'turn', 'turns')})" if hit.matches > 1 else ""
        output.line(fitted(f"    {hit.turn}. {hit.where}{matches}: {hit.excerpt}", width))


@app.command(
    epilog="For example: lacli sessions rm 3fa9 8c01  |  lacli sessions rm --older-than 30d -y  |  "
    "lacli sessions rm --all-in-project"
)
def rm(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The beginnings of ids.")] = None,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Those of all projects not used for so long: 30d, 12w.")
    ] = "",
    all_in_project: Annotated[
        bool, typer.Option("--all-in-project", help="Those of this project; with --older-than the old ones of them.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Delete sessions for good. The numbers of `lacli stats` stay, without a word of what was said."""
    from lacli.cli import diagnostics
    from lacli.cli.confirm import confirm

    if bool(ids) == bool(older_than or all_in_project):
        raise UsageError("it is not clear what to delete", "give ids, or --older-than AGE, or --all-in-project")
    store = _store()
    if ids:
        gone = {store.full_id(each) for each in ids}
    else:
        before = time.time() - _seconds(older_than)
        listed = store.list(_project(), everywhere=not all_in_project)
        gone = {each.id for each in listed if not older_than or each.used < before}
    if not gone:
        diagnostics.note("there is nothing to delete")
        return
    if not confirm(f"Delete {counted(len(gone), 'session', 'sessions')} for good?", yes):
        diagnostics.note("nothing was deleted")
        raise typer.Exit(1)
    diagnostics.note(f"deleted {counted(store.remove(gone), 'session', 'sessions')}")


@app.command(
    epilog="For example: lacli sessions export 3fa9 -o talk.md  |  lacli sessions export 3fa9 --json | jq .turns[0]"
)
def export(
    id: IdArgument = "",  # noqa: A002
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to; default: stdout.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Markdown; the default.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON; the default for a FILE that ends so.")] = False,
) -> None:
    """Write one session as Markdown or JSON, attached text included."""
    import json

    from lacli.cli import output
    from lacli.sessions import export as documents

    if as_markdown and as_json:
        raise UsageError("--markdown and --json exclude each other", "give one of them")
    session = _session(id)
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
    from lacli.cli import diagnostics
    from lacli.pool import files

    if os.path.lexists(file) and not force:
        raise UsageError(f"{file} exists", "choose another name, or add --force")
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is no regular file", "give the name of a file, or - for stdout")
    try:
        files.replace(file, file.with_name(f".{file.name}.{os.getpid()}.tmp"), text.encode("utf-8", "replace"))
    except OSError as error:
        raise LacliError(f"{file} cannot be written: {error.strerror}", "choose another place") from error
    diagnostics.note(f"wrote {file}")


def _store() -> SessionStore:
    from lacli.cli import diagnostics
    from lacli.sessions.store import SessionStore, path

    return SessionStore(path(), lambda notice: diagnostics.warning(notice.text))


def _project() -> Path | None:
    from lacli.pool.identity import project_root

    return project_root(Path("."))


def _session(prefix: str) -> Session:
    store = _store()
    if prefix:
        return store.session(prefix)
    latest = store.list(_project(), limit=1)
    if not latest:
        raise UsageError(_nothing(everywhere=False), "give the beginning of an id")
    return store.session(latest[0].id)


def _nothing(everywhere: bool) -> str:
    if everywhere:
        return "no session is kept yet"
    return "no session is kept of this project; --all lists those of others"


def _seconds(text: str) -> float:
    """An age as --older-than has it."""
    match = re.fullmatch(r"(\d{1,6})\s*([hdwy])", text.strip().lower())
    if text and not match:
        raise UsageError(f"--older-than {text!r} is no age", "give a number and h, d, w or y, such as 30d")
    return int(match[1]) * _UNITS[match[2]] if match else 0.0


def _print_table(found: Sequence[Summary], length: int, everywhere: bool, header: bool = True) -> None:
    """A line for each session; on a terminal no wider than that, in a pipe whole."""
    from lacli.cli import output

    rows = [_row(each, length, everywhere) for each in found]
    if rows and header and output.to_terminal():
        rows.insert(0, ["id", "used", "kind", "turns", *(["project"] if everywhere else []), "title"])
    widths = [max(8, length), 10, 8, 5, *([_PROJECT] if everywhere else []), 0]
    for row in rows:
        cells = [
            cell.rjust(width) if place == 3 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        output.line(fitted("  ".join(cells).rstrip(), _width()))


_PROJECT = 24


def _row(each: Summary, length: int, everywhere: bool) -> list[str]:
    title = f"[interrupted] {each.title}" if each.interrupted else each.title
    project = [_short_path(each.project)] if everywhere else []
    return [each.id[:length], age(each.used), each.kind, str(each.turns), *project, title]


def _short_path(path: Path | None) -> str:
    """The end of a path, which tells more than its beginning."""
    if path is None:
        return "-"
    text, home = str(path), os.path.expanduser("~")
    if text.startswith(home + os.sep):
        text = "~" + text[len(home) :]
    return text if len(text) <= _PROJECT else "..." + text[3 - _PROJECT :]


def _shown(session: Session) -> list[str]:
    """A session for reading."""
    from lacli.sessions.export import moment, note

    where = f" in {session.project}" if session.project else ""
    lines = [f"{session.id}  {session.kind}{where}, {session.model}, {moment(session.begun)}"]
    if session.system:
        lines += ["", f"system: {session.system}"]
    for number, turn in enumerate(session.turns, 1):
        lines += ["", f"--- {number}, {moment(turn.at)}{note(turn)}"]
        for attachment in turn.question.attachments:
            lines.append(f"> [{attachment.label}, {counted(len(attachment.text), 'character', 'characters')}]")
        lines += [f"> {line}" for line in turn.question.text.rstrip("\n").split("\n") if turn.question.text]
        lines += ["", turn.answer.text.rstrip("\n")]
    return lines


def _summary_record(each: Summary) -> dict[str, Any]:
    return {
        "id": each.id,
        "kind": each.kind,
        "project": str(each.project) if each.project else None,
        "model": each.model,
        "title": each.title,
        "turns": each.turns,
        "begun": round(each.begun, 3),
        "used": round(each.used, 3),
        "interrupted": each.interrupted,
    }


def _hit_record(hit: Hit) -> dict[str, Any]:
    found = {"matches": hit.matches, "turn": hit.turn, "where": hit.where, "excerpt": hit.excerpt}
    return {**_summary_record(hit.session), **found}


def _width() -> int:
    """Columns to fit a line into; 0 where nobody's screen is too narrow."""
    from lacli.cli import output
    from lacli.cli.terminal import columns

    return columns(sys.stdout) if output.to_terminal() else 0


def fitted(text: str, width: int) -> str:
    """One line, cut at this width, where there is one; wide characters take two columns."""
    from lacli.cli.terminal import column_after, plain

    text = " ".join(text.splitlines())
    if not width or column_after(0, plain(text)) <= width:
        return text
    text = plain(text)[:width]
    while column_after(0, text) > width - 3:
        text = text[:-1]
    return text + "..."
