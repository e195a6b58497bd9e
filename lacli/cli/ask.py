"""`lacli ask`: one question, one answer. The verb for pipelines."""

from __future__ import annotations

from typing import Annotated

import typer

from lacli.cli import diagnostics, live, output
from lacli.cli.options import Common, with_common
from lacli.cli.render import reply_record
from lacli.cli.stdin import Stdin, argument, piped
from lacli.errors import UsageError
from lacli.events import Attachment, Message
from lacli.scripted import Replier

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli ask "What does os.replace do?"

  git diff | lacli ask "write a commit message"

  lacli ask --no-stdin -n 80 --stats "Write a binary search in Python"

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(max_tokens=512)
def ask(
    prompt: Annotated[list[str] | None, typer.Argument(help="The question or instruction; - is stdin.")] = None,
    *,
    common: Common,
) -> None:
    """Ask one question; piped stdin is content, the argument says what to do with it."""
    from lacli.assistant import Assistant

    assistant = Assistant(common.settings())
    try:
        one_turn(assistant, prompt or [], common)
    finally:
        assistant.close()


def one_turn(assistant: Replier, words: list[str], common: Common) -> None:
    """Read the prompt, load meanwhile where stdin is slow, write the reply and its statistics."""
    prompt, stdin = _prompt_and_stdin(words, common)
    loaded = stdin is not None and stdin.is_slow()
    if loaded:
        live.load(assistant, common)
    piped_in = stdin.text() if stdin else ""
    if not prompt.strip():
        prompt, piped_in = piped_in, ""
    question = Message("user", prompt, attachments=(Attachment("stdin", piped_in),) if piped_in.strip() else ())
    if not prompt.strip():
        raise UsageError("there is nothing to ask", "give a prompt, or pipe text into stdin")
    if not loaded:
        live.load(assistant, common)
    finished = live.stream(assistant, common.request((question,)), silent=common.json)
    if common.json:
        output.document(reply_record(finished))
    live.report_stats(finished, common)
    if finished.reason == "cancelled":
        raise typer.Exit(diagnostics.INTERRUPTED)


def _prompt_and_stdin(words: list[str], common: Common) -> tuple[str, Stdin | None]:
    if words == ["-"]:
        return "", Stdin()
    return argument(" ".join(words)), piped(common.no_stdin)
