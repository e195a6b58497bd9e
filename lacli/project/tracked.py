"""Which files of a project may be drafted from: git's tracked files, or a walk over folders the user named.

Names only: no file is opened except, where git is not asked, `.gitignore` and `.lacliignore`. A name is bytes with
slashes, relative to the root, as in git and the file system.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lacli.project import skip
from lacli.project.ignore import LACLIIGNORE, IgnoreFiles
from lacli.project.root import git_output

MAX_FILE_BYTES = 256 << 10
MAX_TOTAL_BYTES = 4 << 20
MAX_NAMES = 20_000
"""Names looked at in one project; a larger one gives those that git lists first."""

_GIT_WAIT_S = 5.0
_MAX_LISTING = 4 << 20
_MAX_DEPTH = 24
_PAUSE_EVERY = 64
_FURTHEST_NS = (1 << 63) - 1

Pause = Callable[[], None]
"""Called between small pieces of work; may sleep, and may raise to stop it."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file that may be read."""

    name: bytes
    """Relative to the root, with slashes."""
    size: int
    """In bytes, when it was listed."""
    mtime_ns: int
    """When it was last changed."""


@dataclass(slots=True)
class Listing:
    """The files of a project, newest first, and how many were left out for which reason."""

    files: list[SourceFile] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def changed_ns(found: os.stat_result) -> int:
    """When a file was last changed, as the 64 bits of an index can hold it: some file systems reach beyond 2262."""
    return max(-_FURTHEST_NS, min(_FURTHEST_NS, found.st_mtime_ns))


def no_pause() -> None:
    """For callers in the foreground."""


def tracked_names(root: Path, wait_s: float = _GIT_WAIT_S) -> tuple[list[bytes], int] | None:
    """What git tracks below `root` and nothing ignores, and how many are ignored; None if git cannot tell."""
    tracked = git_output(root, ["ls-files", "-z", "--cached"], wait_s)
    if tracked is None:
        return None
    if len(tracked) > _MAX_LISTING:
        tracked = tracked[: tracked.rindex(b"\0", 0, _MAX_LISTING)]
    left_out = {b""}
    for rules in ("--exclude-standard", f"--exclude-per-directory={LACLIIGNORE}"):
        ignored = git_output(root, ["ls-files", "-z", "--cached", "--ignored", rules], wait_s)
        if ignored is None or len(ignored) > _MAX_LISTING:
            return None  # better no file than one that was to be left alone
        left_out.update(ignored.split(b"\0"))
    names = dict.fromkeys(tracked.split(b"\0"))
    kept = [name for name in names if name not in left_out]
    return kept, len(names.keys() & left_out - {b""})


def untracked_names(root: Path) -> list[bytes]:
    """What git does not track yet below `root` and nothing ignores; nothing if git cannot tell."""
    left: dict[bytes, None] | None = None
    for rules in ("--exclude-standard", f"--exclude-per-directory={LACLIIGNORE}"):  # together the second one wins
        found = git_output(root, ["ls-files", "-z", "--others", rules], _GIT_WAIT_S)
        if found is None or len(found) > _MAX_LISTING:
            return []
        names = dict.fromkeys(found.split(b"\0"))
        left = names if left is None else {name: None for name in left if name in names}
    return [name for name in left or () if name and not name.endswith(b"/")]


def walked_names(root: Path) -> list[bytes]:
    """The files that a walk finds below `root` and neither .gitignore nor .lacliignore leaves out."""
    ignore = IgnoreFiles(root, (".gitignore", LACLIIGNORE))
    top = os.path.realpath(root)
    names = _walk(top, "", ignore, no_pause)
    return [
        name
        for name in names
        if not ignore.ignores(os.fsdecode(name)) and os.path.isfile(os.path.join(os.fsencode(top), name))
    ]


def list_tracked(root: Path, pause: Pause = no_pause, wait_s: float = _GIT_WAIT_S) -> Listing | None:
    """The tracked files of the working tree at `root`; None where there is none, or git cannot tell."""
    found = tracked_names(root, wait_s)
    if found is None:
        return None
    names, ignored = found
    listing = Listing(skipped=Counter({"ignored": ignored} if ignored else {}))
    _add(listing, root, names, None, pause)
    return _capped(listing)


def list_named(root: Path, paths: Iterable[Path], pause: Pause = no_pause) -> Listing:
    """The files at and below `paths`, folders of `root`, tracked or not; .gitignore and .lacliignore are honoured."""
    listing = Listing()
    ignore = IgnoreFiles(root, (".gitignore", LACLIIGNORE))
    top = os.path.realpath(root)
    names: dict[bytes, None] = {}
    for path in paths:
        here = os.path.join(os.path.realpath(path.parent), path.name) if path.name else os.path.realpath(path)
        relative = os.path.relpath(here, top)
        if os.path.islink(here) or relative.split(os.sep)[0] == os.pardir:  # the named one, or a folder above it
            listing.skipped["link"] += 1
        elif os.path.isdir(here):
            names.update(dict.fromkeys(_walk(top, "" if relative == "." else _slashed(relative), ignore, pause)))
        else:
            names[os.fsencode(_slashed(relative))] = None
    _add(listing, root, names, ignore, pause)
    return _capped(listing)


def list_known(root: Path, known: Callable[[bytes], bool], pause: Pause = no_pause) -> Listing:
    """As `list_named` of the whole project, but only the files whose name is known: those built before."""
    listing = Listing()
    ignore = IgnoreFiles(root, (".gitignore", LACLIIGNORE))
    names = [name for name in _walk(os.path.realpath(root), "", ignore, pause) if known(name)]
    _add(listing, root, names, ignore, pause)
    return _capped(listing)


def merged(*listings: Listing) -> Listing:
    """One listing of several, each file once."""
    files = {file.name: file for listing in listings for file in listing.files}
    skipped: Counter[str] = Counter()
    for listing in listings:
        skipped += listing.skipped
    return _capped(Listing(list(files.values()), skipped))


def _capped(listing: Listing) -> Listing:
    """Newest first, up to the cap on all files together."""
    room = MAX_TOTAL_BYTES
    kept = []
    for file in sorted(listing.files, key=lambda file: (-file.mtime_ns, file.name)):
        if file.size > room:
            listing.skipped["over the cap"] += 1
            continue
        room -= file.size
        kept.append(file)
    return Listing(kept, listing.skipped)


def _slashed(relative: str) -> str:
    return relative.replace(os.sep, "/")


def _add(listing: Listing, root: Path, names: Iterable[bytes], ignore: IgnoreFiles | None, pause: Pause) -> None:
    """Look at each name and add the file, or count why not; `ignore` is None where git has been asked."""
    folders = _RealFolders(root)
    for count, name in enumerate(names):
        if count >= MAX_NAMES:
            listing.skipped["over the cap"] += 1
            continue
        if count % _PAUSE_EVERY == 0:
            pause()
        found = _look_at(root, os.fsdecode(name), folders, ignore)
        if isinstance(found, str):
            listing.skipped[found] += 1
        elif found.st_size:
            listing.files.append(SourceFile(name, found.st_size, changed_ns(found)))


def _look_at(root: Path, name: str, folders: _RealFolders, ignore: IgnoreFiles | None) -> os.stat_result | skip.Reason:
    reason = skip.by_name(name)
    if reason is None and ignore is not None and ignore.ignores(name):
        reason = "ignored"
    if reason is not None:
        return reason
    try:
        found = os.lstat(os.path.join(root, name))
    except (OSError, ValueError):  # deleted, and not yet from git's list
        return "unreadable"
    if stat.S_ISLNK(found.st_mode) or not folders.within(name):
        return "link"
    if not stat.S_ISREG(found.st_mode) or found.st_dev != folders.device:
        return "special"  # a submodule, a FIFO, another file system
    return "large" if found.st_size > MAX_FILE_BYTES else found


class _RealFolders:
    """Whether a name's folders are real ones below the root: one of them may have become a link to anywhere."""

    def __init__(self, root: Path) -> None:
        self._top = os.path.realpath(root)
        self._within = {"": True}
        try:
            self.device = os.stat(root).st_dev
        except OSError:
            self.device = -1

    def within(self, name: str) -> bool:
        folder = name.rpartition("/")[0]
        known = self._within.get(folder)
        if known is None:
            known = self.within(folder) and not os.path.islink(os.path.join(self._top, folder))
            self._within[folder] = known
        return known


def _walk(top: str, start: str, ignore: IgnoreFiles, pause: Pause) -> Iterator[bytes]:
    """Names of what is no folder below `start`, itself a folder's name below `top` or empty. Links are not followed."""
    waiting = [start]
    seen = 0
    while waiting:
        here = waiting.pop()
        pause()
        try:
            entries = sorted(os.scandir(os.path.join(top, here)), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > MAX_NAMES:
                return
            name = f"{here}/{entry.name}" if here else entry.name
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            if not is_folder:
                yield os.fsencode(name)
            elif name.count("/") < _MAX_DEPTH and not skip.skips_folder(entry.name) and not ignore.ignores(name + "/"):
                own_repository = os.path.lexists(os.path.join(entry.path, ".git"))
                waiting += [] if own_repository else [name]
