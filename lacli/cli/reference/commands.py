"""docs/commands.md: every command with its arguments, options and examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lacli.cli.reference.parts import NOTE, cell, common_options, option_name
from lacli.cli.spec import command as spec
from lacli.configuration.keys import shown


def document() -> str:
    """The command reference."""
    whole = spec.described()
    lines = [
        NOTE,
        "# Commands\n",
        f"{whole['help']}\n",
        "Text that begins with a dash goes after `--`.\n",
        "[Options that commands share](#options-that-commands-share) · [Exit codes](#exit-codes) · "
        "[Configuration and variables](configuration.md) · [Keys of JSON](json.md)\n",
        *(f"- [`lacli {command['name']}`](#{_anchor(command)}): {_first(command)}" for command in whole["commands"]),
        "",
    ]
    for command in whole["commands"]:
        lines += _command(command)
    lines += ["## Options that commands share\n", *_option_table(list(common_options().values())), ""]
    lines += ["## Exit codes\n", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in whole["exit_codes"].items()]
    return "\n".join(lines).rstrip() + "\n"


def _options(command: dict[str, Any]) -> list[dict[str, Any]]:
    return [option for option in command["options"] if not option["hidden"] and option["flags"] != ["-h", "--help"]]


def _shared(option: dict[str, Any]) -> bool:
    """Whether the option means the same in all commands, so that it is described once."""
    common = common_options().get(option_name(option))
    return common is not None and common["help"] == option["help"]


def _anchor(command: dict[str, Any]) -> str:
    return f"lacli-{command['name'].replace(' ', '-')}"


def _first(command: dict[str, Any]) -> str:
    return " ".join(command["help"].partition("\n\n")[0].split())


def _command(command: dict[str, Any]) -> list[str]:
    lines = [f"## lacli {command['name']}\n", f"{command['help']}\n", f"```\n{command['usage']}\n```\n"]
    if command["examples"]:
        lines.append("```sh")
        for example in command["examples"]:
            lines.append(example["command"] + (f"  # {example['remark']}" if example["remark"] else ""))
        lines.append("```\n")
    if command["arguments"]:
        lines += ["| argument | |", "|---|---|"]
        lines += [f"| `{cell(each['name'])}` | {cell(each['help'])} |" for each in command["arguments"]]
        lines.append("")
    own = [option for option in _options(command) if not _shared(option)]
    if own:
        lines += [*_option_table(own), ""]
    common = [option for option in _options(command) if _shared(option)]
    if common:
        lines.append(f"Shared options: {', '.join(_named(option) for option in common)}.\n")
    return lines


def _named(option: dict[str, Any]) -> str:
    """A shared option by name, with its default where that is another one here."""
    usual = common_options()[option_name(option)]["default"]
    default = f" ({shown(option['default'])})" if option["default"] not in (usual, None) else ""
    return f"`{option_name(option)}`{default}"


def _option_table(options: Sequence[dict[str, Any]]) -> list[str]:
    lines = ["| option | | default |", "|---|---|---|"]
    for option in options:
        flags = ", ".join([*option["flags"], *option["off_flags"]])
        value = f" {option['value']}" if option["value"] else ""
        given = option["default"]
        preset = "" if given in (None, False, "", 0) and not isinstance(given, float) else f"`{shown(given)}`"
        lines.append(f"| `{cell(flags + value)}` | {cell(option['help'])} | {cell(preset)} |")
    return lines
