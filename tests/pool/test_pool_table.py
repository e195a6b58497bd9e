"""table.py, and its file: what the successor table learned is there next time, whatever happened to the file."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from pathlib import Path

import numpy as np
import pytest

from lacli.pool import table
from lacli.pool.evict import Caps
from lacli.pool.format import MAGIC, Header, Record, encode_header, encode_record, header_size
from lacli.pool.journal import Journal
from lacli.pool.store import Pool
from lacli.pool.update import NO_TOKEN, PoolUpdate, TableRows
from lacli.storage import files

from .conftest import VOCAB, Opener, entries, posix_only, table_rows
from .test_pool_store import replies, reply


def random_rows(seed: int, count: int) -> TableRows:
    rng = np.random.default_rng(seed)
    keys = np.stack([rng.integers(0, VOCAB, count), rng.integers(0, VOCAB, count)], axis=1).astype(np.uint32)
    keys[::3, 0] = NO_TOKEN
    followers = rng.integers(0, VOCAB, (count, 8)).astype(np.uint32)
    followers[::5, 4:] = NO_TOKEN
    return TableRows(keys, followers, rng.integers(0, 256, (count, 8)).astype(np.uint8))


def merged(parts: list[tuple[int, TableRows]]) -> TableRows:
    return table.merged(rows for _, rows in parts)


def table_path(pool: Pool) -> Path:
    return pool.path.with_name("table.lacli")


def aside(pool: Pool) -> list[Path]:
    return sorted(pool.path.parent.glob("table.lacli.*.bad"))


class TestCoding:
    @pytest.mark.parametrize("count", [1, 2, 100, 20_000])
    def test_what_is_encoded_is_decoded(self, count: int) -> None:
        rows = random_rows(1, count)
        records = table.encode(rows, 5)
        assert sum(map(table.entries_in, records)) == count
        parts, damage = table.decode(records, VOCAB)
        assert damage is None
        assert entries(merged(parts)) == entries(table.merged([rows]))

    def test_the_last_of_entries_with_one_key_counts(self) -> None:
        one = table.merged([table_rows(1, (2, 3)), table_rows(1, 4, follower=100), table_rows(4, follower=200)])
        assert {key: followers[0] for key, (followers, _) in entries(one).items()} == {
            (NO_TOKEN, 1): 100,
            (2, 3): 7,
            (NO_TOKEN, 4): 200,
        }

    def test_compaction_keeps_the_newest(self) -> None:
        parts = [(number, table_rows(*range(100 * number, 100 * number + 100))) for number in range(50)]
        records = list(table.compacted(parts, 10_000))
        assert 0 < sum(record.byte_size() for record in records) <= 10_000
        kept = entries(merged(table.decode(records, VOCAB)[0]))
        assert len(kept) > 500
        assert sorted(key[1] for key in kept) == list(range(5_000 - len(kept), 5_000))
        assert len(entries(merged(table.decode(table.compacted(parts, 1 << 30, most=70), VOCAB)[0]))) == 70

    def test_a_table_of_all_it_may_hold_is_small(self) -> None:
        """Random ids are the worst case; a model's are a third smaller."""
        size = sum(record.byte_size() for record in table.encode(random_rows(2, table.MOST_ENTRIES), 1))
        assert size < 36 * table.MOST_ENTRIES

    @pytest.mark.parametrize(
        "words",
        [
            b"",
            (0).to_bytes(4, "little") + zlib.compress(b""),
            (1).to_bytes(4, "little"),
            (1).to_bytes(4, "little") + b"no zlib stream at all",
            (1).to_bytes(4, "little") + zlib.compress(bytes(47)),
            (1).to_bytes(4, "little") + zlib.compress(bytes(49)),
            (1).to_bytes(4, "little") + zlib.compress(bytes(range(48)))[:30],
            (8_193).to_bytes(4, "little") + zlib.compress(bytes(48 * 8_193)),
            (1 << 31).to_bytes(4, "little") + zlib.compress(bytes(1 << 20)),
            (1).to_bytes(4, "little") + zlib.compress(b"\xff" * 48),
        ],
    )
    def test_a_record_that_cannot_be_is_damage(self, words: bytes) -> None:
        words += bytes(-len(words) % 4)
        parts, damage = table.decode([Record(np.frombuffer(words, "<u4"), 1, 4)], VOCAB)
        assert parts == []
        assert damage is not None

    def test_no_more_is_inflated_than_a_table_has(self) -> None:
        record = table.encode(table_rows(*range(8_000)), 1)[0]
        parts, damage = table.decode([record] * 60, VOCAB)
        assert damage is not None
        assert sum(len(part.keys) for _, part in parts) <= 4 * table.MOST_ENTRIES

    def test_what_cannot_be_stored_is_left_out(self) -> None:
        rows = table_rows(1, VOCAB, (VOCAB, 2), NO_TOKEN, 3)
        rows.followers[4, 7] = VOCAB
        assert list(entries(table.sound(rows, VOCAB))) == [(NO_TOKEN, 1)]
        wrong = TableRows(rows.keys, rows.followers[:, :5], rows.weights)
        assert len(table.sound(wrong, VOCAB).keys) == 0
        negative = TableRows(np.array([[-1, 5]]), rows.followers[:1], rows.weights[:1])  # type: ignore[arg-type]
        assert len(table.sound(negative, VOCAB).keys) == 0


class TestFile:
    def test_entries_are_there_when_the_pool_is_opened_again(self, reopen: Opener) -> None:
        assert reopen().table() is None
        reopen().learn(PoolUpdate(reply(1), table=table_rows(1, (2, 3))))
        pool = reopen()
        pool.learn(PoolUpdate(reply(2), table=table_rows(1, 4, follower=100)))
        found = entries(reopen("read").table())
        assert found == entries(pool.table())
        assert {key: followers[0] for key, (followers, _) in found.items()} == {
            (2, 3): 7,
            (NO_TOKEN, 1): 100,
            (NO_TOKEN, 4): 100,
        }

    @posix_only
    def test_only_the_owner_may_read_it(self, reopen: Opener) -> None:
        before = os.umask(0)
        try:
            pool = reopen()
            pool.learn(PoolUpdate(reply(1), table=table_rows(1), totals={"replies": 1}))
        finally:
            os.umask(before)
        for path in pool.path.parent.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path

    def test_a_model_with_fewer_rows_never_sees_ids_it_lacks(self, reopen: Opener) -> None:
        big = reopen(vocab_size=VOCAB + 100)
        big.learn(PoolUpdate(reply(1), table=table_rows(1, VOCAB + 50)))
        small = reopen(vocab_size=VOCAB)
        assert list(entries(small.table())) == [(NO_TOKEN, 1)]
        small.learn(PoolUpdate(reply(2), table=table_rows(2, VOCAB + 60)))
        assert {key[1] for key in entries(reopen(vocab_size=VOCAB + 100).table())} == {1, 2, VOCAB + 50}

    @pytest.mark.parametrize("secret_in", ["text", "prompt_text"])
    def test_a_secret_in_reply_or_prompt_leaves_no_entries(self, reopen: Opener, secret_in: str) -> None:
        pool = reopen()
        secret = "aws_key = 'AKIA" + "QX7ZP2LM9RT4WV8K'"
        stored = pool.learn(PoolUpdate(reply(1), table=table_rows(1), totals={"replies": 1}, **{secret_in: secret}))
        assert stored == (secret_in == "prompt_text")
        assert reopen().table() is None
        assert not table_path(pool).exists()
        assert reopen().totals() == {"replies": 1}

    def test_what_the_project_calls_secret_is_refused_too(self, reopen: Opener) -> None:
        pool = reopen()
        pool.refuse = lambda text, wary=False: "a value of .env" if "hunter2" in text else None
        assert not pool.learn(PoolUpdate(reply(1), "say hunter2", table=table_rows(1)))
        assert pool.learn(PoolUpdate(reply(2), "say it", "what is hunter2?", table=table_rows(2)))
        assert pool.learn(PoolUpdate(reply(3), "x", table=table_rows(3)))
        again = reopen()
        assert replies(again) == [reply(2), reply(3)]
        assert [key[1] for key in entries(again.table())] == [3]

    def test_the_file_stays_small_and_keeps_the_newest(self, reopen: Opener) -> None:
        caps = Caps(40_000)
        pool = reopen(caps=caps)
        for number in range(150):
            pool.learn(PoolUpdate(reply(number), table=table_rows(*range(20 * number, 20 * number + 20))))
            assert table_path(pool).stat().st_size <= caps.table_bytes()
        found = {key[1] for key in entries(reopen(caps=caps).table())}
        assert found == set(range(3_000 - len(found), 3_000))
        assert len(found) > 300

    def test_entries_learned_again_and_again_do_not_pile_up(self, reopen: Opener) -> None:
        pool = reopen()
        for number in range(40):
            pool.learn(PoolUpdate(reply(number), table=table_rows(*range(1_000), follower=number)))
        records = table_path(pool).read_bytes().count(b"\x78\x5e")  # heads of zlib streams
        assert records <= 20
        assert {followers[0] for followers, _ in entries(reopen().table()).values()} == {39}

    def test_a_table_that_cannot_be_read_today_is_not_written_over(
        self, reopen: Opener, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reopen().learn(PoolUpdate(reply(1), table=table_rows(1)))
        pool = reopen()
        before = table_path(pool).read_bytes()
        read_all = Journal.read_all

        def unreadable(journal: Journal, limit: int) -> object:
            if journal.path.name == "table.lacli":
                raise OSError(errno.EIO, "Input/output error")
            return read_all(journal, limit)

        monkeypatch.setattr(Journal, "read_all", unreadable)
        pool.learn(PoolUpdate(reply(2), table=table_rows(*range(30_000))))
        assert len(pool.notices) == 1
        assert "Input/output error" in pool.notices[0]
        assert table_path(pool).read_bytes() == before

    def test_another_process_s_entries_are_kept(self, reopen: Opener) -> None:
        mine, other = reopen(), reopen()
        for number in range(30):
            mine.learn(PoolUpdate(reply(number), table=table_rows(*range(1_000), follower=number)))
            other.learn(PoolUpdate(reply(100 + number), table=table_rows(5_000 + number)))
        found = {key[1] for key in entries(reopen().table())}
        assert found == {*range(1_000), *range(5_000, 5_030)}


class TestDamage:
    @pytest.fixture
    def sound(self, reopen: Opener) -> bytes:
        """The bytes of a table made by three replies; it lies on the disk."""
        pool = reopen()
        for number in range(3):
            pool.learn(PoolUpdate(reply(number), table=table_rows(*range(50 * number, 50 * number + 50))))
        return table_path(pool).read_bytes()

    def test_every_length_in_steps_of_64_bytes(self, sound: bytes, reopen: Opener) -> None:
        path = table_path(reopen("read"))
        for length in range(0, len(sound), 64):
            path.write_bytes(sound[:length])
            pool = reopen()
            found = {key[1] for key in entries(pool.table())}
            assert found in (set(), *(set(range(50 * whole)) for whole in (1, 2, 3))), length
            assert len(pool.notices) == (length < header_size(sound)), length
            assert pool.learn(PoolUpdate(reply(9), table=table_rows(9_000)))
            again = reopen()
            assert {key[1] for key in entries(again.table())} == {*found, 9_000}, length
            assert again.notices == []
            assert len(replies(again)) >= 4

    def test_bits_flipped_anywhere(self, sound: bytes, reopen: Opener) -> None:
        path = table_path(reopen("read"))
        whole = None
        for at in range(0, len(sound), 7):
            path.write_bytes(sound)
            whole = whole or entries(reopen("read").table())
            data = bytearray(sound)
            data[at] ^= 1 << at % 8
            path.write_bytes(bytes(data))
            pool = reopen()
            found = entries(pool.table())
            assert found.items() <= whole.items(), at  # never a wrong entry
            assert len(found) < len(whole)
            assert len(replies(pool)) >= 3  # the log is another file
            pool.learn(PoolUpdate(reply(9), table=table_rows(9_000)))
            assert len(pool.notices) <= 1
        assert 0 < len(aside(reopen("read"))) <= files.KEPT_ASIDE

    @pytest.mark.parametrize("bad", [b"", b"PK\x03\x04 a zip", b"\x00" * 400, os.urandom(3000), MAGIC, MAGIC[:3]])
    def test_another_kind_of_file_is_kept_aside(self, sound: bytes, reopen: Opener, bad: bytes) -> None:
        path = table_path(reopen("read"))
        path.write_bytes(bad)
        pool = reopen()
        assert pool.table() is None
        assert len(pool.notices) == 1
        assert "successor table" in pool.notices[0]
        assert aside(pool)[-1].read_bytes() == bad
        assert pool.learn(PoolUpdate(reply(9), table=table_rows(9)))
        assert list(entries(reopen().table())) == [(NO_TOKEN, 9)]

    def test_ids_out_of_range_and_foreign_records(self, sound: bytes, reopen: Opener) -> None:
        path = table_path(reopen("read"))
        for record in (table.encode(table_rows(VOCAB), 1)[0], Record(np.arange(4, dtype=np.uint32), 1)):
            path.write_bytes(sound + encode_record(record))
            pool = reopen()
            assert pool.table() is None
            assert len(pool.notices) == 1
            assert pool.learn(PoolUpdate(reply(9), table=table_rows(9)))

    def test_a_foreign_tokenizer_and_a_newer_version(self, sound: bytes, reopen: Opener) -> None:
        path = table_path(reopen("read"))
        path.write_bytes(encode_header(Header("e" * 64, VOCAB, "", 0, "")))
        pool = reopen()
        assert pool.table() is None
        assert "another tokenizer" in pool.notices[0]
        newer = MAGIC + (7).to_bytes(4, "little") + sound[12:]
        path.write_bytes(newer)
        pool = reopen()
        assert pool.table() is None
        assert not pool.learn(PoolUpdate(reply(9), table=table_rows(9)))
        assert len(pool.notices) == 1
        assert path.read_bytes() == newer

    def test_damage_that_is_found_while_learning(self, sound: bytes, reopen: Opener) -> None:
        pool = reopen()
        pool.table()
        table_path(pool).write_bytes(sound + b"garbage that is long enough for a record's head")
        assert pool.learn(PoolUpdate(reply(9), table=table_rows(9)))
        assert len(pool.notices) == 1
        assert list(entries(reopen().table())) == [(NO_TOKEN, 9)]

    def test_damage_below_the_checksums_is_found_when_compacting(self, sound: bytes, reopen: Opener) -> None:
        """A record whose ids cannot be has a right CRC; only who inflates it sees."""
        path = table_path(reopen("read"))
        path.write_bytes(sound + encode_record(table.encode(table_rows(VOCAB), 1)[0]))
        pool = reopen()
        for number in range(10, 30):  # until it is compacted
            assert pool.learn(PoolUpdate(reply(number), table=table_rows(*range(1_000))))
        assert len(pool.notices) == 1
        assert {key[1] for key in entries(reopen().table())} >= set(range(1_000))

    def test_reading_leaves_a_damaged_table_where_it_is(self, sound: bytes, reopen: Opener) -> None:
        path = table_path(reopen("read"))
        path.write_bytes(b"garbage")
        pool = reopen("read")
        assert pool.table() is None
        assert len(pool.notices) == 1
        assert path.read_bytes() == b"garbage"

    @posix_only
    def test_a_folder_or_a_fifo_in_its_place(self, sound: bytes, reopen: Opener) -> None:
        path = table_path(reopen("read"))
        for make in (os.mkdir, os.mkfifo):
            path.unlink()
            make(path)
            pool = reopen()
            assert pool.table() is None
            assert len(pool.notices) == 1
            assert pool.learn(PoolUpdate(reply(9), table=table_rows(9)))
            assert list(entries(reopen().table())) == [(NO_TOKEN, 9)]
