"""The pool on disk: the model's replies in one project and what was learned from them. Read at start, written after
each reply.

    pool.lacli      the log of replies (`log`)          table.lacli   the successor table (`table`)
    numbers.json    totals and calibration (`numbers`)  pool.lacli.lock  the one lock of all three

Pools are written only here. A pool may cost time but never a reply: problems with the disk or the files become lines in
`Pool.notices`, never exceptions. No torch, and no text except to check it for secrets. Readers take no lock: files only
grow, or are replaced as a whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from lacli.pool import log, numbers, projects, space, table
from lacli.pool.evict import DEFAULT_CAPS
from lacli.pool.evict import Caps as Caps
from lacli.pool.format import Record, WordArray, digest, segment_bytes
from lacli.pool.guarded import GuardedFiles
from lacli.pool.journal import Journal, now_ms
from lacli.pool.update import PoolUpdate, TableRows
from lacli.project.root import PoolKey
from lacli.storage import files

if TYPE_CHECKING:
    from lacli.pool.secrets import Refuse

MOST_INDEXED = 2_000_000
"""Most tokens indexed for drafting: building that index takes 0.6 s and 125 MB. All 14 million tokens of a 64 MB pool
would take 6 s and 750 MB at every start."""
_KEPT_SHARE = 0.75
"""Compaction shrinks to this share of the cap, so that the next reply does not compact again."""
_TABLE_SLACK = 8_192
"""Superseded entries that the table may have, whatever its size, before it is compacted."""
_LEAST_TOKENS = 2


class Pool:
    """The pool of one project and tokenizer. Not thread-safe; many processes may have the same pool open."""

    def __init__(
        self, folder: Path, key: PoolKey, mode: Literal["learn", "read"], vocab_size: int, model: str, caps: Caps
    ) -> None:
        self.path = folder / key.tokenizer_folder() / projects.POOL_NAME
        self.refuse: Refuse = _refuse
        """Callers replace it by one that also knows the project's own secret values."""
        self.key = key
        self._vocab_size = vocab_size
        self._caps = caps
        self._may_learn = mode == "learn"
        self._recorded = self._fitted = False
        self._log = log.Log()
        self._opened: list[bytes] = []
        """Digests of the replies present at opening that are indexed for drafting."""
        self._passed_over: frozenset[bytes] = frozenset()
        """Digests of the other replies present at opening."""
        self._entries = self._live = 0
        """Entries of the table on disk, as far as read, and how many of them are not superseded."""
        # Caps may have been larger when a file was written.
        limit = 2 * max(caps.project_bytes, DEFAULT_CAPS.project_bytes)
        self._guarded = GuardedFiles(self.path, self._may_learn, limit, lambda: bool(self._log.replies))
        own = (key.tokenizer, vocab_size, model)
        self._log_file = Journal(self.path, "the pool file", *own, log.KINDS)
        self._table_file = Journal(self.path.with_name(space.TABLE_NAME), "the successor table", *own, table.KINDS)
        self._numbers_path = self.path.with_name(numbers.NAME)

    @property
    def notices(self) -> list[str]:
        """Lines for the user, oldest first; whoever shows them may clear the list."""
        return self._guarded.notices

    @property
    def size(self) -> int:
        """Tokens in the pool."""
        return self._log.tokens

    @property
    def learns(self) -> bool:
        """Whether `learn` still writes: not in mode "read", and not after a failure."""
        return self._guarded.learns

    @property
    def gave_up(self) -> bool:
        """Whether it was opened to learn and has stopped after a failure."""
        return self._may_learn and not self.learns

    def segments(self) -> Iterator[WordArray]:
        """The stored replies as read-only arrays: those present at opening, oldest first, then the new ones.

        Of a very large pool only the most valuable ones, up to `MOST_INDEXED` tokens. `PoolUpdate.credits` holds
        indices into this sequence as of opening.
        """
        old = self._passed_over.union(self._opened)
        for name in [*self._opened, *(name for name in self._log.replies if name not in old)]:
            reply = self._log.replies.get(name)
            if reply is not None and reply.fits:
                yield reply.token_ids

    def holds(self, replies: Iterable[bytes]) -> int:
        """How many of these replies, given by digest, are stored."""
        return sum(name in self._log.replies for name in replies)

    def table(self) -> TableRows | None:
        """The successor table on disk, restricted to this session's vocabulary; None if there is none."""
        parts = [rows for _, rows in self._read_table()]
        if not parts:
            return None
        rows = table.merged(parts)
        self._live = len(rows.keys)
        return table.sound(rows, self._vocab_size)

    def calibration(self) -> dict[str, list[float]]:
        """The calibration of the draft sources, as of the last reply."""
        return numbers.read(self._numbers_path).calibration

    def totals(self) -> dict[str, float]:
        """The counters of all replies in this project."""
        return numbers.read(self._numbers_path).totals

    def learn(self, update: PoolUpdate) -> bool:
        """Store one reply and what was learned from it; True if its tokens are on disk now.

        Of a reply with a secret only the counters are stored. For a prompt with a secret no table entries are stored,
        as chains of them could spell it, and a reply with what may be half a key is dropped, too. The tail of a
        repetition loop is left out.
        """
        if not self.learns:
            return False
        ids, rows = self._worth_keeping(update)
        if ids is None and rows is None and not (update.credits or update.totals or update.calibration):
            return False
        stored = False

        def write() -> None:
            nonlocal stored
            stored = self._learn_log(ids, update.credits)
            if self.learns and rows is not None:
                self._learn_table(rows)
            if self.learns:
                self._learn_numbers(update.totals, update.calibration)

        if self._guarded.write(write):
            self._tidy()
        return stored

    def compact(self) -> int:
        """Rewrite the files that hold superseded records or exceed their caps. Modification times are kept.

        Returns the number of bytes freed.
        """
        before = space.byte_size(self.path.parent)

        def write() -> None:
            space.delete_leftovers(self.path.parent)
            self._catch_up_log()
            if self.learns and self._log_file.header is not None:
                self._tighten_log()
            if self.learns:
                self._tighten_table()

        self._guarded.write(write)
        return max(0, before - space.byte_size(self.path.parent))

    def _tighten_log(self) -> None:
        """Rewrite the log, which has been read to its end, if it exceeds its cap or would become smaller."""
        size, cap = self.path.stat().st_size, self._caps.log_bytes()
        needed = sum(record.byte_size() for record in self._log.records(now_ms()))
        if size > cap or needed < size - self._log_file.header_bytes():
            with files.same_age(self.path), files.same_age(self._numbers_path):
                self._compact_log(self._log_room() if size > cap else size)
                self._learn_numbers({}, {})

    def _tighten_table(self) -> None:
        """Do the same with the successor table."""
        parts = self._read_table()
        if not self.learns or self._table_file.header is None:
            return
        path = self._table_file.path
        size, cap = path.stat().st_size, self._caps.table_bytes()
        records = list(table.compacted(parts, self._table_room() if size > cap else size))
        needed = sum(record.byte_size() for record in records)
        if size > cap or needed < size - self._table_file.header_bytes():
            with files.same_age(path):
                self._make_table(records)

    def merge(self, other: log.Log, rows: TableRows, totals: Mapping[str, float]) -> bool:
        """Merge the contents of another pool (`transfer`), with their times; newer contents win."""

        def write() -> None:
            self._catch_up_log()
            if self.learns:
                header = self._log_file.header
                vocab_size = max(self._vocab_size, header.vocab_size if header is not None else 0)
                self._log.join(other, vocab_size, self._limit(), now_ms())
                self._compact_log()
            if self.learns and len(rows.keys):
                self._learn_table(rows, older=True)
            if self.learns:
                known = numbers.read(self._numbers_path).totals
                self._learn_numbers({} if known else totals, {})

        if self._guarded.write(write):
            self._tidy()
        return self.learns

    # -- reading ------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the log. To be called once, before anything else."""
        records = self._guarded.read(self._log_file, lambda records, _: (records, None))
        self._log.add(records or [], self._limit())
        self._opened = self._log.worth_most(MOST_INDEXED, now_ms())
        self._passed_over = frozenset(self._log.replies).difference(self._opened)

    def _read_table(self) -> list[tuple[int, TableRows]]:
        """The table's records, decoded, each with its time."""
        parts = self._guarded.read(self._table_file, table.decode) or []
        self._entries = sum(len(rows.keys) for _, rows in parts)
        return parts

    def _limit(self) -> int | None:
        """Ids >= this are unknown to this model: another one with the same tokenizer may have more embedding rows."""
        header = self._log_file.header
        return self._vocab_size if header is not None and header.vocab_size > self._vocab_size else None

    def _worth_keeping(self, update: PoolUpdate) -> tuple[WordArray | None, TableRows | None]:
        """The tokens and the table entries that may be stored."""
        asked_with_one = bool(update.prompt_text and self.refuse(update.prompt_text))
        if update.text and self.refuse(update.text, wary=asked_with_one):
            return None, None
        rows = update.table if update.table is not None and len(update.table.keys) and not asked_with_one else None
        from lacli.pool import secrets  # its patterns take milliseconds to compile, so only after the text is out

        ids = np.asarray(update.token_ids, dtype=np.int64)
        ids = ids[: secrets.loops(ids)] if len(ids) else ids
        if len(ids) < _LEAST_TOKENS or int(ids.min()) < 0 or int(ids.max()) >= self._vocab_size:
            return None, rows
        return ids.astype(np.uint32), rows

    # -- writing ------------------------------------------------------------------------------------------------------

    def _tidy(self) -> None:
        """Once a session, after the first reply: record where the project is, make the folders private, free space."""
        if self.learns and not self._recorded:
            self._recorded = True
            with contextlib.suppress(OSError):  # only needed for the adoption after a move
                projects.write_record(self.path.parent.parent, self.key.root)
            files.restrict(self.path.parent, 0o700)
            files.restrict(self.path.parent.parent, 0o700)
        if not self._fitted:
            self._fitted = True
            caps, folder = self._caps, self.path.parent
            gone = space.make_room(folder.parent.parent, folder, caps.project_bytes, caps.total_bytes, now_ms())
            if gone:
                self.notices.append(f"{gone} of the least useful pools {_were(gone)} deleted, as all were too large")

    def _learn_log(self, ids: WordArray | None, credits_: Mapping[int, int]) -> bool:
        torn = self._catch_up_log()
        header = self._log_file.header
        if not self.learns or (header is None and ids is None):
            return False
        room = self._log_room()
        if ids is not None and segment_bytes(len(ids)) > room:
            ids = None
        now = now_ms()
        credit = log.credit_record(self._credited(credits_), now)
        records = [self._log.record_of(ids, now)] if ids is not None else []
        records += [credit] if credit is not None else []
        if not records:
            return False
        size = sum(record.byte_size() for record in records)
        full = self._log_file.end + size > self._caps.log_bytes()
        if header is None or full or self._log_file.outdated():
            new = ids is not None and digest(ids) not in self._log.replies
            self._log.add(records)
            try:
                self._compact_log()
            except OSError:  # keep memory consistent with the disk
                if new and ids is not None:
                    self._log.drop(digest(ids))
                raise
            return ids is not None and digest(ids) in self._log.replies
        self._log_file.append(records)
        self._log.add(records)
        if torn:
            self.notices.append("the pool's last entry was incomplete (a run was interrupted) and has been removed")
        return ids is not None

    def _credited(self, credits_: Mapping[int, int]) -> dict[bytes, float]:
        named = {self._opened[place]: tokens for place, tokens in credits_.items() if 0 <= place < len(self._opened)}
        return {name: float(tokens) for name, tokens in named.items() if tokens > 0 and name in self._log.replies}

    def _log_room(self) -> int:
        return int(_KEPT_SHARE * self._caps.log_bytes()) - self._log_file.header_room()

    def _compact_log(self, room: int | None = None) -> None:
        """Compact into `room` bytes; by default with space left for the next replies."""
        now = now_ms()
        self._log.shrink(self._log_room() if room is None else room, now)
        self._log_file.make(self._log.records(now))
        self._fitted = False

    def _learn_table(self, rows: TableRows, older: bool = False) -> None:
        new = self._guarded.read_on(self._table_file)
        header = self._table_file.header
        self._entries = sum(map(table.entries_in, new.records)) + (0 if new.from_start else self._entries)
        rows = table.sound(rows, self._vocab_size)
        if not self.learns or not len(rows.keys):
            return
        records = table.encode(rows, now_ms())
        size = sum(record.byte_size() for record in records)
        full = self._table_file.end + size > self._caps.table_bytes()
        crowded = self._entries + len(rows.keys) > 2 * max(self._live, _TABLE_SLACK)
        if older or header is None or full or crowded or self._table_file.outdated():
            self._compact_table(rows, older)
        else:
            self._table_file.append(records)
            self._entries += len(rows.keys)

    def _compact_table(self, rows: TableRows, older: bool) -> None:
        """Rewrite the table with these entries, which count as newer than all others, or as older."""
        known, more = self._read_table(), [(now_ms(), rows)]
        if not self.learns:
            return
        records = list(table.compacted(more + known if older else known + more, self._table_room()))
        if records or self._table_file.header is not None:
            self._make_table(records)

    def _make_table(self, records: list[Record]) -> None:
        self._table_file.make(records)
        self._entries = self._live = sum(map(table.entries_in, records))

    def _table_room(self) -> int:
        return int(_KEPT_SHARE * self._caps.table_bytes()) - self._table_file.header_room()

    def _learn_numbers(self, totals: Mapping[str, float], calibration: Mapping[str, Sequence[float]]) -> None:
        path = self._numbers_path
        known = numbers.read(path)
        if known.future:
            return
        if path.is_dir():
            files.set_aside(path)
        held = self._log.held(self._log_file.end, now_ms())
        joined = numbers.replaced(known.calibration, calibration)
        numbers.write(path, numbers.Numbers(numbers.added(known.totals, totals), joined, held))

    def _catch_up_log(self) -> bool:
        """Read what was appended to the log; True if its last record is incomplete. If there is no header afterwards, a
        new file must be created."""
        new = self._guarded.read_on(self._log_file)
        if new.from_start:
            self._log.clear()
        self._log.add(new.records, self._limit())
        return new.torn


def open_pool(
    key: PoolKey,
    root: Path,
    mode: Literal["learn", "read"],
    vocab_size: int,
    model: str = "",
    caps: Caps = DEFAULT_CAPS,
) -> Pool:
    """Open the pool named by `key` below `root`, the folder of all pools (`paths.pools_dir()`).

    Does not raise on anything found there, creates nothing before the first `learn`, and never writes in mode "read".
    """
    folder = projects.adopt(root, key.root) if mode == "learn" else projects.locate(root, key.root)
    pool = Pool(folder, key, mode, vocab_size, model, caps)
    pool.load()
    return pool


def _refuse(text: str, wary: bool = False) -> str | None:
    """Like `secrets.refuse`, which is imported on first use."""
    from lacli.pool import secrets

    return secrets.refuse(text, wary)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
