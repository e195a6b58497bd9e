"""A bench over a table instead of a model: prompts are ids, the next token is a function of the context."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from lacli.bench.runner import Bench, Task
from lacli.bench.suites import Case
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from tests.fakes import Table, TableRunner

VOCAB = 64
END = 63


def walk(context: Sequence[int]) -> list[float]:
    """Logits that depend on the last three tokens, with a clear best one that is never END."""
    seed = 7 * context[-1] + 3 * sum(context[-3:]) + len(context[-3:])
    return [((seed * (index + 11)) % 97) / 10 - (100 if index == END else 0) for index in range(VOCAB)]


def loaded_table(runner: Any = None) -> Any:
    """What `lacli.assistant.loading.load` would return, as far as the bench looks at it before it has a prompt."""
    return SimpleNamespace(
        cached=SimpleNamespace(runner=runner or SimpleNamespace(kernel="torch")),
        controller=Controller(CostCurve.flat(), Limits()),
        prepared=SimpleNamespace(spec=SimpleNamespace(alias="table")),
        quant="none",
        device="cpu",
        primer=None,
        ngrams=None,
    )


class TableBench(Bench):
    """Its cases' prompts are written as numbers, replies too."""

    def __init__(self, table: Table = walk, max_tokens: int = 40, rows: int | None = 32, runner: Any = None) -> None:
        super().__init__(loaded_table(runner or TableRunner(table, vocab_size=VOCAB)), max_tokens, rows)

    def task(self, case: Case) -> Task:
        prompt = tuple(int(word) for word in case.prompt.split())
        return Task(case, prompt, (END,), tuple(int(word) for word in case.reply.split()))

    def encode(self, text: str) -> list[int]:
        return [ord(character) % END for character in text]


def cases(count: int = 3, suite: str = "code") -> list[Case]:
    """Prompts that differ."""
    return [Case(f"case-{index}", suite, f"{index + 1} {2 * index + 5} {3 * index + 9}") for index in range(count)]
