"""What one option or argument is, read off typer's object of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, get_args, get_origin

from lacli.cli.framework.typer_private import annotation_of

if TYPE_CHECKING:
    from lacli.configuration.keys import Kind

NOT_KEYS = ("help", "version", "config", "install", "send-anyway")
"""Options that no file may set: they are about one run, and the last is for one text that was looked at."""
_CHOICES = re.compile(r"[a-z0-9][a-z0-9-]*(\|[a-z0-9][a-z0-9-]*)+")
_VALUE_NAMES = {"whole number": "N", "number": "X", "list of texts": "TEXT", "list of pairs": "NAME VALUE"}


def long_name(names: Iterable[str]) -> str:
    """The name of an option by which a variable and a key are called: the first that is spelled out."""
    return next((name.partition("/")[0] for name in names if name.startswith("--")), "")


def key_name(parameter: Any) -> str:
    """The name of an option without dashes, which is its key."""
    return long_name(parameter.opts).lstrip("-")


def settable(parameters: Iterable[Any]) -> list[Any]:
    """Those of the parameters that can be set in a file."""
    return [
        each
        for each in parameters
        if each.param_type_name == "option" and not each.hidden and key_name(each) and key_name(each) not in NOT_KEYS
    ]


def choices(parameter: Any) -> tuple[str, ...]:
    """The values an option has, where they are few."""
    metavar = (parameter.metavar or "").strip("[]")
    return tuple(metavar.split("|")) if _CHOICES.fullmatch(metavar) else ()


def kind(parameter: Any) -> Kind:
    """What a value of this option must be."""
    annotation = annotation_of(parameter)
    if parameter.nargs not in (1, -1) or get_origin(annotation) is tuple:
        return "list of pairs"
    if parameter.multiple or get_origin(annotation) is list:
        inner = get_args(annotation)
        return "list of pairs" if inner and get_origin(inner[0]) is tuple else "list of texts"
    if parameter.is_flag and not parameter.count:
        return "yes or no"
    if annotation is int or parameter.count:
        return "whole number"
    return "number" if annotation is float else "text"


def value_name(parameter: Any) -> str:
    """What stands for the value in the help; empty for a switch."""
    if parameter.is_flag or parameter.count:
        return ""
    return str(parameter.metavar) if parameter.metavar else _VALUE_NAMES.get(kind(parameter), "TEXT")
