"""What may follow at the cursor of a command line: commands, options, their values, models, sessions, templates.

Loads no model, makes no file, and never fails: a shell that asks for a completion has no place for an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lacli.cli.framework import catalog
from lacli.cli.framework.commands import COMMANDS
from lacli.cli.framework.layers import path_of
from lacli.cli.framework.parameters import choices, key_name
from lacli.cli.framework.typer_private import annotation_of, at_cursor
from lacli.errors import LacliError

FILES = ":files"
"""Says that the shell's own completion of paths serves here."""
_FILE_WORDS = ("PATH", "FILE", "DIR")


class Offer(NamedTuple):
    """One completion."""

    word: str
    help: str = ""


def offers(root: Any, words: Sequence[str], incomplete: str) -> list[Offer]:
    """What may replace `incomplete` after `words`."""
    if incomplete == "=":  # bash hands `--model=x` on as three words
        incomplete = ""
    complete = [word for word in words if word != "="]
    kept = ""
    if incomplete.startswith("--") and "=" in incomplete:
        name, _, incomplete = incomplete.partition("=")
        complete.append(name)
        kept = f"{name}="
    context, place, rest = at_cursor(root, complete, incomplete)
    is_parameter = hasattr(place, "param_type_name")
    found = _values(context, place, rest) if is_parameter else list(_names(place, context, rest))
    return [Offer(kept + offer.word, " ".join(offer.help.split())) for offer in found]


def _names(command: Any, context: Any, incomplete: str) -> Iterator[Offer]:
    """Commands below a group, or options."""
    for item in command.shell_complete(context, incomplete):
        yield Offer(item.value, item.help or "")


def _values(context: Any, parameter: Any, incomplete: str) -> list[Offer]:
    """Values of an option or argument."""
    few = choices(parameter)
    source = _source(context, parameter)
    found: list[Offer] = []
    if few:
        found = [Offer(choice) for choice in few]
    elif source is not None:
        with contextlib.suppress(Exception):  # other commands report a broken registry or log
            found = list(source())
    found = [offer for offer in found if offer.word.startswith(incomplete)]
    if not found and _takes_a_path(context, parameter, incomplete):
        return [Offer(FILES)]
    return found


def _source(context: Any, parameter: Any) -> Callable[[], Iterator[Offer]] | None:
    """Who knows the values of this parameter."""
    path, name = path_of(context), parameter.name
    is_argument = parameter.param_type_name == "argument"
    if path[:1] == ("config",) and is_argument:
        if name == "value":
            return lambda: _config_values(str(context.params.get("key") or ""))
        return {"key": _keys, "command": _tables}.get(name)
    if is_argument:
        groups = {"models": _models, "sessions": _sessions, "templates": _templates}
        return groups.get(path[0]) if path and name in ("name", "names", "id", "ids", "prefix", "session") else None
    flags = {"model": _models, "session": _sessions, "template": _templates}
    return flags.get(key_name(parameter))


def _takes_a_path(context: Any, parameter: Any, incomplete: str) -> bool:
    metavar = (parameter.metavar or "").strip("[].")
    annotation = annotation_of(parameter)
    if annotation is Path or Path in getattr(annotation, "__args__", ()) or metavar.startswith(_FILE_WORDS):
        return True
    if parameter.param_type_name == "argument":
        return path_of(context)[:1] in (("ask",), ("chat",), ("complete",), ("edit",), ("models",))
    return key_name(parameter) == "model" and bool(incomplete)


def _models() -> Iterator[Offer]:
    from lacli.cli.framework import remotes
    from lacli.models.registry.registry import load_registry

    for spec in load_registry().models.values():
        yield Offer(spec.alias, spec.title)
    with contextlib.suppress(LacliError):  # a broken file does not take the models away
        for remote in remotes.known().values():
            yield Offer(remote.title, f"at {remote.host}")


def _sessions() -> Iterator[Offer]:
    from lacli.sessions.store import SessionStore, path

    if not path().exists():
        return
    store = SessionStore(path())
    length = store.short_length()
    for session in store.list(everywhere=True, limit=50):
        yield Offer(session.id[:length], session.title)


def _templates() -> Iterator[Offer]:
    from lacli.prompts.saved import names

    for name in names():
        yield Offer(name)


def _keys() -> Iterator[Offer]:
    for table, keys in catalog.whole().keys.items():
        for key in keys.values():
            yield Offer(".".join((*table, key.name)), key.help)


def _tables() -> Iterator[Offer]:
    for name, command in COMMANDS.items():
        yield Offer(name, command.help)


def _config_values(name: str) -> Iterator[Offer]:
    *table, last = name.split(".")
    key = catalog.whole().keys[tuple(table)][last]
    if last == "model":
        yield from _models()
    for choice in ("true", "false") if key.kind == "yes or no" else key.choices:
        yield Offer(choice)
