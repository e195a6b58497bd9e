"""Options that several commands share but that are not in `Common`. Imports typer only."""

from __future__ import annotations

from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON value instead of lines.")]
YesOption = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]

FileOption = Annotated[
    list[str] | None, typer.Option("-f", "--file", metavar="PATH", help="Show this file; may be repeated.")
]
ContinueOption = Annotated[bool, typer.Option("-c", "--continue", help="Go on with this project's last conversation.")]
SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Go on with this one; its first letters will do.")
]

InPlaceOption = Annotated[bool, typer.Option("--in-place", help="Change the file.")]
BackupOption = Annotated[
    str | None, typer.Option("--backup", metavar="SUFFIX", help="Keep the old file under its name and this.")
]
ReadMsOption = Annotated[
    int,
    typer.Option(
        "--read-ms",
        min=0,
        metavar="MILLISECONDS",
        help="Show what can be read in about this time, besides what was read before; 0 shows all there is.",
    ),
]
