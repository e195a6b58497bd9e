"""Why a request is not served, and how each family of clients is told. No engine, no sockets.

A refusal has a status and one sentence; which JSON object carries them depends on whose API the path belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory, PromptTooLong, TimedOut, UsageError, WorkerDied


class Refusal(Exception):
    """A request is answered with this status and this sentence.

    `param` is the member of the body, or the header, that is at fault; `code` a word for programs, where the API has
    one.
    """

    def __init__(
        self, status: int, message: str, param: str = "", code: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.headers = headers or {}


Shape = Callable[[Refusal], dict[str, Any]]
"""How an API tells of a refusal."""

_STATUSES: tuple[tuple[type[LacliError], int, str], ...] = (
    (PromptTooLong, 400, "context_length_exceeded"),
    (UsageError, 400, ""),
    (ModelUnavailable, 404, "model_not_found"),
    (OutOfMemory, 503, "out_of_memory"),
    (WorkerDied, 503, "engine_died"),
    (TimedOut, 504, "timeout"),
)
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    503: "unavailable_error",
}


def wrong(param: str, message: str) -> Refusal:
    """A member of the body is not what it has to be."""
    return Refusal(400, f"{param}: {message}", param, "invalid_value")


def not_served(param: str, message: str = "is not served") -> Refusal:
    """A member of the body asks for what lacli does not do."""
    return Refusal(400, f"{param}: {message}", param, "unsupported_parameter")


def refusal_of(error: Exception) -> Refusal:
    """The refusal that an error of the engine amounts to."""
    if isinstance(error, Refusal):
        return error
    if not isinstance(error, LacliError):
        what = ": ".join([type(error).__name__, *str(error).splitlines()[:1]])
        return Refusal(500, f"the server failed: {what}; this is a mistake in lacli")
    status, code = next(((status, code) for kind, status, code in _STATUSES if isinstance(error, kind)), (500, ""))
    hint = "" if isinstance(error, PromptTooLong) else error.hint  # that is one of options of commands
    return Refusal(status, f"{error.message}; {hint}" if hint else error.message, code=code)


def openai_shape(refusal: Refusal) -> dict[str, Any]:
    """As OpenAI's API tells it."""
    error = {
        "message": refusal.message,
        "type": _type_of(refusal.status),
        "param": refusal.param or None,
        "code": refusal.code or None,
    }
    return {"error": error}


def llama_shape(refusal: Refusal) -> dict[str, Any]:
    """As llama-server tells it."""
    return {"error": {"code": refusal.status, "message": refusal.message, "type": _type_of(refusal.status)}}


def ollama_shape(refusal: Refusal) -> dict[str, Any]:
    """As ollama tells it."""
    return {"error": refusal.message}


def _type_of(status: int) -> str:
    return _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
