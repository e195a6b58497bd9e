"""`python -m lacli.bench.batch`: many short prompts side by side against one by one, tokens a second, in one process.

Each way starts with the same knowledge in every round (no pool, the primer alone) and an empty cache, and all take
turns. What is timed is from the first prompt given to the last reply's end, prompts included, loading not. The texts of
all ways must be the same, or it ends with exit code 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from lacli.assistant.base import ignore, never
from lacli.assistant.batch import replies
from lacli.assistant.loaded import Loaded
from lacli.assistant.loading import load
from lacli.assistant.reply import Reply
from lacli.bench.machine import machine, machine_line
from lacli.config import Settings
from lacli.drafts.base import Sources
from lacli.drafts.sources import new_sources
from lacli.engine.batch import best_slots
from lacli.engine.controller import Controller
from lacli.engine.cost import CostCurve
from lacli.events import Finished, Message, Request

_TASKS = """
reverses a string; adds two numbers; reads a file; counts words; sorts a list of pairs; finds the largest number;
checks for a palindrome; computes a factorial; merges two dicts; flattens a list; removes duplicates; parses a date;
writes JSON to a file; prints a table; joins two paths; splits a line at commas; computes a mean; finds all primes;
draws a triangle; swaps two values; rounds a price; counts vowels; zips two lists; reads a CSV file; hashes a password;
sums a matrix; checks an e-mail address; formats a duration; finds a substring; rotates a list; walks a folder;
makes a queue
"""

Way = Callable[[Loaded, Sequence[Request]], list[Finished]]


def _one_by_one(loaded: Loaded, requests: Sequence[Request]) -> list[Finished]:
    events = [event for request in requests for event in Reply(loaded, request, set()).events(never)]
    return [event for event in events if isinstance(event, Finished)]


def _together(loaded: Loaded, requests: Sequence[Request]) -> list[Finished]:
    found = {index: event for index, event in replies(loaded, requests, set(), never) if isinstance(event, Finished)}
    return [found[index] for index in range(len(requests))]


_WAYS: tuple[tuple[str, Way, bool], ...] = (
    ("one by one", _one_by_one, True),
    ("batch", _together, True),
    ("one by one, plain", _one_by_one, False),
    ("batch, plain", _together, False),
)
"""Name, what is done, and whether guesses are made."""


def _fresh(loaded: Loaded, guesses: bool, points: dict[int, float]) -> Loaded:
    """As a process begins: an empty cache, sources that know the primer only, the curve as it was measured."""
    loaded.cached.begin((0,))
    limits = replace(loaded.controller.limits, lookahead=guesses)
    sources = (
        new_sources((), [loaded.primer] if loaded.primer is not None else [], {}, ngrams=loaded.ngrams)
        if guesses
        else Sources()
    )
    return replace(loaded, controller=Controller(_curve(loaded, points), limits), sources=sources)


def _curve(loaded: Loaded, points: dict[int, float]) -> CostCurve:
    return CostCurve(points, buckets=loaded.controller.cost.buckets)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where the texts differ."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.batch")
    parser.add_argument("--model", help="the default one is measured otherwise")
    parser.add_argument("--tokens", type=int, default=64, help="most tokens of a reply")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    loaded = load(Settings(model=given.model, pool=False), ignore)
    points = loaded.controller.cost.points
    requests = [
        Request((Message("user", f"Write a Python function that {' '.join(task.split())}."),), max_tokens=given.tokens)
        for task in _TASKS.split(";")
    ]
    seconds: dict[str, list[float]] = {name: [] for name, *_ in _WAYS}
    texts: dict[str, list[str]] = {}
    tokens = 0
    for _ in range(given.rounds):
        for name, way, guesses in _WAYS:
            fresh = _fresh(loaded, guesses, points)
            started = time.perf_counter()
            done = way(fresh, requests)
            seconds[name].append(time.perf_counter() - started)
            texts[name] = [finished.text for finished in done]
            tokens = sum(finished.stats.predicted_n for finished in done)
    print(machine_line(machine()))
    places = best_slots(Controller(_curve(loaded, points), loaded.controller.limits), loaded.cached)
    print(f"{loaded.prepared.spec.alias} {loaded.quant}, {len(requests)} prompts, {tokens} tokens, {places} places")
    least = min(seconds["one by one"])
    for name, spent in seconds.items():
        middle = tokens / statistics.median(spent)
        print(
            f"{name:18} {middle:7.0f} tok/s, at best {tokens / min(spent):5.0f}, {least / min(spent):5.2f} x one by one"
        )
    loaded.close()
    same = all(texts[name] == texts["one by one"] for name in texts)
    print("the texts are the same" if same else "the texts DIFFER")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
