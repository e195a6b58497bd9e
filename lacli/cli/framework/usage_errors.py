"""Turns typer's errors about the command line into our own: one line with the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import typer

from lacli.cli.framework import environment
from lacli.cli.framework.layers import path_of
from lacli.cli.framework.parameters import key_name
from lacli.cli.run import Run
from lacli.errors import UsageError

_DASH = " (text that begins with a dash goes after --)"


def usage_error(error: typer.TyperException, args: Sequence[str] = ()) -> UsageError:
    """One line with the remedy instead of typer's usage block. `args` are all that were typed."""
    translated = _translated(error)
    if any(token.startswith("-") and " " in token for token in args) and _DASH not in translated.hint:
        translated.hint += _DASH
    return translated


def _translated(error: typer.TyperException) -> UsageError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lacli"
    message = error.format_message().rstrip(".")
    unknown = getattr(error, "option_name", None)
    near = getattr(error, "possibilities", None)
    if unknown is not None and message.startswith("No such option"):
        names = {each.lstrip("-"): each for each in near or ()}  # leading dashes must not count as similar
        nearest = difflib.get_close_matches(unknown.lstrip("-"), names, 1)
        remedy = f"did you mean {names[nearest[0]]}?" if nearest else f"see `{command} --help`"
        dash = "" if command == "lacli" else _DASH
        return UsageError(f"no such option {unknown}", remedy + dash)
    problem = _problem(error)
    if problem:
        message = f"{_given_by(error)}: {problem}"
    elif message[1:2].islower():
        message = message[:1].lower() + message[1:]
    return UsageError(message, f"see `{command} --help`")


_WRONG = {
    "float_parsing": "is not a number",
    "int_parsing": "is not a whole number",
    "int_parsing_size": "is not a whole number of reasonable size",
    "bool_parsing": "says neither yes nor no (1 or 0)",
}
"""Pydantic, which reads values for typer, names mistakes by these keys."""


def _problem(error: typer.TyperException) -> str:
    """What is wrong with a value, or an empty string if typer's own words will do."""
    found: list[Any] = getattr(error.__cause__, "errors", list)()
    words = _WRONG.get(found[0]["type"]) if found else None
    return f"{found[0]['input']!r} {words}" if words else ""


def _given_by(error: Any) -> str:
    """The variable, the line of a file or the option that gave the value."""
    parameter = error.param
    if environment.from_file(error.ctx, parameter.name):
        applied = Run.of(error.ctx).config_files.applied
        setting = applied.get(path_of(error.ctx), key_name(parameter))
        if setting is not None:
            return f"{setting.file}:{setting.line}: {key_name(parameter)}"
    return environment.shown_name(error.ctx, parameter)
