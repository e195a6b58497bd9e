"""Other files of the project that help to complete one: named by the user, imported by it, recently changed.

In this order, so that what a model has read of them stays in its cache. Never what holds secrets, is generated,
minified, ignored or outside the project. Works without git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lacli.events import Attachment
from lacli.project import skip
from lacli.project.ignore import LACLIIGNORE, IgnoreFiles
from lacli.project.imports import imported_files
from lacli.project.reading import Content, read
from lacli.project.root import git_output
from lacli.project.snippets import Snippet, join, select, split
from lacli.project.tracked import MAX_FILE_BYTES, SourceFile, list_named
from lacli.text.languages import Language, of_path

_GIT_WAIT_S = 0.5
_RECENT = 8
_MOST_FILES = 24
MOST_CHARACTERS = 6_000
"""The most characters of all pieces together; the limit in tokens is lower."""

Note = Callable[[str], None]


def neighbours(
    text: str,
    cursor_text: str,
    name: str,
    root: Path,
    language: Language,
    named: Sequence[Path] = (),
    searched: bool = True,
    note: Note = lambda text: None,
) -> tuple[Attachment, ...]:
    """Pieces of other files for the file `name` (relative to `root`, with slashes) with this text.

    `cursor_text` is what stands around the cursor, `named` are files and folders that the user wants shown, `searched`
    says whether others are looked for. What was named but may not be shown is noted.
    """
    ignore = IgnoreFiles(root, (".gitignore", LACLIIGNORE))
    files: dict[str, list[Snippet]] = {}
    for path in named:
        for label, content in _named(root, path, note):
            files[label] = split(label, content)
    if searched:
        for other in (*imported_files(text, name, root, language), *_recent(root, language)):
            if len(files) >= _MOST_FILES:
                break
            if other not in files and other != name and not _left_out(other, ignore) and _is_inside(root, other):
                content, reason = _content(root, other)
                if reason is None:
                    files[other] = split(other, content)
    return tuple(Attachment(*each) for each in join(select(list(files.values()), cursor_text, MOST_CHARACTERS)))


def count_named(pieces: Sequence[Attachment], named: Sequence[Path], root: Path) -> int:
    """How many of these pieces, from the first on, are of files and folders that the user named."""
    labels = [_label(path, root) for path in named]
    below = tuple("" if label == "." else label.rstrip("/") + "/" for label in labels)
    others = (not (piece.label in labels or piece.label.startswith(below)) for piece in pieces)
    return next((count for count, other in enumerate(others) if other), len(pieces))


def _named(root: Path, path: Path, note: Note) -> Iterator[tuple[str, str]]:
    """The files at and below a path that the user named, but for those that must not be shown."""
    if path.is_dir():
        listing = list_named(path, [path])
        for file in listing.files[:_MOST_FILES]:
            content, reason = _content(path, os.fsdecode(file.name))
            if reason is None:
                yield _label(path / os.fsdecode(file.name), root), content
        return
    reason, content = skip.by_name(path.name), ""
    if reason is None:
        content, reason = _content(path.parent, path.name)
    if reason is None:
        yield _label(path, root), content
    else:
        note(f"{path} is not shown: {_REASONS.get(reason, reason)}")


_REASONS: dict[str, str] = {
    "secret": "such files hold secrets",
    "generated": "it is generated or minified",
    "binary": "it is no text",
    "large": f"it has more than {MAX_FILE_BYTES:,} bytes",
    "unreadable": "it cannot be read",
    "special": "it is no file",
}


def _content(root: Path, name: str) -> tuple[str, skip.Reason | None]:
    """A file's text, or why it is left out."""
    found = read(root, SourceFile(os.fsencode(name), 0, 0), b"")
    if not isinstance(found, Content):
        return "", found
    return found.text.replace("\r\n", "\n"), skip.by_text(found.text)


def _recent(root: Path, language: Language) -> list[str]:
    """Files of this language that differ from the last commit, then those of the last commits."""
    names: dict[str, None] = {}
    for arguments in (
        ["diff", "--name-only", "-z", "--relative", "--no-ext-diff", "HEAD"],
        ["log", "-n", "10", "--name-only", "-z", "--relative", "--format="],
    ):
        output = git_output(root, arguments, _GIT_WAIT_S) or b""
        for name in re.split(r"[\0\n]+", os.fsdecode(output[:100_000])):
            other = of_path(name)
            if other is not None and other.name == language.name:
                names[name] = None
    return list(names)[:_RECENT]


def _left_out(name: str, ignore: IgnoreFiles) -> bool:
    return skip.by_name(name) is not None or ignore.ignores(name)


def _is_inside(root: Path, name: str) -> bool:
    """Whether a name is a file of the project itself and no link, nor below one."""
    top = os.path.realpath(root)
    path = os.path.join(top, name)
    return os.path.realpath(path) == path and path.startswith(top + os.sep)


def _label(path: Path, root: Path) -> str:
    here, top = os.path.realpath(path), os.path.realpath(root)
    return (os.path.relpath(here, top) if here.startswith(top + os.sep) else str(path)).replace(os.sep, "/")
