"""The slash commands of `lacli chat`: calls of `lacli.chat`, and what needs the terminal or the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from lacli.assistant.base import Replier
from lacli.chat import commands, listings, slash
from lacli.chat.chat import ChatSession
from lacli.chat.commands import Command
from lacli.chat.outcome import Outcome, plain
from lacli.cli.chat import results
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics, live
from lacli.events import Counts
from lacli.shared.wording import counted, counts_table

WORDS = commands.words("cli")
_KEYS = (
    "Ctrl-J              new line; so does Enter between two lines of " + '"""',
    "(blank)/word        a question, sent without the blank",
    "@path               shows the model a file; Tab completes paths, commands and names",
    "Ctrl-C              stops a reply and keeps what was written",
)


class Loop(Protocol):
    """What commands need of the loop that runs them."""

    chat: ChatSession
    history_file: Path | None

    @property
    def assistant(self) -> Replier:
        """The engine there is."""

    @property
    def common(self) -> Common:
        """The options of the command line."""

    def loaded(self) -> bool:
        """Wait for the model; False where the user would not."""


def run(loop: Loop, command: Command, rest: str) -> Outcome:
    """Run a command other than /exit."""
    return _RUN[command.name](loop, rest)


def _help(loop: Loop) -> Outcome:
    file = loop.history_file
    kept = f"What you type is kept in {file}" if file else "What you type is not kept"
    table = (each.usage.ljust(20) + each.help for each in commands.commands("cli"))
    return Outcome(lines=plain(*table, *_KEYS, kept))


def _edit() -> Outcome:
    from lacli.cli.terminal.editor import edited

    return Outcome(draft=slash.as_typed(edited("")))


def _template(loop: Loop, rest: str) -> Outcome:
    from lacli.prompts import saved

    return loop.chat.template(saved.named(rest)) if rest else listings.templates()


def _model(loop: Loop, rest: str) -> Outcome:
    chat = loop.chat
    return chat.change_model(rest, chat.find_model(rest)) if rest else listings.models(chat)


def _sessions(loop: Loop, rest: str) -> Outcome:
    from lacli.sessions.store import SessionStore, path

    return loop.chat.resume(SessionStore(path()).session(rest)) if rest else listings.sessions(loop.chat)


def _tokens(loop: Loop) -> Outcome:
    if not loop.loaded():
        return Outcome()
    return listings.size(loop.chat, loop.assistant.preview(listings.size_request(loop.chat)))


def _stats(loop: Loop) -> Outcome:
    if loop.chat.stats is not None:
        live.show_stats(loop.chat.stats, loop.common)
    return listings.numbers(loop.chat)


def _pool(loop: Loop) -> Outcome:
    from lacli.cli.pool.common import project_of

    if not loop.common.pool:
        return Outcome(lines=plain("the pool is off (--no-pool)"))
    root, described = project_of(None)
    lines = [f"project {root}"]
    if not described.pools:
        lines.append("no pool yet: the first reply in this project makes one")
    for each in described.pools:
        replies = counted(each.segments, "reply", "replies")
        lines.append(f"{each.tokens:,} tokens in {replies}, model {each.model or 'unknown'}")
        table = counts_table([("", Counts.of_totals(each.totals))]) if each.totals else []
        lines += [f"  {line}" for line in table]
    return Outcome(lines=plain(*lines))


_RUN: dict[str, Callable[[Loop, str], Outcome]] = {
    "help": lambda loop, rest: _help(loop),
    "clear": lambda loop, rest: loop.chat.clear(),
    "retry": lambda loop, rest: loop.chat.retry(),
    "undo": lambda loop, rest: loop.chat.undo(),
    "edit": lambda loop, rest: _edit(),
    "file": lambda loop, rest: loop.chat.attach(loop.chat.read_file(rest)),
    "drop": lambda loop, rest: loop.chat.drop(rest) if rest else listings.attached_files(loop.chat),
    "system": lambda loop, rest: loop.chat.system(rest) if rest else listings.system_message(loop.chat),
    "template": _template,
    "model": _model,
    "set": lambda loop, rest: loop.chat.set_option(rest) if rest else listings.reply_options(loop.chat),
    "copy": lambda loop, rest: results.copy(loop.chat, rest),
    "save": lambda loop, rest: results.save(loop.chat, rest),
    "apply": lambda loop, rest: results.apply(loop.chat, rest),
    "tokens": lambda loop, rest: _tokens(loop),
    "stats": lambda loop, rest: _stats(loop),
    "pool": lambda loop, rest: _pool(loop),
    "sessions": _sessions,
    "compact": lambda loop, rest: loop.chat.compact(),
}


def say(outcome: Outcome, as_text: bool = False) -> None:
    """Print the lines of an outcome. `as_text`: Markdown is not rendered."""
    for line in outcome.lines:
        text = f"{line.text}; {line.hint}" if line.hint else line.text
        if line.level == "error":
            diagnostics.error(line.text, line.hint)
        elif line.level == "warning":
            diagnostics.warning(text)
        elif line.level == "note":
            diagnostics.note(text)
        elif line.level == "answer":
            live.show_answer(line.text, as_text)
        else:
            diagnostics.plain_line(text, " " if line.level == "words" else "")
