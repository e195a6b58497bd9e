"""A remote whose kind, model and context size are known. Every request to it is made here."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from lacli import __version__
from lacli.assistant.base import Cancel, never
from lacli.configuration.remotes import Remote
from lacli.errors import LacliError, ModelUnavailable, UsageError
from lacli.remote import failures
from lacli.remote.exchange import Broken, Exchange, Head, Limits

_OWNERS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llama-server",
    "library": "ollama",
    "ollama": "ollama",
    "lacli": "lacli",
}
"""The kind of a server by the `owned_by` of its models."""
_MOST_LIST = 1 << 22
_MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Server:
    """What is known of a remote."""

    remote: Remote
    kind: str
    """One of `remotes.KINDS` but auto."""
    model: str
    context: int = 0
    """Tokens of prompt and reply; 0 where it does not tell."""
    limits: Limits = field(default_factory=Limits)

    @property
    def title(self) -> str:
        """What it is and where, for people."""
        return f"{self.remote.title}: {self.where}"

    @property
    def where(self) -> str:
        """The same without its name; of a model that is called by a path only the file."""
        model = self.model.rpartition("/")[2] if self.model.startswith("/") else self.model
        return f"{self.kind} at {self.remote.host}, {model}"


def find(remote: Remote, limits: Limits, cancel: Cancel = never) -> Server:
    """Ask a remote what it is. Raises LacliError where it cannot be reached, refuses the key or lacks the model."""
    listed = _models(remote, limits, cancel)
    names = [str(each["id"]) for each in listed]
    model = remote.model or (names[0] if len(names) == 1 else "")
    if not model:
        raise UsageError(
            f"{remote.title} has {len(names) or 'no'} models, and none is chosen",
            f"set model in [remotes.{remote.name}] to one of {_some(names)}" if names else "load one there",
        )
    entry = next((each for each in listed if each["id"] in (model, f"{model}:latest")), None)
    if entry is None and names:
        raise ModelUnavailable(
            f"{remote.title} has no model {model!r}",
            f"set model in [remotes.{remote.name}] to one of {_some(names)}",
        )
    kind = remote.kind
    if kind == "auto":
        kind = _OWNERS.get(str((entry or {}).get("owned_by", "")).lower(), "openai")
    server = Server(remote, kind, model, _context(entry or {}, kind), limits)
    if kind == "llama-server" and not server.context:
        props = ask(server, f"{remote.root}/props", cancel=cancel) or {}
        server = replace(server, context=_size(_inner(props.get("default_generation_settings")).get("n_ctx")))
    return server


def key_of(remote: Remote) -> str:
    """The key to send; empty where none is named. Raises UsageError where the variable is not set."""
    if not remote.key_env:
        return ""
    key = os.environ.get(remote.key_env, "").strip()
    if not key:
        raise UsageError(
            f"{remote.title} wants a key, and {remote.key_env} is not set", f"export {remote.key_env} with the key"
        )
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"{remote.key_env} holds what is no key", "export it again, without quotes or line ends")
    return key


@contextlib.contextmanager
def exchange(
    remote: Remote, limits: Limits, url: str, body: dict[str, Any] | None = None, cancel: Cancel = never
) -> Iterator[Exchange]:
    """A request: GET without a body, else POST of it as JSON."""
    headers = {"User-Agent": f"lacli/{__version__}", "Accept": "application/json, text/event-stream"}
    key = key_of(remote)
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = None
    if body is not None:
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers["Content-Type"] = "application/json"
    with Exchange("GET" if data is None else "POST", url, data, headers, limits, cancel) as made:
        yield made


def told(
    remote: Remote, limits: Limits, url: str, body: dict[str, Any] | None = None, cancel: Cancel = never
) -> tuple[Head, bytes]:
    """A short answer, whole, whatever its status. Raises LacliError where there is none, or Cancelled."""
    try:
        with exchange(remote, limits, url, body, cancel) as made:
            head = made.head(limits.connect_s + limits.idle_s if body else 2 * limits.connect_s)
            return head, made.whole(_MOST_LIST)
    except Broken as broken:
        raise failures.unreachable(remote, broken) from None


def ask(server: Server, url: str, body: dict[str, Any] | None = None, cancel: Cancel = never) -> dict[str, Any] | None:
    """A short answer as JSON; None if the server has no such endpoint, or answers with anything else."""
    try:
        head, data = told(server.remote, server.limits, url, body, cancel)
        value = json.loads(data) if head.status == 200 else None
    except (LacliError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _models(remote: Remote, limits: Limits, cancel: Cancel) -> list[dict[str, Any]]:
    """The models it lists, each with an id; none where it has no list."""
    head, data = told(remote, limits, f"{remote.base}/models", None, cancel)
    if head.status in (404, 405, 501) and remote.model and remote.kind != "auto":
        return []  # a server without a list: the request itself will show whether the model is there
    if head.status != 200:
        raise failures.refused(remote, head, data[: failures.MOST_BYTES])
    try:
        value = json.loads(data)
        listed = value["data"] if isinstance(value, dict) else None
    except (ValueError, KeyError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        raise UsageError(f"what {remote.title} answers at {remote.base}/models is no list of models", "correct its url")
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("id"), str)]


def _context(entry: dict[str, Any], kind: str) -> int:
    """What the list says; the context a model was trained with is not what llama-server gives it."""
    meta = _inner(entry.get("meta"))
    found = [entry.get("max_model_len"), entry.get("context_length"), meta.get("n_ctx")]
    found += [meta.get("n_ctx_train")] if kind == "lacli" else []
    return next(filter(None, map(_size, found)), 0)


def _size(value: Any) -> int:
    return value if type(value) is int and 0 < value < 1 << 31 else 0


def _inner(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _some(names: list[str]) -> str:
    shown = ", ".join(
        "".join(each if each.isprintable() else "?" for each in name[:80]) for name in names[:_MOST_SHOWN]
    )
    return shown + (", …" if len(names) > _MOST_SHOWN else "")
