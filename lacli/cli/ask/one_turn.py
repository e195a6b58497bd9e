"""One turn of `ask`: read the prompt, load the model, write the reply, store it, and end as the reply ended.
`chat` begins the same way.

Also prints the prompt of a request without a reply: --dry-run of `ask`, `complete` and `edit`.
"""

from __future__ import annotations

from collections.abc import Callable

from lacli.assistant.base import Replier
from lacli.cli.ask.prompt_input import PromptInput
from lacli.cli.ask.reply_output import ReplyOutput, write_record, write_text
from lacli.cli.ask.tee import TeeAssistant
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics, live
from lacli.events import Message, Request
from lacli.sessions.recorder import Recorder


def one_turn(
    assistant: TeeAssistant,
    prompt_input: PromptInput,
    request: Callable[[Message], Request],
    reply_output: ReplyOutput,
    session_recorder: Recorder,
    common: Common,
) -> None:
    """Read the prompt, write the reply, store it, and end as it ended."""
    question = read_and_load(assistant, prompt_input, common)
    try:
        finished = live.stream(assistant, request(question), common, silent=reply_output.silent)
    except BaseException:  # the reader of stdout has gone, or a second Ctrl-C: the text so far is stored
        if assistant.partial is not None:
            session_recorder.turn(question, assistant.partial)
        raise
    session_recorder.turn(finished.shown or question, finished)
    reply_output.finish(finished, session_recorder.id)
    live.report_stats(finished, common)
    live.conclude(finished)


def read_and_load(assistant: Replier, prompt_input: PromptInput, common: Common) -> Message:
    """Read the prompt and load the model: at the same time if stdin is slow, else only once the prompt is known to be
    valid."""
    loaded = prompt_input.is_slow()
    if loaded:
        live.load(assistant, common)
    question = prompt_input.message()
    if not loaded:
        live.load(assistant, common)
    return question


def show_prompt(assistant: Replier, request: Request, common: Common, path: str = "") -> None:
    """The prompt as the model would be given it, to a file where `path` names one."""
    with live.show_progress() as report:
        preview = assistant.preview(request, report)
    for note in preview.notes:
        diagnostics.note(note)
    if common.json:
        record = {
            "prompt": preview.text,
            "prompt_n": preview.size,
            "ctx_size": preview.ctx_size,
            "token_ids": preview.token_ids,
            "notes": preview.notes,
        }
        if preview.window_n:
            record |= {"shown_n": preview.shown_n, "window_n": preview.window_n, "reused_n": preview.reused_n}
        write_record(record, path)
        return
    write_text(preview.text, path)
    context = f"the context has {preview.ctx_size:,}" if preview.ctx_size else "the size of its context is not known"
    diagnostics.note(f"{'about ' if preview.estimated_n else ''}{preview.size:,} tokens; {context}")
    if preview.window_n:
        shown = f"shown {preview.shown_n:,} of {preview.window_n:,} tokens around the cursor"
        diagnostics.note(f"{shown}; {preview.reused_n:,} of the prompt's were read before")
