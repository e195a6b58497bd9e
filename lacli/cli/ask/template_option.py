"""-t of `ask` and `chat`: a template, whose settings become defaults of the options that come after it.

Imports typer and, where a template is named, what reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lacli.prompts.saved import Saved


def _use(context: typer.Context, name: str | None) -> str | None:
    """Make the template's settings defaults, as a configuration file does."""
    if name and not context.resilient_parsing:
        from lacli.prompts.saved import load

        saved = load(name)
        settings = {key.replace("-", "_"): value for key, value in saved.options.items()}
        settings |= {"system": saved.system} if saved.system else {}
        context.default_map = {**(context.default_map or {}), **settings}
    return name


TemplateOption = Annotated[
    str | None,
    typer.Option("-t", "--template", metavar="NAME", help="Ask by this template.", callback=_use),
]


def load_template(name: str | None) -> Saved | None:
    """The template of this name; None without a name."""
    if name is None:
        return None
    from lacli.prompts.saved import load

    return load(name)
