"""What is in force, and what this program knows of itself and of the computer: for the user, and for a report.

`SettingsScreen(rows)` -> None; `rows` are the names and values of what is in force. Looks at versions, folders and at
what `lacli doctor` looks at, behind; nothing is changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from textual.widget import Widget

from lacli_tui.actions import SETTINGS, bindings_of
from lacli_tui.behind import Came, said
from lacli_tui.screens.dialog import Dialog, scrolling
from lacli_tui.widgets.pairs import Pair, Pairs
from lacli_tui.widgets.scrolling import Page

_STATES = {"ok": ("ok", "$success"), "warn": ("warn", "$warning"), "fail": ("FAIL", "$error")}
Row = tuple[str, str]


def facts() -> Iterator[Pair]:
    """Versions and folders, then what was found of each thing, as soon as it is."""
    yield from (Pair(), Pair("Program"))
    yield from (Pair(name, text) for name, text in _versions())
    yield from (Pair(), Pair("Folders and files"))
    yield from (Pair(name, text) for name, text in _places())
    yield from (Pair(), Pair("This computer"))
    from lacli import health

    for check in health.checks(lambda: os.environ.get("LACLI_MODEL") or None):
        state, style = _STATES[check.state]
        yield Pair(f"{state:<4} {check.name}", check.text, style, check.fix)


def _versions() -> Iterator[Row]:
    import importlib.metadata
    import platform

    from lacli import __version__

    yield "lacli", __version__
    yield "Python", platform.python_version()
    for name in ("torch", "transformers", "textual"):
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield name, "not installed"
    yield (
        "terminal",
        " ".join(filter(None, (os.environ.get(name, "") for name in ("TERM", "TERM_PROGRAM", "COLORTERM")))),
    )


def _places() -> Iterator[Row]:
    from lacli import paths
    from lacli.errors import LacliError
    from lacli.sessions import store

    places: tuple[tuple[str, Callable[[], Path]], ...] = (
        ("configuration", lambda: paths.config_dir() / "config.toml"),
        ("chats", store.path),
        ("pools", paths.pools_dir),
        ("models", paths.models_dir),
    )
    for name, of in places:
        try:
            yield name, str(of())
        except LacliError as error:
            yield name, error.message


class SettingsScreen(Dialog[None]):
    """Settings, versions, folders, findings."""

    TITLE = "Settings and this computer"
    WHERES = (SETTINGS,)
    BINDINGS = bindings_of(SETTINGS)

    def __init__(
        self,
        rows: Sequence[Row] = (),
        copy: Callable[[str], None] | None = None,
        look: Callable[[], Iterable[Pair]] = facts,
    ) -> None:
        super().__init__()
        self._copy = copy
        self._look = look
        self._pairs = [Pair("In force"), *(Pair(name, value or "—") for name, value in rows)] if rows else [Pair()]

    def body(self) -> Iterable[Widget]:
        """What is known so far."""
        yield Page(Pairs(self._pairs), id="page")

    def on_mount(self) -> None:
        """Look around."""
        self.query_one("#page").focus()
        self.frame_note("looking around …")
        self.behind.do("looked", self._look_around)

    def _look_around(self) -> None:
        for pair in self._look():
            self.behind.tell("fact", pair)

    def on_came(self, came: Came) -> None:
        """One thing more is known, or all are."""
        if came.error is not None:
            self.say(said(came.error))
        if came.what == "looked":
            self.frame_note(scrolling())
        elif isinstance(came.value, Pair):
            self._pairs.append(came.value)
            self.query_one(Pairs).show(self._pairs)

    def action_settings_copy(self) -> None:
        """Copy all of it, for a report."""
        lines = [f"{each.name:<20} {each.text} {each.more}".rstrip() for each in self._pairs]
        (self._copy or self.app.copy_to_clipboard)("\n".join(lines).strip() + "\n")
        self.say("copied")
