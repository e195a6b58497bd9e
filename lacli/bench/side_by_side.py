"""`python -m lacli.bench.side_by_side`: prompts of several clients at once compared with one after the other.

Each measurement uses a fresh worker, as `lacli serve` starts it, with the model loaded and nothing learned; both ways
alternate. Timed is the span from sending the first prompt to the end of the last reply, prefill included. Exits with 1
if the texts of both ways differ.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence

from lacli.bench.machine import machine, machine_line
from lacli.config import Settings
from lacli.events import Attachment, Finished, Message, Request
from lacli.worker.client import WorkerAssistant

_TASKS = (
    "Write a Python function that merges two sorted lists.",
    "What does `yield from` do? Explain it with an example.",
    "Write a Python class for a bank account.",
    "How can a deadlock between two threads be found?",
)
_CODE = Attachment(
    "shop.py",
    "class Basket:\n    def __init__(self):\n        self.items = []\n\n    def add(self, name, price, count=1):\n"
    "        self.items.append((name, price, count))\n\n    def total(self):\n"
    "        return sum(price * count for _, price, count in self.items)\n",
)
_EDITS = ("Add type hints to shop.py.", "Add docstrings to shop.py.", "Let add() refuse a count below 1 in shop.py.")
KINDS = {
    "questions": [Message("user", each) for each in _TASKS],
    "edits": [Message("user", each, attachments=(_CODE,)) for each in _EDITS],
}
"""What is asked: questions are hardly guessed; much of an edited file is, which leaves fewer rows for others."""


def _measured(settings: Settings, requests: Sequence[Request], together: bool) -> tuple[float, list[Finished]]:
    """Seconds and ends of these requests, asked of a fresh worker."""
    worker = WorkerAssistant(settings)
    try:
        for _ in worker.reply(Request((Message("user", "Hello"),), max_tokens=4)):  # the weights come into memory
            pass
        started = time.perf_counter()
        if together:
            events = [(place, event) for place, event in worker.replies(requests)]
        else:
            events = [(place, event) for place, each in enumerate(requests) for event in worker.reply(each)]
        seconds = time.perf_counter() - started
        ends = {place: event for place, event in events if isinstance(event, Finished)}
        return seconds, [ends[place] for place in range(len(requests))]
    finally:
        worker.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a text differs."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.side_by_side")
    parser.add_argument("-m", "--model", help="the default one is measured otherwise")
    parser.add_argument("--clients", type=int, default=2, help="so many prompts at once")
    parser.add_argument("-n", "--tokens", type=int, default=64, help="most tokens of a reply")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=tuple(KINDS), help="one kind of prompts")
    given = parser.parse_args(arguments)
    settings = Settings(model=given.model, pool=False)
    print(machine_line(machine()))
    same = True
    for kind in [given.only] if given.only else KINDS:
        messages = KINDS[kind]
        asked = [messages[number % len(messages)] for number in range(given.clients)]
        requests = [Request((each,), max_tokens=given.tokens) for each in asked]
        seconds: dict[bool, list[float]] = {False: [], True: []}
        tokens = 0
        for _ in range(given.rounds):
            found = {}
            for together in (False, True):
                spent, ends = _measured(settings, requests, together)
                seconds[together].append(spent)
                found[together] = [(each.token_ids, each.reason) for each in ends]
                tokens = sum(each.stats.predicted_n for each in ends)
            same = same and found[False] == found[True]
        ratios = [one / both for one, both in zip(seconds[False], seconds[True], strict=True)]
        alone, beside = min(seconds[False]), min(seconds[True])
        print(
            f"{kind}: {given.clients} prompts, {tokens} tokens: one after the other {alone:.2f} s, "
            f"at once {beside:.2f} s, {alone / beside:.2f} x at best, {statistics.median(ratios):.2f} x in the median",
            flush=True,
        )
    print("the texts are the same" if same else "the texts DIFFER")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
