"""The settings in force, and facts about the program and the computer, also to copy into a report.

`SettingsScreen(groups)` -> the id of an action that changes a setting, or None; `groups` are titles with their
settings. Where each value comes from, versions, folders and the checks of `lacli doctor` are found out in the
background.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from textual.widget import Widget

from lacli.chat.settings_summary import Row
from lacli_tui.actions import SETTINGS, bindings_of
from lacli_tui.background import BackgroundResult, error_line
from lacli_tui.keys import scroll_keys
from lacli_tui.screens.dialog import Dialog
from lacli_tui.widgets.pairs import Pair, Pairs
from lacli_tui.widgets.scrolling import Page

_STATES = {"ok": ("ok", "$success"), "warn": ("warn", "$warning"), "fail": ("FAIL", "$error")}
Group = tuple[str, Sequence[Row]]


def facts() -> Iterator[Pair]:
    """Versions and folders, then the result of each check as soon as it is known."""
    yield from (Pair(), Pair("Program"))
    yield from (Pair(name, text) for name, text in _versions())
    yield from (Pair(), Pair("Folders and files"))
    yield from (Pair(name, text) for name, text in _places())
    yield from (Pair(), Pair("This computer"))
    from lacli.shared import health

    for check in health.checks(lambda: os.environ.get("LACLI_MODEL") or None):
        state, style = _STATES[check.state]
        yield Pair(f"{state:<4} {check.name}", check.text, style, check.fix)


def _versions() -> Iterator[tuple[str, str]]:
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


def _places() -> Iterator[tuple[str, str]]:
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


class SettingsScreen(Dialog[str]):
    TITLE = "Settings and this computer"
    PLACES = (SETTINGS,)
    BINDINGS = bindings_of(SETTINGS)

    def __init__(
        self,
        groups: Sequence[Group] = (),
        copy: Callable[[str], None] | None = None,
        look: Callable[[], Iterable[Pair]] = facts,
        origins: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        super().__init__()
        self._copy = copy
        self._look = look
        self._origins = origins
        self._changed = {row.key for _, rows in groups for row in rows if row.changed}
        self._pairs = [Pair()] if not groups else []
        for title, rows in groups:
            self._pairs += [*([Pair()] if self._pairs else []), Pair(title)]
            self._pairs += [Pair(row.key, row.text, more="set here" if row.changed else "") for row in rows]
        self._in_force = len(self._pairs)

    def body(self) -> Iterable[Widget]:
        yield Page(Pairs(self._pairs), id="page")

    def on_mount(self) -> None:
        self.query_one("#page").focus()
        self.show_in_frame("looking around …")
        self.background.run("looked", self._look_around)

    def _look_around(self) -> None:
        self.background.report("origins", self._origins())
        for pair in self._look():
            self.background.report("fact", pair)

    def on_background_result(self, result: BackgroundResult) -> None:
        if result.error is not None:
            self.show_notice(error_line(result.error))
        if result.name == "looked":
            self.show_in_frame(scroll_keys())
        elif result.name == "origins" and isinstance(result.value, Mapping):
            self._show_origins(result.value)
        elif isinstance(result.value, Pair):
            self._pairs.append(result.value)
            self.query_one(Pairs).show(self._pairs)

    def _show_origins(self, origins: Mapping[str, str]) -> None:
        for at, pair in enumerate(self._pairs[: self._in_force]):
            if pair.name not in self._changed and pair.text:
                self._pairs[at] = replace(pair, more=origins.get(pair.name, ""))
        self.query_one(Pairs).show(self._pairs)

    def action_settings_set(self) -> None:
        self.dismiss("set")

    def action_settings_copy(self) -> None:
        lines = [f"{each.name:<20} {each.text} {each.more}".rstrip() for each in self._pairs]
        (self._copy or self.app.copy_to_clipboard)("\n".join(lines).strip() + "\n")
        self.show_notice("copied")
