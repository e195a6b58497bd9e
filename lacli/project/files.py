"""The project's files as an index to draft from, kept up to date by a background thread.

Only files that the context seems to quote (`shingles` tells which), and the most recently changed ones, are read and
tokenised. The thread works in pieces of about two milliseconds and sleeps many times as long while a reply is written,
since Python runs one thread at a time. Whatever goes wrong in it costs the index and nothing else.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.drafts.index import Match, StoredIndex, SuffixIndex
from lacli.project.indexing import Indexer, project_paths

if TYPE_CHECKING:
    from lacli.project.reading import IdArray
    from lacli.text.tokenizer import Tokenizer

Sink = Callable[[SuffixIndex], None]
"""Called with every new index, in the thread."""

_MAX_CACHED = 256 << 10
"""Tokens held in memory: some 10 MB with their index."""
_NEWEST = 32 << 10
"""Tokens of recently changed files that are read even if nothing quotes them."""
_OFFERED_EVERY = 16
_LAST_OFFERED = 4_096
_LEAST_SHARED, _LEAST_PART = 1.0, 0.2
"""A file counts as quoted from this score on, and from this fraction of the best score on."""
_FILES_AT_ONCE = 8
_SEAL_EVERY = 32
_SAVE_EVERY_S = 1.5
"""So that a short run has not indexed in vain."""
_PUBLISH_EVERY = 16 << 10
_REPLYING_S = 2.0
"""A reply counts as running for so long after the draft source last asked."""
_RESTS = {"idle": 1.0, "wanted": 3.0, "replying": 19.0}
"""Sleep per unit of work."""
_AFTER_REPLY_S = 0.3
"""A program that ends after its reply need not look for changes first."""
_EXIT_WAIT_S = 0.05


class _Closed(Exception):
    """Ends the thread."""


class ProjectFiles:
    """The files of one project. Call `start` once; `close` is optional."""

    def __init__(self) -> None:
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._contexts: deque[tuple[list[int], bool]] = deque(maxlen=32)
        self._offered = 0
        self._last_offered = -1
        self._asked_s = 0.0
        self._survey_due = False
        self._wanted = False
        self._worked_s = self._saved_s = 0.0
        self._seen: deque[int] = deque(maxlen=_LAST_OFFERED)
        self._fresh: deque[int] = deque()
        self._cached: OrderedDict[int, IdArray] = OrderedDict()
        self._cached_size = 0
        self._unpublished = 0
        self._thread: threading.Thread | None = None

    def start(self, folder: Path, tokenizer: Tokenizer, sink: Sink, writes: bool = True) -> None:
        """Start the thread for the project that contains `folder`; `writes`: whether to store the index on disk.

        Outside a git repository, and without git, only what `lacli pool build PATH` was given is read.
        """
        self._asked_s = time.monotonic()
        self._thread = threading.Thread(
            target=self._run, args=(folder, tokenizer, sink, writes), name="project-files", daemon=True
        )
        self._thread.start()
        # A daemon thread that is still running when the interpreter is taken down could be stopped inside a library.
        atexit.register(self.close)

    def refresh(self) -> None:
        """Check for changed files, between two replies. Returns at once."""
        self._survey_due = True
        self._wake.set()

    def close(self) -> None:
        """Stop the thread; waits for one piece of work at most."""
        self._closing.set()
        self._wake.set()
        atexit.unregister(self.close)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_EXIT_WAIT_S)

    # -- in the thread that writes replies ----------------------------------------------------------------------------

    def offer(self, context: Sequence[int]) -> None:
        """Note every few tokens which context the reply continues, for the thread to search for quotes."""
        self._asked_s = time.monotonic()
        length, seen = len(context), self._offered
        goes_on = 0 < seen <= length and context[seen - 1] == self._last_offered
        if goes_on and length < seen + _OFFERED_EVERY:
            return
        start = seen - 8 if goes_on else 0  # with the runs that cross the seam
        self._contexts.append((list(context[max(0, start, length - _LAST_OFFERED) :]), goes_on))
        self._offered, self._last_offered = length, context[-1] if length else -1
        self._wake.set()

    # -- in the thread of its own -------------------------------------------------------------------------------------

    def _run(self, folder: Path, tokenizer: Tokenizer, sink: Sink, writes: bool) -> None:
        with contextlib.suppress(Exception):  # a source fewer; `_Closed` is the ordinary end
            place = project_paths(folder, tokenizer.fingerprint, writes)
            if place is None:
                return
            self._worked_s = time.thread_time()
            indexer = Indexer(place, tokenizer, self._pause)
            self._wanted = True  # for the reply that is about to begin
            self._survey(indexer)
            self._wanted = False
            self._publish(sink)
            while True:
                self._work(indexer, sink, writes)

    def _work(self, indexer: Indexer, sink: Sink, writes: bool) -> None:
        """Do the most urgent piece of work, or wait for one."""
        self._pause()
        self._wake.clear()
        if self._survey_due:
            self._survey_due = False
            if self._closing.wait(_AFTER_REPLY_S):
                raise _Closed
            self._survey(indexer)
        elif self._contexts:
            context, goes_on = self._contexts.popleft()
            if not goes_on:
                self._seen.clear()
            self._seen.extend(context)
            self._read_quoted(indexer, context)
        elif self._unpublished >= (_PUBLISH_EVERY if indexer.todo or self._fresh else 1):
            self._publish(sink)
        elif indexer.unsaved and writes and (not indexer.todo or time.monotonic() - self._saved_s > _SAVE_EVERY_S):
            self._save(indexer)
        elif indexer.todo:
            self._read_next(indexer)
        elif self._fresh:
            key = self._fresh.popleft()
            if self._cached_size < _NEWEST and key not in self._cached:
                self._cache(key, indexer.tokens_of(key))
        else:
            self._wake.wait()

    def _survey(self, indexer: Indexer) -> None:
        indexer.survey()
        files = set(indexer.newest)
        for key in [key for key in self._cached if key not in files]:
            self._drop(key)
        self._fresh = deque(indexer.newest)

    def _read_quoted(self, indexer: Indexer, context: list[int]) -> None:
        """Read the files that this part of the context quotes into memory."""
        found = indexer.quoted(context)
        least = max(_LEAST_SHARED, _LEAST_PART * found[0][1]) if found else 0.0
        quoted = [key for key, shared in found[:_FILES_AT_ONCE] if shared >= least]
        room = _MAX_CACHED // 2  # for these; the others may be in use
        self._wanted = True
        try:
            for key in quoted:
                if key not in self._cached and room > 0:
                    self._cache(key, indexer.tokens_of(key))
                    self._unpublished += _PUBLISH_EVERY  # at once: the reply may quote on
                room -= len(self._cached.get(key, ()))
        finally:
            self._wanted = False
        for key in reversed(quoted):
            if key in self._cached:
                self._cached.move_to_end(key)

    def _read_next(self, indexer: Indexer) -> None:
        """Index one more file; recently changed ones stay in memory to draft from."""
        key, ids = indexer.next_file()
        if ids is None:
            if indexer.left_out(key):
                self._drop(key)
        elif key in self._cached or self._cached_size + len(ids) <= _NEWEST:
            self._cache(key, ids)
        if len(indexer.todo) % _SEAL_EVERY == 0:
            indexer.seal()
            self._read_quoted(indexer, list(self._seen))  # which may have come before the index knew the file

    def _cache(self, key: int, ids: IdArray | None) -> None:
        self._drop(key)
        if ids is None or not len(ids):
            return
        self._cached[key] = ids
        self._cached_size += len(ids)
        self._unpublished += len(ids)
        while self._cached_size > _MAX_CACHED:
            self._drop(next(iter(self._cached)))

    def _drop(self, key: int) -> None:
        ids = self._cached.pop(key, None)
        if ids is not None:
            self._cached_size -= len(ids)
            self._unpublished += 1

    def _publish(self, sink: Sink) -> None:
        self._unpublished = 0
        sink(_ObservedIndex(StoredIndex(self._cached.values()), self.offer))

    def _save(self, indexer: Indexer) -> None:
        self._saved_s = time.monotonic()
        with contextlib.suppress(OSError):
            indexer.save()
        indexer.unsaved = False  # not tried again before something changes

    def _pause(self) -> None:
        """Sleep in proportion to the work done, longer while a reply is written."""
        if self._closing.is_set():
            raise _Closed
        now = time.thread_time()
        worked, self._worked_s = now - self._worked_s, now
        replying = time.monotonic() - self._asked_s < _REPLYING_S
        kind = "idle" if not replying else "wanted" if self._wanted else "replying"
        if self._closing.wait(worked * _RESTS[kind]):
            raise _Closed


class _ObservedIndex:
    """An index that reports the contexts it is searched for."""

    def __init__(self, index: StoredIndex, offer: Callable[[Sequence[int]], None]) -> None:
        self._index = index
        self._offer = offer

    def matches(self, context: Sequence[int]) -> list[Match]:
        """See `SuffixIndex.matches`."""
        self._offer(context)
        return self._index.matches(context)

    def following(self, position: int, count: int) -> tuple[int, ...]:
        """See `SuffixIndex.following`."""
        return self._index.following(position, count)
