"""The checks of `lacli doctor`: those of `lacli.shared.health`, and those of the configuration and of the terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from lacli.cli.doctor import deep, remotes
from lacli.cli.run import Run
from lacli.errors import UsageError
from lacli.shared import health
from lacli.shared.health import Check


def checks(with_card: bool = False) -> Iterator[Check]:
    """Every check, as soon as it is done; with_card: those of `deep`, too."""
    configuration = (("config", _configuration), *remotes.checks())
    yield from health.checks(_default_model, configuration, (("terminal", _terminal),))
    if with_card:
        yield from deep.checks()


def _default_model() -> str | None:
    """The model used when none is named."""
    from lacli.cli.models.choice import default_model

    with contextlib.suppress(UsageError):  # a broken file has its own check
        return default_model(again=True)[0] or None
    return None


def _configuration() -> Check:
    from lacli.cli.framework import catalog, keymap
    from lacli.cli.framework.remotes import known

    files = Run.current.config_files
    configuration = files.read_against(catalog.whole())
    try:
        configuration.raise_problems()
        keymap.of_user(files.read())
        known()
    except UsageError as error:
        return Check("config", "fail", error.message, error.hint)
    names = ", ".join(map(str, configuration.files))
    return Check("config", "ok", names or "no file, all as built in")


def _terminal() -> Check:
    from lacli.cli.terminal.tty import can_redraw, columns, is_terminal

    if not is_terminal(sys.stdout):
        return Check("terminal", "ok", "stdout is not a terminal")
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("_", "-")
    if not can_redraw(sys.stdout):
        return Check("terminal", "warn", "it cannot draw over a line (TERM=dumb)", "set TERM to what it is")
    if "utf" not in encoding:
        return Check("terminal", "warn", f"its encoding is {encoding}", "set the locale to one with UTF-8")
    return Check("terminal", "ok", f"{os.environ.get('TERM', 'a console')}, {columns(sys.stdout)} columns")
