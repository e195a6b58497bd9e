"""The models lacli knows: reads, checks and merges models.toml, and turns `-m` arguments into a `ModelSpec`.

Lives here: data about models, nothing else. May not: import torch, touch the network, guess from names.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import lacli
from lacli.configuration.document import Unreadable, read
from lacli.configuration.remotes import is_remote
from lacli.errors import ModelUnavailable, UsageError
from lacli.models.gguf.magic import is_gguf
from lacli.models.registry.fim_markers import FimMarkers, family_of
from lacli.models.registry.table import TomlTable, nearest
from lacli.models.spec import Kind, ModelSpec, RegistryProblem
from lacli.paths import config_dir

_TOP_KEYS = ("default", "models", "fim", "chat")


@dataclass(frozen=True, slots=True)
class Registry:
    """All known models and the default."""

    models: Mapping[str, ModelSpec]
    default: str
    origins: Mapping[str, Path] = field(default_factory=dict)
    """The file each alias comes from."""
    fim: Mapping[str, FimMarkers] = field(default_factory=dict)
    """The fill-in-the-middle formats of families of models, by name."""

    def fim_of(
        self, spec: ModelSpec, id_of: Callable[[str], int | None], own: FimMarkers | None = None
    ) -> FimMarkers | None:
        """The format a model is asked in: its table's; where it has none, what its file names or its vocabulary shows.

        `own`: the markers its file names. A known family that has the same ones knows more of them.
        """
        if spec.fim is not None or (spec.path is None and own is None):
            return spec.fim
        family = family_of(self.fim.values(), id_of)
        return family if own is None or (family is not None and family.needed == own.needed) else own

    def resolve(self, name: str | None) -> ModelSpec:
        """The model of this alias, hub id, folder or .gguf file; None = the default one."""
        if name is None:
            return self.models[self.default]
        if not name.strip():  # as a path it would be the current folder
            raise UsageError("the name of the model is empty", "`lacli models list` shows all")
        if name in self.models:
            return self.models[name]
        if is_remote(name):
            raise UsageError(
                f"{name} is an engine that others run: it has nothing on this computer",
                "ask, chat, complete, edit and tui take a remote; name a model of `lacli models list` here",
            )
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
    """An unregistered model: a Hugging Face folder, or a GGUF file of any name. Its own files say the rest."""
    path = Path(os.path.abspath(path))
    if os.path.isdir(path):  # unlike Path's own it cannot fail
        kind: Kind = "hf"
    elif os.path.exists(path) and (path.suffix.lower() == ".gguf" or is_gguf(path)):
        kind = "gguf"
    elif os.path.exists(path):
        raise UsageError(
            f"{path} is neither a folder nor a GGUF file",
            "give a Hugging Face folder, a GGUF file or a name from `lacli models list`",
        )
    else:
        raise ModelUnavailable(
            f"{path} does not exist", "check the path; `lacli models list` shows the models with names"
        )
    return ModelSpec(path.name, path.name, kind, (), "auto", 0, "chat", (), None, "", 0, path)


def shipped_file() -> Path:
    """models.toml inside the installed package, or at the top of the repository in an editable install."""
    package = Path(lacli.__file__).resolve().parent
    inside = package / "models.toml"
    return inside if inside.is_file() else package.parent / "models.toml"


def registry_files() -> list[Path]:
    """The shipped file, then the user's own if there is one."""
    try:
        own = config_dir() / "models.toml"
    except ModelUnavailable:  # without a home there are no settings either; who needs a place to write says so
        return [shipped_file()]
    return [shipped_file(), *([own] if os.path.lexists(own) else [])]


def load_registry(files: Sequence[Path] | None = None, problems: list[RegistryProblem] | None = None) -> Registry:
    """Read and merge registry files, later ones winning alias by alias.

    Mistakes are collected in `problems`, or raised as one `UsageError` where it is None.
    """
    found: list[RegistryProblem] = []
    models: dict[str, ModelSpec] = {}
    origins: dict[str, Path] = {}
    families: dict[str, FimMarkers] = {}
    chats: dict[str, str] = {}
    default = ""
    for file in registry_files() if files is None else files:
        document = _read(file, found)
        default = _check_top(file, document, found) or default
        tables = {key: each if isinstance(each, dict) else {} for key, each in document.items()}
        for name, table in tables.get("fim", {}).items():
            families[name] = TomlTable(file, f"fim.{name}", table, found).markers()
        for name, table in tables.get("chat", {}).items():
            chats[name] = TomlTable(file, f"chat.{name}", table, found).template()
        for alias, table in tables.get("models", {}).items():
            spec = TomlTable(file, f"models.{alias}", table, found).spec(alias, families, chats)
            if spec is not None:
                models[alias], origins[alias] = spec, file
    if default not in models and not found:
        near = difflib.get_close_matches(default, models, 1, 0.5)
        found.append(
            RegistryProblem(
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


def also_here(spec: ModelSpec, name: str | None) -> str:
    """A line for the user if the name of a registered model is also that of a folder or .gguf file here."""
    if name != spec.alias or spec.path is not None or not (os.path.isdir(name) or is_gguf(name)):
        return ""
    return f"{name} is the model of that name; what is here is meant by ./{name}"


def _is_path(name: str) -> bool:
    if name.lower().endswith(".gguf") or name.startswith((".", "~")) or os.path.isabs(name):
        return True
    has_folder = os.sep in name or "/" in name or "\\" in name
    return (has_folder and os.path.exists(name)) or os.path.isdir(name) or is_gguf(name)


def _read(file: Path, problems: list[RegistryProblem]) -> dict[str, Any]:
    try:
        return read(file).data
    except Unreadable as error:
        problems.append(RegistryProblem(file, "", error.text, error.hint, error.line))
    return {}


def _placed(problem: RegistryProblem) -> RegistryProblem:
    """The problem with the line of its key, or of what should hold it."""
    if problem.line or not problem.key:
        return problem
    try:
        places = read(problem.file).positions
    except Unreadable:  # it has changed since
        return problem
    lines = {".".join(where): entry.line for where, entry in places.entries.items()} | {
        ".".join(where): line for where, line in places.lines.items()
    }
    key = re.sub(r"\[\d+\]", "", problem.key)  # what stands in a list is found by the list
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return replace(problem, line=lines.get(key, 0))


def _check_top(file: Path, document: Mapping[str, Any], problems: list[RegistryProblem]) -> str:
    for key in document:
        if key not in _TOP_KEYS:
            problems.append(RegistryProblem(file, key, "unknown key", nearest(key, _TOP_KEYS)))
    for key in ("models", "fim", "chat"):
        if not isinstance(document.get(key, {}), dict):
            problems.append(RegistryProblem(file, key, "must be a table"))
    default = document.get("default", "")
    if not isinstance(default, str):
        problems.append(RegistryProblem(file, "default", "must be a string"))
        return ""
    return default
