"""The models that can be asked for over HTTP: those of the registry whose files are on this machine, by alias alone.

Nothing a request says is taken for a path, and nothing is fetched for one.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lacli.server.http.refusals import Refusal

if TYPE_CHECKING:
    from lacli.models.registry.inventory import Presence

_FRESH_S = 10.0
"""How long what was found on the disk is believed."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model, as listings of every API want it."""

    name: str
    setting: str
    """What `Settings.model` is to be for it: the name, but for a folder or file the server was started with."""
    context: int = 0
    """0 where only the model's files can tell."""
    parameters: int = 0
    quant: str = ""
    kind: str = "gguf"
    byte_size: int = 0
    modified: float = 0.0
    """When it came to this machine, in seconds."""
    digest: str = ""
    fills: bool = False
    """Whether it has a fill-in-the-middle format."""
    licence: str = ""


class Catalogue(Protocol):
    """Which models there are."""

    def models(self) -> tuple[ServedModel, ...]:
        """All that can be asked for, the default one first. Reads the disk."""
        ...


class RegistryCatalogue:
    """The models of the registry that are here, and the one that the server was started with."""

    def __init__(self, model: str | None = None) -> None:
        """model: as given on the command line, where it may be a path; None is the registry's default."""
        self._model = model
        self._found: tuple[ServedModel, ...] = ()
        self._looked_at = -_FRESH_S

    def models(self) -> tuple[ServedModel, ...]:
        """See `Catalogue.models`."""
        now = time.monotonic()
        if now - self._looked_at >= _FRESH_S:
            self._found, self._looked_at = self._look(), now
        return self._found

    def _look(self) -> tuple[ServedModel, ...]:
        from lacli.models.registry.inventory import presence
        from lacli.models.registry.registry import load_registry

        registry = load_registry()
        first = registry.resolve(self._model)
        specs = [first, *(spec for alias, spec in sorted(registry.models.items()) if alias != first.alias)]
        found = []
        for spec in specs:
            there = presence(spec)
            if not there.ready:
                continue
            served = ServedModel(
                name=spec.alias,
                setting=spec.alias if spec.path is None else str(spec.path),
                context=spec.context,
                parameters=spec.parameters,
                quant="" if spec.quant == "auto" else spec.quant,
                kind=spec.kind,
                byte_size=there.byte_size,
                modified=_modified(there),
                digest=next((source.sha256 for source in spec.sources if source.sha256), ""),
                fills=spec.fim is not None,
                licence=spec.licence,
            )
            found.append(served)
        return tuple(found)


def _modified(there: Presence) -> float:
    """0 where its files have gone meanwhile."""
    files = [*there.prepared, *([there.files] if there.files is not None else [])]
    with contextlib.suppress(OSError):
        return min(file.stat().st_mtime for file in files)
    return 0.0


def find(models: tuple[ServedModel, ...], name: str) -> ServedModel:
    """The model of this name; no name is the default one. Raises Refusal."""
    if not models:
        raise Refusal(404, "no model is on this machine: `lacli models pull` brings one", "model", "model_not_found")
    if not name:
        return models[0]
    for model in models:
        if model.name == name:
            return model
    known = ", ".join(model.name for model in models)
    raise Refusal(404, f"no model named {name[:80]!r} is here; there are {known}", "model", "model_not_found")
