"""`python -m lacli.bench.edits`: the suite with a model, lacli's way beside the plain one, task by task in turn.

A run that was cut off goes on where it stopped: what is in --out is not done again.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from lacli.bench.edits.tasks import tasks
from lacli.bench.edits.ways import WAYS, Done
from lacli.bench.machine import machine
from lacli.config import Settings
from lacli.events import Request


def main(
    model: Annotated[str | None, typer.Option("-m", "--model", help="As for `lacli ask`.")] = None,
    only: Annotated[str, typer.Option(help="Numbers of tasks, with commas.")] = "",
    ways: Annotated[str, typer.Option(help="lacli, plain, or both.")] = "lacli,plain",
    out: Annotated[Path | None, typer.Option(help="A JSON file that gets the results, and is gone on with.")] = None,
) -> None:
    """Run the suite and print its table."""
    from lacli.assistant import Assistant

    wanted = {int(each) for each in only.split(",")} if only else set(range(1, 1000))
    record: dict[str, Any] = {"machine": machine(), "model": model or "the default model", "done": []}
    if out is not None and out.exists():
        record = json.loads(out.read_text(encoding="utf-8"))
    had = {(each["number"], each["way"]) for each in record["done"]}
    done = [_of(each) for each in record["done"]]
    assistant = Assistant(Settings(model=model, pool=False))
    try:
        for task in tasks():
            for way in ways.split(","):
                if task.number not in wanted or (task.number, way) in had:
                    continue
                assistant.open()
                found = WAYS[way](task, assistant, Request(max_tokens=1))
                done.append(found)
                record["done"].append(asdict(found))
                _say(found, task.instruction)
                if out is not None:
                    out.write_text(json.dumps(record, indent=1), encoding="utf-8")
    finally:
        assistant.close()
    for way in ways.split(","):
        print(_summary(way, [each for each in done if each.way == way]))


def _of(record: dict[str, Any]) -> Done:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}
    return Done(**values)


def _say(found: Done, instruction: str) -> None:
    rate = f"{found.tokens_per_step:.1f} tok/step" if found.tokens_per_step else ""
    why = f"  [{found.faults[0]}]" if found.faults else ""
    print(
        f"{found.number:>2} {found.way:<5} {found.verdict:<7} {found.seconds:6.1f} s {found.tries} tries "
        f"{found.tokens:>5} tok {rate:<13} {instruction[:60]}{why}",
        flush=True,
    )


def _summary(way: str, done: Sequence[Done]) -> str:
    counts = {name: sum(each.verdict == name for each in done) for name in ("good", "refused", "wrong", "harm")}
    seconds = [each.seconds for each in done]
    rates = [each.tokens_per_step for each in done if each.tokens_per_step and "rewrite" in each.forms]
    middle = f"{statistics.median(seconds):.1f}" if seconds else "-"
    rate = f", tokens per step of rewritten parts {statistics.median(rates):.2f}" if rates else ""
    return f"{way}: {counts}, {middle} s a task (median), {sum(seconds):.0f} s in all{rate}"


if __name__ == "__main__":
    typer.run(main)
