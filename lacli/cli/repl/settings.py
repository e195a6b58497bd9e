"""The slash commands about how the model runs: which one, its options, the numbers of prompt, replies and pool."""

from __future__ import annotations

import dataclasses
import shlex
from typing import TYPE_CHECKING, Any

from lacli.cli import diagnostics, live
from lacli.cli.options import Common, with_common
from lacli.errors import UsageError
from lacli.events import Counts, Message
from lacli.wording import counted, counts_table

if TYPE_CHECKING:
    from lacli.cli.repl.loop import Repl

OPTIONS = (
    "temperature",
    "top_p",
    "top_k",
    "repetition_penalty",
    "seed",
    "max_tokens",
    "stop",
    "truncate",
)
"""Fields of `Common` that shape a reply and may change between two."""
_NONE = ("none", "off")


def model(repl: Repl, rest: str) -> None:
    """/model [NAME]"""
    from lacli.models.registry import load_registry

    registry = load_registry()
    if not rest:
        from lacli.models.inventory import presence

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
        for name in OPTIONS:
            diagnostics.plain_line(f"{_flag(name):20}{_shown(getattr(repl.common, name))}")
        diagnostics.note("/set temperature 0.7 sets one; none is the default again")
        return
    name, _, value = rest.partition(" ")
    field = name.lstrip("-").replace("-", "_").lower()
    if field not in OPTIONS:
        import difflib

        near = difflib.get_close_matches(field, OPTIONS, 1)
        hint = f"did you mean {_flag(near[0])}?" if near else "/set lists them"
        raise UsageError(f"there is no option {name}", hint)
    value = value.strip()
    if not value:
        diagnostics.plain_line(f"{_flag(field):20}{_shown(getattr(repl.common, field))}")
        return
    repl.common = dataclasses.replace(repl.common, **{field: _checked(field, value)})
    diagnostics.note(f"{_flag(field)} is {_shown(getattr(repl.common, field))}")


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
    from lacli.cli.pool_common import project_of

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


def _checked(field: str, value: str) -> Any:
    """The value as the flag of this name would take it, with the same checks and the same words where it will not."""
    if value.lower() in _NONE:
        return getattr(Common(), field)
    import typer

    from lacli.cli.group import usage_error

    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_common(only=(field,))
    def never_run(*, common: Common) -> None:
        """Only parsed."""

    flag = f"--{_flag(field)}"
    arguments = [part for each in (_split(value) if field == "stop" else [value]) for part in (flag, each)]
    try:
        with typer.main.get_command(app).make_context("/set", arguments) as context:
            return context.params[field]
    except typer.TyperException as error:
        message = usage_error(error).message.removeprefix("--")
        raise UsageError(message, f"/set {_flag(field)} none is the default again") from None


def _split(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return [value]


def _flag(field: str) -> str:
    return field.replace("_", "-")


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "none"
    return " ".join(map(repr, value)) if isinstance(value, list | tuple) else str(value)
