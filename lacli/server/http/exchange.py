"""One request from its body to its answer: what a door's handler is given, and what becomes of what it returns.

Whatever ends an exchange, and above all the client's leaving, cancels what was still to be done for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from starlette.types import Receive, Scope, Send

from lacli.config import Settings
from lacli.server.base import Engine
from lacli.server.http.catalogue import Catalogue, ServedModel, find
from lacli.server.http.counters import Counters
from lacli.server.http.fields import Fields, parsed
from lacli.server.http.refusals import Refusal, refusal_of
from lacli.server.http.wire import Gone, Streamed, Whole, answered, left, read_body, refused, shape_of

PROJECT_HEADER = "x-lacli-project"


@dataclass(frozen=True, slots=True)
class Services:
    """What all exchanges share."""

    engine: Engine
    catalogue: Catalogue
    settings: Settings
    """Those that every request has; model and project are the request's own."""
    counters: Counters


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler is given."""

    fields: Fields
    services: Services
    project: Path | None = None
    """The folder that the request names."""

    @property
    def engine(self) -> Engine:
        """Who writes the replies."""
        return self.services.engine

    async def models(self) -> tuple[ServedModel, ...]:
        """The models that can be asked for."""
        return await asyncio.to_thread(self.services.catalogue.models)

    async def model(self, name: str = "model") -> ServedModel:
        """The model that this member names; the default one where it names none."""
        return find(await self.models(), self.fields.text(name))

    def settings(self, model: ServedModel) -> Settings:
        """For this model and the project of the request; without one nothing is learned, and no file is read."""
        base = self.services.settings
        shared = self.project is not None
        return replace(
            base,
            model=model.setting,
            folder=self.project,
            offline=True,
            pool=base.pool and shared,
            learn=base.learn and shared,
            keep_prompts=base.keep_prompts and shared,
        )


Handler = Callable[[Call], Awaitable[Whole | Streamed]]


class Exchange:
    """A handler as an ASGI application."""

    def __init__(self, handler: Handler, services: Services) -> None:
        self._handler = handler
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; a client that leaves ends it, within one step of the engine's."""
        shape = shape_of(scope["path"])
        with contextlib.suppress(Gone):
            try:
                call = await self._call(scope, receive)
            except Refusal as refusal:
                await refused(refusal, shape, send, receive if refusal.status == 413 else None)
                return
            work = asyncio.create_task(self._serve(call, scope, send))
            leaving = asyncio.create_task(left(receive))
            try:
                await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                leaving.cancel()
                work.cancel()
                results = await asyncio.gather(work, leaving, return_exceptions=True)
            if isinstance(results[0], Exception):
                raise results[0]

    async def _call(self, scope: Scope, receive: Receive) -> Call:
        headers = {name: value for name, value in scope["headers"]}
        fields = Fields({})
        if scope["method"] == "POST":
            fields = parsed(await read_body(receive, headers.get(b"content-length", b"")))
        named = headers.get(PROJECT_HEADER.encode())
        return Call(fields, self._services, None if named is None else await asyncio.to_thread(_project, named))

    async def _serve(self, call: Call, scope: Scope, send: Send) -> None:
        shape = shape_of(scope["path"])
        try:
            answer = await self._handler(call)
        except Exception as error:
            await refused(refusal_of(error), shape, send)
            return
        await answered(answer, shape, send)


def _project(named: bytes) -> Path:
    """The folder of the header. Raises Refusal where it is none."""
    path = os.fsdecode(named)
    if not os.path.isabs(path) or not os.path.isdir(path):
        raise Refusal(400, f"{PROJECT_HEADER}: it is no absolute path of a folder that exists", PROJECT_HEADER)
    return Path(path)
