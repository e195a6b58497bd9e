"""What Tab offers at the chat's prompt: commands, and what belongs behind each; paths behind @ anywhere.

Reads folders, the models' names, the log of sessions and the saved prompts, each only when Tab asks for it, and offers
nothing where one cannot be read. Called by prompt_toolkit through `reader`.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from lacli.cli.repl.commands import TABLE
from lacli.errors import LacliError

_MOST = 200
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
    known: dict[str, Callable[[], list[tuple[str, str]]]] = {
        "model": _models,
        "session": _sessions,
        "template": _templates,
        "option": _options,
    }
    if kind in known:
        with contextlib.suppress(LacliError, OSError):
            for name, meta in known[kind]():
                if name.startswith(typed):
                    yield Completion(name, -len(typed), display_meta=meta)


def _paths(typed: str, escape: bool) -> Iterator[Completion]:
    """Entries of the folder the typed path leads to, folders with a slash; hidden ones where a dot was typed."""
    plain = typed.replace("\\ ", " ") if escape else typed
    folder, _, begun = plain.rpartition("/")
    where = os.path.expanduser(folder + "/") if "/" in plain else "."
    try:
        with os.scandir(where) as entries:
            found = sorted(
                (entry.name + ("/" if entry.is_dir() else "") for entry in entries if entry.name.startswith(begun)),
                key=lambda name: (name.startswith("."), name.lower()),
            )
    except OSError:
        return
    shown = [name for name in found if begun.startswith(".") or not name.startswith(".")]
    size = len(typed) - typed.rfind("/") - 1
    for name in shown[:_MOST]:
        yield Completion(name.replace(" ", "\\ ") if escape else name, -size, display=name)


def _models() -> list[tuple[str, str]]:
    from lacli.models.registry import load_registry

    return [(name, spec.title) for name, spec in load_registry().models.items()]


def _sessions() -> list[tuple[str, str]]:
    from lacli.pool.identity import project_root
    from lacli.sessions.store import SessionStore, path

    return [(each.id[:8], each.title) for each in SessionStore(path()).list(project_root(Path(".")), limit=20)]


def _templates() -> list[tuple[str, str]]:
    from lacli.prompts import saved

    return [(name, "") for name in saved.names()]


def _options() -> list[tuple[str, str]]:
    from lacli.verbs.options import OPTIONS

    return [(name, "") for name in OPTIONS]
