"""What an editor sends as a prompt, as the words and the files of a question.

A file is read only where it really lies in the folder of the conversation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from acp import schema

from lacli.errors import UsageError
from lacli.events import Attachment
from lacli.prompts.attach import attachment
from lacli.server.stdio.streams import clean


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt."""

    words: str
    """With the names of files where the editor had links to them."""
    files: tuple[Attachment, ...]


def read(
    blocks: Sequence[Any], folder: Path, unsaved: Callable[[str], str | None], note: Callable[[str], None]
) -> Asked:
    """The words and files of a prompt. `unsaved` gives a file as the editor has it, `note` is told what is odd.

    Raises UsageError for what is no text or lies outside the folder, before any file is read.
    """
    paths = {each.uri: inside(folder, _path(each.uri)) for each in blocks if _is_link(each)}
    words: list[str] = []
    files: dict[str, Attachment] = {}
    for block in blocks:
        if isinstance(block, schema.TextContentBlock):
            words.append(clean(block.text))
            continue
        if _is_link(block):
            found = file(paths[block.uri], folder, unsaved, note)
        elif isinstance(block, schema.EmbeddedResourceContentBlock):
            found = _embedded(block.resource, folder)
        else:
            raise UsageError(f"lacli reads no {block.type}", "send text, or files of text")
        words.append(f'"{found.label}"' if " " in found.label else found.label)
        files[found.label] = found
    return Asked("".join(words), tuple(files.values()))


def inside(folder: Path, path: str) -> Path:
    """A path, absolute or from this folder, as an absolute one. Raises UsageError where it leads out of the folder."""
    if not path or "\0" in path:
        raise UsageError(f"{path!r} is no path", "give the path of a file")
    full = Path(os.path.abspath(folder / os.path.expanduser(path)))
    if not Path(os.path.realpath(full)).is_relative_to(os.path.realpath(folder)):
        raise UsageError(f"{path} lies outside {folder}", "begin a conversation in a folder that has it")
    return full


def name_of(path: Path, folder: Path) -> str:
    """What a file is called in the conversation: its path from the folder."""
    return os.path.relpath(path, folder).replace(os.sep, "/")


def file(path: Path, folder: Path, unsaved: Callable[[str], str | None], note: Callable[[str], None]) -> Attachment:
    """A file of the folder, as the editor has it or else as it is on disk. Raises UsageError or PromptTooLong."""
    label = name_of(path, folder)
    text = unsaved(str(path))
    if text is not None:
        return Attachment(label, clean(text).replace("\r\n", "\n"))
    return replace(attachment(str(path), note), label=label)


def _embedded(resource: Any, folder: Path) -> Attachment:
    """Text that the editor has sent along; nothing is read for it, so that it may be from anywhere."""
    if not isinstance(resource, schema.TextResourceContents):
        raise UsageError(f"{resource.uri} is no text", "send files of text")
    try:
        label = name_of(inside(folder, _path(resource.uri)), folder)
    except UsageError:
        label = unquote(clean(resource.uri))
    return Attachment(label, clean(resource.text).replace("\r\n", "\n"))


def _is_link(block: Any) -> bool:
    return isinstance(block, schema.ResourceContentBlock)


def _path(uri: str) -> str:
    """The path of a file's URI. Raises UsageError for any other."""
    try:
        parts = urlsplit(clean(uri))
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("file", "") or parts.netloc not in ("", "localhost"):
        raise UsageError(f"{uri} is no file of this computer", "name files of the project")
    return url2pathname(parts.path) if parts.scheme else unquote(parts.path)
