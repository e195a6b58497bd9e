"""The weights of a hub repository, each file resumed after what is there of it: huggingface_hub starts each again.

A file that is whole and has the right hash is put where that library's cache has it, which then finds it there. Runs in
the process of `hub_child`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PART = ".lacli.incomplete"
"""Suffix of a partial download."""
_CHUNK = 1 << 18
"""Bytes written at a time. The library's own ten megabytes look, on a slow line, like a network that hangs."""
_BLOCK = 1 << 24
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class _Wanted:
    address: str
    etag: str
    """The sha256 of its bytes where it has 64 digits; in any case its name in the cache."""
    size: int | None


def fetch_weights(
    repo: str, revision: str, cache: Path, without: Sequence[str], tell: Callable[[int, int], None]
) -> None:
    """Complete all *.safetensors of the repository, but for the patterns `without`; `tell` hears how much is checked.

    Raises what huggingface_hub raises, OSError where a file is not what the hub says. ImportError, TypeError or
    AttributeError where that library has changed.
    """
    from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # as it documents it

    constants.DOWNLOAD_CHUNK_SIZE = _CHUNK
    info = HfApi().model_info(repo, revision=revision)
    names = [each.rfilename for each in info.siblings or () if fnmatch.fnmatch(each.rfilename, "*.safetensors")]
    blobs = cache / ("models--" + repo.replace("/", "--")) / "blobs"
    wanted = []
    for name in names:
        if not any(fnmatch.fnmatch(name, pattern) for pattern in without):
            address = hf_hub_url(repo, name, revision=info.sha)
            found = get_hf_file_metadata(address)
            if re.fullmatch(r"[0-9a-f]{40,64}", found.etag or "") and not (blobs / str(found.etag)).exists():
                wanted.append(_Wanted(address, str(found.etag), found.size))
    blobs.mkdir(parents=True, exist_ok=True)

    def fetch(each: _Wanted) -> None:
        descriptor = os.open(_part(blobs, each), os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as handle:
            have = handle.seek(0, os.SEEK_END)
            if each.size is not None and have > each.size:
                have = handle.seek(0)
                handle.truncate()
            http_get(each.address, handle, resume_size=have, headers=build_hf_headers(), expected_size=each.size)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(fetch, wanted):
            pass
    _check_and_place(blobs, wanted, tell)


def _part(blobs: Path, wanted: _Wanted) -> Path:
    return blobs / (wanted.etag + PART)


def _check_and_place(blobs: Path, wanted: Sequence[_Wanted], tell: Callable[[int, int], None]) -> None:
    total = sum(_part(blobs, each).stat().st_size for each in wanted)
    done = 0
    for each in wanted:
        part = _part(blobs, each)
        digest = hashlib.sha256()
        with part.open("rb") as handle:
            while block := handle.read(_BLOCK):
                digest.update(block)
                done += len(block)
                tell(done, total)
        if len(each.etag) == 64 and digest.hexdigest() != each.etag:
            part.unlink()
            raise OSError(f"{each.address} is not what the hub says it is, and is fetched anew the next time")
        with contextlib.suppress(OSError):  # the cache is for whom the user's umask lets in
            os.chmod(part, 0o666 & ~_umask())
        os.replace(part, blobs / each.etag)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
