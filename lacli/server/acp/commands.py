"""The slash commands of a conversation in an editor: calls of `lacli.chat`, as those of the other front ends are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lacli.assistant.cancel import CancelToken
from lacli.chat import commands, listings
from lacli.chat.commands import Command
from lacli.chat.outcome import Outcome, plain
from lacli.events import Attachment
from lacli.server.acp.base import Conversation, End

WORDS = commands.words("acp")


def run(here: Conversation, command: Command, rest: str, files: Sequence[Attachment], cancel: CancelToken) -> End:
    """Run a command; `files` were linked in it. Raises LacliError."""
    if command.name in ("edit", "apply"):
        from lacli.server.acp import changes  # with the grammars of all languages

        return changes.edit(here, rest, files, cancel) if command.name == "edit" else changes.apply(here, rest, cancel)
    outcome = _tokens(here, cancel) if command.name == "tokens" else _RUN[command.name](here, rest)
    return here.carry_out(outcome, cancel)


def _help() -> Outcome:
    table = (each.usage.ljust(28) + each.help for each in commands.commands("acp"))
    return Outcome(lines=plain(*table))


def _file(here: Conversation, rest: str) -> Outcome:
    from lacli.chat.chat import Material

    return here.chat.attach(Material("", (here.read_file(rest),), ()))


def _template(here: Conversation, rest: str) -> Outcome:
    from lacli.prompts import saved

    return here.chat.template(saved.named(rest)) if rest else listings.templates()


def _model(here: Conversation, rest: str) -> Outcome:
    return here.chat.change_model(rest, here.chat.find_model(rest)) if rest else listings.models(here.chat)


def _tokens(here: Conversation, cancel: CancelToken) -> Outcome:
    engine = here.engine_until(cancel)
    return listings.size(here.chat, engine.preview(listings.size_request(here.chat), here.show_progress))


_RUN: dict[str, Callable[[Conversation, str], Outcome]] = {
    "help": lambda here, rest: _help(),
    "clear": lambda here, rest: here.chat.clear(),
    "retry": lambda here, rest: here.chat.retry(),
    "undo": lambda here, rest: here.chat.undo(),
    "file": _file,
    "drop": lambda here, rest: here.chat.drop(rest) if rest else listings.attached_files(here.chat),
    "system": lambda here, rest: here.chat.system(rest) if rest else listings.system_message(here.chat),
    "template": _template,
    "model": _model,
    "set": lambda here, rest: here.chat.set_option(rest) if rest else listings.reply_options(here.chat),
    "stats": lambda here, rest: listings.numbers(here.chat),
    "compact": lambda here, rest: here.chat.compact(),
}
