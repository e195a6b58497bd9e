"""What both documents are made with."""

from __future__ import annotations

import functools
from typing import Any

from lacli.cli.framework import schema
from lacli.cli.framework.parameters import long_name
from lacli.cli.spec import command as spec

NOTE = "<!-- Written by `python -m lacli.cli.reference` from the code; change that. -->\n"


@functools.cache
def common_options() -> dict[str, dict[str, Any]]:
    """The options that commands share, by their long names."""
    parameters = schema.command_of_common().params
    return {
        option_name(option): option
        for option in (spec.option(each) for each in parameters)
        if "--help" not in option["flags"]
    }


def option_name(option: dict[str, Any]) -> str:
    return long_name(option["flags"]) or str(option["flags"][0])


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
