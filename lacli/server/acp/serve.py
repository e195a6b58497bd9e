"""Serve one editor on stdin and stdout until it goes; then every answer, and every process started for it, ends."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import cast

import acp

from lacli.server.acp.agent import LacliAgent
from lacli.server.acp.start import Start
from lacli.server.acp.transport import LineTransport
from lacli.server.stdio.engine import Engines
from lacli.server.stdio.streams import Standard, in_thread, log_only

_SAVING_S = 0.5
"""How long an answer may take to end, and to be kept as far as it came, once the editor has gone."""


def serve(start: Start, engines: Engines, log: bool = False) -> None:
    """Serve the editor; with `log` stderr gets what the protocol's library logs."""
    log_only(log)
    asyncio.run(_serve(start, engines))


async def _serve(start: Start, engines: Engines) -> None:
    agent = LacliAgent(start, engines)
    try:
        await acp.run_agent(cast(acp.Agent, agent), LineTransport(Standard()))  # it has all that editors may call
    finally:
        for each in agent.leave():
            await in_thread(partial(each.idle.wait, _SAVING_S))
        await in_thread(engines.close)
