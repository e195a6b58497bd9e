"""All commands at once, each module imported: for documents, for checking files, and for completing keys."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import typer

from lacli.cli.framework import schema
from lacli.cli.framework.group import application
from lacli.configuration.document import KeyPath
from lacli.configuration.keys import Schema


def root() -> Any:
    """The `lacli` command, made anew."""
    return typer.main.get_command(application)


def commands() -> Iterator[tuple[KeyPath, Any]]:
    """Every command and group, in the order of the help."""
    return schema.commands(root())


@functools.cache
def whole() -> Schema:
    """Every key of a configuration file."""
    return schema.whole(root())
