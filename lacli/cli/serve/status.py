"""`lacli serve --status`: what the engine that runs is doing, in lines for people or as JSON."""

from __future__ import annotations

import os

import typer

from lacli import __version__
from lacli.cli.terminal import output
from lacli.worker import endpoint
from lacli.worker.attached import NotAttached, status
from lacli.worker.protocol import EngineStatus, Greeting, ModelStatus


def show(as_json: bool) -> None:
    """Print it; the exit code is 1 where no engine answers."""
    try:
        greeting, found = status()
    except NotAttached as why:
        if as_json:
            output.document({"running": False, "reason": why.reason or "no engine runs"})
        else:
            output.line(why.reason or "no engine runs")
        raise typer.Exit(1) from None
    if as_json:
        output.document(_record(greeting, found))
        return
    output.line(f"process {greeting.pid}, lacli {greeting.version}, {os.fspath(endpoint.socket_path())}")
    if found is not None and found.http:
        output.line(f"HTTP at {found.http}")
    if found is None:
        output.line(f"this is lacli {__version__}: `lacli serve --stop` ends the other one")
        return
    output.line(
        f"{found.running:,} running, {found.waiting:,} waiting, up {_span(found.uptime_s)}, "
        f"models stay for {_span(found.keep_alive_s)}"
    )
    for each in found.models:
        busy = "busy" if each.busy else f"idle for {_span(each.idle_s)}"
        output.line(f"{each.model}: {_memory(each) / 1e6:,.0f} MB, process {each.pid}, {busy}")
    if not found.models:
        output.line("no model in memory")


def _record(greeting: Greeting, found: EngineStatus | None) -> dict[str, object]:
    record: dict[str, object] = {"running": True, "pid": greeting.pid, "version": greeting.version}
    record["socket"] = os.fspath(endpoint.socket_path())
    if found is not None:
        record |= {
            "http": found.http or None,
            "uptime_s": round(found.uptime_s, 1),
            "keep_alive_s": found.keep_alive_s,
            "requests": {"running": found.running, "waiting": found.waiting},
            "models": [
                {
                    "model": each.model,
                    "pid": each.pid,
                    "memory_bytes": _memory(each),
                    "busy": each.busy,
                    "idle_s": round(each.idle_s, 1),
                }
                for each in found.models
            ],
        }
    return record


def _memory(model: ModelStatus) -> int:
    """Bytes of the computer's memory that its worker has; 0 if it has gone meanwhile."""
    import psutil

    try:
        return int(psutil.Process(model.pid).memory_info().rss)
    except psutil.Error:
        return 0


def _span(seconds: float) -> str:
    for length, unit in ((3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
