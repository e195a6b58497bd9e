"""`python -m lacli.bench.gpu_check`: checks and times lacli on this GPU; no section begins after five minutes.

Nothing is downloaded: models have random weights, of tiny size for equality and of 7B and 1.5B shapes for times. `-m
MODEL` adds texts of a real one. A section that fails is reported and the others go on; those skipped for lack of time
are listed. `--dry-run` runs every line in tiny sizes on a CPU, where times mean nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from lacli.bench.gpu_check import equality, times
from lacli.bench.gpu_check.plan import Plan, Shape
from lacli.bench.gpu_check.texts import texts
from lacli.bench.machine import machine, machine_line
from lacli.errors import LacliError, UsageError
from lacli.models.base import Quant
from lacli.models.runners.load import choose_device
from lacli.storage import atomic

_SECONDS = 300.0
_OUT = "gpu_check.json"

Section = tuple[str, Callable[[], Any]]


def sections(plan: Plan, model: str | None) -> Iterator[Section]:
    """By name, those that decide first."""
    bandwidth = cache(lambda: times.bandwidth(plan))

    def steps(shape: Shape, quant: Quant) -> Any:
        return times.steps(plan, shape, quant, bandwidth())

    def matrices(shape: Shape) -> Any:
        return times.matrices(plan, shape, bandwidth())

    def attention(shape: Shape) -> Any:
        return times.attention(plan, shape, bandwidth())

    first = plan.shapes[0]
    yield "families", partial(equality.families, plan)
    yield "kernels", partial(equality.kernels, plan)
    yield "flips", partial(equality.flips, plan)
    yield "copy_gb_s", bandwidth
    for quant in plan.quants:
        yield f"steps {first.name} {quant}", partial(steps, first, quant)
    yield f"matrices {first.name}", partial(matrices, first)
    yield "attention", partial(attention, first)
    if model is not None:
        yield "texts", partial(texts, model, plan.device.type, 64)
    for shape in plan.shapes[1:]:
        yield f"steps {shape.name} nf4", partial(steps, shape, "nf4")
        yield f"matrices {shape.name}", partial(matrices, shape)


def run(plan: Plan, model: str | None = None) -> dict[str, Any]:
    """All sections, as far as time allows."""
    began = time.perf_counter()
    found: dict[str, Any] = {"machine": machine(), "device": str(plan.device), "left_out": [], "failed": {}}
    for name, section in sections(plan, model):
        if time.perf_counter() - began > plan.seconds:
            found["left_out"].append(name)
            continue
        print(name, file=sys.stderr)
        try:
            found[name] = section()
        except Exception as error:  # a driver, a compiler and four libraries: each has exceptions of its own
            found["failed"][name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        if plan.device.type == "cuda":
            torch.cuda.empty_cache()
    found["seconds"] = time.perf_counter() - began
    return found


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The report for people."""
    yield machine_line(found["machine"])
    for family, dtypes in found.get("families", {}).items():
        told = (f"{name} {one['error']:.1e}, {one['flips']} of {one['rows']} flipped" for name, one in dtypes.items())
        yield f"{family} against float64: {'; '.join(told)}"
    for name, value in found.get("kernels", {}).items():
        yield f"{name}: {value}"
    for rows, one in found.get("flips", {}).items():
        yield f"{rows} rows against 1: {one['flips']} of {one['tokens']} tokens flipped"
    for name, one in found.items():
        if name.startswith("steps "):
            ratios = ", ".join(f"{rows} {ratio:.2f}" for rows, ratio in one["over_one_row"].items())
            first = next(iter(one["ms"].values()))
            yield f"{name}: one row {first:.2f} ms, {one['over_reading']:.2f}x reading its weights; T(M)/T(1): {ratios}"
    for name, contexts in found.get("attention", {}).items():
        told = (
            f"{context} {rows[1]['ms']:.3f} ms ({rows[1]['of_bandwidth']:.0%})" for context, rows in contexts.items()
        )
        yield f"attention {name}, one row by context (share of the copy bandwidth): {', '.join(told)}"
    for one in found.get("texts", {}).get("modes", ()):
        yield f"{one['mode']}: {one['tokens_per_step']:.2f} tokens a step, {one['ratio_to_plain'] or 0:.2f}x plain"
    for name, why in found["failed"].items():
        yield f"FAILED {name}: {why}"
    if found["left_out"]:
        yield f"left out for lack of time: {', '.join(found['left_out'])}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check and print; 1 where a section failed, 2 where there is no CUDA device."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.gpu_check")
    parser.add_argument("-m", "--model", help="a model to write texts with, too")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu is for trying the script itself")
    parser.add_argument("--dry-run", action="store_true", help="the same as --device cpu")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="after which no section begins")
    parser.add_argument("--out", type=Path, default=Path(_OUT), help=f"the JSON file to write; {_OUT}")
    given = parser.parse_args(arguments)
    try:
        device = choose_device("cpu" if given.dry_run else given.device)
        found = run(Plan.of(torch.device(device), given.seconds), given.model)
        _write(given.out, found)
    except LacliError as error:
        hint = "; `--dry-run` tries the script itself on a CPU" if isinstance(error, UsageError) else ""
        print(f"gpu_check: {error.message}{hint}", file=sys.stderr)
        return error.exit_code
    for line in lines(found):
        print(line)
    print(f"written to {given.out}")
    return 1 if found["failed"] else 0


def _write(path: Path, found: dict[str, Any]) -> None:
    try:
        atomic.replace(path, (json.dumps(found, indent=1) + "\n").encode(), 0o666)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "give another --out") from error


if __name__ == "__main__":
    sys.exit(main())
