"""`lacli doctor`: what is right and wrong on this computer, each with its remedy."""

from __future__ import annotations

from typing import Annotated

import typer

from lacli.cli.framework.flags import JsonOption

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli doctor

  lacli doctor --deep

  lacli doctor --json | jq '.checks[] | select(.state != "ok")'
"""


@app.command(epilog=_EXAMPLES)
def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Try the graphics card, too: its libraries, kernels and graphs; a minute.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check Python, PyTorch, the C library, the model, memory, disk, folders, configuration, remotes and terminal.

    Nothing is fetched and nothing is changed; the remotes of your configuration are asked which model they have. The
    exit code is 1 where something fails.
    """
    from lacli.cli.doctor.checks import checks
    from lacli.cli.terminal import output

    failed = 0
    found = []
    for check in checks(deep):
        failed += check.state == "fail"
        found.append(check)
        if not as_json:
            output.line(f"{check.state:<4}  {check.name:<9}  {check.text}")
            if check.fix:
                output.line(f"{'':<15}  {check.fix}")
    if as_json:
        records = [{"name": each.name, "state": each.state, "text": each.text, "fix": each.fix} for each in found]
        output.document({"checks": records, "failed": failed})
    if failed:
        raise typer.Exit(1)
