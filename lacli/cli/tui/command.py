"""`lacli tui`, `lacli-tui`: the options of the terminal UI and whether there is a terminal for it; the rest is its own.

`lacli_tui` is imported by name, when all is known to be right: neither package depends on the other.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lacli.cli.chat import resume
from lacli.cli.framework import environment, keymap, remotes
from lacli.cli.framework.config_files import ConfigFiles
from lacli.cli.framework.flags import ContinueOption, SessionOption
from lacli.cli.framework.instructions import project_instructions
from lacli.cli.framework.options import Common, with_common
from lacli.cli.framework.parameters import key_name, settable
from lacli.cli.models import first_model
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.tty import is_terminal
from lacli.configuration.remotes import is_remote, named
from lacli.errors import UsageError

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli tui

  lacli tui ~/src/site -c                           (go on where you left off)

  lacli tui --theme light --no-mouse

  lacli config set tui.theme light

Keys are yours to change: `lacli config set keymap.stop f12`; `lacli config show keymap` has the names, F1 shows all.
"""
_WITHOUT = ("timeout", "no_stdin", "stats", "usage", "json", "plain", "no_stream", "sanitize")


def _look_there(context: typer.Context, folder: Path | None) -> Path | None:
    """Use the project's file of DIR and not of the current folder; called before the options are read."""
    if folder is not None and not context.resilient_parsing:
        Run.of(context).config_files.look_in(folder)
    return folder


def _theme(name: str) -> str:
    """Check a theme's name with the terminal UI."""
    if name:
        themes: Any = importlib.import_module("lacli_tui.themes")
        themes.checked_theme(name)
    return name


_theme.check = lambda name, value: _theme(value)  # type: ignore[attr-defined]  # for values in a configuration file

_MAX_TOKENS = 1024


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(without=_WITHOUT, max_tokens=_MAX_TOKENS)
def tui(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="The project's folder, from which the paths you type there count; default: the current one.",
            is_eager=True,
            callback=_look_there,
        ),
    ] = None,
    continue_: ContinueOption = False,
    session: SessionOption = None,
    theme: Annotated[
        str,
        typer.Option("--theme", metavar="NAME", help="dark, light, ansi or another that textual has.", callback=_theme),
    ] = "",
    no_mouse: Annotated[
        bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal, for its own selecting.")
    ] = False,
    inline: Annotated[bool, typer.Option("--inline", help="Below the shell's prompt.")] = False,
    no_animation: Annotated[bool, typer.Option("--no-animation", help="Nothing moves by itself.")] = False,
    *,
    common: Common,
) -> None:
    """Chat beside live numbers of decoding, on the whole screen."""
    _check_terminal(inline)
    common = _with_model_from_here(common)
    files = Run.of(context).config_files
    here = _entered(files, folder)
    going_on = resume.going_on(continue_, session)
    common = first_model.choose_model(resume.with_its_model(going_on, common))
    from lacli.project.root import project_root

    model, missing = _model(common)
    ui: Any = importlib.import_module("lacli_tui.app")
    start = ui.Start(
        settings=common.settings(),
        request=common.request(),
        model=model,
        missing=missing,
        system=common.system or "",
        instructions=project_instructions(common),
        session=going_on,
        folder=here,
        project=(project_root(here) or here).name,
        keep=not common.no_log,
        attach=common.attach,
        auto_serve=common.auto_serve,
        theme=theme,
        animation=not no_animation,
        mouse=not no_mouse,
        inline=inline,
        checked=_checked,
        edited=_edited,
        origins=_origins(context),
        keymap=keymap.of_user(files.read()),
        keep_theme=_theme_keeper(context),
        remotes=remotes.known,
        remote=remotes.assistant,
    )
    kept, code = ui.run(start)
    if kept:
        diagnostics.note(f"`lacli tui --session {kept[:8]}` goes on with this conversation")
    raise typer.Exit(code)


def _model(common: Common) -> tuple[str, str]:
    """What people call the model, and what must be done before it can be loaded."""
    if is_remote(common.model):
        return named(common.model or "", remotes.known()).title, ""
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(common.model)
    return spec.alias, presence(spec).missing


def _checked(flag: str, value: str) -> Any:
    from lacli.cli.chat.option_values import checked

    return checked(flag, value, Common(max_tokens=_MAX_TOKENS))


def _origins(context: typer.Context) -> Callable[[], dict[str, str]]:
    """Where values come from, as `lacli config show tui` tells it, and what was given here."""

    def origins() -> dict[str, str]:
        from lacli.cli.framework.effective import effective

        found = {value.key: value.origin for table in ("pool", "tui") for value in effective((table,))}
        for option in settable(context.command.params):
            if environment.was_typed(context, option.name):
                found[key_name(option)] = f"given as {environment.shown_name(context, option)}"
        return found

    return origins


def _edited(text: str) -> str:
    from lacli.cli.terminal.editor import edited

    return edited(text)


def _check_terminal(inline: bool) -> None:
    """Raise UsageError unless the UI can read keys, write to the terminal and move the cursor."""
    found = ""
    if not all(is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)):
        found = "stdin, stdout or stderr is none"
    elif os.environ.get("TERM", "") in ("", "dumb", "unknown") and sys.platform != "win32":
        found = f"TERM is {os.environ.get('TERM') or 'not set'}"
    if found:
        raise UsageError(f"lacli tui needs a terminal, and {found}", "`lacli chat` does without")
    if inline and sys.platform == "win32":
        raise UsageError("--inline does not work on Windows", "leave it out")


def _entered(files: ConfigFiles, folder: Path | None) -> Path:
    """The project's folder, which is the current one from now on. Raises UsageError."""
    try:
        if folder is not None:
            files.go_to(folder)
        return Path.cwd()
    except OSError as error:
        if folder is None:
            raise UsageError("the current folder no longer exists", "change to another folder") from None
        raise UsageError(f"{folder}: {error.strerror}", "give a folder") from None


def _with_model_from_here(common: Common) -> Common:
    """Make a relative path of -m absolute before the current folder changes."""
    if is_remote(common.model):
        return common
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(common.model)
    return common if spec.path is None else dataclasses.replace(common, model=str(spec.path))


def _theme_keeper(context: typer.Context) -> Callable[[str], str]:
    """A function that saves a theme in the user's file, unless an option or a variable sets it."""

    def keep(name: str) -> str:
        from lacli.cli.framework.effective import set_value

        if environment.was_typed(context, "theme"):
            return f"for this run, as --theme was given; `lacli config set tui.theme {name}` keeps it"
        if environment.from_variable(context, "theme"):
            return "for this run, as LACLI_THEME is set"
        return "kept: " + set_value(Run.of(context).config_files.user_file(), "tui.theme", name, project=False)

    return keep
