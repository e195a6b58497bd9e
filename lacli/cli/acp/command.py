"""`lacli acp`: an agent for editors, on stdin and stdout. Options only; what it does is `lacli.server.acp`'s."""

from __future__ import annotations

from typing import Any

import typer

from lacli.cli.framework.options import Common, with_common
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli acp                                         (the command of a custom agent in an editor's settings)

  lacli acp -m qwen2.5-coder-1.5b --offline

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""
_WITHOUT = ("timeout", "no_stdin", "stats", "usage", "json", "plain", "no_stream", "sanitize", "send_anyway")
_MAX_TOKENS = 1024


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(without=_WITHOUT, max_tokens=_MAX_TOKENS)
def acp(*, common: Common) -> None:
    """Serve an editor that speaks the Agent Client Protocol: Zed, JetBrains, Neovim, Emacs, toad.

    The editor starts this and talks to it by stdin and stdout. Conversations are those of `lacli chat`; `/edit` and
    `/apply` show what they would change and ask first.
    """
    from lacli.models.registry.registry import load_registry
    from lacli.server.acp.serve import serve
    from lacli.server.acp.start import Start
    from lacli.server.stdio.engine import Engines, where

    load_registry().resolve(common.model)
    if diagnostics.stdin_is_terminal():
        diagnostics.note("this is for an editor to start, which talks to it by stdin; Ctrl-D leaves")
    start = Start(
        settings=common.settings(),
        request=common.request(),
        system=common.system or "",
        keep=not common.no_log,
        instructions=not common.no_instructions,
        checked=_checked,
        notify=diagnostics.notice,
    )
    engines = Engines(where(common.attach, common.auto_serve, diagnostics.note))
    serve(start, engines, log=Run.current.verbosity >= 2)


def _checked(flag: str, value: str) -> Any:
    from lacli.cli.chat.option_values import checked

    return checked(flag, value, Common(max_tokens=_MAX_TOKENS))
