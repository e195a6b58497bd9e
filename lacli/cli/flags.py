"""Options that mean the same in the commands that ask no model. Imports typer only."""

from __future__ import annotations

from typing import Annotated

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON value instead of lines.")]
YesOption = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]
