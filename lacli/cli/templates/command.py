"""`lacli templates`: questions to ask again, with places to fill in. Loads no model."""

from __future__ import annotations

from typing import Annotated

import typer

from lacli.cli.framework.flags import JsonOption, YesOption

app = typer.Typer(
    help="Questions to ask again, with places to fill in.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli templates  |  lacli templates save review 'Review this: $input'  |  "
    "git diff | lacli ask -t review",
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What it is called; `lacli templates list` says.")]

_SKELETON = '''\
# $input is what is asked or piped in, $name a parameter (-p name VALUE), $$ a dollar.
prompt = """
Review this code, and name the three worst mistakes: $input
"""
# system = "You are a $role."

# [defaults]
# role = "patient teacher"

# [options]
# temperature = 0.2
'''


@app.callback()
def templates(context: typer.Context) -> None:
    """Without a command: `list`."""
    if context.invoked_subcommand is None:
        list_()


@app.command("list", epilog="For example: lacli templates list  |  lacli templates list --json | jq -r '.[].name'")
def list_(as_json: JsonOption = False) -> None:
    """List all templates, and how they begin."""
    from lacli.cli.terminal import diagnostics, output
    from lacli.errors import LacliError
    from lacli.prompts import saved

    found = []
    for name in saved.names():
        try:
            each = saved.load(name)
            found.append({"name": name, "prompt": each.prompt, "system": each.system, "parameters": each.parameters})
        except LacliError as error:  # one that is broken hides no other
            diagnostics.warning(error.message)
    if as_json:
        output.document(found)
        return
    if not found:
        diagnostics.note(f"there are no templates in {saved.folder()}")
    width = max((len(str(row["name"])) for row in found), default=0)
    for row in found:
        words = " ".join(str(row["prompt"] or row["system"]).split())
        output.line(f"{row['name']!s:{width}}  {words if len(words) <= 60 else words[:57] + '...'}")


@app.command(epilog="For example: lacli templates show review  |  lacli templates show review --json | jq .parameters")
def show(name: NameArgument, as_json: JsonOption = False) -> None:
    """Print a template as it is kept."""
    from lacli.cli.terminal import output
    from lacli.prompts import saved

    found = saved.load(name)
    if as_json:
        output.document(
            {
                "name": name,
                "prompt": found.prompt,
                "system": found.system,
                "parameters": found.parameters,
                "defaults": found.defaults,
                "options": found.options,
                "path": str(saved.file_of(name)),
            }
        )
        return
    output.text(saved.text(name))
    output.end_text()


@app.command(
    epilog="For example: lacli templates save terse -s 'Answer in one sentence.'  |  "
    "lacli templates save review 'Review this $language code: $input'"
)
def save(
    name: NameArgument,
    prompt: Annotated[
        list[str] | None, typer.Argument(help="What is asked; without it standard input, where something is piped in.")
    ] = None,
    system: Annotated[
        str,
        typer.Option("-s", "--system", metavar="TEXT", help="What the model is told first.", allow_from_autoenv=False),
    ] = "",
    yes: YesOption = False,
) -> None:
    """Keep a prompt or a system message as a template.

    Or both; `lacli ask -t NAME` asks it.
    """
    from lacli.cli.terminal import diagnostics
    from lacli.cli.terminal.confirm import confirm
    from lacli.cli.terminal.stdin import argument_text, piped_stdin
    from lacli.prompts import saved

    words = argument_text(" ".join(prompt or []))
    stdin = piped_stdin(no_stdin=bool(words.strip()))
    text = words if stdin is None else stdin.text().removesuffix("\n")
    exists = name in saved.names()
    if exists and not confirm(f"there is a template {name}; replace it?", yes):
        raise typer.Exit(1)
    path = saved.save(saved.Saved(name, text, argument_text(system)), replace=exists)
    diagnostics.note(f"saved as {path}; use it with `lacli ask -t {name}`")


@app.command(epilog="For example: lacli templates edit review  |  EDITOR=nano lacli templates edit new-one")
def edit(name: NameArgument) -> None:
    """Open a template in your editor, an old or a new one.

    It is checked afterwards; a mistake is named, and what was written stays.
    """
    from lacli.cli.terminal import diagnostics
    from lacli.cli.terminal.editor import edited
    from lacli.prompts import saved

    known = name in saved.names()
    file = saved.file_of(name).name if known else f"{saved.checked(name)}.toml"
    before = saved.text(name) if known else _SKELETON
    after = edited(before, "." + file.rpartition(".")[2])
    if after == before.removesuffix("\n"):
        diagnostics.note("nothing was changed")
        return
    path = saved.write(file, after + "\n")
    saved.load(name)  # a mistake is named; what was written stays
    diagnostics.note(f"saved as {path}")


@app.command(epilog="For example: lacli templates rm review  |  lacli templates rm review --yes")
def rm(name: NameArgument, yes: YesOption = False) -> None:
    """Delete a template."""
    from lacli.cli.terminal import diagnostics
    from lacli.cli.terminal.confirm import confirm
    from lacli.prompts import saved

    saved.file_of(name)
    if not confirm(f"delete template {name}?", yes):
        raise typer.Exit(1)
    diagnostics.note(f"deleted {saved.remove(name)}")


@app.command(epilog='For example: lacli templates path  |  cat "$(lacli templates path review)"')
def path(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="This one's file instead of the folder.")] = None,
) -> None:
    """Print where templates are kept."""
    from lacli.cli.terminal import output
    from lacli.prompts import saved

    output.line(str(saved.folder() if name is None else saved.file_of(name)))
