"""The n-gram table of a tokenizer: found in the package or the cache, or counted in Python's standard library, once.

The library, with its documentation strings and the language's own documents in `pydoc_data`, is on every machine, under
one licence (PSF), and nobody's project. The tables in `shipped/` are made of it by `lacli.bench.first_guesses`.
"""

from __future__ import annotations

import contextlib
import sysconfig
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lacli import paths
from lacli.drafts.ngrams import Ngrams, read
from lacli.errors import LacliError
from lacli.storage import atomic, files

if TYPE_CHECKING:
    from lacli.text.tokenizer import Tokenizer

_LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "turtledemo", "site-packages", "dist-packages"}
_MOST_BYTES = 1 << 20  # of a file


def find(tokenizer: Tokenizer) -> Ngrams | None:
    """The table; None if none was ever made here, or it is damaged. It is empty where it was left out."""
    shipped = read(shipped_file(tokenizer))
    if shipped is not None:
        return shipped
    with contextlib.suppress(LacliError):
        return read(_file(tokenizer))
    return None


def keep(tokenizer: Tokenizer, made: Callable[[], bytes]) -> Ngrams | None:
    """Make the table's file and keep it; None where it cannot be kept, as it would be made anew at each start."""
    try:
        file = _file(tokenizer)
        files.make_private(file.parent)
    except (LacliError, OSError):
        return None
    data = made()
    with contextlib.suppress(OSError):
        atomic.replace(file, data)
    return read(file)


def forget_left_out(tokenizer: Tokenizer) -> None:
    """Have it made the next time, if it was left out."""
    with contextlib.suppress(LacliError, OSError):
        found = read(_file(tokenizer))
        if found is not None and not len(found):
            _file(tokenizer).unlink()


def counted(tokenizer: Tokenizer, report: Callable[[int, int], None]) -> bytes:
    """The table's file, counted now. report(done, total): bytes of text."""
    from lacli.drafts.ngram_counts import build

    found = library_files()
    total = sum(file.stat().st_size for file in found)
    texts: list[NDArray[np.uint32]] = []
    done = 0
    report(0, total)
    for file in found:
        text = file.read_text(encoding="utf-8", errors="replace")
        texts.append(np.array(tokenizer.encode(text), np.uint32))
        done += file.stat().st_size
        report(done, total)
    return build(texts)


def library_files() -> list[Path]:
    """The text that is counted."""
    root = Path(sysconfig.get_path("stdlib"))
    found = [file for file in root.rglob("*.py") if not _LEFT_OUT & set(file.relative_to(root).parts[:-1])]
    return sorted(file for file in found if file.is_file() and file.stat().st_size <= _MOST_BYTES)


def shipped_file(tokenizer: Tokenizer) -> Path:
    """Where the package has the table of this tokenizer, if it has it."""
    return Path(str(resources.files("lacli.assistant") / "shipped")) / _name(tokenizer)


def _file(tokenizer: Tokenizer) -> Path:
    """Where it is kept. Raises LacliError where there is no place for a cache."""
    return paths.cache_dir() / "primers" / _name(tokenizer)


def _name(tokenizer: Tokenizer) -> str:
    return f"{tokenizer.fingerprint[:16]}.ngrams"
