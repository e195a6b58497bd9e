"""One file of text as bytes and as what a model may be shown, and new text put into it byte by byte.

`text` has \\n line ends only; every place in it maps back to the bytes, so that what is not replaced stays as it is,
whatever it is: mixed line ends, a byte-order mark, bytes that are no text. Writing is atomic, keeps the file's mode and
refuses a file that was changed meanwhile. No terminal, no model.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from lacli.edits.write import disk
from lacli.errors import UsageError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_END = re.compile("\r\n|\r|\n")
_ODD = re.compile("[\udc80-\udcff]")
_C1 = re.compile(b"[\x80-\x9f]")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of text as it was read. Lines end at \\n, \\r\\n or a lone \\r."""

    name: str
    """What messages call it."""
    data: bytes
    encoding: str
    """utf-8, utf-16-le, utf-16-be, utf-32-le, utf-32-be, cp1252 or latin-1"""
    text: str
    """Without byte-order mark, with \\n line ends; a byte that is no UTF-8 stands as its Latin-1 letter, or U+FFFD."""
    starts: tuple[int, ...]
    """Of each line where it begins in `text`; then where that ends."""
    byte_starts: tuple[int, ...]
    """The same in `data`."""
    ends: tuple[str, ...]
    """The end of each line; "" of a last one without."""
    odd: int = 0
    """Bytes that are no text in this encoding."""
    stamp: disk.Stamp | None = None
    """The file as it was found on disk; None of text that is in no file."""

    @classmethod
    def read(cls, path: str | Path, most_bytes: int = disk.MOST_BYTES, streams_too: bool = False) -> TextFile:
        """Read a file, or with `streams_too` a pipe, which cannot be changed.

        Raises UsageError for what is no file of text, PromptTooLong for one beyond `most_bytes`.
        """
        data, stamp = disk.read(path, most_bytes, streams_too)
        return cls.of_bytes(data, str(path), stamp)

    @classmethod
    def of_bytes(cls, data: bytes, name: str, stamp: disk.Stamp | None = None) -> TextFile:
        """The same of bytes from elsewhere. Raises UsageError where they are no text."""
        mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", ""))
        if not encoding.startswith(("utf-16", "utf-32")) and b"\0" in data:
            raise UsageError(f"{name} is a binary file", "give a file of text")
        raw, encoding = _decoded(data[len(mark) :], encoding, name)
        lines = list(lines_of(raw))
        return cls(
            name=name,
            data=data,
            encoding=encoding,
            text=shown("".join(content + "\n" * bool(end) for content, end in lines)),
            starts=tuple(accumulate((len(content) + bool(end) for content, end in lines), initial=0)),
            byte_starts=tuple(
                accumulate((len(_encoded(content + end, encoding)) for content, end in lines), initial=len(mark))
            ),
            ends=tuple(end for _, end in lines),
            odd=len(_ODD.findall(raw)),
            stamp=stamp,
        )

    @property
    def line_count(self) -> int:
        """Lines as people count them."""
        return len(self.ends)

    def line_at(self, offset: int) -> int:
        """The index of the line that holds this place of `text`; `line_count` behind a last line that has its end."""
        at = bisect_right(self.starts, offset) - 1
        return at - (at == self.line_count > 0 and not self.ends[-1])

    def byte_at(self, offset: int) -> int:
        """Where in `data` this place of `text` is."""
        line = self.line_at(offset)
        if line == self.line_count:
            return len(self.data)
        return self.byte_starts[line] + len(_encoded(self.raw(line)[: offset - self.starts[line]], self.encoding))

    def raw(self, line: int) -> str:
        """A line without its end; bytes that are no text are lone surrogates (surrogateescape)."""
        text = _plain(self.data[self.byte_starts[line] : self.byte_starts[line + 1]], self.encoding)
        return text[: len(text) - len(self.ends[line])]

    def end_near(self, line: int) -> str:
        """How a new line beside this one ends: as the line does, or the one above, or below."""
        below = self.ends[line : line + 1]
        nearest = [*below, *self.ends[max(0, line - 1) : line], *self.ends[line + 1 : line + 2]]
        return next((end for end in nearest if end), "\n")

    def encode(self, text: str) -> bytes:
        """Text in the file's encoding. Raises UsageError for a character that it lacks."""
        try:
            return _encoded(text, self.encoding)
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{self.name} is written in {self.encoding}, which has no {text[error.start]!r}",
                "convert the file to UTF-8 first",
            ) from None

    def replaced(self, start: int, end: int, new: str) -> bytes:
        """The file with `text[start:end]` replaced; every other byte as it was.

        New lines end as their neighbours do. Raises UsageError for a character that the file's encoding lacks, and
        where a lone \\r would come before a \\n: two line ends would become one.
        """
        before, after = self.data[: self.byte_at(start)], self.data[self.byte_at(end) :]
        wanted = self.text[:start] + new + self.text[end:]
        for line_end in dict.fromkeys((self.end_near(self.line_at(start)), "\n", "\r\n", "\r")):
            data = before + self.encode(new.replace("\n", line_end)) + after
            if self.reads(data) == wanted:
                return data
        raise UsageError(f"{self.name} mixes kinds of line ends that would become one here", "make its line ends alike")

    def reads(self, data: bytes) -> str:
        """What `text` would be of these bytes in this file's encoding."""
        return shown(_END.sub("\n", self.decoded(data[self.byte_starts[0] :])))

    def decoded(self, body: bytes) -> str:
        """Bytes without a byte-order mark in this file's encoding; those that are no text are lone surrogates."""
        return _plain(body, self.encoding)

    def write(self, data: bytes, backup: str | None = None) -> None:
        """Put these bytes into the file at once or not at all; `backup` is the suffix of a copy of the old ones.

        Raises LacliError where it is no longer what was read or cannot be written, UsageError where it is protected.
        """
        if backup is not None and (not backup or set(backup) & set("/\\\0")):
            raise UsageError(f"{backup!r} is no suffix for a backup", "give one such as .bak")
        disk.replace(self._place(), self.name, self.data, data, backup)

    def check_writable(self) -> None:
        """Raise what `write` would raise of a protected file, or of what is none: before a model has worked for it."""
        disk.check_writable(self._place(), self.name)

    def _place(self) -> disk.Stamp:
        if self.stamp is None:
            raise UsageError(f"{self.name} is no file that could be changed", "leave out --in-place")
        return self.stamp


def shown(raw: str) -> str:
    """What stands in `text` for decoded bytes."""
    return raw.translate(_Shown())


class _Shown(dict[int, str]):
    """What is shown for a byte that is no UTF-8: its Latin-1 letter, or U+FFFD where that is a control character."""

    def __missing__(self, key: int) -> str:
        if not 0xDC80 <= key <= 0xDCFF:
            raise LookupError
        return chr(key - 0xDC00) if key >= 0xDCA0 else "\N{REPLACEMENT CHARACTER}"


def lines_of(raw: str) -> Iterator[tuple[str, str]]:
    """Each line and its end, which is "" at most at the last."""
    at = 0
    for end in _END.finditer(raw):
        yield raw[at : end.start()], end[0]
        at = end.end()
    if at < len(raw):
        yield raw[at:], ""


def _decoded(body: bytes, encoding: str, name: str) -> tuple[str, str]:
    """The text, and the encoding that gives the very bytes back."""
    if encoding.startswith(("utf-16", "utf-32")):
        try:
            return body.decode(encoding), encoding
        except UnicodeDecodeError:
            raise UsageError(f"{name} is not valid {encoding}", "convert it to UTF-8 first") from None
    text = _plain(body, "utf-8")
    if encoding or _ODD.search(text) is None or any(each > "\x7f" for each in _ODD.sub("", text)):
        return text, "utf-8"
    # no letter beyond ASCII is UTF-8, so it is one of the encodings of a byte a letter
    if _C1.search(body):
        try:
            return body.decode("cp1252"), "cp1252"
        except UnicodeDecodeError:
            pass
    return body.decode("latin-1"), "latin-1"


def _plain(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")


def _encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
