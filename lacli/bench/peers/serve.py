"""The loop of a contestant's process: one JSON object a line in, one a line out, loaded once.

Runs in a contestant's own virtual environment, so it imports the standard library only, and must stay readable to any
Python of lacli's range. `process` is the other end.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

Answer = dict[str, Any]
Command = Callable[..., Answer]


def serve(commands: Mapping[str, Command]) -> None:
    """Answer until stdin ends. Orders are {"do": name, **arguments}, answers {"ok": ...} or {"error": a sentence}.

    Whatever else the contestant prints goes to stderr.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answer_lines(sys.stdin, answers, commands)


def answer_lines(orders: TextIO, answers: TextIO, commands: Mapping[str, Command]) -> None:
    """The loop itself."""
    for line in orders:
        order = json.loads(line)
        answer: Answer
        try:
            answer = {"ok": commands[order.pop("do")](**order)}
        except Exception as error:  # a contestant's failure is a line of the table, whatever it is
            reason = " ".join(str(error).split()) or "no reason given"
            answer = {"error": f"{type(error).__name__}: {reason}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
