"""The checks of the user's remotes: whether each answers, with which model. Only the list of models is asked for."""

from __future__ import annotations

import functools

from lacli.cli.framework import remotes
from lacli.config import told_offline
from lacli.configuration.remotes import Remote
from lacli.errors import LacliError
from lacli.shared.health import Check, NamedCheck

_WAIT_S = 5.0


def checks() -> list[NamedCheck]:
    """A check for each; none where the configuration is broken, which has a check of its own."""
    try:
        known = remotes.known()
    except LacliError:
        return []
    return [(each.title, functools.partial(_asked, each)) for each in known.values()]


def _asked(remote: Remote) -> Check:
    if told_offline("LACLI_OFFLINE") and not remote.is_local:
        return Check(remote.title, "warn", f"{remote.host} was not asked, as the network is off")
    from lacli.remote.exchange import Limits
    from lacli.remote.server import find

    try:
        server = find(remote, Limits(connect_s=_WAIT_S, idle_s=_WAIT_S))
    except LacliError as error:
        return Check(remote.title, "warn", error.message, error.hint)
    context = f", context {server.context:,}" if server.context else ""
    return Check(remote.title, "ok", f"{server.where}{context}")
