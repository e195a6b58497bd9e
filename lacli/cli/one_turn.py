"""One turn of `ask`: read, load, write, keep, and end as the reply ended. And its prompt, without a reply."""

from __future__ import annotations

from collections.abc import Callable

from lacli.cli import diagnostics, live, output
from lacli.cli.deliver import Delivery
from lacli.cli.options import Common
from lacli.cli.overheard import Overheard
from lacli.cli.question import Question
from lacli.cli.record import Recorder
from lacli.events import Message, Request
from lacli.scripted import Replier


def one_turn(
    assistant: Overheard,
    asked: Question,
    request: Callable[[Message], Request],
    delivery: Delivery,
    keeper: Recorder,
    common: Common,
) -> None:
    """Load meanwhile where stdin is slow, write the reply, keep it, and end as it ended."""
    loaded = asked.is_slow()
    if loaded:
        live.load(assistant, common)
    question = asked.message()
    if not loaded:
        live.load(assistant, common)
    try:
        finished = live.stream(assistant, request(question), common, silent=delivery.silent)
    except BaseException:  # the reader went away, or a second Ctrl-C: what was written is kept nevertheless
        if assistant.partial is not None:
            keeper.turn(question, assistant.partial)
        raise
    keeper.turn(finished.shown or question, finished)
    delivery.finish(finished, keeper.id)
    live.report_stats(finished, common)
    live.conclude(finished)


def show_prompt(assistant: Replier, request: Request, common: Common) -> None:
    """The prompt as the model would be given it."""
    preview = assistant.preview(request)
    for note in preview.notes:
        diagnostics.note(note)
    if common.json:
        output.document(
            {
                "prompt": preview.text,
                "prompt_n": len(preview.token_ids),
                "ctx_size": preview.ctx_size,
                "token_ids": preview.token_ids,
                "notes": preview.notes,
            }
        )
        return
    output.text(preview.text)
    output.end_text("\n" if output.to_terminal() and not preview.text.endswith("\n") else "")
    diagnostics.note(f"{len(preview.token_ids):,} tokens; the context has {preview.ctx_size:,}")
