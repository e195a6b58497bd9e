"""docs/configuration.md: what may stand in a configuration file, and which variables there are."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.cli.framework import catalog, environment, keymap
from lacli.cli.framework.effective import variable_of
from lacli.cli.reference.parts import NOTE, cell, common_options
from lacli.configuration import remotes
from lacli.configuration.keys import Key, shown
from lacli.configuration.trust import limits

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
- `[remotes.NAME]`, in your file only, is an engine elsewhere that `-m remote:NAME` asks ([its keys](#remotesname)).

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
and its cost; it may not write anywhere, read what lies outside, choose a file or a remote as the model, speak to the
model on your behalf, hide warnings, change how things are shown, or loosen what you decided for privacy. The last
column below says what is allowed; other keys in a project's file are a mistake, and the command does not run.
"""


def document() -> str:
    """The configuration reference."""
    whole = catalog.whole()
    lines = [NOTE, _CONFIGURATION, "## Keys of the top level\n"]
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
    lines += [_REMOTES, "| key | | value | default |", "|---|---|---|---|", *map(_remote_key, remotes.KEYS.values())]
    lines += _keymap()
    lines += [
        "\n## Variables that are no options\n",
        "| variable | |",
        "|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in environment.OTHERS.items()),
    ]
    return "\n".join(lines).rstrip() + "\n"


_REMOTES = """
## [remotes.NAME]

An engine that others run: vLLM, SGLang, llama-server, ollama, `lacli serve --port`, or any other with OpenAI's API
([remote.md](remote.md)). In your own file only. `lacli config set remotes.gpu.url http://HOST:8000` makes one.
"""


def _remote_key(key: Key) -> str:
    value = " or ".join(f"`{choice}`" for choice in key.choices) or key.kind
    default = "" if key.default is None else f"`{key.default}`"
    return "| " + " | ".join(cell(text) for text in (f"`{key.name}`", key.help, value, default)) + " |"


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
        lines.append(f"| `{name}` | {cell(title)} | {place} | {default} |")
    return lines


def _is_common(key: Key) -> bool:
    common = common_options().get(f"--{key.name}")
    return common is not None and common["help"] == key.help


def _key_table(keys: Sequence[Key]) -> list[str]:
    lines = ["| key | | value | default | variable | a project may |", "|---|---|---|---|---|---|"]
    for key in keys:
        value = " or ".join(f"`{choice}`" for choice in key.choices) or key.kind
        default = "" if key.default in (None, "", ()) else f"`{shown(key.default)}`"
        cells = (f"`{key.name}`", key.help, value, default, f"`{variable_of(key)}`", limits(key.name))
        lines.append("| " + " | ".join(cell(text) for text in cells) + " |")
    return lines
