"""Which files of a model are on this machine, and how to remove them. Files only, no torch."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.models.fetch.disk import locked
from lacli.models.fetch.download import folder_bytes
from lacli.models.fetch.file import arrived_of, size_of, sweep_partials, target_of
from lacli.models.fetch.hub import cached_file, cached_snapshot, is_complete, repository_folder
from lacli.models.fetch.hub_weights import PART
from lacli.models.prepare.folder import FLOAT_NAME, PACKED_NAMES, RECORD_NAME, read_record, sweep
from lacli.models.spec import ModelSpec, Source
from lacli.paths import models_dir


@dataclass(frozen=True, slots=True)
class Presence:
    """The files of one model."""

    files: Path | None
    """The fetched .gguf, the hub snapshot, or the user's own path; None if incomplete."""
    prepared: tuple[Path, ...]
    """Prepared folders made from it."""
    byte_size: int
    """Size of everything lacli keeps for it; a hub snapshot, which belongs to the hub's cache, included."""
    arrived: int = 0
    """Bytes of an interrupted download, which the next one resumes."""

    @property
    def ready(self) -> bool:
        """Whether it can be used without a network."""
        return self.files is not None or bool(self.prepared)

    @property
    def missing(self) -> str:
        """What must be done before it can be loaded: fetch, prepare, or nothing."""
        return "" if self.prepared else "fetch" if self.files is None else "prepare"


def presence(spec: ModelSpec) -> Presence:
    """Look for the files of `spec`, by names and sizes only."""
    made = list(_made_from(spec))
    prepared = tuple(folder for folder in made if read_record(folder) is not None)
    kept = sum(folder_bytes(folder) for folder in made)
    if spec.path is not None:
        return Presence(spec.path if spec.path.exists() else None, prepared, kept)
    source = spec.sources[0]
    if source.kind == "hub":
        files = cached_snapshot(source) if is_complete(source) else None
        blobs = repository_folder(source) / "blobs"
        begun = blobs.glob(f"*{PART}") if files is None else ()
        return Presence(files, prepared, kept + folder_bytes(blobs), sum(each.stat().st_size for each in begun))
    target = target_of(source)
    files = target if size_of(target) == source.bytes else None
    kept += size_of(target)
    arrived = arrived_of(spec)
    for each in spec.sources if files is None else ():
        files = files or (cached_file(each) if each.kind == "hub-file" else None)
    return Presence(files, prepared, kept + arrived, 0 if files else arrived)


def remove(spec: ModelSpec) -> int:
    """Delete what lacli keeps of `spec`: fetched file, partial downloads, prepared folders. Bytes freed.

    A user's own file and complete files in the hub's shared cache stay.
    """
    freed = 0
    for folder in _made_from(spec):
        freed += folder_bytes(folder)
        with locked(folder, _quietly):
            sweep(folder)
            shutil.rmtree(folder, ignore_errors=True)
        _lock_of(folder).unlink(missing_ok=True)
    for source in spec.sources:
        freed += _remove_source(source)
        for stale in _leftovers(source.sha256[:12]) if source.sha256 else ():
            freed += folder_bytes(stale)
            shutil.rmtree(stale, ignore_errors=True)
    return freed


def variants(folder: Path) -> dict[str, int]:
    """The quantisations a prepared folder holds weights for, and the bytes of each."""
    weights = (read_record(folder) or {}).get("weights", {})
    names: list[tuple[str, str]] = [*PACKED_NAMES.items(), ("none", FLOAT_NAME)]
    return {quant: weights[name] for quant, name in names if name in weights}


def _remove_source(source: Source) -> int:
    freed = 0
    if source.kind == "hub":
        for partial in (repository_folder(source) / "blobs").glob("*.incomplete"):
            freed += partial.lstat().st_size
            partial.unlink(missing_ok=True)
        return freed
    target = target_of(source)
    if not target.parent.is_dir():
        return 0
    with locked(target, _quietly):
        before = folder_bytes(target.parent)
        sweep_partials(target)
        target.unlink(missing_ok=True)
        freed = before - folder_bytes(target.parent)
    _lock_of(target).unlink(missing_ok=True)
    return freed


def _leftovers(digest: str) -> Iterator[Path]:
    """Folders that cannot be read: damaged, of another format, or of a preparation killed before they had a name."""
    yield from models_dir().glob(f"[!.]*-{digest}-f*")
    yield from models_dir().glob(f".*-{digest}-f*.tmp-*")


def _made_from(spec: ModelSpec) -> Iterator[Path]:
    """Folders prepared from this model, by this lacli or an older one."""
    digests = {source.sha256 for source in spec.sources if source.sha256}
    roots = [os.path.abspath(spec.path)] if spec.path else []
    roots += [str(repository_folder(source)) for source in spec.sources if source.kind == "hub"]
    for folder in sorted(models_dir().glob("[!.]*-f*")):
        source = _source_of(folder)
        path = str(source.get("path", ""))
        if source.get("sha256") in digests or any(path == root or path.startswith(root + os.sep) for root in roots):
            yield folder


def _source_of(folder: Path) -> dict[str, Any]:
    """Where a folder's weights came from; nothing where it does not say."""
    try:
        source = json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))["source"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return source if isinstance(source, dict) else {}


def _lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _quietly() -> None:
    return None
