"""The replies of a batch, a JSON line each, in the order of their prompts: to stdout, or to a file that is continued.

A reply that is done before its turn waits. What a file holds already is checked against the prompts and not written
again; half a line at its end, as an interrupted run leaves it, is cut.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from lacli import streams
from lacli.cli.ask.batch_input import BatchPrompt
from lacli.cli.ask.reply_output import check_output_path
from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.interrupt import WaitingInterrupt
from lacli.errors import LacliError, UsageError, unwritable
from lacli.storage.lock import lock_file

_LINE_ENDS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Marks that JSON lets stand as they are, and at which many a reader of lines ends one."""
_ANOTHER = "give another -o, or remove it to begin anew"


class Replies:
    """Puts the lines in order. As a context manager: the file is open and ours alone while the block runs.

    From before its lines are read until the last one is written, so that what another run appends is never cut.
    """

    def __init__(self, path: str) -> None:
        """path: empty for stdout."""
        self._path = path
        self._continues = (
            bool(path) and not streams.is_stream(path) and (os.path.isfile(path) or not os.path.exists(path))
        )
        """Whether it is a file, and no pipe or device."""
        self._file: BinaryIO | streams.BlockingWriter | None = None
        self._created = False
        self._is_broken = False
        """Whether a line could not be written."""
        self._size = 0
        """Bytes of the lines that stand in order at the beginning of the file."""
        self._next = 0
        self._waiting: dict[int, bytes] = {}
        self.failed = 0
        """Lines that are errors, those of an earlier run among them."""

    def __enter__(self) -> Replies:
        """Raises UsageError where another run has the file, or it cannot be written."""
        if self._continues:
            try:
                self._file = self._open_alone()
            except OSError as error:
                raise self._unusable(error) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if self._file is not None:
                if self._created and not os.fstat(self._file.fileno()).st_size:  # nothing came of this run
                    with contextlib.suppress(OSError):
                        os.unlink(self._path)
                self._file.close()
        except OSError as error:
            if kind is None:  # else it is of the bytes whose failure is under way
                raise self._failed(error) from None

    def _open_alone(self) -> BinaryIO:
        """The file, opened to append and locked until it is closed."""
        while True:
            try:
                file: BinaryIO = open(self._path, "xb")  # noqa: SIM115 - closed by __exit__
                self._created = True
            except FileExistsError:
                file, self._created = open(self._path, "ab"), False  # noqa: SIM115
            if not lock_file(file):
                file.close()
                raise UsageError(f"another lacli is writing {self._path}", "wait for it, or give another -o")
            if _is_at(file, self._path):
                return file
            file.close()  # the run that had made it removed it between our opening and our lock

    def check(self, lines: Iterable[BatchPrompt]) -> tuple[int, int]:
        """How many prompts there are, and how many have no reply in the file yet; nothing is changed.

        Raises UsageError where the file answers other prompts than these, or these with other options.
        """
        keys = self._read() if self._continues else {}
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
        """The keys of the file's lines by index. Remembers how many bytes are in order, and the lines after them."""
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

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Cut what comes after the first gap; those lines are written again in their turn.

        Lines that still wait at the end are written, too, after a gap.
        """
        try:
            if self._file is not None:
                self._file.truncate(self._size)
            elif self._path:  # a pipe or a device: opening it may wait for its reader, and so comes as late as it can
                with WaitingInterrupt(f"before {self._path} could be written"):
                    self._file = streams.writer(self._path)
        except OSError as error:
            raise self._unusable(error) from None
        self._flush()
        try:
            yield
        except output.StdoutClosed:
            raise
        except BaseException:
            if not self._is_broken:
                self._write_waiting()
            raise
        self._write_waiting()

    @property
    def way_on(self) -> str:
        """What to do after a failure of the engine; empty where no file can be gone on with."""
        if not self._continues or self._is_broken:
            return ""
        return f"repeat the command to go on after what {self._path} holds"

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

    def _write_waiting(self) -> None:
        for index in sorted(self._waiting):
            self._write(self._waiting[index])

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
        self._is_broken = True
        return unwritable(self._path, error, "repeat the command to go on after what it holds")

    def _unusable(self, error: OSError) -> LacliError:
        return unwritable(self._path, error, "give another file for -o", UsageError)


def _is_at(file: BinaryIO, path: str) -> bool:
    """Whether this open file is still what the path leads to."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False


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
