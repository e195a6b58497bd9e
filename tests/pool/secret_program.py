"""`lacli` whose model says what it is told: everything else of it is real. Forked by the test of secrets, run by run.

SAYS names a file (JSON) of what it says, reply after reply; COMMANDS (JSON) are the command lines of one process,
where there are many.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lacli.models.base import TOP, Rows, Scores


class Teller:
    """A `lacli.models.base.Runner` that continues a prompt with the reply it was given, then ends."""

    vocab_size = 49_152
    context_size = 8_192
    can_branch = True
    kernel = "torch"
    notes: tuple[str, ...] = ()

    def __init__(self, end: int, pause_s: float = 0.0) -> None:
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

    def begin(self, prompt_length: int, reply: Sequence[int]) -> None:
        """From this place of the context on this reply is said."""
        self._begun, self._reply = prompt_length, reply

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        self._cache += token_ids
        if on_chunk is not None and not on_chunk(len(token_ids)):
            return None
        return self._scores([self._cache])

    def forward(self, rows: Rows) -> Scores:
        if self._pause_s:
            time.sleep(self._pause_s)
        self._rows = rows
        return self._scores([self._cache + self._path(row) for row in rows.wanted])

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

    def _scores(self, contexts: Sequence[Sequence[int]]) -> Scores:
        """What the reply has at each place, and near misses: what a successor table is made of.

        One buffer, in which the few numbers set last time are put back, and the best of it as they were set: to fill or
        to search a vocabulary takes longer than all the rest.
        """
        for row, token_ids in self._set:
            self._buffer[row, token_ids] = 0.0
        self._set = []
        best = np.zeros((len(contexts), TOP), np.int32)
        logits = np.zeros((len(contexts), TOP), np.float32)
        for row, context in enumerate(contexts):
            place = len(context) - self._begun
            near = set(self._reply[max(0, place - 4) : max(0, place + 4)])
            said = self._reply[place] if 0 <= place < len(self._reply) else self._end
            order = [said, *sorted(near - {said})]
            order += [index for index in range(TOP + len(order)) if index not in order]
            values = [10.0] + [5.0] * len(near - {said})
            best[row], logits[row, : len(values)] = order[:TOP], values
            self._buffer[row, order[: len(values)]] = torch.tensor(values)
            self._set.append((row, order[: len(values)]))
        return Scores(self._buffer[: len(contexts)], best, logits)


def main() -> int:
    """Run the command lines of COMMANDS one after another, or the process's own, with a teller for a runner."""
    import lacli.assistant.cost_cache
    import lacli.assistant.first_guesses
    import lacli.assistant.prompt
    import lacli.assistant.reply
    import lacli.models.runners.load
    import lacli.pool.secrets
    from lacli.cli.main import main as lacli_main
    from lacli.completion.without_fim import hidden
    from lacli.engine.cost import CostCurve
    from lacli.text.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(Path(os.environ["TELLER_TOKENIZER"]))
    said = json.loads(Path(os.environ["SAYS"]).read_text(encoding="utf-8"))
    teller = Teller(end=2, pause_s=float(os.environ.get("PAUSE", "0")))
    real = lacli.assistant.prompt.build_prompt

    def build_prompt(request: Any, *arguments: Any) -> Any:
        prompt = real(request, *arguments)
        blanks = "" if request.place is None else hidden(request.place)  # a model writes those before a place again
        teller.begin(len(prompt.token_ids), tokenizer.encode(blanks + said.pop(0)) if said else ())
        return prompt

    def load_runner(*_: Any) -> Teller:
        teller.truncate(0)
        return teller

    # of replies alone: a chat that reads ahead and an edit that counts its tokens say nothing
    lacli.assistant.reply.build_prompt = build_prompt  # type: ignore[attr-defined,assignment]
    lacli.models.runners.load.load_runner = load_runner  # type: ignore[assignment]
    # What a teller says is no habit to keep in the shared cache.
    lacli.assistant.first_guesses.known_or_made = lambda *_: lacli.assistant.first_guesses.NONE  # type: ignore[assignment]
    lacli.assistant.cost_cache.cost_curve = lambda *_: CostCurve({1: 10.0, 16: 10.1, 17: 100.0})
    Tokenizer.load = classmethod(lambda cls, folder: tokenizer)  # type: ignore[method-assign,assignment]
    if "FILTER_OFF" in os.environ:  # shows that what looks for leaks would find them
        lacli.pool.secrets.refuse = lambda text, wary=False: None
    commands = json.loads(os.environ.get("COMMANDS", "null"))
    return max(lacli_main(command) for command in commands) if commands else lacli_main()


def serve(line: socket.socket) -> int:
    """Be the program whenever `line` asks for it, each time in a child of its own: torch is imported once for all.

    A request is JSON with the child's stdin, stdout and stderr; the answers are its process id, then its exit code.
    """

    while True:
        data, files, _, _ = socket.recv_fds(line, 1 << 20, 3)
        if not data:
            return 0
        asked = json.loads(data)
        child = os.fork()
        if child == 0:
            line.close()
            _become(asked, files)
            return main()
        for file in files:
            os.close(file)
        line.sendall(f"{child}\n".encode())
        line.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())


def _become(asked: dict[str, Any], files: Sequence[int]) -> None:
    """This process as one that was just started with these arguments, at this terminal if it is one."""
    import fcntl
    import termios

    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 - as long as the process lives
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.argv[1:] = asked["arguments"]


if __name__ == "__main__":
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))
