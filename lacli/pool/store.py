"""The pool on disk: the log of what the model said in one project, read at start and appended to after every reply.

Only here are pools written. A pool can cost time but never a reply: whatever is wrong with the disk or the file ends in
one line in `Pool.notices`, never in an exception. Called by the assistant; no torch, no text but what is checked for
secrets.
"""

from __future__ import annotations

import contextlib
import os
import secrets as random_source
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

import numpy as np

from lacli.pool import files, projects, secrets
from lacli.pool.format import (
    REFRESH,
    Damage,
    Header,
    IdArray,
    Segment,
    decode_header,
    decode_segments,
    encode_header,
    encode_segment,
    header_size,
    refresh_of,
)
from lacli.pool.identity import PoolKey

CAP_BYTES = 64 << 20
LOCK_WAIT_S = 2.0

_KEPT_SHARE = 0.75
"""Compaction leaves this share of the cap, so that the next append does not compact again."""
_LEAST_TOKENS = 2


class _Unusable(Exception):
    """The file is damaged in a way that ends its use."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage.text)
        self.damage = damage


class Pool:
    """One project's pool for one tokenizer. For one thread; many processes may have the same pool open."""

    def __init__(
        self, folder: Path, key: PoolKey, mode: Literal["learn", "read"], vocab_size: int, model: str, cap_bytes: int
    ) -> None:
        self.path = folder / key.tokenizer_folder() / projects.POOL_NAME
        self.notices: list[str] = []
        """Lines for the user, oldest first; who shows them may clear the list."""
        self._key = key
        self._learns = mode == "learn"
        self._vocab_size = vocab_size
        self._model = model
        self._cap_bytes = cap_bytes
        self._recorded = False
        self._by_digest: dict[bytes, Segment] = {}
        self._tokens = 0
        self._header: Header | None = None
        self._header_bytes = b""
        self._end = 0

    @property
    def size(self) -> int:
        """Tokens in the pool."""
        return self._tokens

    @property
    def learns(self) -> bool:
        """Whether `append` still writes: not in mode "read", and not after a failure."""
        return self._learns

    def segments(self) -> Iterator[Sequence[int]]:
        """The stored replies, the one used longest ago first, as read-only uint32 arrays."""
        for segment in list(self._by_digest.values()):
            if self._fits(segment):
                yield cast("Sequence[int]", segment.token_ids)

    def append(self, token_ids: Sequence[int], text: str = "") -> bool:
        """Store one reply; True if it is on the disk now.

        `text` is what the ids say, with the rest of the line they continue before it: a reply that seems to hold a
        secret is dropped whole. The tail of a repetition loop is left out.
        """
        if not self._learns or (text and secrets.refuse(text)):
            return False
        ids = self._worth_keeping(token_ids)
        if ids is None:
            return False
        try:
            files.make_private(self.path.parent)
            with files.locked(self.path, LOCK_WAIT_S):
                stored = self._store(ids)
            if stored and not self._recorded:
                self._record()
            return stored
        except TimeoutError:
            self._stop("another lacli keeps the pool locked")
        except OSError as error:
            self._stop(f"the pool cannot be written ({_reason(error)})")
        return False

    def _record(self) -> None:
        """Once a session, after the first reply: note where the project is, and close the folders to others."""
        self._recorded = True
        with contextlib.suppress(OSError):  # costs the adoption after a move, nothing else
            projects.write_record(self.path.parent.parent, self._key.root)
        files.restrict(self.path.parent, 0o700)
        files.restrict(self.path.parent.parent, 0o700)

    # -- reading ------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the file. Called once, by `open_pool`."""
        try:
            self._read_all()
        except _Unusable as found:
            self._give_up(found.damage)
        except FileNotFoundError:
            if self.path.is_symlink():
                self._stop(f"the pool file is a link that leads nowhere: {self.path}")
        except files.NotRegular as error:
            self._give_up(Damage("foreign", f"is {error.strerror}", 0))
        except OSError as error:
            self._stop(f"the pool cannot be read ({_reason(error)})")

    def _read_all(self) -> Damage | None:
        """Forget what is known and read from the first byte. Returns a torn tail; raises on any other damage."""
        self._forget()
        data = files.read(self.path, limit=2 * max(self._cap_bytes, CAP_BYTES))
        header, damage = decode_header(data)
        if header is None:
            raise _Unusable(damage or Damage("header", "has no header", 0))
        if header.tokenizer != self._key.tokenizer:
            raise _Unusable(Damage("foreign", "belongs to another tokenizer", 0))
        start = header_size(data)
        segments, damage = decode_segments(data, start, header.vocab_size)
        if damage is not None and damage.kind != "tail":
            raise _Unusable(damage)
        self._header, self._header_bytes = header, data[:start]
        self._end = len(data) if damage is None else damage.offset
        self._add(segments)
        return damage

    def _read_on(self) -> Damage | None:
        """Read what was appended since; the whole file if it is not the one known. Called under the lock."""
        header, known = self._header, len(self._header_bytes)
        if header is None or files.read(self.path, size=known) != self._header_bytes:
            return self._read_all()
        if os.stat(self.path).st_size < self._end:
            return self._read_all()
        segments, damage = decode_segments(files.read(self.path, self._end), 0, header.vocab_size)
        if damage is not None and damage.kind != "tail":
            raise _Unusable(damage)
        self._end += sum(segment.byte_size() for segment in segments)
        self._add(segments)
        return damage

    def _forget(self) -> None:
        self._by_digest = {}
        self._header, self._header_bytes = None, b""
        self._tokens = self._end = 0

    def _add(self, segments: Sequence[Segment]) -> None:
        for segment in segments:
            digest = segment.digest()
            known = self._by_digest.pop(digest, None)  # out and in again: the order is by last use
            if segment.flags & REFRESH:
                if known is not None:
                    self._by_digest[digest] = Segment(known.token_ids, segment.created_ms, known.flags)
                continue
            self._by_digest[digest] = segment
            if known is None and self._fits(segment):
                self._tokens += len(segment.token_ids)

    def _fits(self, segment: Segment) -> bool:
        """Whether this session's model knows all ids; another with the same tokenizer may have more embedding rows."""
        if self._header is None or self._header.vocab_size <= self._vocab_size or not len(segment.token_ids):
            return True
        return int(segment.token_ids.max()) < self._vocab_size

    # -- writing; all under the lock ----------------------------------------------------------------------------------

    def _worth_keeping(self, token_ids: Sequence[int]) -> IdArray | None:
        ids = np.asarray(token_ids, dtype=np.int64)
        ids = ids[: secrets.loops(ids)] if len(ids) else ids
        if len(ids) < _LEAST_TOKENS or int(ids.min()) < 0 or int(ids.max()) >= self._vocab_size:
            return None
        return ids.astype(np.uint32)

    def _store(self, ids: IdArray) -> bool:
        torn = self._catch_up()
        if not self._learns:
            return False
        segment = Segment(ids, _now_ms())
        known = self._by_digest.get(segment.digest())
        record = segment if known is None else refresh_of(segment, segment.created_ms)
        if self._header is None:
            return self._make([segment], self._vocab_size)
        if int(ids.max()) >= self._header.vocab_size:
            return False
        data = encode_segment(record)
        if self._end + len(data) > self._cap_bytes:
            kept = [each for digest, each in self._by_digest.items() if digest != segment.digest()]
            return self._make([*kept, segment], self._header.vocab_size)
        files.append(self.path, self._end, data)
        files.restrict(self.path, 0o600)
        self._end += len(data)
        self._add([record])
        if torn is not None:
            self.notices.append("the pool's last entry was incomplete (a run was interrupted) and has been removed")
        return True

    def _catch_up(self) -> Damage | None:
        """Learn what the file holds now. Afterwards `_header` is None where a new file is to be made."""
        try:
            return self._read_on()
        except FileNotFoundError:
            if self.path.is_symlink():
                raise
            self._forget()  # cleared by the user meanwhile: what it held is not written again
        except _Unusable as found:
            self._forget()
            if found.damage.kind == "future":
                self._stop(f"the pool file {found.damage.text}: {self.path}")
            else:
                self._move_aside(found.damage)
        return None

    def _make(self, segments: Sequence[Segment], vocab_size: int) -> bool:
        """Write a new file of the newest of these segments in the old one's place."""
        nonce = random_source.token_hex(8)
        header = Header(self._key.tokenizer, vocab_size, self._model, _now_ms(), nonce)
        header_bytes = encode_header(header)
        room = self._cap_bytes if len(segments) == 1 else int(self._cap_bytes * _KEPT_SHARE)
        room -= len(header_bytes)
        kept: list[Segment] = []
        for segment in reversed(segments):
            room -= segment.byte_size()
            if room < 0:
                break
            kept.append(segment)
        if not kept:
            return False  # larger than the whole pool may be
        data = b"".join([header_bytes, *map(encode_segment, reversed(kept))])
        files.replace(self.path, self.path.with_name(f"{self.path.name}.tmp"), data)
        self._forget()
        self._header, self._header_bytes, self._end = header, header_bytes, len(data)
        self._add(kept[::-1])
        return True

    # -- when something is wrong --------------------------------------------------------------------------------------

    def _give_up(self, damage: Damage) -> None:
        """Start cold. A damaged file is set aside, under the lock and after a second look; a newer one stays."""
        self._forget()
        if damage.kind == "future" or not self._learns:
            self._stop(f"the pool file {damage.text}: {self.path}")
            return
        try:
            with files.locked(self.path, LOCK_WAIT_S):
                try:
                    self._read_all()  # another process may have put it right
                except _Unusable as found:
                    self._move_aside(found.damage)
                except files.NotRegular:
                    self._move_aside(damage)
        except FileNotFoundError:
            return
        except TimeoutError:
            self._stop("another lacli keeps the pool locked")
        except OSError as error:
            self._stop(f"the pool file {damage.text} and cannot be set aside ({_reason(error)})")

    def _move_aside(self, damage: Damage) -> None:
        self._forget()
        aside = files.set_aside(self.path)
        self.notices.append(f"the pool file {damage.text}; starting with an empty one, the old one is kept as {aside}")

    def _stop(self, reason: str) -> None:
        """No more writing in this session; said once."""
        remembered = f"; what was read before is used, {_STOPPED}" if self._by_digest else f"; {_STOPPED}"
        self.notices.append(reason + remembered)
        self._learns = False


_STOPPED = "nothing is learned in this session"


def open_pool(
    key: PoolKey,
    root: Path,
    mode: Literal["learn", "read"],
    vocab_size: int,
    model: str = "",
    cap_bytes: int = CAP_BYTES,
) -> Pool:
    """Open the pool that `key` names below `root`, the folder of all pools (`paths.pools_dir()`).

    Never raises for what is found there, makes nothing before the first `append`, and in mode "read" never writes.
    """
    folder = projects.adopt(root, key.root) if mode == "learn" else projects.locate(root, key.root)
    pool = Pool(folder, key, mode, vocab_size, model, cap_bytes)
    pool.load()
    return pool


def _now_ms() -> int:
    return max(0, time.time_ns() // 1_000_000)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__) + (f": {error.filename}" if error.filename else "")
