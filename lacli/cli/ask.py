"""`lacli ask`: one question, one answer. The verb for pipelines.

Options into a question, a request and a delivery; the work is done by `question`, `live`, `deliver` and `record`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from lacli.cli import diagnostics, live, output
from lacli.cli.deliver import Delivery, Overheard
from lacli.cli.options import Common, with_common
from lacli.cli.question import Question
from lacli.cli.record import Recorder, recorder
from lacli.errors import UsageError
from lacli.events import Finished, Message, Request
from lacli.scripted import Replier

if TYPE_CHECKING:
    from lacli.prompts.saved import Saved
    from lacli.sessions.records import Session

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_KINDS = ("ask", "chat")
"""Commands whose sessions -c goes on with."""
_EXAMPLES = """
Examples:

  git diff | lacli ask "write a commit message"

  lacli ask -f app.py -f tests/test_app.py "why does the second test fail?"

  lacli ask -x "a Python function that slugs a title, only code" > slug.py

  lacli ask -c "and in Go?"                     (goes on with the last conversation here)

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


class _Ask(TyperCommand):
    """Typer has no option that takes two values and may be repeated; click has."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        next(param for param in self.params if param.name == "param").nargs = 2


def _use_template(context: typer.Context, name: str | None) -> str | None:
    """A template's settings become defaults of the options that come after it, as a configuration's are."""
    if name and not context.resilient_parsing:
        from lacli.prompts.saved import load

        saved = load(name)
        settings = {key.replace("-", "_"): value for key, value in saved.options.items()}
        settings |= {"system": saved.system} if saved.system else {}
        context.default_map = {**(context.default_map or {}), **settings}
    return name


@app.command(cls=_Ask, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(max_tokens=512)
def ask(
    prompt: Annotated[
        list[str] | None, typer.Argument(help="The question or instruction; @PATH shows a file, - is stdin.")
    ] = None,
    template: Annotated[
        str | None,
        typer.Option("-t", "--template", metavar="NAME", help="Ask by this template.", callback=_use_template),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("-p", "--param", metavar="NAME VALUE", help="For a $NAME of the template; may be repeated."),
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="NAME", help="Keep prompt, -s and -p as a template; ask nothing.")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option("-f", "--file", metavar="PATH", help="Show this file; may be repeated.")
    ] = None,
    extract: Annotated[bool, typer.Option("-x", "--extract", help="Print the first code block only.")] = False,
    extract_last: Annotated[bool, typer.Option("--xl", "--extract-last", help="Print the last code block only.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object on stdout for each event.")] = False,
    out: Annotated[
        str | None, typer.Option("-o", "--output", metavar="PATH", help="Write the reply to this file.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the prompt as the model would be given it; ask nothing.")
    ] = False,
    continue_: Annotated[
        bool, typer.Option("-c", "--continue", help="Go on with this project's last conversation.")
    ] = False,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Go on with this one; its first letters will do.")
    ] = None,
    interactive: Annotated[bool, typer.Option("-i", "--interactive", help="Ask on at the terminal.")] = False,
    edit: Annotated[bool, typer.Option("-e", "--edit", help="Write the prompt in your editor.")] = False,
    batch: Annotated[
        str | None, typer.Option("--batch", metavar="FILE", help="Ask each prompt of a JSON Lines file; - is stdin.")
    ] = None,
    *,
    common: Common,
) -> None:
    """Ask one question; piped stdin is content, the argument says what to do with it."""
    words, files = prompt or [], file or []
    given = dict(zip(*[iter([each for pair in param or () for each in pair])] * 2, strict=True))
    delivery = Delivery(common.json, jsonl, "first" if extract else "last" if extract_last else "", _path(out))
    delivery.check()
    if save is not None:
        _save(save, words, given, common)
        return
    saved = _saved(template)
    asked = Question(words, common, files, saved, given, edit)
    going_on = _session(continue_, session)
    if going_on is not None and common.model is None:
        common = replace(common, model=going_on.model or None)
    ...
