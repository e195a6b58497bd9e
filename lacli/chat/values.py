"""Values that completion offers as arguments: names of models, sessions, templates and options, entries of folders.

Reads folders, the registry, the log of sessions and the saved prompts; what cannot be read offers nothing.
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
    """The values of a kind (model, session, template or option), each with a short note; none of another kind."""
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
    """Entries of the folder of a typed path that begin with its last part. Folders end with a slash; hidden entries
    need a typed dot; names that could act on a terminal are left out."""
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
    """A note on one line, with marks for characters that act on a terminal or are invisible."""
    return "".join(each if each.isprintable() else "\ufffd" for each in marked(" ".join(note.split())))


def _models() -> list[tuple[str, str]]:
    from lacli.models.registry.registry import load_registry

    return [(name, spec.title) for name, spec in load_registry().models.items()]


def _sessions() -> list[tuple[str, str]]:
    from lacli.project.root import project_root
    from lacli.sessions.records import CONVERSATIONS
    from lacli.sessions.store import SessionStore, path

    kept = SessionStore(path()).list(project_root(Path(".")), limit=_SESSIONS, kinds=CONVERSATIONS)
    return [(each.id[:_ID], each.title) for each in kept]


def _templates() -> list[tuple[str, str]]:
    from lacli.prompts import saved

    return [(name, "") for name in saved.names()]


def _options() -> list[tuple[str, str]]:
    from lacli.chat.options import OPTIONS

    return [(name, "") for name in OPTIONS]
