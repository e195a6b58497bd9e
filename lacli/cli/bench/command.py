"""`lacli bench`: measures lookahead against plain decoding, or proves that the texts are equal."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lacli.cli.framework import environment
from lacli.cli.framework.options import Common, with_common
from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.live import ReplyDisplay
from lacli.errors import UsageError
from lacli.shared.wording import counted

if TYPE_CHECKING:
    from lacli.assistant.loaded import Loaded
    from lacli.bench.exact import Comparison
    from lacli.bench.report import Figures
    from lacli.bench.suites import Case
    from lacli.engine.controller import Limits

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_OPTIONS = (
    *("model", "max_tokens", "quant", "device", "threads", "window", "ngram", "guesses", "strict"),
    *("json", "quiet", "verbose"),
)
_MOST_ROWS = 64  # the most for which a step is known to be exact by row
_EXAMPLES = """
Examples:

  lacli bench --suite code --limit 4

  lacli bench --suite all --rows 64 --json > bench.json

  lacli bench --suite all --exact -n 64

  lacli bench --suite code --replay -n 96

The options that `ask` has too can be set by a variable: --max-tokens is LACLI_MAX_TOKENS.
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(only=_OPTIONS, max_tokens=128)
def bench(
    context: typer.Context,
    suite: Annotated[
        str, typer.Option(metavar="code|edit|edit-ref|prose|long|sessions|all", help="Which prompts.")
    ] = "code",
    exact: Annotated[
        bool, typer.Option("--exact", help="Compare all texts with plain decoding, nothing else.")
    ] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Decode recorded replies again, without the model: seconds, once recorded.")
    ] = False,
    explain_divergence: Annotated[
        bool, typer.Option("--explain-divergence", help="With --exact: by what margin of logits two texts part.")
    ] = False,
    rows: Annotated[int | None, typer.Option(help="Allow this many rows a step as if they cost nothing.")] = None,
    limit: Annotated[int | None, typer.Option(help="Take only the first prompts of each suite.")] = None,
    *,
    common: Common,
) -> None:
    """Measure lookahead against plain decoding on fixed prompts, or check that the texts are equal.

    The project's pool is neither read nor written. Edit-ref replies are given, so -n does not cut them.
    """
    _check("--rows", rows, 2, _MOST_ROWS)
    _check("--limit", limit, 1, 1000)
    _check(environment.shown_names(context)["max_tokens"], common.max_tokens, 1, 2**20)
    if exact and replay:
        raise UsageError("--exact compares what the model says, --replay does not run it", "leave one of them out")
    if explain_divergence and not exact:
        raise UsageError("--explain-divergence explains what --exact finds", "give both")
    if suite == "sessions":
        if exact or replay:
            raise UsageError("--suite sessions is always played by the model", "leave --exact or --replay out")
        _sessions(common, rows, limit)
        return
    from lacli.bench.suites import load_suites

    cases = load_suites(suite, limit)
    loaded = _load(common)
    if exact:
        _compare(loaded, cases, common, rows, explain_divergence)
    elif replay:
        _replay(loaded, cases, common, rows)
    else:
        _measure(loaded, cases, common, rows)


def _check(name: str, value: int | None, low: int, high: int) -> None:
    if value is not None and not low <= value <= high:
        raise UsageError(f"{name} {value} is out of range", f"give a number from {low} to {high}")


def _load(common: Common) -> Loaded:
    """The model without a pool."""
    from lacli.assistant.loading import load

    live = ReplyDisplay()
    try:
        return load(dataclasses.replace(common.settings(), pool=False), live.notify)
    finally:
        live.finish()


def _progress(text: str) -> None:
    if diagnostics.can_show_progress():
        diagnostics.show_status(text)
    else:
        diagnostics.note(text)


def _compare(
    loaded: Loaded, cases: tuple[Case, ...], common: Common, rows: int | None, explain_divergence: bool
) -> None:
    from lacli.bench.exact import compare
    from lacli.bench.machine import machine, machine_line
    from lacli.bench.runner import Bench

    bench = Bench(loaded, common.max_tokens, rows, forced=False)
    result = compare(bench, cases, _progress, explained=explain_divergence)
    diagnostics.erase_status()
    facts = machine()
    if common.json:
        record = dataclasses.asdict(result) | {"equal": not result.differences}
        output.document({"machine": facts, "model": _model(loaded), **record})
    else:
        output.line(machine_line(facts))
        for line in _differences(result):
            output.line(line)
    if result.differences:
        raise typer.Exit(1)


def _differences(result: Comparison) -> list[str]:
    lines = [
        f"DIFFERENT: {found.suite} {found.prompt}, {found.mode}, token {found.position}: "
        f"plain {list(found.expected)}, found {list(found.found)}"
        + (f"\n  {found.explained.sentence()}" if found.explained is not None else "")
        for found in result.differences
    ]
    equal = result.texts - len(result.differences)
    whole = f"{result.tokens:,} tokens, {counted(result.prompts, 'prompt', 'prompts')}"
    return [*lines, f"{equal} of {result.texts} texts ({whole}) equal plain decoding"]


def _sessions(common: Common, rows: int | None, limit: int | None) -> None:
    from lacli.bench.machine import machine, machine_line
    from lacli.bench.sessions import report as sessions_report
    from lacli.bench.sessions.run import play_sessions

    played = play_sessions(common.settings(), common.max_tokens, rows, limit, _progress)
    diagnostics.erase_status()
    facts = machine()
    if common.json:
        document = {"rows": _rows(rows), "max_tokens": common.max_tokens, "summary": sessions_report.summary(played)}
        output.document({"machine": facts, **document, "runs": sessions_report.records(played)})
        return
    output.line(machine_line(facts))
    output.line()
    for line in sessions_report.table(played):
        output.line(line)


def _replay(loaded: Loaded, cases: tuple[Case, ...], common: Common, rows: int | None) -> None:
    from lacli.bench import report
    from lacli.bench.measure import measure
    from lacli.bench.replay import MODES, replay_of

    replay = replay_of(loaded, cases, common.max_tokens, rows, _progress)
    runs = measure(replay, cases, _progress, MODES)
    diagnostics.erase_status()
    records = report.figures(runs)
    curve = loaded.controller.cost.points
    if common.json:
        document = {"rows": _rows(rows), "max_tokens": common.max_tokens, "limits": dataclasses.asdict(replay.limits)}
        output.document(
            {
                "replay": True,
                "model": _model(loaded),
                **document,
                "cost_curve_ms": curve,
                "figures": records,
                "runs": report.prompt_records(runs),
            }
        )
        return
    _head(loaded, replay.limits, rows)
    _tables(records)
    output.line("replayed: the model did not run, and times of forwards are read off its cost curve: " + _curve(curve))


def _measure(loaded: Loaded, cases: tuple[Case, ...], common: Common, rows: int | None) -> None:
    from lacli.bench import report
    from lacli.bench.machine import machine, machine_line
    from lacli.bench.measure import measure
    from lacli.bench.runner import Bench
    from lacli.bench.step_cost import step_times

    facts = machine()
    bench = Bench(loaded, common.max_tokens, rows)
    _progress("timing steps")
    times = step_times(bench.runner)
    curve = None if rows else loaded.controller.cost.points
    runs = measure(bench, cases, _progress)
    diagnostics.erase_status()
    records = report.figures(runs)
    first = report.first_token(runs, loaded.import_ms, loaded.load_ms)
    if common.json:
        output.document(
            {
                "machine": facts,
                "model": _model(loaded),
                "max_tokens": common.max_tokens,
                "limits": dataclasses.asdict(bench.limits),
                "rows": _rows(rows),
                "cost_curve_ms": curve,
                "step_ms": times,
                "first_token": first,
                "figures": records,
                "runs": report.prompt_records(runs),
            }
        )
        return
    output.line(machine_line(facts))
    _head(loaded, bench.limits, rows)
    _tables(records)
    output.line("T(M), ids in to accepted tokens out: " + _curve(times))
    if curve is not None:
        output.line("cost of a forward the controller began with: " + _curve(curve))
    shares = ", ".join(f"{part} {first[f'{part}_ms']:.0f} ms ({first[f'{part}_share']:.0%})" for part in _PARTS)
    output.line(f"time to first token: {shares}")


def _head(loaded: Loaded, limits: Limits, rows: int | None) -> None:
    output.line(
        f"{loaded.prepared.spec.alias} {loaded.quant} on {loaded.device} ({loaded.cached.runner.kernel}); "
        f"at most {counted(limits.max_rows, 'row', 'rows')} a step, "
        f"{'free' if rows else 'as the controller buys them'}; "
        f"W={limits.window} N={limits.ngram} G={limits.guesses}"
    )
    output.line()


def _tables(records: Sequence[Figures]) -> None:
    from lacli.bench import report

    for line in report.table(records):
        output.line(line)
    for line in _LEGEND:
        output.line(line)
    worst = ", ".join(f"{name} {ratio:.2f}" for name, ratio in report.worst(records).items())
    if worst:
        output.line(f"worst cases, x plain: {worst}")


def _rows(rows: int | None) -> str:
    return f"{rows} free" if rows else "as bought"


_LEGEND = (
    "plain: no guesses. jacobi: the window alone. cold: all guesses, empty pool.",
    "warm-similar: a pool of the other replies, near twins left out. warm-replay: of this very reply.",
    "big pool: of this reply and a million unrelated tokens. wrong pool: matches always, goes on wrongly.",
    "drafting: share of a step spent on guessing, merging, accepting and learning.",
    "x plain: speed against plain. T(M): time of a step that takes M tokens in.",
)
_PARTS = ("import", "load", "prefill")


def _curve(points: dict[int, float]) -> str:
    one = points[min(points)]
    return ", ".join(
        f"{counted(rows, 'row', 'rows')} {ms:.1f} ms ({ms / one:.2f}x)" for rows, ms in sorted(points.items())
    )


def _model(loaded: Loaded) -> dict[str, Any]:
    return {
        "name": loaded.prepared.spec.alias,
        "quant": loaded.quant,
        "device": loaded.device,
        "kernel": loaded.cached.runner.kernel,
    }
