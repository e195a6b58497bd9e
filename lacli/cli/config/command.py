"""`lacli config`: where the configuration is, what it says and where each value comes from; changing and checking it.

Works while a file is broken: `validate` and `edit` are how it is mended.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.run import Run
from lacli.configuration import remotes
from lacli.errors import LacliError, UsageError
from lacli.shared.wording import counted

app = typer.Typer(
    help="Show, check and change the configuration files.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli config  |  lacli config show  |  lacli config set top-p 0.9  |  lacli config validate",
)

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="An option's name, or a command's: ask.max-tokens.")]

_TEMPLATE = """\
# Configuration of lacli. Every option is a key, by its name without dashes; `lacli config schema` lists them all.
#
# model = "qwen2.5-coder-1.5b"
# temperature = 0.2
#
# [ask]                     # for one command only
# max-tokens = 800
#
# [pool]
# project-mb = 64           # most megabytes kept of one project
"""


@app.callback()
def config(context: typer.Context) -> None:
    """Without a command: `show`."""
    if context.invoked_subcommand is None:
        show()


@app.command(epilog="For example: lacli config path  |  lacli config path --json | jq -r .pools")
def path(as_json: JsonOption = False) -> None:
    """Print all the places lacli reads from and writes to."""
    from lacli import paths
    from lacli.cli.terminal import output
    from lacli.configuration.layers import project_files

    try:
        project = [each.document.path for each in project_files(Run.current.config_files.project_folders())]
    except UsageError:
        project = []
    places = {
        "config": Run.current.config_files.user_file(),
        "project": project[0] if project else None,
        "registry": paths.config_dir() / "models.toml",
        "templates": paths.config_dir() / "templates",
        "sessions": paths.data_dir() / "sessions.db",
        "pools": paths.pools_dir(),
        "models": paths.models_dir(),
        "state": paths.state_dir(),
        "cache": paths.cache_dir(),
    }
    if as_json:
        output.document({name: str(place) if place else None for name, place in places.items()})
        return
    for name, place in places.items():
        output.line(f"{name:<10}  {place or 'none here (lacli.toml, or [tool.lacli] of pyproject.toml)'}")


@app.command(epilog="For example: lacli config show  |  lacli config show ask  |  lacli config show --json")
def show(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="Of this command; default: what all share.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print every value that applies here, and where it comes from."""
    from lacli.cli.framework.effective import effective
    from lacli.cli.terminal import output
    from lacli.configuration.keys import shown

    values = effective(tuple(command or ()))
    if as_json:
        output.document([value.record() for value in values])
        return
    width = max(len(value.name) for value in values)
    for value in values:
        output.line(f"{value.name:<{width}}  {shown(value.value):<16}  {value.origin}".rstrip())


@app.command(epilog="For example: lacli config get top-p  |  lacli config get ask.max-tokens")
def get(key: KeyArgument, as_json: JsonOption = False) -> None:
    """Print the value that applies here."""
    from lacli.cli.framework.effective import effective, parse_key
    from lacli.cli.terminal import output
    from lacli.configuration.keys import shown

    where = parse_key(key)
    value = next(each for each in effective(where[:-1]) if each.key == where[-1])
    if as_json:
        output.document(value.record())
    else:
        raw = value.value if isinstance(value.value, str) else shown(value.value)
        output.line("" if value.value is None else raw)


@app.command(
    "set",
    epilog="For example: lacli config set model qwen2.5-coder-1.5b  |  lacli config set chat.max-tokens 2000  |  "
    "lacli config set stop '[\"END\"]'  |  lacli config set --local temperature 0",
)
def set_(
    key: KeyArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="As on the command line; true or false for a switch.")],
    local: Annotated[bool, typer.Option("--local", help="In lacli.toml of this project, for everyone.")] = False,
) -> None:
    """Set a value in the user's file; the rest of the file stays as it is, comments too."""
    from lacli.cli.framework.effective import set_value
    from lacli.cli.terminal import diagnostics

    target = _project_file() if local else Run.current.config_files.user_file()
    diagnostics.note(set_value(target, key, value, project=local))
    if key.rpartition(".")[2] == "model" and not key.startswith(f"{remotes.TABLE}."):
        _warn_of_unknown_model(value)


def _warn_of_unknown_model(name: str) -> None:
    """Whoever misspells a model should know before the next question fails; it may also be made later."""
    from lacli.cli.framework.remotes import known
    from lacli.cli.terminal import diagnostics
    from lacli.models.registry.registry import load_registry

    try:
        if remotes.is_remote(name):
            remotes.named(name, known())
        else:
            load_registry().resolve(name)
    except LacliError as error:
        diagnostics.warning(_line(error))


@app.command(epilog="For example: lacli config edit  |  EDITOR='code --wait' lacli config edit --local")
def edit(
    local: Annotated[bool, typer.Option("--local", help="The project's lacli.toml.")] = False,
) -> None:
    """Open a file in your editor, and check it afterwards."""
    from lacli.cli.terminal import diagnostics
    from lacli.cli.terminal.editor import edit as open_editor
    from lacli.configuration.write import replace

    target = _project_file() if local else Run.current.config_files.user_file()
    if not target.exists():
        replace(target, _TEMPLATE.encode(), private=not local)
    open_editor(target)
    problems = _problems_of([target])
    for problem in problems:
        diagnostics.warning(problem)
    if problems:
        raise UsageError("the file has mistakes", "repeat `lacli config edit`")


@app.command(epilog="For example: lacli config validate  |  lacli config validate lacli.toml")
def validate(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="These files; default: those that apply here.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Name every mistake in the configuration files by file, line and nearest key."""
    from lacli.cli.terminal import diagnostics, output

    problems = _problems_of(files or Run.current.config_files.paths())
    if as_json:
        output.document(problems)
    else:
        for problem in problems:
            output.line(problem)
    if problems:
        raise UsageError(f"{counted(len(problems), 'mistake', 'mistakes')} in the configuration", "see above")
    diagnostics.note("no mistakes")


@app.command(epilog="For example: lacli config schema > lacli.schema.json  |  lacli config schema | jq .properties")
def schema() -> None:
    """Print the JSON Schema of the file, for editors."""
    from lacli.cli.framework import keymap
    from lacli.cli.framework.effective import schema_for
    from lacli.cli.terminal import output
    from lacli.configuration.jsonschema import json_schema

    output.document(json_schema(schema_for((keymap.TABLE,))))


def _project_file() -> Path:
    """The project's file, or where it would be: at the top of the checkout."""
    from lacli.configuration.layers import PROJECT_FILE, project_files
    from lacli.project.root import checkout, project_root

    with contextlib.suppress(UsageError):  # a broken one is found again below, or named when it is read
        for found in project_files(Run.current.config_files.project_folders()):
            return found.document.path
    here = Path.cwd()
    root = checkout(here) or project_root(here)
    if root is None:
        raise UsageError(f"{here} is not a project", "change to a folder below it")
    return root / PROJECT_FILE


def _problems_of(files: list[Path]) -> list[str]:
    """Every mistake of these files, as a line each."""
    from lacli.cli.framework import keymap
    from lacli.cli.framework.catalog import whole
    from lacli.configuration.layers import layered, sources_in

    schema = whole()
    lines: list[str] = []
    for file in files:
        try:
            found = sources_in(file)
            problems = [*layered(found, schema).problems]
            problems += [
                problem for each in found if keymap.has_table(each) for problem in keymap.checked(each).problems
            ]
            problems += [
                problem for each in found if each.kind == "user" for problem in remotes.checked(each.document)[1]
            ]
            errors = [problem.to_error() for problem in sorted(problems, key=lambda problem: problem.line)]
        except UsageError as error:
            errors = [error]
        lines += map(_line, errors)
    return lines


def _line(error: LacliError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message
