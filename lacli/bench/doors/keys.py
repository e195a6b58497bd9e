"""A person types: one `/infill` for each key, as llama.vim sends it, answered by lacli and by llama.cpp's server.

    python -m lacli.bench.doors keys [FILE] [-m MODEL] [--keys N] [--line N] [--threads N] [--json]

Both servers have the same model file, threads and bodies, and take turns key by key, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil

from lacli.bench.doors.engine import Served, served
from lacli.bench.peers.process import Failed, Worker, command_of
from lacli.bench.peers.setup import XLLAMACPP, NotInstalled, python_of
from lacli.errors import LacliError
from lacli.models.fetch.fetch import ensure_local
from lacli.models.registry.limits import cores
from lacli.models.registry.registry import load_registry

_FILE = Path(__file__).resolve().parents[2] / "models" / "gguf" / "config.py"
_LINES_BEFORE, _LINES_AFTER = 256, 64
"""What llama.vim sends around the cursor."""
_BODY = {
    "id_slot": 0,
    "input_extra": [],
    "n_predict": 128,
    "stop": [],
    "n_indent": 0,
    "top_k": 40,
    "top_p": 0.90,
    "samplers": ["top_k", "top_p", "infill"],
    "stream": False,
    "cache_prompt": True,
    "t_max_prompt_ms": 500,
    "t_max_predict_ms": 250,
}
"""As llama.vim asks for what it shows first."""


def bodies(text: str, line: int, keys: int) -> list[dict[str, Any]]:
    """The requests while this line of a file, counted from 1, and those below it are typed anew, a key each."""
    lines = text.splitlines(keepends=True)
    above, below = "".join(lines[: line - 1]), "".join(lines[line - 1 :])
    typed, after = below[:keys], below[keys:]
    after = after[after.find("\n") + 1 :]  # the line that is being typed has nothing behind the cursor yet
    found = []
    for count in range(1, len(typed) + 1):
        before = above + typed[:count]
        head, _, prompt = before.rpartition("\n")
        prefix = "".join(f"{head}\n".splitlines(keepends=True)[-_LINES_BEFORE:])
        suffix = "\n" + "".join(after.splitlines(keepends=True)[:_LINES_AFTER])
        found.append({**_BODY, "input_prefix": prefix, "prompt": prompt, "input_suffix": suffix})
    return found


def measure(ours: Served, theirs: Served, asked: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What both made of all requests; one before them, which is not counted, has the file read.

    On a busy machine only the processor's time says something.
    """
    found: dict[str, list[dict[str, Any]]] = {"lacli": [], "llama.cpp": []}
    for number, body in enumerate((asked[0], *asked)):
        for name, server in (("lacli", ours), ("llama.cpp", theirs)):
            before = _cpu_s(server.pid)
            answer, took = server.post("/infill", body)
            timings = answer["timings"]
            one = {
                "ms": 1000 * took,
                "cpu_ms": 1000 * (_cpu_s(server.pid) - before),
                "read": timings["prompt_n"],
                "written": timings["predicted_n"],
                "content": answer["content"],
            }
            print(f"{number}/{len(asked)} {name}: {one['ms']:.0f} ms", file=sys.stderr)
            if number:
                found[name].append(one)
    return {"keys": len(asked), **{name: _summary(each) for name, each in found.items()}, "answers": found}


def _cpu_s(pid: int) -> float:
    """Of a process and those that it has started."""
    process = psutil.Process(pid)
    spent = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in spent)


def _summary(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    ms = [each["ms"] for each in answers]
    return {
        "ms": median(ms),
        "ms_p90": quantiles(ms, n=10)[-1],
        "cpu_ms": median(each["cpu_ms"] for each in answers),
        "computed": median(each["read"] + each["written"] for each in answers),
        "read": median(each["read"] for each in answers),
        "characters": median(len(each["content"]) for each in answers),
        "empty": sum(not each["content"].strip() for each in answers),
    }


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    head = (
        f"{'median of ' + str(result['keys']) + ' keys':<20}{'ms':>8}{'p90':>8}{'cpu ms':>8}{'computed':>10}{'read':>7}"
    )
    lines = [f"{head}{'characters':>12}{'empty':>7}"]
    for name in ("lacli", "llama.cpp"):
        of = result[name]
        row = f"{name:<20}{of['ms']:>8.0f}{of['ms_p90']:>8.0f}{of['cpu_ms']:>8.0f}{of['computed']:>10.1f}"
        lines.append(f"{row}{of['read']:>7.1f}{of['characters']:>12.1f}{of['empty']:>7}")
    ratio = {each: result["lacli"][each] / result["llama.cpp"][each] for each in ("ms", "ms_p90", "cpu_ms")}
    lines.append(f"{'lacli / llama.cpp':<20}{ratio['ms']:>8.2f}{ratio['ms_p90']:>8.2f}{ratio['cpu_ms']:>8.2f}")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.doors keys", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=_FILE)
    parser.add_argument("-m", "--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--keys", type=int, default=40)
    parser.add_argument("--line", type=int, default=150)
    parser.add_argument("--threads", type=int, default=cores(), help="of either server")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    spec = load_registry().resolve(given.model)
    asked = bodies(given.file.read_text(encoding="utf-8"), given.line, given.keys)
    gguf = str(ensure_local(spec, lambda step: None))
    try:
        worker = Worker(command_of(str(python_of(XLLAMACPP)), "server"))
    except NotInstalled as error:
        raise SystemExit(str(error)) from None
    try:
        loaded = worker.ask("load", gguf=gguf, threads=given.threads, speculation="", editor=True)
        with served(given.model, given.threads) as ours:
            result = measure(ours, Served(loaded["port"], pid=loaded["pid"]), asked)
    except (Failed, LacliError) as error:
        raise SystemExit(str(error)) from None
    finally:
        worker.close()
    print(json.dumps(result, indent=1) if given.json else table(result))
    return 0
