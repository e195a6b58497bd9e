"""Files that go with a question: those given by name, and those its words point to as `@path`.

Reads files, writes nothing; everything that cannot be shown to a model is one error that names it, before any model is
loaded.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable, Sequence

from lacli import streams
from lacli.errors import PromptTooLong, UsageError
from lacli.events import Attachment
from lacli.prompts.content import CHARACTERS_A_TOKEN, MOST_BYTES, text_of
from lacli.text.languages import of_path

_PIECE = 1 << 20
_BYTES_A_TOKEN = 4
_BYTES_A_CHARACTER = 4
"""At most, in every encoding."""
_DIGITS = 2
"""Of an estimate."""
_MENTION = re.compile(
    r"""(?<![^\s(\[{<"'`,;])  # at the start of a word: no e-mail address
    (?P<escape>\\?) @
    (?: "(?P<double>[^"\n]+)" | '(?P<single>[^'\n]+)' | (?P<bare>(?:\\\ |\S)+) )""",
    re.VERBOSE,
)
_BEHIND = re.compile(r"""(?:[.,;:!?)\]}>"'`*]|'s|:\d+(?:-\d+)?)*""")
"""What may stand behind a path and belongs to the sentence."""
_MOST_BEHIND = 40
_FILE_NAME = re.compile(r"""[^\s,;:!?()\[\]{}<>"'`*]*\w""")
"""The part of a mention that may be the name of a file."""
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
Note = Callable[[str], None]


def _silent(text: str) -> None:
    """Nobody is told."""


def attached(
    text: str,
    files: Sequence[str] = (),
    note: Note = _silent,
    stdin: Callable[[], str] | None = None,
    context: int = 0,
) -> tuple[str, tuple[Attachment, ...]]:
    """The words of a question and what goes with them: `files` in their order, then what `@path` in the words names.

    A word is such a path only where that file exists: anything else that begins with @ stays what it is, and so does
    `\\@`, without its backslash. `-` among `files` is what `stdin` returns, and a pipe there is read to its end: it was
    opened for this, while a word may only look like one. `note` is told what the user should know.
    Raises UsageError or PromptTooLong for a file that cannot be shown; `context` is as for `attachment`.
    """
    found: dict[str, Attachment] = {}

    def add(path: str, stream_too: bool = False) -> None:
        if "\0" in path:
            raise UsageError(f"there is no file {path!r}", "check the path")
        key = path if streams.is_stream(path) else os.path.realpath(path)
        if key not in found:
            found[key] = attachment(path, note, context, stream_too)

    for path in files:
        if path == "-" and stdin is not None:
            found.setdefault("-", Attachment("stdin", stdin()))
        else:
            add(os.path.expanduser(path), stream_too=True)

    def put_in(mention: re.Match[str]) -> str:
        if mention["escape"]:
            return mention[0][1:]
        path, rest = _path_of(mention, note)
        if not path:
            _tell_of_missing(mention, note)
            return mention[0]
        add(os.path.expanduser(path))
        return path + rest

    return _MENTION.sub(put_in, text), tuple(found.values())


def attachment(path: str, note: Note, context: int = 0, stream_too: bool = False) -> Attachment:
    """One file as it is shown, with `\\n` line ends; with `stream_too` a pipe, all that comes of it.

    Of one that surely has more tokens than `context` nothing is read, and it is refused; 0 leaves that to the model.
    """
    is_pipe = stream_too and streams.is_stream(path)
    text, remark = text_of(_bytes_of_stream(path) if is_pipe else _bytes_of(path, context), path)
    if context and len(text) > context * CHARACTERS_A_TOKEN:
        raise _too_long(path, len(text), context)
    if remark:
        note(remark)
    if not text.strip():
        note(f"{path} is empty")
    if context and tokens_of(text) > context:
        note(f"{path} has about {_rounded(tokens_of(text))} tokens, and the context {context:,}: it may not fit")
    label = "pipe" if streams.descriptor_of(path) is not None else path
    return Attachment(label.encode("utf-8", "replace").decode(), text.replace("\r\n", "\n"))


def same_file(path: str, others: Sequence[str]) -> str:
    """The one among the other paths that leads to the same file; empty where none does."""
    real = os.path.realpath(os.path.expanduser(path))
    return next((each for each in others if os.path.realpath(os.path.expanduser(each)) == real), "")


def tokens_of(text: str) -> int:
    """About how many tokens a text has, by its beginning: the vocabulary itself is the engine's."""
    begins = text[:_PIECE]
    size = len(begins.encode("utf-8", "replace"))
    return -(-size * len(text) // (max(1, len(begins)) * _BYTES_A_TOKEN))


def _too_long(path: str, size: int, context: int) -> PromptTooLong:
    about = _rounded(size // _BYTES_A_TOKEN)
    return PromptTooLong(
        f"{path} has about {about} tokens, and the context {context:,}",
        "give the part that matters, or /set truncate middle first",
    )


def _rounded(tokens: int) -> str:
    return f"{round(tokens, _DIGITS - len(str(tokens))):,}"


def _path_of(mention: re.Match[str], note: Note) -> tuple[str, str]:
    """The file a mention names and what stands behind its name; empty where there is none."""
    quoted = mention["double"] or mention["single"]
    if quoted:
        return (quoted, "") if _exists(quoted, note) else ("", "")
    bare = mention["bare"]
    for size in range(len(bare), max(0, len(bare) - _MOST_BEHIND), -1):
        path = bare[:size].replace("\\ ", " ")
        if _BEHIND.fullmatch(bare, size) and _exists(path, note):
            return path, bare[size:]
    return "", ""


def _tell_of_missing(mention: re.Match[str], note: Note) -> None:
    """A misspelt path would be a question about nothing; @property and @app.get are none."""
    bare = _FILE_NAME.match(mention["bare"] or "")
    path = mention["double"] or mention["single"] or (bare[0] if bare else "")
    if of_path(path) is not None and not os.path.lexists(os.path.expanduser(path)):
        note(f"there is no file {path}; @{path} stays a word of the question")


def _exists(path: str, note: Note) -> bool:
    """Whether this is a file that may be meant; a folder is not, but whoever writes @src/ should know."""
    try:
        mode = os.stat(os.path.expanduser(path)).st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISDIR(mode):
        if path.endswith(("/", os.sep)):
            note(f"@{path} is a folder and is not shown; name files in it")
        return False
    return True


def _bytes_of(path: str, context: int = 0) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}", "check the path") from None
    except IsADirectoryError:
        raise _folder(path) from None
    except OSError as error:
        if os.path.isdir(path):  # Windows opens no folder and says that it may not
            raise _folder(path) from None
        raise UsageError(f"{path} cannot be read: {error.strerror}", "give a file that can be read") from None
    try:
        found = os.fstat(descriptor)
        _check_kind(path, found)
        if context and found.st_size > context * CHARACTERS_A_TOKEN * _BYTES_A_CHARACTER:
            raise _too_long(path, found.st_size, context)
        data = _all_of(path, descriptor)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "give a file that can be read") from None
    finally:
        os.close(descriptor)
    return _text_only(path, data)


def _bytes_of_stream(path: str) -> bytes:
    try:
        data = streams.read(path, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "give a file that can be read") from None
    if len(data) > MOST_BYTES:
        raise _too_large(path)
    return _text_only(path, data)


def _text_only(path: str, data: bytes) -> bytes:
    if b"\0" in data and not data.startswith(_MARKS):
        raise UsageError(f"{path} is a binary file", "give a file of text")
    return data


def _check_kind(path: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _folder(path)
    if not stat.S_ISREG(found.st_mode):  # may have no end, or wait for ever
        raise UsageError(f"{path} is not a regular file", "give a file of text")
    if found.st_size > MOST_BYTES:
        raise PromptTooLong(f"{path} has {found.st_size:,} bytes", "give the part that matters")


def _all_of(path: str, descriptor: int) -> bytes:
    data = bytearray()
    while piece := os.read(descriptor, _PIECE):
        data += piece
        if len(data) > MOST_BYTES:
            raise _too_large(path)
    return bytes(data)


def _too_large(path: str) -> PromptTooLong:
    return PromptTooLong(f"{path} has more than {MOST_BYTES:,} bytes", "give the part that matters")


def _folder(path: str) -> UsageError:
    return UsageError(f"{path} is a folder", "give the files in it that matter")
