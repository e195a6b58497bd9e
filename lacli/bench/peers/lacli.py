"""lacli as a contestant: the bench's own modes on the same prompts, and a step of M rows through the engine's stages.

Runs in lacli's own virtual environment; started by `process`. The user's pool is neither read nor written.
"""

from __future__ import annotations

import time
from typing import Any

from lacli.bench.peers.serve import Answer, serve

_WAYS = {"plain": "plain", "cold": "cold", "similar": "warm-similar", "replay": "warm-replay"}
_READ = (500, 2000)
"""Tokens of the prompts that are read."""
_loaded: dict[str, Any] = {}


def load(quant: str | None, threads: int, max_tokens: int, cases: dict[str, int], model: str | None = None) -> Answer:
    """quant, model: None is the default. cases: prompts of each suite."""
    from lacli.assistant.base import ignore
    from lacli.assistant.loading import load as load_parts
    from lacli.bench.runner import Bench
    from lacli.bench.suites import load_suites, python_sources
    from lacli.config import Settings

    parts = load_parts(Settings(model=model, quant=quant, device="cpu", threads=threads, pool=False), ignore)
    bench = Bench(parts, max_tokens)
    tasks = {suite: [bench.task(case) for case in load_suites(suite, limit)] for suite, limit in cases.items()}
    _loaded.update(bench=bench, tasks=tasks, taught={}, kept={})
    runner = bench.runner
    text = bench.encode(python_sources())
    return {
        "build": f"{parts.quant}, kernel {runner.kernel}",
        "vocab": runner.vocab_size,
        "import_ms": parts.import_ms,
        "load_ms": parts.load_ms,
        "tasks": {
            suite: [{"case": task.case.name, "prompt": task.prompt, "eos_ids": task.eos_ids} for task in own]
            for suite, own in tasks.items()
        },
        "reading": [list(text[:count]) for count in _READ],
    }


def learn(suite: str) -> Answer:
    """Give the suite's replies once, for the pools of warm ways. Not timed."""
    from lacli.bench.loops import loop_start
    from lacli.bench.warm import teach

    bench, tasks = _loaded["bench"], _loaded["tasks"][suite]
    replies = {}
    for task in tasks:
        reply = task.reference or bench.reply(task, bench.cached(task))
        replies[task.case.name] = reply if task.reference else reply[: loop_start(reply)]
    _loaded["kept"][suite] = replies
    _loaded["taught"][suite] = teach(bench, tasks, replies)
    return {"tokens": {name: len(reply) for name, reply in replies.items()}}


def generate(suite: str, case: str, way: str) -> Answer:
    """way: plain, cold, similar (pool of the suite's other replies, near twins left out) or replay (of this one)."""
    from lacli.bench.modes import COLD, MEASURED
    from lacli.bench.warm import strangers, warmth

    bench, tasks = _loaded["bench"], _loaded["tasks"][suite]
    task = next(task for task in tasks if task.case.name == case)
    mode = next(mode for mode in MEASURED if mode.name == _WAYS[way])
    pool = COLD
    if mode.pool:
        others = strangers(task, tasks, _loaded["kept"][suite])
        pool = warmth(task, mode, _loaded["taught"][suite], others, [], bench.vocab_size)
    run = bench.play(task, mode, bench.cached(task), pool)
    return {
        "token_ids": run.token_ids,
        "ms": run.decode_ms,
        "drafted": run.drafted,
        "accepted": sum(run.accepted.values()),
        "steps": run.steps,
    }


def read(prompt: list[int]) -> Answer:
    """Milliseconds to read a prompt of which nothing is in the cache."""
    runner = _loaded["bench"].runner
    runner.truncate(0)
    started = time.perf_counter()
    runner.prefill(prompt)
    spent = 1000 * (time.perf_counter() - started)
    runner.truncate(0)
    return {"ms": spent}


def step_cost(rows: list[int], past: int, repeats: int) -> Answer:
    """As `llama.step_cost`, but to accepted tokens: merged guesses, forward, walk, commit."""
    from lacli.bench.step_cost import step_samples

    spent = step_samples(_loaded["bench"].runner, rows, repeats, past)
    return {"ms": {str(count): times for count, times in spent.items()}}


def main() -> None:
    """Serve."""
    serve({"load": load, "learn": learn, "generate": generate, "read": read, "step_cost": step_cost})
