"""`lacli lsp`: completion for editors, on stdin and stdout. Options only; what it does is `lacli.server.lsp`'s."""

from __future__ import annotations

import importlib.util
from typing import Annotated, cast

import typer

from lacli.cli.framework.flags import ReadMsOption
from lacli.cli.framework.options import Common, check_choice, with_common
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics
from lacli.completion.window import READ_MS
from lacli.errors import LacliError
from lacli.events import Scope

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_SCOPES = ("line", "block", "file")
_EXAMPLES = """
Examples:

  lacli lsp                                         (the command of a language server in an editor's settings)

  lacli lsp -m qwen2.5-coder-1.5b --scope line

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""
_WITHOUT = (
    *("system", "no_instructions", "truncate", "timeout", "no_stdin", "stats", "usage"),
    *("json", "plain", "no_stream", "sanitize", "send_anyway"),
)


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(without=_WITHOUT, max_tokens=128)
def lsp(
    *,
    scope: Annotated[
        str, typer.Option("--scope", metavar="|".join(_SCOPES), help="Where a completion must end at the latest.")
    ] = "block",
    max_lines: Annotated[int, typer.Option("--max-lines", min=0, help="Most lines; 0 is no limit.")] = 0,
    no_context: Annotated[bool, typer.Option("--no-context", help="Show no other files of the project.")] = False,
    prefix_lines: Annotated[int, typer.Option("--prefix-lines", min=0, help="Lines shown before the place.")] = 256,
    suffix_lines: Annotated[int, typer.Option("--suffix-lines", min=0, help="Lines shown after it.")] = 64,
    read_ms: ReadMsOption = READ_MS,
    common: Common,
) -> None:
    """Complete code in an editor that speaks the Language Server Protocol: Neovim, VS Code, Emacs, JetBrains.

    The editor starts this and talks to it by stdin and stdout. It answers textDocument/inlineCompletion with what
    `lacli complete` prints for the same place.
    """
    check_choice(_SCOPES)("--scope", scope)
    if importlib.util.find_spec("pygls") is None:
        raise LacliError("lacli lsp needs the package pygls", "install it with `pip install 'lacli[lsp]'`")
    from lacli.models.registry.registry import load_registry
    from lacli.server.lsp.serve import serve
    from lacli.server.lsp.start import Start
    from lacli.server.stdio.engine import Engines, where

    load_registry().resolve(common.model)
    if diagnostics.stdin_is_terminal():
        diagnostics.note("this is for an editor to start, which talks to it by stdin; Ctrl-D leaves")
    start = Start(
        settings=common.settings(),
        request=common.request(),
        scope=cast(Scope, scope),
        max_lines=max_lines,
        lines_before=prefix_lines,
        lines_after=suffix_lines,
        neighbours=not no_context,
        read_ms=read_ms,
    )
    engines = Engines(where(common.attach, common.auto_serve, diagnostics.note))
    serve(start, engines, log=Run.current.verbosity >= 2)
