"""Which handler serves which path."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from lacli.configuration import loopback
from lacli.server.http import llama_doors, ollama_doors, openai_doors
from lacli.server.http.exchange import Exchange, Handler, Services
from lacli.server.http.guard import Guard
from lacli.server.http.refusals import Refusal
from lacli.server.http.wire import shape_of

_OPENAI: Mapping[tuple[str, str], Handler] = {
    ("GET", "/models"): openai_doors.models,
    ("POST", "/chat/completions"): openai_doors.chat,
    ("POST", "/completions"): openai_doors.completions,
}
_LLAMA: Mapping[tuple[str, str], Handler] = {
    ("POST", "/infill"): llama_doors.infill,
    ("POST", "/completion"): llama_doors.completion,
    ("GET", "/health"): llama_doors.health,
    ("GET", "/props"): llama_doors.props,
    ("POST", "/tokenize"): llama_doors.tokenize,
    ("POST", "/detokenize"): llama_doors.detokenize,
    ("POST", "/apply-template"): llama_doors.apply_template,
    ("GET", "/metrics"): llama_doors.metrics,
}
_OLLAMA: Mapping[tuple[str, str], Handler] = {
    ("POST", "/api/generate"): ollama_doors.generate,
    ("POST", "/api/chat"): ollama_doors.chat,
    ("GET", "/api/tags"): ollama_doors.tags,
    ("POST", "/api/show"): ollama_doors.show,
    ("GET", "/api/ps"): ollama_doors.loaded,
    ("GET", "/api/version"): ollama_doors.version,
}


def application(services: Services, token: str, host: str = loopback.ADDRESS, ollama: bool = False) -> ASGIApp:
    """All doors behind the guard; ollama's only where asked for."""
    doors = {**_OPENAI, **_LLAMA, **{(method, f"/v1{path}"): each for (method, path), each in _OPENAI.items()}}
    doors["GET", "/v1/health"] = llama_doors.health
    doors |= _OLLAMA if ollama else {}
    routes = [Route(path, Exchange(handler, services), methods=[method]) for (method, path), handler in doors.items()]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refused})
    app.router.redirect_slashes = False
    return Guard(app, token, host)


async def _refused(request: Request, error: Exception) -> Response:
    """A path or a method that there is not."""
    assert isinstance(error, HTTPException)
    path, why = request.url.path, error.detail
    if error.status_code == 404 and any(path == each for _, each in _OLLAMA):
        why = "ollama's API is off; `lacli serve --port N --ollama` serves it"
    refusal = Refusal(error.status_code, f"{request.method} {path[:80]}: {why}")
    body = shape_of(path)(refusal)
    return JSONResponse(body, error.status_code, headers=dict(error.headers or {}))
