"""Which of a project's files are indexed and which have to be read; the only writer of the index.

Has no thread of its own: `files` calls it in the background, `build` in the foreground. If git cannot list the tracked
files, and the user has named none, nothing is read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lacli import paths
from lacli.pool import projects, secrets
from lacli.project import reading, shingles, skip, tracked
from lacli.project import root as identity
from lacli.project.shingles import FileEntry
from lacli.project.tracked import Listing, Pause, SourceFile
from lacli.project.values import refuser, secret_values

if TYPE_CHECKING:
    from lacli.project.reading import IdArray
    from lacli.text.tokenizer import Tokenizer

_NO_SHINGLES = np.empty(0, np.uint32)


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    """Where a project's files and their index are."""

    root: Path
    """The project's root, which its worktrees share."""
    top: Path
    """The folder whose files are read: the working tree the user stands in, or the root."""
    has_git: bool
    """Whether `top` is a working tree."""
    index: Path
    """The index's file, which may not exist."""


def project_paths(folder: Path, fingerprint: str, writes: bool) -> ProjectPaths | None:
    """The paths of the project that contains `folder`, if there is one. With `writes`, a moved pool is adopted."""
    root = identity.project_root(folder)
    if root is None:
        return None
    top = identity.checkout(folder)
    pools = paths.pools_dir()
    project = projects.adopt(pools, root) if writes else projects.locate(pools, root)
    name = shingles.FILE_NAME
    if top is not None and top != root:  # another worktree's files have the same names and other contents
        name = f"{hashlib.sha256(os.fsencode(top)).hexdigest()[:8]}.{name}"
    inner = identity.pool_key(root, fingerprint).tokenizer_folder()
    return ProjectPaths(root, top or root, top is not None, project / inner / name)


class Indexer:
    """The index of one project, brought up to date file by file."""

    def __init__(self, place: ProjectPaths, tokenizer: Tokenizer, pause: Pause = tracked.no_pause) -> None:
        self._paths = place
        self._tokenizer = tokenizer
        self._pause = pause
        self._refuse: secrets.Refuse = secrets.refuse
        self._index = shingles.load(place.index, tokenizer.fingerprint) or shingles.ShingleIndex()
        self._files: dict[int, SourceFile] = {}
        self.todo: deque[SourceFile] = deque()
        """Files that are new or have changed, newest first."""
        self.newest: list[int] = []
        """Keys of the files that can be read, newest first."""
        self._unlisted: Counter[str] = Counter()
        self.unsaved = False
        """Whether the index has changes that are not saved."""
        self.git_failed = False
        """Whether git failed to list the tracked files at the last survey."""

    def survey(self, named: Sequence[Path] = ()) -> None:
        """List the files, `named` ones included, and find out which have to be read."""
        listing = self._listing(named)
        self._unlisted = listing.skipped
        self._refuse = refuser(secret_values(self._paths.top))
        self._files = {self._key(file.name): file for file in listing.files}
        entries = self._index.entries
        for gone in entries.keys() - self._files.keys() if not self.git_failed else ():
            del entries[gone]
            self.unsaved = True
        self.todo = deque(file for key, file in self._files.items() if not self._is_known(key, file))
        self.newest = list(self._files)
        self._index.seal()

    def _listing(self, named: Sequence[Path]) -> Listing:
        top, found = self._paths.top, []
        if self._paths.has_git:
            listing = tracked.list_tracked(top, self._pause)
            self.git_failed = listing is None
            found += [] if listing is None else [listing]
        built = {key for key, entry in self._index.entries.items() if entry.built}
        if built:
            found.append(tracked.list_known(top, lambda name: self._key(name) in built, self._pause))
        if named:
            chosen = tracked.list_named(top, named, self._pause)
            self._remember_built(chosen)
            found.append(chosen)
        return tracked.merged(*found)

    def _remember_built(self, chosen: Listing) -> None:
        for file in chosen.files:
            key = self._key(file.name)
            known = self._index.entries.get(key) or FileEntry(0, 0, 0, 0, _NO_SHINGLES)
            self._index.entries[key] = dataclasses.replace(known, built=True)

    def _key(self, name: bytes) -> int:
        return reading.keyed_hash(name, self._index.salt)

    def _is_known(self, key: int, file: SourceFile) -> bool:
        entry = self._index.entries.get(key)
        return entry is not None and (entry.size, entry.mtime_ns) == (file.size, file.mtime_ns)

    def next_file(self) -> tuple[int, IdArray | None]:
        """Read the next file of `todo`: its key, and its ids if it was tokenised."""
        file = self.todo.popleft()
        key = self._key(file.name)
        return key, self._read(key, file)

    def tokens_of(self, key: int) -> IdArray | None:
        """The ids of a file that was indexed before; None if it is gone or left out."""
        file, entry = self._files.get(key), self._index.entries.get(key)
        if file is None or entry is None or entry.left_out is not None:
            return None
        return self._read(key, file, known=entry)

    def left_out(self, key: int) -> bool:
        """Whether a file is left out for its content, or could not be read."""
        entry = self._index.entries.get(key)
        return entry is None or entry.left_out is not None

    def _read(self, key: int, file: SourceFile, known: FileEntry | None = None) -> IdArray | None:
        before = self._index.entries.get(key)
        built = before is not None and before.built
        content = reading.read(self._paths.top, file, self._index.salt)
        if isinstance(content, str):
            self._note(key, FileEntry(0, file.size, file.mtime_ns, 0, _NO_SHINGLES, content, built))
            return None
        if known is not None and known.content == content.digest:
            return reading.tokenize(content.text, self._tokenizer, self._pause)
        if before is not None and before.size and before.content == content.digest:  # only touched
            self._note(key, dataclasses.replace(before, mtime_ns=content.mtime_ns))
            return None
        reason = self._reason(content.text)
        if reason is not None:
            self._note(key, FileEntry(content.digest, content.size, content.mtime_ns, 0, _NO_SHINGLES, reason, built))
            return None
        ids = reading.tokenize(content.text, self._tokenizer, self._pause)
        found = shingles.shingles_of(ids, self._index.salt)
        self._note(key, FileEntry(content.digest, content.size, content.mtime_ns, len(ids), found, None, built))
        return ids

    def _reason(self, text: str) -> skip.Reason | None:
        reason = skip.by_text(text)
        if reason is None and reading.holds_secret(text, self._refuse, self._pause):
            reason = "secret"
        return reason

    def _note(self, key: int, entry: FileEntry) -> None:
        self._index.entries[key] = entry
        self.unsaved = True

    def seal(self) -> None:
        """Make what was read since the last time visible to `quoted`."""
        self._index.seal()

    def quoted(self, context: Sequence[int]) -> list[tuple[int, float]]:
        """Keys of the files a context seems to quote, with how many of their shingles it shares, most first."""
        return self._index.candidates(np.asarray(context, dtype=np.int64))

    @property
    def skipped(self) -> Counter[str]:
        """How many files are left out, by reason."""
        told = (entry.left_out for entry in self._index.entries.values() if entry.left_out is not None)
        return self._unlisted + Counter(told)

    @property
    def indexed(self) -> tuple[int, int]:
        """How many files are indexed, and their tokens."""
        read = [entry.tokens for entry in self._index.entries.values() if entry.left_out is None]
        return len(read), sum(read)

    def save(self) -> int:
        """Write the index and give its size in bytes. May raise OSError."""
        size = shingles.save(self._index, self._paths.index, self._tokenizer.fingerprint)
        self.unsaved = False
        with contextlib.suppress(OSError):  # costs the adoption after a move, nothing else
            projects.write_record(self._paths.index.parent.parent, self._paths.root)
        return size
