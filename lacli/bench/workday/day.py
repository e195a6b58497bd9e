"""The hour of work that `bench.workday` has done: what is asked for one after the other, and how files change between.

Text only, and the same for every model: a user takes none of what is proposed, but types the lines that were there and
makes the edit that is right. The project is the twelve files of the suite `edits`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from lacli.bench.edits.tasks import Task, project, tasks

Command = Literal["complete", "ask", "edit"]

_TYPED = 5
"""Lines that are typed again, with a completion asked for behind each."""
_VISITED = (0.2, 0.8)
"""Where else in a file completions are asked for, as shares of its lines."""
_ROUNDS = (
    ("dotenv/variables.py", "guard", "What does Variable.resolve do?", "Where is the default of a variable used?"),
    ("bytes/index.js", "default", "Which units does parse know?", "What does format do for a negative number?"),
    ("errgroup/errgroup.go", "add", "What is the semaphore for?", "What happens after the first error?"),
    ("tinydb/utils.py", "add", "What does LRUCache throw away?", "Why can FrozenDict be hashed?"),
    ("yocto-queue/index.js", "guard", "How does dequeue find the next value?", "What does clear leave behind?"),
)
"""A file, the kind of its edit, and two questions about it."""
_REWRITTEN = 3
"""The round in which the file is set anew as a whole before the second question."""


@dataclass(frozen=True, slots=True)
class Step:
    """One process of lacli, and the files as they are when it starts."""

    command: Command
    file: str
    words: str
    """The question, the instruction, or the line behind which text is to come."""
    changed: Mapping[str, str] = field(default_factory=dict)
    """Texts of the files that have changed since the step before."""


def day() -> Iterator[Step]:
    """Sixty completions, ten questions and five edits: in five rounds, each with one file."""
    for number, (file, kind, first, second) in enumerate(_ROUNDS):
        task = next(each for each in tasks() if each.file == file and each.kind == kind)
        yield from _round(number, task, first, second)


def _round(number: int, task: Task, first: str, second: str) -> Iterator[Step]:
    """A question about a file, lines of it typed, an edit, more lines, places looked at here and there. The second
    question comes at once or at the end, in turns."""
    file = task.file
    before, after = project()[file], task.right_answer()
    at_once = number % 2 == 0
    yield Step("ask", file, first)
    if at_once:
        yield Step("ask", file, second)
    yield from _typing(file, before, 0.3)
    yield Step("edit", file, task.instruction)
    yield from _typing(file, after, 0.6)
    text = after if number != _REWRITTEN else after.replace("    ", "\t")
    changed = {file: text} if text != after else {}
    for share in _VISITED:
        yield Step("complete", file, str(_line_near(text, share)), changed)
        changed = {}
    if not at_once:
        yield Step("ask", file, second)


def _typing(file: str, text: str, share: float) -> Iterator[Step]:
    """Completions while some lines are typed that a moment ago were not there."""
    lines = text.split("\n")
    start = _line_near(text, share)
    for typed in range(1, _TYPED + 1):
        now = [*lines[: start + typed], *lines[start + _TYPED :]]
        yield Step("complete", file, str(start + typed), {file: "\n".join(now)})


def _line_near(text: str, share: float) -> int:
    """The number of a line with something on it, from 1."""
    lines = text.split("\n")
    at = int(share * len(lines))
    return next(number for number in range(max(1, at), len(lines)) if lines[number - 1].strip())
