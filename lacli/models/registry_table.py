"""One table of models.toml, checked: a model, its sources, its fill-in-the-middle markers. Called by `registry`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from lacli.models import fim_markers
from lacli.models.fim_markers import FimMarkers
from lacli.models.spec import QUANTS, ModelSpec, Problem, Source

SourceKind = Literal["wheel", "parts", "hub-file", "hub"]
_REQUIRED = ("title", "kind", "sources", "context", "style", "licence", "parameters")
_MODEL_KEYS = (*_REQUIRED, "quant", "stop_tokens", "fim", "note")
_SOURCE_KEYS = {
    "wheel": ("kind", "package", "version", "member", "wheel_bytes", "wheel_sha256", "bytes", "sha256"),
    "parts": ("kind", "package", "version", "member", "file", "bytes", "sha256", "parts"),
    "hub-file": ("kind", "repo", "revision", "file", "bytes", "sha256"),
    "hub": ("kind", "repo", "revision"),
}
_OPTIONAL = ("revision",)
_PART_KEYS = ("wheel_bytes", "wheel_sha256", "bytes", "sha256")


def _numbered(text: str, number: int) -> str:
    return text.replace("{n:02}", f"{number:02}").replace("{n}", str(number))


def nearest(key: str, known: Sequence[str]) -> str:
    """A hint for a key that is not known."""
    near = difflib.get_close_matches(key, known, 1, 0.5)
    return f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"


class Table:
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
        """A mistake at this key, or in the table as a whole."""
        self.problems.append(Problem(self.file, f"{self.where}.{key}" if key else self.where, text, hint))

    def only(self, known: Sequence[str], required: Sequence[str]) -> None:
        """No other keys than these, and all that are required."""
        for key in self.data:
            if key not in known:
                self.wrong(key, "unknown key", nearest(key, known))
        for key in required:
            if key not in self.data:
                self.wrong(key, "is missing", f"required keys: {', '.join(required)}")

    def text(self, key: str, default: str = "") -> str:
        """A string."""
        value = self.data.get(key, default)
        if not isinstance(value, str):
            self.wrong(key, "must be a string")
            return default
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str = "") -> str:
        """One of these strings."""
        value = self.text(key, default)
        if key in self.data and value not in allowed:
            self.wrong(key, f"{value!r} is not known", f"one of {', '.join(allowed)}")
        return value

    def count_of(self, key: str) -> int:
        """A whole number."""
        value = self.data.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.wrong(key, "must be a whole number, 0 or more")
            return 0
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            self.wrong(key, "must be a list of strings, none empty")
            return ()
        return tuple(value)

    def spec(self, alias: str, families: Mapping[str, FimMarkers]) -> ModelSpec | None:
        """This table as a model; None where anything in it is wrong."""
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

    def _inner(self, key: str, data: object) -> Table:
        return Table(self.file, f"{self.where}.{key}", data, self.problems)

    def _sources(self, kind: str) -> tuple[Source, ...]:
        value = self.data.get("sources", [])
        if not isinstance(value, list) or ("sources" in self.data and not value):
            self.wrong("sources", "must be a list with one table at least")
            return ()
        return tuple(self._inner(f"sources[{index}]", item).source(kind) for index, item in enumerate(value))

    def source(self, model_kind: str) -> Source:
        """This table as a place where a model of this kind can be fetched."""
        kind = self.choice("kind", tuple(_SOURCE_KEYS))
        if kind not in _SOURCE_KEYS:
            if "kind" not in self.data:
                self.wrong("kind", "is missing", f"one of {', '.join(_SOURCE_KEYS)}")
            return Source("hub")
        known = _SOURCE_KEYS[kind]
        self.only(known, [key for key in known if key not in _OPTIONAL])
        if (kind == "hub") != (model_kind == "hf"):
            self.wrong(
                "kind",
                f"{kind} does not fit a model of kind {model_kind!r}",
                "gguf goes with wheel, parts or hub-file, hf with hub",
            )
        self._digests()
        repo, file = self.text("repo"), self.text("file")
        if "repo" in self.data and (repo.count("/") != 1 or ".." in repo or not all(repo.split("/"))):
            self.wrong("repo", f"{repo!r} is not a hub id", "owner/name")
        if "file" in self.data and (not file.lower().endswith(".gguf") or "/" in file or "\\" in file):
            self.wrong("file", f"{file!r} is not the name of a .gguf file")
        return Source(
            kind=cast("SourceKind", kind),
            package=self.text("package"),
            version=self.text("version"),
            member=self.text("member"),
            wheel_bytes=self.count_of("wheel_bytes"),
            wheel_sha256=self.text("wheel_sha256"),
            bytes=self.count_of("bytes"),
            sha256=self.text("sha256"),
            repo=repo,
            revision=self.text("revision", "main"),
            file=file,
            parts=self._parts() if kind == "parts" else (),
        )

    def _digests(self) -> None:
        for key in ("sha256", "wheel_sha256"):
            digest = self.text(key)
            if key in self.data and (len(digest) != 64 or digest.strip("0123456789abcdef")):
                self.wrong(key, "must be 64 small hexadecimal digits")

    def _parts(self) -> tuple[Source, ...]:
        """The wheels of a source of parts."""
        value = self.data.get("parts", [])
        if not isinstance(value, list) or not value:
            self.wrong("parts", "must be a list with one table at least")
            return ()
        found = []
        for number, item in enumerate(value, 1):
            inner = self._inner(f"parts[{number - 1}]", item)
            inner.only(_PART_KEYS, _PART_KEYS)
            inner._digests()
            found.append(
                Source(
                    kind="wheel",
                    package=_numbered(self.text("package"), number),
                    version=self.text("version"),
                    member=_numbered(self.text("member"), number),
                    wheel_bytes=inner.count_of("wheel_bytes"),
                    wheel_sha256=inner.text("wheel_sha256"),
                    bytes=inner.count_of("bytes"),
                    sha256=inner.text("sha256"),
                )
            )
        if sum(each.bytes for each in found) != self.count_of("bytes"):
            self.wrong("parts", "do not add up to bytes")
        return tuple(found)

    def _fim(self, families: Mapping[str, FimMarkers]) -> FimMarkers | None:
        value = self.data.get("fim")
        if isinstance(value, str):
            if value not in families:
                self.wrong("fim", f"no fill-in-the-middle format named {value!r}", nearest(value, tuple(families)))
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
