"""One name for each model, however it was asked for, so that none is in memory twice."""

from __future__ import annotations

from dataclasses import replace

from lacli.config import Settings
from lacli.models.registry.registry import Registry, load_registry, registry_files


class ModelNames:
    """Reads the registry, and again only when its files have changed."""

    def __init__(self) -> None:
        self._registry: Registry | None = None
        self._stamp: object = None

    def settled(self, settings: Settings) -> Settings:
        """The same settings with the model's own name, or its absolute path. Raises LacliError for an unknown one."""
        files = registry_files()
        stamp = [(file, file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.exists()]
        if self._registry is None or stamp != self._stamp:
            self._registry, self._stamp = load_registry(files), stamp
        spec = self._registry.resolve(settings.model)
        return replace(settings, model=spec.alias if spec.path is None else str(spec.path))
