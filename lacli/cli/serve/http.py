"""What `lacli serve` is told of HTTP, and the door that comes of it. The HTTP library is imported only if wanted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from lacli.config import Settings
from lacli.configuration import loopback
from lacli.errors import UsageError
from lacli.server.engine import WorkerEngine
from lacli.server.supervisor import Door
from lacli.server.token import own_token, token_file

_LEAST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Where HTTP is served, and to whom."""

    port: int | None = None
    """None serves none; 0 is any that is free."""
    host: str = loopback.ADDRESS
    token: str = ""
    """What requests must have; empty is the user's own."""
    ollama: bool = False

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        if self.port is None:
            other_host = self.host != loopback.ADDRESS
            named = [name for name, given in (("--host", other_host), ("--ollama", self.ollama)) if given]
            if named:
                raise UsageError(f"{named[0]} is for HTTP", "give a --port, too, such as 8012")
        if self.token and (len(self.token) < _LEAST_TOKEN or not self.token.isascii() or " " in self.token):
            raise UsageError(
                f"the token must have {_LEAST_TOKEN} letters or more, and no blank", "`openssl rand -hex 32` makes one"
            )
        if self.host not in loopback.NAMES and not self.token:
            raise UsageError(
                f"--host {self.host} lets other computers ask",
                "give a --token, too; nothing is encrypted",
            )

    def line(self, port: int) -> str:
        """Where it is, and with what, for the user."""
        token = "your token" if self.token else f"the token in {token_file()}"
        return f"HTTP at {self._url(port)}, with {token}"

    def _url(self, port: int) -> str:
        return f"http://{loopback.in_url(self.host)}:{port}"

    @property
    def arguments(self) -> list[str]:
        """The same for another start; without the token, which is told by a variable."""
        if self.port is None:
            return []
        host = ["--host", self.host] if self.host != loopback.ADDRESS else []
        return ["--port", str(self.port), *host, *(["--ollama"] if self.ollama else [])]

    def doors(self, settings: Settings, started: Callable[[int], None]) -> list[Door]:
        """The door, if one is wanted. `started` is told the port. Raises LacliError."""
        if self.port is None:
            return []
        from lacli.server.http.run import http_door

        port, token = self.port, self.token or own_token()

        def door(engine: WorkerEngine) -> AbstractAsyncContextManager[None]:
            def listening(port: int) -> None:
                engine.http = self._url(port)
                started(port)

            return http_door(engine, self.host, port, token, self.ollama, settings, listening)

        return [door]
