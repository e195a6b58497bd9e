"""Values for `/set`, with the checks and error messages of the command line's flags."""

from __future__ import annotations

import shlex
from typing import Any

from lacli.cli.framework.options import Common, with_common
from lacli.errors import UsageError

_NONE = ("none", "off")


def checked(flag: str, value: str, default: Common = Common()) -> Any:  # noqa: B008 - it is frozen
    """The value as its flag would parse it. Raises UsageError with the message of the flag."""
    field = flag.replace("-", "_")
    if value.lower() in _NONE:
        return getattr(default, field)
    import typer

    from lacli.cli.framework.usage_errors import usage_error

    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_common(only=(field,))
    def never_run(*, common: Common) -> None:
        """Only parsed."""

    arguments = [part for each in (_split(value) if flag == "stop" else [value]) for part in (f"--{flag}", each)]
    try:
        with typer.main.get_command(app).make_context("/set", arguments) as context:
            return context.params[field]
    except typer.TyperException as error:
        message = usage_error(error).message.removeprefix("--")
        raise UsageError(message, f"/set {flag} none is the default again") from None


def _split(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return [value]
