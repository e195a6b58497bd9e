"""Serve one editor on stdin and stdout until it goes; then what is being written, and every process of it, ends."""

from __future__ import annotations

import asyncio

from lacli.server.lsp.completer import Completer
from lacli.server.lsp.reading import read_messages
from lacli.server.lsp.server import LacliServer
from lacli.server.lsp.start import Start
from lacli.server.stdio.engine import Engines
from lacli.server.stdio.streams import Standard, in_thread, log_only


def serve(start: Start, engines: Engines, log: bool = False) -> None:
    """Serve the editor; with `log` stderr gets what the protocol's library logs. Raises SystemExit where the editor
    asks for the end, with the status that the protocol wants."""
    log_only(log)
    asyncio.run(_serve(start, engines))


async def _serve(start: Start, engines: Engines) -> None:
    streams = Standard()
    server = LacliServer(Completer(start, engines))
    server.protocol.set_writer(streams)
    try:
        await read_messages(streams.reader, server)
    finally:
        server.cancel()
        await in_thread(engines.close)
