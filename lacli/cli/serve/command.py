"""`lacli serve`: one engine for all of a user's commands, that keeps models in memory while they are used."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.framework.options import Common, check_choice, with_common
from lacli.cli.serve.duration import duration, seconds
from lacli.cli.serve.http import HttpOptions
from lacli.cli.terminal import diagnostics, output
from lacli.configuration import loopback
from lacli.errors import UsageError
from lacli.server.supervisor import AlreadyRuns, ServeOptions, run
from lacli.server.units import UNITS, unit

_action: Any = functools.partial(typer.Option, allow_from_autoenv=False)
"""What is to be done, which is said each time and is no habit."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli serve --detach                 (then ask, chat, complete, edit and tui need not load the model)

  lacli serve --status

  lacli serve --port 8012 --keep-alive 1h           (HTTP for editors and tools, too)

  lacli serve --print-unit systemd > ~/.config/systemd/user/lacli.service
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(only=("model", "quant", "device", "threads", "ctx"))
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
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="N",
            min=1,
            max=65535,
            help="Serve editors and tools by HTTP, too; llama.vim asks at 8012.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option("--host", metavar="ADDRESS", help="Where HTTP listens; others than this computer need --token."),
    ] = loopback.ADDRESS,
    token: Annotated[
        str,
        typer.Option(
            "--token", metavar="TEXT", help="What HTTP requests must have; default: the user's own.", show_default=False
        ),
    ] = "",
    ollama: Annotated[bool, typer.Option("--ollama", help="Serve ollama's API by HTTP, too.")] = False,
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
    *,
    common: Common,
) -> None:
    """Keep models in memory for the other commands, which use it by themselves.

    One runs for each user. Without --detach it runs until Ctrl-C. A model that nobody uses is let go of; what was read
    stays on the disk. The model options are for HTTP requests, which name a model alone.
    """
    if detach + status + stop + bool(print_unit) > 1:
        raise UsageError("--detach, --status, --stop and --print-unit exclude each other", "give one of them")
    if as_json and not status:
        raise UsageError("--json is for --status", "give both, or neither")
    http = HttpOptions(port, host, token, ollama)
    http.check()
    arguments = _arguments(keep_alive, models, common, http)
    if status:
        from lacli.cli.serve.status import show

        show(as_json)
    elif stop:
        _stop()
    elif print_unit:
        output.line(unit(print_unit, arguments).rstrip("\n"))
    elif detach:
        _detach(arguments, http)
    else:
        _run(ServeOptions(models, seconds(keep_alive)), http, common)


def _run(options: ServeOptions, http: HttpOptions, common: Common) -> None:
    from lacli.models.registry.registry import load_registry

    def ready(path: Path) -> None:
        ends = "Ctrl-C" if sys.stdin is not None and sys.stdin.isatty() else "`lacli serve --stop`"
        diagnostics.note(f"serving at {path}; {ends} ends it")

    def started(port: int) -> None:
        diagnostics.note(http.line(port))

    if http.port is not None:
        load_registry().resolve(common.model)
    run(options, http.doors(common.settings(), started), ready)


def _detach(arguments: list[str], http: HttpOptions) -> None:
    from lacli.server.background import start_detached
    from lacli.worker.endpoint import running_pid

    pid = running_pid()
    if pid is not None and http.port is not None:
        raise AlreadyRuns(pid)
    if pid is not None:
        diagnostics.note(f"an engine runs already (process {pid}), with the options it was started with")
        return
    if http.token:
        os.environ["LACLI_TOKEN"] = http.token  # and not an argument, which every user of the computer can read
    pid = start_detached(arguments)
    diagnostics.note(f"serving in the background (process {pid}); `lacli serve --stop` ends it")
    if http.port is not None:
        diagnostics.note(http.line(http.port))


def _stop() -> None:
    from lacli.server.background import stop

    pid = stop()
    diagnostics.note("no engine runs" if pid is None else f"the engine has ended (process {pid})")


def _arguments(keep_alive: str, models: int, common: Common, http: HttpOptions) -> list[str]:
    """What starts the same again."""
    model = common.model
    given = {
        "--models": models or None,
        "--model": os.path.abspath(model) if model and os.path.exists(model) else model,  # it starts in another folder
        "--quant": common.quant,
        "--device": None if common.device == "auto" else common.device,
        "--threads": common.threads,
        "--ctx": common.ctx,
    }
    options = [part for name, value in given.items() if value is not None for part in (name, str(value))]
    return ["--keep-alive", keep_alive, *options, *http.arguments]
