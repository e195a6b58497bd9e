"""Two ways to have a task done: lacli's, and the plainest, which asks for the whole file in a chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lacli.bench.edits.judge import Verdict, verdict
from lacli.bench.edits.tasks import Task
from lacli.edits.textfile import TextFile
from lacli.errors import LacliError
from lacli.events import Attachment, Finished, Message, Request, joined
from lacli.scripted import Replier
from lacli.text.fences import blocks
from lacli.text.lines import likeness
from lacli.verbs.edit_question import Question
from lacli.verbs.edit_requests import Requests
from lacli.verbs.editing import Edit

_PLAIN = "Return the whole file with this change in one code block."


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a task."""

    number: int
    way: str
    verdict: Verdict
    seconds: float
    tries: int
    prompt_n: int
    tokens: int
    steps: int
    tokens_per_step: float | None
    forms: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    """What was found of the last try."""
    text: str = ""
    """The file afterwards, where it is no good."""


def lacli(task: Task, assistant: Replier, base: Request) -> Done:
    """As `lacli edit FILE INSTRUCTION --in-place`."""
    started = time.perf_counter()
    file = TextFile.of_bytes(task.path.read_bytes(), task.file)
    edit = Edit(file, task.instruction, task.file)
    replies: list[Finished] = []
    outcome = edit.without_model()
    if outcome is None:
        asking = Requests(assistant, base)
        edit = asking.fitted(edit)

        def ask(question: Question) -> Finished:
            replies.append(_reply(assistant, asking.of(edit, question)))
            return replies[-1]

        outcome = edit.run(ask)
    refused = bool(outcome.result.problems)
    after = task.text if refused else file.reads(outcome.result.data)
    found = tuple(problem.text for problem in outcome.result.problems)
    forms = tuple(each.form for each in outcome.tries)
    return _done(task, "lacli", after, started, replies, forms, found)


def plain(task: Task, assistant: Replier, base: Request) -> Done:
    """The whole file asked for, the likest code block taken for it."""
    started = time.perf_counter()
    text = task.text
    question = Message("user", f"{task.instruction}\n\n{_PLAIN}", attachments=(Attachment(task.file, text),))
    part = len(assistant.preview(replace(base, messages=(Message("user", text),))).token_ids)
    request = replace(base, messages=(*base.messages, question), max_tokens=int(part * 1.3) + 256)
    finished = _reply(assistant, request)
    found = max(blocks(finished.text), key=lambda block: likeness(block.text, text), default=None)
    after = text if found is None else found.text
    return _done(task, "plain", after, started, [finished], ("whole",), ())


WAYS: dict[str, Callable[[Task, Replier, Request], Done]] = {"lacli": lacli, "plain": plain}


def _reply(assistant: Replier, request: Request) -> Finished:
    *_, last = assistant.reply(request)
    if not isinstance(last, Finished):
        raise LacliError("the reply did not end", "")
    return last


def _done(
    task: Task,
    way: str,
    after: str,
    started: float,
    replies: Sequence[Finished],
    forms: tuple[str, ...],
    faults: tuple[str, ...],
) -> Done:
    seconds = time.perf_counter() - started
    said = verdict(task, after)
    stats = joined(replies).stats if replies else None
    return Done(
        number=task.number,
        way=way,
        verdict=said,
        seconds=round(seconds, 2),
        tries=len(replies),
        prompt_n=stats.prompt_n if stats else 0,
        tokens=stats.predicted_n if stats else 0,
        steps=stats.steps if stats else 0,
        tokens_per_step=round(stats.tokens_per_step, 2) if stats and stats.tokens_per_step else None,
        forms=forms,
        faults=faults,
        text="" if said == "good" or after == task.text else after,
    )
