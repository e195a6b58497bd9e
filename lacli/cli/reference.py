"""Writes docs/commands.md and docs/configuration.md from the code: `python -m lacli.cli.reference [--check]`.

A test runs the check, so that the documents cannot fall behind.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lacli.cli.framework import environment, keymap, schema
from lacli.cli.spec import command as spec
from lacli.configuration.keys import Key, shown
from lacli.configuration.trust import limits

DOCS = Path(__file__).resolve().parents[2] / "docs"
_NOTE = "<!-- Written by `python -m lacli.cli.reference` from the code; change that. -->\n"


def main(arguments: Sequence[str]) -> int:
    """Write the documents, or with --check say which are stale and return 1."""
    stale = {name: text for name, text in documents().items() if _text(DOCS / name) != text}
    only_checks = "--check" in arguments
    for name, text in stale.items():
        if not only_checks:
            DOCS.mkdir(exist_ok=True)
            (DOCS / name).write_text(text, encoding="utf-8", newline="\n")
        sys.stderr.write(f"docs/{name} {'is stale' if only_checks else 'written'}\n")
    return int(bool(stale) and only_checks)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def documents() -> dict[str, str]:
    """The text of each document."""
    return {"commands.md": commands(), "configuration.md": configuration()}


def commands() -> str:
    """The command reference."""
    whole = spec.described()
    lines = [
        _NOTE,
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
    lines += ["## Options that commands share\n", *_option_table(list(_common().values())), ""]
    lines += ["## Exit codes\n", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in whole["exit_codes"].items()]
    return "\n".join(lines).rstrip() + "\n"


def _options(command: dict[str, Any]) -> list[dict[str, Any]]:
    return [option for option in command["options"] if not option["hidden"] and option["flags"] != ["-h", "--help"]]


@functools.cache
def _common() -> dict[str, dict[str, Any]]:
    """The options that commands share, by their long names."""
    parameters = schema.command_of_common().params
    return {
        _long(option): option
        for option in (spec.option(each) for each in parameters)
        if "--help" not in option["flags"]
    }


def _shared(option: dict[str, Any]) -> bool:
    """Whether it means the same wherever it is, and so is told of once."""
    common = _common().get(_long(option))
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
        lines += [f"| `{_cell(each['name'])}` | {_cell(each['help'])} |" for each in command["arguments"]]
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
    usual = _common()[_long(option)]["default"]
    default = f" ({shown(option['default'])})" if option["default"] not in (usual, None) else ""
    return f"`{_long(option)}`{default}"


def _long(option: dict[str, Any]) -> str:
    return environment.long_name(option["flags"]) or str(option["flags"][0])


def _option_table(options: Sequence[dict[str, Any]]) -> list[str]:
    lines = ["| option | | default |", "|---|---|---|"]
    for option in options:
        flags = ", ".join([*option["flags"], *option["off_flags"]])
        value = f" {option['value']}" if option["value"] else ""
        given = option["default"]
        preset = "" if given in (None, False, "", 0) and not isinstance(given, float) else f"`{shown(given)}`"
        lines.append(f"| `{_cell(flags + value)}` | {_cell(option['help'])} | {_cell(preset)} |")
    return lines


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


_CONFIGURATION = """\
# Configuration

One TOML file for you, one for a project. Every option is a key by its name without dashes; what is typed wins over a
variable, a variable over the project's file, that over yours, and yours over what is built in:

`--top-p 0.9` › `LACLI_TOP_P=0.9` › `lacli.toml` or `[tool.lacli]` of `pyproject.toml` › `config.toml` › built-in

- **Yours** is `config.toml` in the folder that `lacli config path` prints.
- **A project's** is the nearest `lacli.toml`, or `pyproject.toml` with a table `[tool.lacli]`, from the current folder
  up to the top of the checkout; both in one folder are a mistake. `lacli tui DIR` looks from DIR.
- `--config PATH` (or `LACLI_CONFIG`) reads that file and no other; with `--config /dev/null` nothing is read.
- **The top level** is for all commands that have the option; a table is for one command: `[ask]`, `[pool.build]`.
- A pair `--pool/--no-pool` is one key, `pool = false`. An option that may be repeated is a list.
- `[keymap]` is for the keys of `lacli tui`, by [the names of its actions](#keymap): `stop = "f12"`.

```toml
model = "qwen2.5-coder-1.5b"
temperature = 0.2

[ask]
max-tokens = 800
stop = ["END"]

[pool]
project-mb = 64
```

`lacli config set ask.max-tokens 800` writes it without touching the rest of the file, `lacli config show` prints every
value with its origin, `lacli config validate` names every mistake by file, line and nearest key, `lacli config schema`
prints a JSON Schema for your editor. A mistake ends a command with exit code 2 before any model is loaded.

## What a project may set

A repository is entered before it is read, and its files are written by others. A project's file may shape the reply
and its cost; it may not write anywhere, read what lies outside, choose a file as the model, speak to the model on your
behalf, hide warnings, change how things are shown, or loosen what you decided for privacy. The last column below says
what is allowed; other keys in a project's file are a mistake, and the command does not run.
"""


def configuration() -> str:
    """The configuration reference."""
    whole = schema.whole()
    lines = [_NOTE, _CONFIGURATION, "## Keys of the top level\n"]
    lines += _key_table(list(whole.keys[()].values()))
    small: list[str] = []
    for table, keys in whole.keys.items():
        own = [key for key in keys.values() if not _is_common(key)]
        if len(table) == 1 and own:
            lines += [f"\n## [{table[0]}]\n", *_key_table(own)]
        elif table and own:
            small.append(f"| `[{'.'.join(table)}]` | {', '.join(f'`{key.name}`' for key in own)} |")
    lines += ["\n## Tables of other commands\n", "Their keys are [their options](commands.md).\n"]
    lines += ["| table | keys |", "|---|---|", *small]
    lines += _keymap()
    lines += [
        "\n## Variables that are no options\n",
        "| variable | |",
        "|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in environment.OTHERS.items()),
    ]
    return "\n".join(lines).rstrip() + "\n"


_KEYMAP = """
## [keymap]

Which keys do what in `lacli tui`; in your own file only. Several are separated by commas: `retry = "f6,ctrl+y"`. They
are written as `f12`, `escape`, `enter`, `pageup`, `ctrl+j`, `shift+tab`. What a terminal keeps to itself never arrives:
`alt+enter`, `shift+enter` and the like in many, `ctrl+b` in tmux. A key that another action has at the same place is a
mistake, and so is a letter where letters are typed. `lacli config show keymap` prints them as they are now.
"""


def _keymap() -> list[str]:
    lines = [_KEYMAP, "| key | does | where | default |", "|---|---|---|---|"]
    for name, keys, title, place in keymap.rows():
        default = ", ".join(f"`{key}`" for key in keys.split(",") if key)
        lines.append(f"| `{name}` | {_cell(title)} | {place} | {default} |")
    return lines


def _is_common(key: Key) -> bool:
    common = _common().get(f"--{key.name}")
    return common is not None and common["help"] == key.help


def _key_table(keys: Sequence[Key]) -> list[str]:
    from lacli.cli.framework.effective import variable_of

    lines = ["| key | | value | default | variable | a project may |", "|---|---|---|---|---|---|"]
    for key in keys:
        value = " or ".join(f"`{choice}`" for choice in key.choices) or key.kind
        default = "" if key.default in (None, "", ()) else f"`{shown(key.default)}`"
        cells = (f"`{key.name}`", key.help, value, default, f"`{variable_of(key)}`", limits(key.name))
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
