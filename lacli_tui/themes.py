"""The themes `dark`, `light` and `ansi` (the terminal's own 16 colours), and which of them suits a terminal.

Any theme of Textual can be chosen, too. Every theme gets the variables `$source-prompt` and so on, the colours of the
sources, and `$line`, that of thin lines between parts of the screen.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Mapping

from textual.theme import BUILTIN_THEMES, Theme

from lacli.errors import UsageError

DARK = Theme(
    name="dark",
    primary="#8ab4f8",
    secondary="#a3aec2",
    accent="#f2b872",
    foreground="#d7dae0",
    background="#14161b",
    surface="#1b1e25",
    panel="#252932",
    success="#8fce9f",
    warning="#e8c46a",
    error="#f08d88",
    dark=True,
    variables={"scrollbar": "#62718f"},
)
LIGHT = Theme(
    name="light",
    primary="#2458b8",
    secondary="#5a6270",
    accent="#984b00",
    foreground="#24262b",
    background="#fbfbf9",
    surface="#f1f1ee",
    panel="#e4e4e0",
    success="#1e7a3c",
    warning="#8a6100",
    error="#b3261e",
    dark=False,
    variables={"scrollbar": "#76829a"},
)
ANSI = dataclasses.replace(BUILTIN_THEMES["ansi-dark"], name="ansi")
THEMES = (DARK, LIGHT, ANSI)
OURS = {"dark": "", "light": "", "ansi": "the terminal's own"}
"""Their names, each with a remark."""

_SOURCES = ("prompt", "session", "project", "files", "successor", "window")
_ON_DARK = ("#8ab4f8", "#c9a2f5", "#8fce9f", "#f2b872", "#f49db5", "#74d0cf")
_ON_LIGHT = ("#1f5fbf", "#7a3db8", "#1e7a3c", "#a65300", "#b3245a", "#0b7680")
_ON_ANSI = ("ansi_blue", "ansi_magenta", "ansi_green", "ansi_yellow", "ansi_red", "ansi_cyan")


def variables(theme: Theme) -> dict[str, str]:
    """The variables our styles use and Textual's themes lack."""
    colours = _ON_ANSI if theme.ansi else _ON_DARK if theme.dark else _ON_LIGHT
    line = {"line": "ansi_bright_black" if theme.ansi else "#4b5362" if theme.dark else "#a9a9a2"}
    return line | {f"source-{name}": colour for name, colour in zip(_SOURCES, colours, strict=True)}


def theme_for(wanted: str, few_colours: bool, environment: Mapping[str, str] = os.environ) -> str:
    """The name of the theme to use: the one asked for, else the one that suits the terminal's background.

    few_colours: it has 16 at most, or none are wanted; then the colours it is set up with are the readable ones.
    """
    if wanted:
        return wanted
    if few_colours:
        return ANSI.name
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in ("7", "15") else DARK.name


def checked_theme(name: str) -> str:
    """The name, if there is such a theme. Raises UsageError."""
    known = [*OURS, *sorted(BUILTIN_THEMES)]
    if name and name not in known:
        near = difflib.get_close_matches(name.lower(), known, 1, 0.0)[0]
        raise UsageError(f"there is no theme {name!r}", f"did you mean {near}? there are {', '.join(known)}")
    return name
