"""Who may ask at all: the Host, the Origin and the token of a request, before anything of it is looked at.

Against pages of a browser, which reach a loopback port too: by another name for it (DNS rebinding, told by Host) or
outright (told by Origin). No CORS header is ever sent.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import re
from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from lacli.configuration import loopback
from lacli.server.http.refusals import Refusal
from lacli.server.http.wire import Gone, refused, shape_of

OPEN_PATHS = ("/health", "/v1/health")
"""Served without a token; they tell nothing but whether the engine is alive."""
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(:\d{1,5})?")
_WILD = ("0.0.0.0", "::")

Headers = Iterable[tuple[bytes, bytes]]


class Guard:
    """Lets requests pass that name this host, come from no foreign page and have the token."""

    def __init__(self, app: ASGIApp, token: str, host: str = loopback.ADDRESS) -> None:
        """host: where the server listens; another than loopback may be named in requests, too."""
        self._app = app
        self._token = token.encode()
        self._names = frozenset(map(loopback.in_url, (*loopback.NAMES, host.lower())))
        self._any_address = host in _WILD

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, or refuse."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope["path"], scope["headers"])
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            with contextlib.suppress(Gone):
                await refused(refusal, shape_of(scope["path"]), send)

    def _refusal(self, path: str, headers: Headers) -> Refusal | None:
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return Refusal(403, "the Host header names another host than this one")
        if any(origin.lower() != f"http://{hosts[0]}".lower() for origin in _values(headers, b"origin")):
            return Refusal(403, "pages of other origins may not ask")
        if path in OPEN_PATHS or any(self._is_token(given) for given in _given_tokens(headers)):
            return None
        hint = "send `Authorization: Bearer TOKEN`; it is in http-token of the state folder (`lacli config path`)"
        return Refusal(401, f"the token is missing or wrong; {hint}", headers={"www-authenticate": "Bearer"})

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"].lower()
        return name in self._names or (self._any_address and _is_address(name))

    def _is_token(self, given: bytes) -> bool:
        return bool(self._token) and hmac.compare_digest(given, self._token)


def _values(headers: Headers, wanted: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for name, value in headers if name == wanted]


def _given_tokens(headers: Headers) -> list[bytes]:
    given = [value for name, value in headers if name == b"x-api-key"]
    bearers = [value.split(None, 1) for name, value in headers if name == b"authorization"]
    return [*given, *(parts[1].strip() for parts in bearers if len(parts) == 2 and parts[0].lower() == b"bearer")]


def _is_address(name: str) -> bool:
    """Whether it is an address as such: a name is what can be made to lead anywhere."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
