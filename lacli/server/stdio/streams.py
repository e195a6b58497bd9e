"""Stdin and stdout of a door: read by a thread of their own, written to at once, and nobody else's.

Also keeps the libraries of protocols from printing: what they log is for whoever asked with -vv.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
from collections.abc import Callable
from typing import TypeVar

from lacli.streams import BlockingWriter, private_standard, read_chunk

MOST_BYTES = 1 << 26
"""The longest message that is taken."""
_UNPAIRED = re.compile("[\ud800-\udfff]")
_Result = TypeVar("_Result")


class Standard:
    """The two streams, which are taken from this process: what it prints from now on goes to stderr."""

    def __init__(self) -> None:
        descriptor, out = private_standard()
        self.reader = asyncio.StreamReader(limit=MOST_BYTES)
        """What arrives on stdin; any kind of file will do."""
        self._writer = BlockingWriter(out, "stdout")
        self._ended = False
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(descriptor, loop), name="stdin", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Write all of it. Once nobody reads any more, that is the end of what is read, too."""
        try:
            self._writer.write(data)
        except (OSError, ValueError):
            self._end()

    def close(self) -> None:
        """As pygls closes what it writes to; the descriptors end with the process."""

    def _read(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            with contextlib.suppress(OSError):
                while chunk := read_chunk(descriptor):
                    loop.call_soon_threadsafe(self._feed, chunk)
            loop.call_soon_threadsafe(self._end)

    def _feed(self, chunk: bytes) -> None:
        if not self._ended:
            self.reader.feed_data(chunk)

    def _end(self) -> None:
        self._ended = True
        self.reader.feed_eof()


def log_only(to_stderr: bool) -> None:
    """Have what libraries log go to stderr, or nowhere: they log every odd message of an editor with a traceback."""
    logging.basicConfig(
        handlers=[logging.StreamHandler() if to_stderr else logging.NullHandler()], level=logging.WARNING, force=True
    )


def clean(text: str) -> str:
    """Text of a message with U+FFFD for every half of a surrogate pair, which JSON can hold and no text has."""
    return text if text.isascii() else _UNPAIRED.sub("\N{REPLACEMENT CHARACTER}", text)


async def in_thread(work: Callable[[], _Result]) -> _Result:
    """The result of blocking work. As `asyncio.to_thread`, but what is stuck does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Result] = loop.create_future()

    def settle(result: _Result | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="work", daemon=True).start()
    return await done
