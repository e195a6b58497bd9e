"""`lacli serve`: one engine for all of a user's commands, that keeps models in memory while they are used."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Any

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.framework.options import check_choice
from lacli.cli.serve.duration import duration, seconds
from lacli.cli.terminal import diagnostics, output
from lacli.errors import UsageError
from lacli.server.units import UNITS, unit

_action: Any = functools.partial(typer.Option, allow_from_autoenv=False)
"""What is to be done, which is said each time and is no habit."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli serve --detach                 (then ask, chat, complete, edit and tui need not load the model)

  lacli serve --status

  lacli serve --keep-alive 1h --models 2

  lacli serve --print-unit systemd > ~/.config/systemd/user/lacli.service
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def serve(
    keep_alive: Annotated[
        str,
        typer.Option(
            "--keep-alive",
            metavar="TIME",
            help="How long a model stays in memory unused: 30s, 10m, 1h; 0 not at all.",
            callback=duration,
        ),
    ] = "10m",
    models: Annotated[
        int,
        typer.Option(
            "--models",
            metavar="N",
            min=0,
            max=64,
            help="Most models in memory at a time; 0 is what suits the memory.",
            show_default=False,
        ),
    ] = 0,
    detach: Annotated[bool, _action("--detach", help="Start it in the background; return when it answers.")] = False,
    status: Annotated[bool, _action("--status", help="Say what the one that runs is doing.")] = False,
    stop: Annotated[bool, _action("--stop", help="End the one that runs.")] = False,
    print_unit: Annotated[
        str,
        _action(
            "--print-unit",
            metavar="|".join(UNITS),
            help="Print what has it started by the system.",
            show_default=False,
            callback=lambda value: check_choice(UNITS)("--print-unit", value),
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Keep models in memory for the other commands, which use it by themselves.

    One runs for each user. Without --detach it runs until Ctrl-C. A model that nobody uses is let go of; what was read
    stays on the disk.
    """
    if detach + status + stop + bool(print_unit) > 1:
        raise UsageError("--detach, --status, --stop and --print-unit exclude each other", "give one of them")
    if as_json and not status:
        raise UsageError("--json is for --status", "give both, or neither")
    if status:
        from lacli.cli.serve.status import show

        show(as_json)
    elif stop:
        _stop()
    elif print_unit:
        output.line(unit(print_unit, _arguments(keep_alive, models)).rstrip("\n"))
    elif detach:
        _detach(keep_alive, models)
    else:
        _run(keep_alive, models)


def _run(keep_alive: str, models: int) -> None:
    from lacli.server.supervisor import ServeOptions, run

    def ready(path: Path) -> None:
        diagnostics.note(f"serving at {path}; Ctrl-C ends it")

    run(ServeOptions(models, seconds(keep_alive)), ready=ready)


def _detach(keep_alive: str, models: int) -> None:
    from lacli.server.background import start_detached
    from lacli.worker.endpoint import running_pid

    pid = running_pid()
    if pid is not None:
        diagnostics.note(f"an engine runs already (process {pid}), with the options it was started with")
        return
    pid = start_detached(_arguments(keep_alive, models))
    diagnostics.note(f"serving in the background (process {pid}); `lacli serve --stop` ends it")


def _stop() -> None:
    from lacli.server.background import stop

    pid = stop()
    diagnostics.note("no engine runs" if pid is None else f"the engine has ended (process {pid})")


def _arguments(keep_alive: str, models: int) -> list[str]:
    return ["--keep-alive", keep_alive, *(["--models", str(models)] if models else [])]
