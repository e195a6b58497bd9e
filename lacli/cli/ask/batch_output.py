"""The replies of a batch, a JSON line each, in the order of their prompts: to stdout, or to a file that is continued.

A reply that is done before its turn waits. What a file holds already is checked against the prompts and not written
again; half a line at its end, as an interrupted run leaves it, is cut.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, BinaryIO

from lacli import streams
from lacli.cli.ask.batch_input import BatchPrompt
from lacli.cli.ask.reply_output import check_output_path
from lacli.cli.terminal import diagnostics, output
from lacli.errors import LacliError, UsageError, unwritable

_LINE_ENDS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Marks that JSON lets stand as they are, and at which many a reader of lines ends one."""
_ANOTHER = "give another -o, or remove it to begin anew"


class Replies:
    """Puts the lines in order. A context manager: what waits at the end is written, too, with a gap before it."""

    def __init__(self, path: str) -> None:
        """path: empty for stdout."""
        self._path = path
        self._goes_on = (
            bool(path) and not streams.is_stream(path) and (os.path.isfile(path) or not os.path.exists(path))
        )
        """Whether it is a file, and no pipe or device."""
        self._file: BinaryIO | streams.Patient | None = None
        self._size = 0
        self._next = 0
        self._waiting: dict[int, bytes] = {}
        self.failed = 0
        """Lines that are errors, those of an earlier run among them."""

    def check(self, lines: Iterable[BatchPrompt]) -> tuple[int, int]:
        """How many prompts there are, and how many have no reply in the file yet; nothing is changed.

        Raises UsageError where the file answers other prompts than these, or these with other options.
        """
        keys = self._read() if self._goes_on else {}
        count = 0
        for line in lines:
            count += 1
            if keys.get(line.index, line.key) != line.key:
                raise UsageError(f"{self._path} answers another prompt {line.index}, or with other options", _ANOTHER)
        if max(keys, default=-1) >= count:
            raise UsageError(f"{self._path} has a reply to prompt {max(keys)} of {count}", _ANOTHER)
        return count, count - len(keys)

    def __contains__(self, index: int) -> bool:
        """Whether this prompt has its reply."""
        return index < self._next or index in self._waiting

    def _read(self) -> dict[int, str]:
        """The keys of the file's lines by index; remembers how much of it stands in order, and what comes behind."""
        keys: dict[int, str] = {}
        last = -1
        try:
            with open(self._path, "rb") as file:
                for number, text in enumerate(file, start=1):
                    if not text.endswith(b"\n"):
                        break
                    record = _record(text)
                    if record is None or record["index"] <= last:
                        raise UsageError(f"{self._path} line {number} is not a reply of a batch", _ANOTHER)
                    last = record["index"]
                    keys[last] = record["key"]
                    self.failed += "error" in record
                    if last == self._next:
                        self._next += 1
                        self._size += len(text)
                    else:
                        self._waiting[last] = text
        except FileNotFoundError:
            pass
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read: {error.strerror}", "give another file for -o") from None
        return keys

    def __enter__(self) -> Replies:
        """Open the file and cut what comes behind the first gap: it has its turn again."""
        if self._path:
            try:
                self._file = streams.writer(self._path) if streams.is_stream(self._path) else open(self._path, "ab")
                if self._goes_on and not _alone(self._file):
                    self._file.close()
                    raise UsageError(f"another lacli is writing {self._path}", "wait for it, or give another -o")
                if self._goes_on:
                    self._file.truncate(self._size)
            except OSError as error:
                raise unwritable(self._path, error, "give another file for -o", UsageError) from None
        self._flush()
        return self

    def put(self, line: BatchPrompt, record: dict[str, Any]) -> None:
        """The reply to a prompt, written as soon as those before it are."""
        named = {"index": line.index, **({} if line.id is None else {"id": line.id}), **record, "key": line.key}
        self.failed += "error" in record
        text = json.dumps(named, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS)
        self._waiting[line.index] = f"{text}\n".encode("utf-8", "replace")
        self._flush()

    def _flush(self) -> None:
        while (data := self._waiting.pop(self._next, None)) is not None:
            self._next += 1
            self._write(data)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None or not issubclass(kind, output.StdoutClosed | LacliError):
                for index in sorted(self._waiting):
                    self._write(self._waiting[index])
        finally:
            try:
                if self._file is not None:
                    self._file.close()
            except OSError as error:
                if kind is None:  # else it is of the bytes whose failure is under way
                    raise self._failed(error) from None

    def _write(self, data: bytes) -> None:
        if self._file is None:
            diagnostics.erase_status()
            output.data(data)
            return
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> LacliError:
        return unwritable(self._path, error, "repeat the command to go on after what it holds")


def _alone(file: BinaryIO | streams.Patient) -> bool:
    """Keep other runs away from the file until it is closed, where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _record(text: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    sound = isinstance(record, dict) and isinstance(record.get("index"), int) and isinstance(record.get("key"), str)
    return record if sound else None


def check(path: str, source: str) -> None:
    """Refuse a file that cannot be written, or that is the prompts' own, while nothing has been spent on replies."""
    if not path:
        return
    check_output_path(path)
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise UsageError(f"{path} is the file of the prompts", "give another file for -o")
