"""The tables [remotes.NAME] of the user's file: inference servers that other programs run, here or elsewhere.

`-m remote:NAME` names one. Data and its checks; nothing here opens a connection. A project's file may not have such a
table, because prompts to a remote leave the computer.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from lacli.configuration import loopback
from lacli.configuration.document import Document, KeyPath
from lacli.configuration.keys import CheckedDocument, ConfigProblem, Key, Schema, Table, check
from lacli.errors import ModelUnavailable, UsageError

TABLE = "remotes"
PREFIX = "remote:"
KINDS = ("auto", "vllm", "sglang", "llama-server", "ollama", "openai", "lacli")
"""Servers whose extra fields and statistics are supported; openai is any other with that API."""
APIS = ("chat", "raw")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Remote:
    """An engine that is reached by HTTP."""

    name: str
    url: str
    model: str = ""
    """What the server calls the model; empty: the only one it has."""
    kind: str = "auto"
    key_env: str = ""
    """The variable that holds the key to send."""
    api: str = "chat"
    """chat: messages go to the chat API; raw: they are rendered first and go to the completions API."""
    tokenizer: str = ""
    """The model of `lacli models list` whose tokenizer and template it has; empty: the one called as `model` is."""

    @property
    def title(self) -> str:
        """As it is named by `-m`, in headers and in messages."""
        return PREFIX + self.name

    @property
    def base(self) -> str:
        """The URL that the paths of OpenAI's API are appended to: with /v1, unless it has a path of its own."""
        return self.url if urlsplit(self.url).path.strip("/") else f"{self.url}/v1"

    @property
    def root(self) -> str:
        """The URL that the server's own paths are appended to."""
        return self.url.removesuffix("/v1")

    @property
    def host(self) -> str:
        """Host and port, for people."""
        return urlsplit(self.url).netloc

    @property
    def is_local(self) -> bool:
        """Whether it runs on this computer."""
        return (urlsplit(self.url).hostname or "") in loopback.NAMES


def is_remote(model: str | None) -> bool:
    """Whether `-m` names a remote rather than a model."""
    return model is not None and model.startswith(PREFIX)


def named(model: str, known: Mapping[str, Remote]) -> Remote:
    """The remote that `-m remote:NAME` means. Raises ModelUnavailable."""
    name = model.removeprefix(PREFIX)
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"did you mean {PREFIX}{near[0]}?" if near else f"give it a table [{TABLE}.{name or 'NAME'}] with its url"
    raise ModelUnavailable(f"no remote named {name!r} in your configuration", hint)


def check_online(remote: Remote, offline: bool) -> None:
    """Raise ModelUnavailable for a remote on another computer where the network is not to be used."""
    if offline and not remote.is_local:
        raise ModelUnavailable(
            f"{remote.title} is on another computer, and the network is off (--offline or LACLI_OFFLINE)",
            "leave that out, or use a model that is here",
        )


def _url(name: str, value: Any) -> Any:
    """Check a URL: what is no plain address of a server is refused."""
    parts = _split(str(value))
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{name} {value!r} is not the address of a server", "write it as http://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{name} has a user or password in it", "put the key into a variable and name it by key-env")
    if parts.query or parts.fragment:
        raise UsageError(f"{name} {value!r} has more than an address in it", "leave out what follows ? or #")
    return value


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError:
        return None
    return parts if url.isascii() and url.isprintable() and " " not in url else None


def _one_of(choices: tuple[str, ...]) -> Any:
    def checked(name: str, value: Any) -> Any:
        if value not in choices:
            raise UsageError(f"{name} {value!r} is unknown", f"choose one of {', '.join(choices)}")
        return value

    return checked


def _variable(name: str, value: Any) -> Any:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(value)):
        raise UsageError(f"{name} is not the name of a variable", "write the variable's name there, never the key")
    return value


KEYS: Table = {
    key.name: key
    for key in (
        Key("url", "text", "Where the server is, with or without /v1.", check=_url),
        Key("model", "text", "What the server calls the model; default: the only one it has."),
        Key("kind", "text", "What runs there; auto asks it.", KINDS, "auto", check=_one_of(KINDS)),
        Key("key-env", "text", "The variable that holds the key to send.", check=_variable),
        Key(
            "api", "text", "Whether chats go to its chat API, or rendered to completions.", APIS, "chat", _one_of(APIS)
        ),
        Key(
            "tokenizer", "text", "The model of `lacli models list` that has the same tokenizer; default: its namesake."
        ),
    )
}


def schema(names: Iterable[str]) -> dict[KeyPath, Table]:
    """The keys of the tables of these remotes."""
    return {(TABLE,): {}} | {(TABLE, name): KEYS for name in names}


def names_in(data: Mapping[str, Any]) -> list[str]:
    """The names of the remotes in a file."""
    tables = data.get(TABLE)
    return [name for name, table in tables.items() if isinstance(table, dict)] if isinstance(tables, dict) else []


def checked(document: Document) -> tuple[dict[str, Remote], list[ConfigProblem]]:
    """The remotes of the user's file by name, and what is wrong with them."""
    if TABLE not in document.data:
        return {}, []
    names = names_in(document.data)
    only = dataclasses.replace(document, data={TABLE: document.data[TABLE]})
    found = check(only, Schema({(): {}} | schema(names)))
    problems = [*found.problems]
    for name in names:
        problem = _wrong(document, name)
        if problem is not None:
            problems.append(problem)
    return ({} if problems else {name: _remote(name, found) for name in names}), problems


def _wrong(document: Document, name: str) -> ConfigProblem | None:
    line = document.line((TABLE, name))
    if not _NAME.fullmatch(name):
        return ConfigProblem(
            document.path, line, f"{name!r} is no name of a remote", "use letters, digits, dots and dashes"
        )
    if "url" not in document.data[TABLE][name]:
        return ConfigProblem(document.path, line, f"[{TABLE}.{name}] has no url", "write where the server is")
    return None


def _remote(name: str, found: CheckedDocument) -> Remote:
    values = {where[-1].replace("-", "_"): value for where, value in found.values.items() if where[1] == name}
    return Remote(name, **{**values, "url": str(values["url"]).rstrip("/")})
