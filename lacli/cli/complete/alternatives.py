"""Several completions of one place, written side by side and put in order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

import typer

from lacli.assistant.base import BatchReplier
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.interrupt import ReplyInterrupt
from lacli.events import Event, Failed, Finished, Notice, Reason, ReplyStats, Request


def write_replies(assistant: BatchReplier, request: Request, count: int) -> tuple[list[Finished], ReplyInterrupt]:
    """One reply for each of the likeliest first tokens, and the interrupt that may have stopped them.

    One prompt: it is read once, and the others take over what is in the cache.
    """
    requests = [replace(request, begins_again=False, beginning=rank) for rank in range(count)]
    replies: list[Finished] = []
    failed: list[Failed] = []
    with ReplyInterrupt() as interrupt, contextlib.closing(_events(assistant, requests, interrupt)) as events:
        for event in events:
            _on_event(event, replies, failed)
    if failed and not replies:
        diagnostics.error(failed[0].message, failed[0].hint)
        raise typer.Exit(failed[0].exit_code)
    return replies, interrupt


def _events(
    assistant: BatchReplier, requests: Sequence[Request], interrupt: ReplyInterrupt
) -> Generator[Event | Failed, None, None]:
    yield from (event for _, event in assistant.replies(requests, interrupt))


def _on_event(event: Event | Failed, replies: list[Finished], failed: list[Failed]) -> None:
    if isinstance(event, Notice):
        diagnostics.notice(event)
    elif isinstance(event, Failed):
        failed.append(event)
    elif isinstance(event, Finished):
        replies.append(event)


def distinct(replies: Sequence[Finished], fits: Callable[[str], bool]) -> list[Finished]:
    """Replies with text that differs in more than blanks, the likeliest first; without cancelled ones.

    Those whose text does not fit into the file come last.
    """
    found: dict[str, Finished] = {}
    for each in sorted(replies, key=_likelihood, reverse=True):
        if each.text.strip() and each.reason != "cancelled":
            found.setdefault(" ".join(each.text.split()), each)
    return sorted(found.values(), key=lambda each: not fits(each.text))


def overall_result(replies: Sequence[Finished], interrupt: ReplyInterrupt, fits: Callable[[str], bool]) -> Finished:
    """The result of all: the best reply, marked as interrupted if the run was."""
    cancelled = any(each.reason == "cancelled" for each in replies)
    best = next(iter([*distinct(replies, fits), *replies]), Finished("", (), "cancelled", ReplyStats()))
    if not cancelled and replies:
        return best
    reason: Reason = "timeout" if interrupt.timed_out else "cancelled"
    return replace(best, reason=reason, stats=replace(best.stats, finish_reason=reason))


def _likelihood(reply: Finished) -> float:
    return float("-inf") if reply.likelihood is None else reply.likelihood
