"""`lacli spec`: the whole command line as JSON, made from the code that parses it. The reference is written from it."""

from __future__ import annotations

import inspect
from typing import Any

import typer

from lacli.cli.framework.parameters import choices, key_name, kind, settable, value_name

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli spec | jq -r '.commands[].name'

  lacli spec | jq '.commands[] | select(.name == "ask").options[].flags'
"""
EXIT_CODES = {
    0: "done, also where the most tokens were written or nothing is left to add",
    1: "generation failed, or something else did",
    2: "the command line or a configuration file is wrong",
    3: "the model is not available: missing, gated, damaged or offline",
    4: "does not fit into memory or onto the disk",
    5: "the prompt is longer than the context",
    6: "the time of --timeout has passed",
    130: "interrupted by Ctrl-C",
    141: "nobody reads stdout any more",
}


@app.command(epilog=_EXAMPLES)
def spec() -> None:
    """Print the whole command line as one JSON value: commands, options, kinds, defaults, variables, keys, examples."""
    from lacli.cli.terminal import output

    output.document(described())


def described() -> dict[str, Any]:
    """The whole command line, for JSON."""
    from lacli import __version__
    from lacli.cli.framework import catalog

    root = catalog.root()
    return {
        "name": "lacli",
        "version": __version__,
        "help": _help(root),
        "options": [option(each) for each in root.params],
        "exit_codes": {str(code): meaning for code, meaning in EXIT_CODES.items()},
        "commands": [_command(path, command) for path, command in catalog.commands()],
    }


def _command(path: tuple[str, ...], command: Any) -> dict[str, Any]:
    from lacli.cli.framework import examples

    shown, rest = examples.split(command.epilog)
    return {
        "name": " ".join(path),
        "is_group": hasattr(command, "commands"),
        "usage": _usage(path, command),
        "help": _help(command),
        "examples": [dict(zip(("command", "remark"), examples.parts(each), strict=True)) for each in shown],
        "more": rest,
        "arguments": [_argument(each) for each in command.params if each.param_type_name == "argument"],
        "options": [option(each) for each in command.params if each.param_type_name == "option"],
    }


def _help(command: Any) -> str:
    return inspect.cleandoc(command.help or "")


def _usage(path: tuple[str, ...], command: Any) -> str:
    context = command.context_class(command, info_name=f"lacli {' '.join(path)}")
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _argument(parameter: Any) -> dict[str, Any]:
    return {
        "name": parameter.metavar or parameter.name,
        "required": parameter.required,
        "many": parameter.nargs == -1,
        "help": parameter.help or "",
    }


def option(parameter: Any) -> dict[str, Any]:
    """An option as the JSON has it."""
    return {
        "flags": list(parameter.opts),
        "off_flags": list(parameter.secondary_opts),
        "value": value_name(parameter),
        "kind": kind(parameter),
        "choices": list(choices(parameter)),
        "default": parameter.default if not callable(parameter.default) else None,
        "repeated": bool(parameter.multiple or parameter.count),
        "help": parameter.help or "",
        "variable": parameter.envvar if isinstance(parameter.envvar, str) else None,
        "key": key_name(parameter) if settable([parameter]) else None,
        "hidden": parameter.hidden,
    }
