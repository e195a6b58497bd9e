"""What Tab offers at the chat's prompt: commands, and what belongs behind each; paths behind @ anywhere.

What there is, `lacli.chat.values` finds, each only when Tab asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from lacli.chat import values
from lacli.cli.chat.commands import TABLE

_AT_PATH = re.compile(r"(?:^|(?<=[\s(\[{<\"'`,;]))@((?:\\ |[^\s\"'])*)$")


class ChatCompleter(Completer):
    """Completes from the table of commands."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        command = re.fullmatch(r"/([a-z]*)", text)
        if command is not None:
            for each in TABLE:
                if each.name.startswith(command[1]):
                    shown = f"/{each.name} {each.arguments}".rstrip()
                    yield Completion(each.name, -len(command[1]), display=shown, display_meta=each.help)
            return
        value = re.fullmatch(r"/([a-z]+)\s+(.*)", text, re.DOTALL)
        known = next((each for each in TABLE if value is not None and each.name == value[1]), None)
        if value is not None and known is not None:
            yield from _values(known.values, value[2])
            return
        at = _AT_PATH.search(text)
        if at is not None:
            yield from _paths(at[1], escape=True)


def _values(kind: str, typed: str) -> Iterator[Completion]:
    if kind in ("file", "n file"):
        number = re.match(r"\d+\s+", typed) if kind == "n file" else None
        yield from _paths(typed[number.end() :] if number else typed, escape=False)
        return
    for name, meta in values.names(kind):
        if name.startswith(typed):
            yield Completion(name, -len(typed), display_meta=meta)


def _paths(typed: str, escape: bool) -> Iterator[Completion]:
    """Entries of the folder the typed path leads to."""
    size = len(typed) - typed.rfind("/") - 1
    for name in values.entries(typed.replace("\\ ", " ") if escape else typed):
        yield Completion(name.replace(" ", "\\ ") if escape else name, -size, display=name)
