"""Settings from files, the environment and defaults, with types checked and origins remembered."""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SettingsError(Exception):
    def __init__(self, key: str, problem: str, origin: str) -> None:
        super().__init__(f"{origin}: {key}: {problem}")
        self.key = key
        self.problem = problem
        self.origin = origin


@dataclasses.dataclass(frozen=True)
class Value:
    raw: Any
    origin: str


class Source:
    """One place settings come from."""

    name = "source"

    def values(self) -> Mapping[str, Any]:
        raise NotImplementedError


class FileSource(Source):
    def __init__(self, path: Path, required: bool = False) -> None:
        self.path = path
        self.required = required
        self.name = str(path)

    def values(self) -> Mapping[str, Any]:
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            if self.required:
                raise SettingsError("", "the file does not exist", self.name) from None
            return {}
        try:
            if self.path.suffix == ".json":
                data = json.loads(text)
            else:
                data = tomllib.loads(text)
        except ValueError as error:
            raise SettingsError("", str(error), self.name) from None
        if not isinstance(data, dict):
            raise SettingsError("", "the file holds no table", self.name)
        return flatten(data)


class EnvironmentSource(Source):
    name = "environment"

    def __init__(self, prefix: str, environment: Mapping[str, str] | None = None) -> None:
        self.prefix = prefix
        self.environment = os.environ if environment is None else environment

    def values(self) -> Mapping[str, Any]:
        found = {}
        for name, text in self.environment.items():
            if name.startswith(self.prefix):
                key = name[len(self.prefix) :].lower().replace("__", ".")
                found[key] = text
        return found


class MappingSource(Source):
    def __init__(self, values: Mapping[str, Any], name: str = "defaults") -> None:
        self._values = flatten(values)
        self.name = name

    def values(self) -> Mapping[str, Any]:
        return self._values


def flatten(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, with dots between the names."""
    flat: dict[str, Any] = {}
    for name, value in data.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{key}."))
        else:
            flat[key] = value
    return flat


def convert(raw: Any, kind: Any) -> Any:
    """The value as this type; ValueError where it cannot be."""
    origin = typing.get_origin(kind)
    if origin in (list, Sequence):
        (inner,) = typing.get_args(kind)
        parts = raw.split(",") if isinstance(raw, str) else raw
        return [convert(part.strip() if isinstance(part, str) else part, inner) for part in parts]
    if kind is bool:
        if isinstance(raw, bool):
            return raw
        text = str(raw).strip().lower()
        if text in ("1", "true", "yes", "on"):
            return True
        if text in ("0", "false", "no", "off"):
            return False
        raise ValueError(f"{raw!r} says neither yes nor no")
    if kind is int and isinstance(raw, float) and not raw.is_integer():
        raise ValueError(f"{raw!r} is not a whole number")
    if kind is Path:
        return Path(os.path.expanduser(str(raw)))
    if kind in (int, float, str):
        return kind(raw)
    return raw


class Loader(Generic[T]):
    """Fills a dataclass from sources; a later source wins over an earlier one."""

    def __init__(self, cls: type[T], sources: Sequence[Source]) -> None:
        self.cls = cls
        self.sources = list(sources)
        self.origins: dict[str, str] = {}

    def load(self) -> T:
        merged = self._merged()
        hints = typing.get_type_hints(self.cls)
        arguments: dict[str, Any] = {}
        for field in dataclasses.fields(self.cls):
            if field.name not in merged:
                if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                    raise SettingsError(field.name, "is missing", "all sources")
                continue
            value = merged.pop(field.name)
            try:
                arguments[field.name] = convert(value.raw, hints[field.name])
            except (TypeError, ValueError) as error:
                raise SettingsError(field.name, str(error), value.origin) from None
            self.origins[field.name] = value.origin
        for key, value in merged.items():
            if value.origin != "environment":
                raise SettingsError(key, "is unknown", value.origin)
        return self.cls(**arguments)

    def _merged(self) -> dict[str, Value]:
        merged: dict[str, Value] = {}
        for source in self.sources:
            for key, raw in source.values().items():
                merged[key] = Value(raw, source.name)
        return merged

    def explain(self) -> str:
        lines = [f"{name} from {origin}" for name, origin in sorted(self.origins.items())]
        return "\n".join(lines)
