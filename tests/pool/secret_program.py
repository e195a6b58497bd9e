"""`lacli` whose model says what it is told: everything else of it is real. Run as a process by the test of secrets.

SAYS names a file (JSON) of what it says, reply after reply; COMMANDS (JSON) are the command lines of one process,
where there are many.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from lacli.models.base import Rows, Scores
from lacli.models.scores import scores_of


class Teller:
    """A `lacli.models.base.Runner` that continues every prompt with the next of its replies, then ends."""

    vocab_size = 49_152
    context_size = 8_192
    can_branch = True
    kernel = "torch"
    notes: tuple[str, ...] = ()

    def __init__(self, replies: Sequence[Sequence[int]], end: int, pause_s: float = 0.0) -> None:
        self._replies = list(replies)
        self._end, self._pause_s = end, pause_s
        self._cache: list[int] = []
        self._rows: Rows | None = None
        self._buffer = torch.zeros(128, self.vocab_size)
        self._set: list[tuple[int, list[int]]] = []
        self._begun = 0
        self._reply: Sequence[int] = ()

    @property
    def length(self) -> int:
        return len(self._cache)

    def next_reply(self, prompt_length: int) -> None:
        """From this place of the context on the next reply is said."""
        self._begun = prompt_length
        self._reply = self._replies.pop(0) if self._replies else ()

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        self._cache += token_ids
        if on_chunk is not None and not on_chunk(len(token_ids)):
            return None
        return scores_of(self._logits([self._cache]))

    def forward(self, rows: Rows) -> Scores:
        if self._pause_s:
            time.sleep(self._pause_s)
        self._rows = rows
        return scores_of(self._logits([self._cache + self._path(row) for row in rows.wanted]))

    def keep(self, path: Sequence[int]) -> None:
        assert self._rows is not None
        self._cache += [self._rows.token_ids[row] for row in path]

    def truncate(self, length: int) -> None:
        del self._cache[length:]

    def _path(self, row: int) -> list[int]:
        assert self._rows is not None
        ids: list[int] = []
        while row >= 0:
            ids.append(self._rows.token_ids[row])
            row = self._rows.parents[row]
        return ids[::-1]

    def _logits(self, contexts: Sequence[Sequence[int]]) -> torch.Tensor:
        """What the reply has at each place, and near misses: what a successor table is made of.

        One buffer, in which the few numbers set last time are put back: to fill a vocabulary anew takes longer than all
        the rest.
        """
        for row, token_ids in self._set:
            self._buffer[row, token_ids] = 0.0
        self._set = []
        for row, context in enumerate(contexts):
            place = len(context) - self._begun
            near = list(self._reply[max(0, place - 4) : max(0, place + 4)])
            said = self._reply[place] if 0 <= place < len(self._reply) else self._end
            self._buffer[row, near] = 5.0
            self._buffer[row, said] = 10.0
            self._set.append((row, [*near, said]))
        return self._buffer[: len(contexts)]


def main() -> int:
    """Run the command lines of COMMANDS one after another, or the process's own, with a teller for a runner."""
    import lacli.context
    import lacli.loading
    import lacli.models.load
    import lacli.pool.secrets
    from lacli.cli.app import main as lacli_main
    from lacli.engine.cost import CostCurve
    from lacli.text.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(Path(os.environ["TELLER_TOKENIZER"]))
    said = [tokenizer.encode(text) for text in json.loads(Path(os.environ["SAYS"]).read_text(encoding="utf-8"))]
    teller = Teller(said, end=2, pause_s=float(os.environ.get("PAUSE", "0")))
    real = lacli.context.fitted

    def fitted(*arguments: Any) -> Any:
        prompt = real(*arguments)
        teller.next_reply(len(prompt.token_ids))
        return prompt

    def load_runner(*_: Any) -> Teller:
        teller.truncate(0)
        return teller

    lacli.context.fitted = fitted
    lacli.models.load.load_runner = load_runner  # type: ignore[assignment]
    lacli.loading._primer = lambda *_: None  # what a teller says is no habit to keep in the shared cache
    lacli.loading._curve = lambda *_, **__: CostCurve({1: 10.0, 16: 10.1, 17: 100.0})  # type: ignore[assignment]
    Tokenizer.load = classmethod(lambda cls, folder: tokenizer)  # type: ignore[method-assign,assignment]
    if "FILTER_OFF" in os.environ:  # shows that what looks for leaks would find them
        lacli.pool.secrets.refuse = lambda text, wary=False: None
    commands = json.loads(os.environ.get("COMMANDS", "null"))
    return max(lacli_main(command) for command in commands) if commands else lacli_main()


if __name__ == "__main__":
    sys.exit(main())
