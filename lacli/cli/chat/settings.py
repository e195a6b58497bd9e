"""The slash commands about how the model runs: which one, its options, the numbers of prompt, replies and pool."""

from __future__ import annotations

import dataclasses
import shlex
from typing import TYPE_CHECKING, Any

from lacli.chat import options
from lacli.cli.framework.options import Common, with_common
from lacli.cli.terminal import diagnostics, live
from lacli.errors import UsageError
from lacli.events import Counts, Message
from lacli.shared.wording import counted, counts_table

if TYPE_CHECKING:
    from lacli.cli.chat.loop import Repl

_NONE = ("none", "off")


def model(repl: Repl, rest: str) -> None:
    """/model [NAME]"""
    from lacli.models.registry.registry import load_registry

    registry = load_registry()
    if not rest:
        from lacli.models.registry.inventory import presence

        now = registry.resolve(repl.common.model).alias
        widest = max(map(len, registry.models))
        for name, spec in registry.models.items():
            here = "here" if presence(spec).ready else "not here"
            diagnostics.plain_line(f"{'*' if name == now else ' '} {name:{widest}}  {here}")
        diagnostics.note("/model NAME goes on with another; a folder or .gguf file will do, too")
        return
    spec = registry.resolve(rest)  # an unknown name is found out before anything is let go
    repl.change_model(dataclasses.replace(repl.common, model=rest))
    diagnostics.note(f"going on with {spec.alias}, which reads the conversation anew")


def set_option(repl: Repl, rest: str) -> None:
    """/set [K V]"""
    if not rest:
        for flag in options.OPTIONS:
            diagnostics.plain_line(options.line(repl.common.request(), flag))
        diagnostics.note(options.USE)
        return
    flag, value = options.wish(rest)
    if not value:
        diagnostics.plain_line(options.line(repl.common.request(), flag))
        return
    repl.common = dataclasses.replace(repl.common, **{flag.replace("-", "_"): checked(flag, value)})
    repl.conversation.changed = True
    diagnostics.note(f"{flag} is {options.shown(repl.common.request(), flag)}")


def tokens(repl: Repl, rest: str) -> None:
    """/tokens"""
    conversation = repl.conversation
    if not repl.loaded():
        return
    ahead = conversation.ahead() or (Message("user", ""),)
    preview = repl.assistant.preview(dataclasses.replace(repl.request(ahead), drop_oldest=False, max_tokens=0))
    size, reserve = len(preview.token_ids), repl.common.max_tokens
    left = preview.ctx_size - size - reserve
    sent = len(conversation.turns) - conversation.left_out
    parts = [counted(sent, "turn", "turns")]
    if conversation.attachments:
        parts.append(counted(len(conversation.attachments), "file", "files"))
    diagnostics.plain_line(f"{size:,} tokens so far ({', '.join(parts)})")
    diagnostics.plain_line(
        f"{reserve:,} kept free for the reply, {max(0, left):,} left for the question, of {preview.ctx_size:,}"
    )
    if conversation.left_out:
        gone = counted(conversation.left_out, "oldest turn is", "oldest turns are")
        diagnostics.plain_line(f"{gone} not sent any more")


def stats(repl: Repl, rest: str) -> None:
    """/stats"""
    if repl.last is None:
        diagnostics.plain_line("no reply yet")
        return
    live.show_stats(repl.last.stats, repl.common)
    for line in counts_table([("this reply", repl.last.stats), ("this chat", repl.conversation.counts)]):
        diagnostics.plain_line(line)


def pool(repl: Repl, rest: str) -> None:
    """/pool"""
    from lacli.cli.pool.common import project_of

    if not repl.common.pool:
        diagnostics.plain_line("the pool is off (--no-pool)")
        return
    root, described = project_of(None)
    diagnostics.plain_line(f"project {root}")
    if not described.pools:
        diagnostics.plain_line("no pool yet: the first reply in this project makes one")
    for each in described.pools:
        replies = counted(each.segments, "reply", "replies")
        diagnostics.plain_line(f"{each.tokens:,} tokens in {replies}, model {each.model or 'unknown'}")
        for line in counts_table([("", Counts.of_totals(each.totals))] if each.totals else []):
            diagnostics.plain_line(f"  {line}")


def checked(flag: str, value: str, default: Common = Common()) -> Any:  # noqa: B008 - it is frozen
    """The value as this flag would take it, with the same checks and the same words where it will not."""
    field = flag.replace("-", "_")
    if value.lower() in _NONE:
        return getattr(default, field)
    import typer

    from lacli.cli.framework.usage_errors import usage_error

    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_common(only=(field,))
    def never_run(*, common: Common) -> None:
        """Only parsed."""

    arguments = [part for each in (_split(value) if flag == "stop" else [value]) for part in (f"--{flag}", each)]
    try:
        with typer.main.get_command(app).make_context("/set", arguments) as context:
            return context.params[field]
    except typer.TyperException as error:
        message = usage_error(error).message.removeprefix("--")
        raise UsageError(message, f"/set {flag} none is the default again") from None


def _split(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return [value]
