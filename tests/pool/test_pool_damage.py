"""The file-damage suite (ngram.md §5.4): whatever lies at the pool's place, a session starts and says one line."""

from __future__ import annotations

import errno
import multiprocessing
import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacli.pool.format import MAGIC, Header, Record, decode_header, encode_header, encode_record, header_size
from lacli.pool.store import Caps, Pool, open_pool
from lacli.pool.update import PoolUpdate
from lacli.project.root import PoolKey
from lacli.storage import files

from .conftest import FINGERPRINT, VOCAB, Opener, entries, linux_only, posix_only, table_rows
from .test_pool_store import replies, reply


def aside(pool: Pool) -> list[Path]:
    return sorted(pool.path.parent.glob("*.bad"))


@pytest.fixture
def sound(reopen: Opener) -> bytes:
    """The bytes of a pool with five replies; it lies on the disk."""
    pool = reopen()
    for number in range(5):
        pool.learn(PoolUpdate(reply(number)))
    return pool.path.read_bytes()


def assert_starts_cold(reopen: Opener, bad: bytes) -> None:
    """One line, the original kept, and the next session is warm again."""
    pool = reopen()
    assert replies(pool) == []
    assert len(pool.notices) == 1
    assert str(pool.path) in pool.notices[0]
    assert pool.learn(PoolUpdate(reply(9)))
    assert len(pool.notices) == 1
    assert aside(pool)[-1].read_bytes() == bad
    again = reopen()
    assert replies(again) == [reply(9)]
    assert again.notices == []


class TestDamage:
    def test_an_empty_file(self, sound: bytes, reopen: Opener) -> None:
        reopen().path.write_bytes(b"")
        assert_starts_cold(reopen, b"")

    def test_every_length_in_steps_of_64_bytes(self, sound: bytes, reopen: Opener) -> None:
        """Cut in the header is a cold start; cut in a record loses that record and all behind the cut, no more."""
        head, record = header_size(sound), 24 + 4 * 40
        for length in range(0, len(sound), 64):
            path = reopen("read").path
            path.write_bytes(sound[:length])
            if length < head:
                assert_starts_cold(reopen, sound[:length])
                continue
            whole = (length - head) // record
            pool = reopen()
            assert replies(pool) == [reply(number) for number in range(whole)], length
            assert pool.learn(PoolUpdate(reply(9)))
            assert len(pool.notices) == (0 if length == head + whole * record else 1)
            again = reopen()
            assert replies(again) == [*(reply(number) for number in range(whole)), reply(9)]
            assert again.notices == []

    def test_bits_flipped_anywhere(self, sound: bytes, reopen: Opener) -> None:
        path = reopen("read").path
        stored = [reply(number) for number in range(5)]
        for at in range(0, len(sound), 13):
            data = bytearray(sound)
            data[at] ^= 1 << at % 8
            path.write_bytes(bytes(data))
            pool = reopen()
            found = replies(pool)
            assert found in ([], stored[:-1]), at  # never a wrong id, and not the rest behind a bad length
            pool.learn(PoolUpdate(reply(9)))
            assert len(pool.notices) == 1, at
            if pool.learns and not found:
                assert aside(pool)[-1].read_bytes() == bytes(data)
        assert len(aside(reopen("read"))) <= files.KEPT_ASIDE

    @pytest.mark.parametrize("bad", [b"PK\x03\x04 a zip", b"\x00" * 400, os.urandom(3000), b"{}", MAGIC, MAGIC[:3]])
    def test_another_kind_of_file(self, sound: bytes, reopen: Opener, bad: bytes) -> None:
        reopen().path.write_bytes(bad)
        assert_starts_cold(reopen, bad)

    def test_ids_out_of_range(self, reopen: Opener, sound: bytes) -> None:
        bad = sound + encode_record(Record(np.array([1, VOCAB], np.uint32), 1))
        reopen().path.write_bytes(bad)
        assert_starts_cold(reopen, bad)

    def test_a_foreign_tokenizer(self, reopen: Opener, sound: bytes) -> None:
        bad = encode_header(Header("e" * 64, VOCAB, "", 0, "")) + encode_record(
            Record(np.arange(9, dtype=np.uint32), 1)
        )
        reopen().path.write_bytes(bad)
        assert_starts_cold(reopen, bad)

    def test_a_folder_in_its_place(self, reopen: Opener, sound: bytes) -> None:
        path = reopen().path
        path.unlink()
        path.mkdir()
        (path / "something").write_text("of the user's")
        pool = reopen()
        assert len(pool.notices) == 1
        assert pool.learn(PoolUpdate(reply(9)))
        assert (aside(pool)[0] / "something").read_text() == "of the user's"
        assert replies(reopen()) == [reply(9)]

    @posix_only
    def test_a_fifo_does_not_block(self, reopen: Opener, sound: bytes) -> None:
        path = reopen().path
        path.unlink()
        os.mkfifo(path)
        pool = reopen()
        assert len(pool.notices) == 1
        assert pool.learn(PoolUpdate(reply(9)))
        assert stat.S_ISFIFO(aside(pool)[0].stat().st_mode)

    @linux_only
    def test_a_socket_or_an_endless_device(self, reopen: Opener, sound: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        path = reopen().path
        path.unlink()
        path.symlink_to("/dev/zero")
        pool = reopen()
        assert len(pool.notices) == 1
        assert pool.learn(PoolUpdate(reply(9)))
        path.unlink()
        with socket.socket(socket.AF_UNIX) as server:
            monkeypatch.chdir(path.parent)  # a socket's name may not be long
            server.bind(path.name)
            pool = reopen()
            assert not pool.learn(PoolUpdate(reply(9)))
            assert len(pool.notices) == 1

    @posix_only
    def test_a_dangling_link_is_left_alone(self, reopen: Opener, sound: bytes, tmp_path: Path) -> None:
        """It may lead to a disk that is not there today."""
        path = reopen().path
        path.unlink()
        path.symlink_to(tmp_path / "unplugged" / "pool.lacli")
        pool = reopen()
        assert not pool.learn(PoolUpdate(reply(9)))
        assert len(pool.notices) == 1
        assert path.is_symlink()
        assert aside(pool) == []

    @posix_only
    def test_a_link_to_a_sound_pool_is_followed(self, reopen: Opener, sound: bytes, tmp_path: Path) -> None:
        path = reopen().path
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
        assert reopen().learn(PoolUpdate(reply(9)))
        assert path.is_symlink()
        assert len(replies(reopen())) == 6

    def test_a_newer_version_is_kept_and_never_rewritten(self, reopen: Opener, sound: bytes) -> None:
        path = reopen().path
        newer = MAGIC + (7).to_bytes(4, "little") + sound[12:]
        path.write_bytes(newer)
        for mode in ("learn", "read"):
            pool = reopen(mode)
            assert replies(pool) == []
            assert not pool.learn(PoolUpdate(reply(9)))
            assert len(pool.notices) == 1
            assert "newer" in pool.notices[0]
        assert path.read_bytes() == newer
        assert aside(pool) == []

    def test_a_file_replaced_by_a_newer_version_while_open(self, reopen: Opener, sound: bytes) -> None:
        pool = reopen()
        newer = MAGIC + (7).to_bytes(4, "little") + sound[12:]
        pool.path.write_bytes(newer)
        assert not pool.learn(PoolUpdate(reply(9)))
        assert not pool.learn(PoolUpdate(reply(8)))
        assert len(pool.notices) == 1
        assert pool.path.read_bytes() == newer

    def test_damage_that_comes_while_it_is_open(self, reopen: Opener, sound: bytes) -> None:
        pool = reopen()
        pool.path.write_bytes(sound + b"garbage that is long enough for a record's head")
        assert pool.learn(PoolUpdate(reply(9)))
        assert len(pool.notices) == 1
        assert replies(reopen()) == [reply(9)]

    def test_reading_leaves_a_damaged_file_where_it_is(self, reopen: Opener, sound: bytes) -> None:
        path = reopen().path
        path.write_bytes(b"garbage")
        pool = reopen("read")
        assert len(pool.notices) == 1
        assert path.read_bytes() == b"garbage"
        assert aside(pool) == []

    def test_only_a_few_bad_files_are_kept(self, reopen: Opener, sound: bytes) -> None:
        for number in range(8):
            path = reopen("read").path
            path.write_bytes(b"garbage %d" % number)
            reopen()
        kept = [each.read_bytes() for each in aside(reopen("read"))]
        assert kept == [b"garbage 5", b"garbage 6", b"garbage 7"]

    def test_a_huge_file_is_not_loaded(self, reopen: Opener, sound: bytes) -> None:
        path = reopen().path
        os.truncate(path, 5 << 30)  # sparse
        start = time.perf_counter()
        pool = reopen()
        assert time.perf_counter() - start < 5
        assert len(pool.notices) == 1
        assert pool.learn(PoolUpdate(reply(9)))
        aside(pool)[0].unlink()


class TestDisk:
    @pytest.mark.parametrize("full_after", [0, 1, 10, 100])
    def test_a_full_disk_leaves_the_file_whole(
        self, reopen: Opener, sound: bytes, monkeypatch: pytest.MonkeyPatch, full_after: int
    ) -> None:
        pool = reopen()
        monkeypatch.setattr("os.write", _filling_disk(full_after))
        assert not pool.learn(PoolUpdate(reply(9)))
        assert not pool.learn(PoolUpdate(reply(8)))
        assert len(pool.notices) == 1
        assert "No space left" in pool.notices[0]
        monkeypatch.undo()
        assert pool.path.read_bytes() == sound
        assert len(replies(pool)) == 5

    def test_a_full_disk_at_the_first_reply(self, reopen: Opener, pools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pool = reopen()
        monkeypatch.setattr("os.write", _filling_disk(7))
        assert not pool.learn(PoolUpdate(reply(9)))
        assert len(pool.notices) == 1
        assert pool.size == 0
        monkeypatch.undo()
        assert [path.name for path in pools.rglob("pool.lacli*")] == ["pool.lacli.lock"]

    def test_a_full_disk_during_compaction_keeps_the_old_file(
        self, reopen: Opener, sound: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool = reopen(caps=Caps(len(sound) + 10))
        monkeypatch.setattr("os.write", _filling_disk(200))
        assert not pool.learn(PoolUpdate(reply(9)))
        monkeypatch.undo()
        assert pool.path.read_bytes() == sound
        assert not list(pool.path.parent.glob("*.tmp"))

    def test_wherever_the_disk_fills_up_every_file_stays_sound(
        self, reopen: Opener, sound: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Log, table and numbers are written one after the other."""
        update = PoolUpdate(reply(9), table=table_rows(9, 10), totals={"replies": 1})
        reopen().learn(PoolUpdate(reply(8), table=table_rows(8), totals={"replies": 1}))
        kept = set()
        for room in range(0, 1_000, 45):
            pool = reopen()
            before = {path: path.read_bytes() for path in pool.path.parent.iterdir()}
            with monkeypatch.context() as patched:
                patched.setattr("os.write", _filling_disk(room))
                stored = pool.learn(update)
            assert len(pool.notices) == (0 if pool.learns else 1)
            again = reopen()
            assert len(replies(again)) == (7 if stored else 6)
            found = entries(again.table())
            kept.add((stored, len(found), again.totals()["replies"]))
            assert again.notices == []
            assert set(again.path.parent.iterdir()) == set(before)
            for path, data in before.items():
                path.write_bytes(data)
        assert kept == {(False, 1, 1), (True, 1, 1), (True, 3, 1), (True, 3, 2)}

    def test_short_writes_are_continued(self, reopen: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        write = os.write
        monkeypatch.setattr("os.write", lambda descriptor, data: write(descriptor, data[:11]))
        assert reopen().learn(PoolUpdate(reply(1)))
        assert reopen().learn(PoolUpdate(reply(2)))
        assert replies(reopen()) == [reply(1), reply(2)]

    def test_an_append_is_brought_to_the_disk(self, reopen: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        synced: list[int] = []
        monkeypatch.setattr("os.fsync", synced.append)
        pool = reopen()
        pool.learn(PoolUpdate(reply(1)))
        synced.clear()
        pool.learn(PoolUpdate(reply(2)))
        assert synced

    @pytest.mark.parametrize("place", ["state", "state/pools"])
    def test_a_file_where_a_folder_should_be(self, reopen: Opener, tmp_path: Path, place: str) -> None:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text("in the way")
        pool = reopen()
        assert not pool.learn(PoolUpdate(reply(1)))
        assert len(pool.notices) == 1

    @linux_only
    @pytest.mark.parametrize("place", ["/proc/nothing/here", "/dev/null/pools", "/sys/x"])
    def test_places_where_nothing_can_be_made(self, key: PoolKey, place: str) -> None:
        pool = open_pool(key, Path(place), "learn", VOCAB)
        assert not pool.learn(PoolUpdate(reply(1)))
        assert not pool.learn(PoolUpdate(reply(1)))
        assert len(pool.notices) == 1


def _filling_disk(room: int) -> Callable[[int, Any], int]:
    """`os.write` on a disk with so many bytes left."""
    write, left = os.write, [room]

    def _write(descriptor: int, data: Any) -> int:
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(descriptor, data[: left[0]])
        left[0] -= written
        return written

    return _write


@posix_only
class TestPermissions:
    """In a child that has given up root, since root may do anything."""

    def test_a_folder_that_may_not_be_written(self, reopen: Opener, sound: bytes, key: PoolKey, pools: Path) -> None:
        pool = reopen()
        _open_up(pools, 0o555, 0o444)
        learned, notices, found = _as_nobody(key, pools)
        assert (learned, found) == (False, 5)
        assert len(notices) == 1
        assert "Permission denied" in notices[0]
        assert pool.path.read_bytes() == sound

    def test_a_file_that_may_not_be_read(self, sound: bytes, key: PoolKey, pools: Path) -> None:
        _open_up(pools, 0o777, 0o000)
        learned, notices, found = _as_nobody(key, pools)
        assert (learned, found) == (False, 0)
        assert len(notices) == 1

    def test_a_damaged_file_that_cannot_be_moved(self, reopen: Opener, sound: bytes, key: PoolKey, pools: Path) -> None:
        reopen().path.write_bytes(b"garbage")
        _open_up(pools, 0o555, 0o444)
        learned, notices, found = _as_nobody(key, pools)
        assert (learned, found) == (False, 0)
        assert len(notices) == 1

    def test_a_home_that_may_not_be_entered(self, sound: bytes, key: PoolKey, pools: Path) -> None:
        _open_up(pools, 0o000, 0o000)
        learned, notices, found = _as_nobody(key, pools)
        assert (learned, found) == (False, 0)
        assert len(notices) == 1


def _open_up(pools: Path, folders: int, regular: int) -> None:
    above = pools.parent
    while os.stat(above).st_uid == os.getuid() and above != above.parent:
        above.chmod(above.stat().st_mode | 0o755)
        above = above.parent
    for path in [*pools.rglob("*"), pools]:
        path.chmod(folders if path.is_dir() else regular)


def _as_nobody(key: PoolKey, pools: Path) -> tuple[bool, list[str], int]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_try_as_nobody, args=(key, pools, sender))
    child.start()
    try:
        assert receiver.poll(20), "the child did not answer"
        outcome: tuple[bool, list[str], int] = receiver.recv()
        return outcome
    finally:
        child.join(20)
        for path in [pools, *pools.rglob("*")]:
            path.chmod(0o700)


def _try_as_nobody(key: PoolKey, pools: Path, sender: Any) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    pool = open_pool(key, pools, "learn", VOCAB)
    learned = pool.learn(PoolUpdate(reply(9))) or pool.learn(PoolUpdate(reply(8)))
    sender.send((learned, pool.notices, len(replies(pool))))


def test_the_header_says_whose_it_is(reopen: Opener) -> None:
    pool = reopen(model="some-model")
    pool.learn(PoolUpdate(reply(1)))
    header, _ = decode_header(pool.path.read_bytes())
    assert header is not None
    assert (header.tokenizer, header.vocab_size, header.model) == (FINGERPRINT, VOCAB, "some-model")
    assert abs(header.created_ms / 1000 - time.time()) < 60
