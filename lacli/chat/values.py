"""What may stand behind a slash command: names of models, sessions, templates and options, entries of folders.

Reads folders, the models' names, the log of sessions and the saved prompts, and offers nothing where one cannot be
read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from lacli.errors import LacliError
from lacli.text.invisible import can_be_typed, marked

_MOST = 200
_SESSIONS = 20
_ID = 8
"""Characters of a session's id, as people type it."""


def names(kind: str) -> list[tuple[str, str]]:
    """Of this kind (model, session, template or option), each with a few words on it; none of any other kind."""
    known: dict[str, Callable[[], list[tuple[str, str]]]] = {
        "model": _models,
        "session": _sessions,
        "template": _templates,
        "option": _options,
    }
    try:
        found = known[kind]() if kind in known else []
    except (LacliError, OSError):
        return []
    return [(name, _line(note)) for name, note in found if can_be_typed(name)]


def entries(typed: str) -> list[str]:
    """What is in the folder that the typed path leads to and goes on as it does: folders end with a slash, hidden ones
    are there where a dot was typed, and none whose name could act on a terminal."""
    folder, _, begun = typed.rpartition("/")
    where = os.path.expanduser(folder + "/") if "/" in typed else "."
    try:
        with os.scandir(where) as found:
            shown = [
                each.name + ("/" if each.is_dir() else "")
                for each in found
                if each.name.startswith(begun)
                and can_be_typed(each.name)
                and (begun.startswith(".") or not each.name.startswith("."))
                and (each.is_dir() or each.is_file())  # no pipe, no device
            ]
    except (OSError, ValueError):
        return []
    return sorted(shown, key=lambda name: (name.startswith("."), name.lower()))[:_MOST]


def _line(note: str) -> str:
    """On one line, with nothing in it that acts on a terminal or is not seen."""
    return "".join(each if each.isprintable() else "\ufffd" for each in marked(" ".join(note.split())))


def _models() -> list[tuple[str, str]]:
    from lacli.models.registry.registry import load_registry

    return [(name, spec.title) for name, spec in load_registry().models.items()]


def _sessions() -> list[tuple[str, str]]:
    from lacli.project.root import project_root
    from lacli.sessions.store import SessionStore, path

    kept = SessionStore(path()).list(project_root(Path(".")), limit=_SESSIONS)
    return [(each.id[:_ID], each.title) for each in kept]


def _templates() -> list[tuple[str, str]]:
    from lacli.prompts import saved

    return [(name, "") for name in saved.names()]


def _options() -> list[tuple[str, str]]:
    from lacli.chat.options import OPTIONS

    return [(name, "") for name in OPTIONS]
