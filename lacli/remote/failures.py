"""What went wrong between here and a remote, as one line with its remedy."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

from lacli.configuration.remotes import Remote
from lacli.errors import LacliError, ModelUnavailable, PromptTooLong, UsageError
from lacli.remote.exchange import Broken, Head

MOST_BYTES = 1 << 16
"""Of a refusal that are read."""
BUSY = (429, 502, 503, 504)
"""Statuses that may be others a moment later."""
_CLIPPED = 300
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|exceed_context|maximum (?:context|model) len|max_model_len|"
    r"longer than the (?:maximum|context)|too many tokens|prompt is too long|input length",
    re.IGNORECASE,
)
_DOCTOR = "`lacli doctor` asks every remote"


class Refused(LacliError):
    """The server does not take this request; it may well take others."""


def ends_all(error: LacliError) -> bool:
    """Whether there is no use in asking this server anything else now."""
    return not isinstance(error, Refused | PromptTooLong | UsageError)


def unreachable(remote: Remote, broken: Broken) -> LacliError:
    """No answer came."""
    cause = broken.cause
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ModelUnavailable(
            f"the certificate of {remote.host} is not trusted: {cause.verify_message}",
            "put the authority's certificate into a file and name it by SSL_CERT_FILE",
        )
    if isinstance(cause, ssl.SSLError):
        return ModelUnavailable(f"no TLS connection to {remote.host}: {_reason(cause)}", "write http:// if it has none")
    if isinstance(cause, TimeoutError):
        return LacliError(f"{remote.title} at {remote.host} does not answer", f"is it overloaded? {_DOCTOR}")
    if isinstance(cause, HTTPException | str):
        return LacliError(
            f"{remote.title} at {remote.host} does not speak HTTP: {_reason(cause)}", "correct its url or its port"
        )
    return ModelUnavailable(
        f"{remote.title} cannot be reached at {remote.host}: {_reason(cause)}", f"is the server running? {_DOCTOR}"
    )


def broken_off(remote: Remote, cause: BaseException | str) -> LacliError:
    """The answer ended before the reply did."""
    if isinstance(cause, TimeoutError):
        return LacliError(f"{remote.title} stalled in the middle of its reply", "the text so far is kept; ask again")
    why = cause if isinstance(cause, str) else f"the connection broke: {_reason(cause)}"
    return LacliError(f"{remote.title} did not end its reply: {why}", "the text so far is kept; ask again")


def refused(remote: Remote, head: Head, body: bytes, model: str = "") -> LacliError:
    """The server answered with an error."""
    said = message_of(body)
    if 300 <= head.status < 400:
        where = _clipped(head.headers.get("location", "")) or "another place"
        return UsageError(
            f"{remote.title} redirects to {where}, which is not followed",
            "write that address into its url if it is right",
        )
    if head.status in (401, 403):
        hint = (
            f"check the key in {remote.key_env}"
            if remote.key_env
            else f"put the key into a variable and name it by key-env in [remotes.{remote.name}]"
        )
        return ModelUnavailable(f"{remote.title} refuses the key ({head.status}){_because(said)}", hint)
    if head.status == 429:
        wait = retry_after(head)
        hint = "try again later" if wait is None else f"try again in {wait:.0f} s"
        return LacliError(f"{remote.title} takes no more requests now (429){_because(said)}", hint)
    return of_message(remote, said, head.status, model)


def of_message(remote: Remote, said: str, status: int = 0, model: str = "") -> LacliError:
    """The same by what the server says: of an answer that failed once it had begun, too."""
    if status == 413 or _TOO_LONG.search(said):
        return PromptTooLong(
            f"the prompt does not fit into the context of {remote.title}{_because(said)}", "shorten it, or a smaller -n"
        )
    if status == 404 and model and "model" in said.lower():
        return ModelUnavailable(
            f"{remote.title} has no model {model!r}{_because(said)}", f"set model in [remotes.{remote.name}]; {_DOCTOR}"
        )
    if status == 404:
        return UsageError(
            f"{remote.title} has nothing at that path (404){_because(said)}", "correct its url: with or without /v1?"
        )
    told = f" ({status})" if status else ""
    hint = (
        "its log says more"
        if status >= 500 or not status
        else "correct the request, or its table in your configuration"
    )
    kind = LacliError if status >= 500 else Refused
    return kind(f"{remote.title} failed{told}{_because(said)}", hint)


def message_of(body: bytes) -> str:
    """What an answer of any server says went wrong; empty where it says nothing."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if isinstance(value, list) and value:
        value = value[0]
    for name in ("message", "detail"):
        inner = value.get(name) if isinstance(value, dict) else None
        if isinstance(inner, list):  # FastAPI's, of a body that it does not like
            inner = json.dumps(inner)
        if isinstance(inner, str) and inner.strip():
            return _clipped(inner)
    return message_of_object(value)


def message_of_object(value: Any) -> str:
    """The error that an object tells of; empty where it tells of none."""
    is_error = isinstance(value, dict) and value.get("object") == "error"  # as older vLLMs write it
    for name in ("error", "error_message", *(["message"] if is_error else [])):
        inner = value.get(name) if isinstance(value, dict) else None
        if isinstance(inner, Mapping):
            inner = " ".join(
                str(inner[each]) for each in ("code", "type", "message") if isinstance(inner.get(each), str)
            )
        if isinstance(inner, str) and inner.strip():
            return _clipped(inner)
    return ""


def retry_after(head: Head) -> float | None:
    """Seconds after which the server wants to be asked again."""
    value = head.headers.get("retry-after", "")
    return min(float(value), 86_400.0) if re.fullmatch(r"\d{1,6}(\.\d+)?", value) else None


def _because(said: str) -> str:
    return f": {said}" if said else ""


def _clipped(text: str) -> str:
    line = "".join(each if each.isprintable() else " " for each in " ".join(text.split()))
    return line if len(line) <= _CLIPPED else f"{line[:_CLIPPED]}…"


def _reason(cause: BaseException | str) -> str:
    if isinstance(cause, OSError) and cause.strerror:
        return _clipped(cause.strerror).lower()
    return _clipped(str(cause)) or type(cause).__name__
