"""transfer.py: a pool carried to another computer, and files that only look like one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from lacli.errors import LacliError, UsageError
from lacli.pool import table, transfer
from lacli.pool.format import CREDIT, MAGIC, TOTALS, Header, Record, encode_header, encode_record, header_size
from lacli.pool.inventory import project_info
from lacli.pool.store import Caps, Pool, open_pool
from lacli.pool.update import PoolUpdate
from lacli.project.root import pool_key

from .conftest import FINGERPRINT, VOCAB, Opener, entries, posix_only, table_rows
from .test_pool_store import replies, reply


@pytest.fixture
def exported(reopen: Opener, tmp_path: Path) -> Path:
    """Three replies, one of them credited, two entries, totals."""
    for number in range(3):
        reopen(model="smol").learn(
            PoolUpdate(
                reply(number),
                credits={0: 10} if number else {},
                table=table_rows(number, 50),
                totals={"replies": 1},
                calibration={"prompt": [1.0]},
            )
        )
    transfer.export(reopen("read").path, tmp_path / "out.lacli")
    return tmp_path / "out.lacli"


@pytest.fixture
def elsewhere(tmp_path: Path, pools: Path) -> Pool:
    (tmp_path / "elsewhere").mkdir()
    return open_pool(pool_key(tmp_path / "elsewhere", FINGERPRINT), pools, "learn", VOCAB)


def again(pool: Pool, pools: Path) -> Pool:
    return open_pool(pool.key, pools, "read", VOCAB)


def test_all_that_was_learned_arrives(exported: Path, elsewhere: Pool, reopen: Opener, pools: Path) -> None:
    assert transfer.header_of(exported).tokenizer == FINGERPRINT
    done = transfer.import_(elsewhere, exported, check=lambda ids: True)
    assert (done.replies, done.refused, done.entries) == (3, 0, 4)
    here, there = reopen("read"), again(elsewhere, pools)
    assert replies(there) == replies(here) == [reply(0), reply(1), reply(2)]
    assert entries(there.table()) == entries(here.table())
    assert there.totals() == {"replies": 3}
    assert there.calibration() == {}
    infos = [project_info(pool.path.parent.parent).pools[0] for pool in (here, there)]
    assert infos[0].value == pytest.approx(infos[1].value, abs=0.2)
    assert infos[0].oldest_s == infos[1].oldest_s


def test_the_pool_made_by_an_import_says_whose_it_is(exported: Path, elsewhere: Pool) -> None:
    transfer.import_(elsewhere, exported)
    assert project_info(elsewhere.path.parent.parent).root == elsewhere.key.root


def test_importing_twice_changes_nothing_more(exported: Path, elsewhere: Pool, pools: Path) -> None:
    transfer.import_(elsewhere, exported)
    first = project_info(elsewhere.path.parent.parent).pools[0]
    transfer.import_(elsewhere, exported)
    second = project_info(elsewhere.path.parent.parent).pools[0]
    assert (first.tokens, first.hits, first.table_entries) == (second.tokens, second.hits, second.table_entries)
    assert first.value == pytest.approx(second.value, abs=0.2)
    assert again(elsewhere, pools).totals() == {"replies": 3}


def test_what_is_there_is_newer(exported: Path, elsewhere: Pool, pools: Path) -> None:
    elsewhere.learn(PoolUpdate(reply(9), table=table_rows(50, follower=900), totals={"replies": 1}))
    transfer.import_(elsewhere, exported)
    pool = again(elsewhere, pools)
    assert replies(pool)[-1] == reply(9)
    assert len(replies(pool)) == 4
    assert {key[1]: followers[0] for key, (followers, _) in entries(pool.table()).items()} == {
        0: 7,
        1: 7,
        2: 7,
        50: 900,
    }
    assert pool.totals() == {"replies": 1}


def test_what_the_check_refuses_is_left_out_and_the_table_with_it(exported: Path, elsewhere: Pool, pools: Path) -> None:
    done = transfer.import_(elsewhere, exported, check=lambda ids: list(ids) != reply(1))
    assert (done.refused, done.entries) == (1, 0)
    pool = again(elsewhere, pools)
    assert replies(pool) == [reply(0), reply(2)]
    assert pool.table() is None


def test_another_tokenizer_is_refused(exported: Path, tmp_path: Path, pools: Path) -> None:
    pool = open_pool(pool_key(tmp_path, "e" * 64), pools, "learn", VOCAB)
    with pytest.raises(UsageError, match="another tokenizer"):
        transfer.import_(pool, exported)
    assert not pool.path.exists()


def test_a_pool_that_may_not_be_written_says_so(exported: Path, elsewhere: Pool, pools: Path) -> None:
    with pytest.raises(LacliError):
        transfer.import_(open_pool(elsewhere.key, pools, "read", VOCAB), exported)
    assert not elsewhere.path.exists()


def test_a_model_with_fewer_rows_takes_what_it_knows(tmp_path: Path, pools: Path, exported: Path) -> None:
    pool = open_pool(pool_key(tmp_path, FINGERPRINT), pools, "learn", 40_000)
    done = transfer.import_(pool, exported)
    taken = replies(open_pool(pool.key, pools, "read", 40_000))
    assert taken == [each for each in map(reply, range(3)) if max(each) < 40_000]
    assert (done.replies, done.crowded_out) == (3, 3 - len(taken))


def test_a_file_for_few_ids_does_not_keep_out_what_is_learned_later(tmp_path: Path, pools: Path) -> None:
    file, key = tmp_path / "none.pool", pool_key(tmp_path, FINGERPRINT)
    file.write_bytes(encode_header(Header(FINGERPRINT, 0, "", 0, "")))
    transfer.import_(open_pool(key, pools, "learn", transfer.header_of(file).vocab_size), file)
    assert open_pool(key, pools, "learn", VOCAB).learn(PoolUpdate(reply(1), table=table_rows(5)))
    pool = open_pool(key, pools, "read", VOCAB)
    assert (replies(pool), len(entries(pool.table()))) == ([reply(1)], 1)


def test_what_there_is_no_room_for_is_told(exported: Path, elsewhere: Pool, pools: Path) -> None:
    narrow = open_pool(elsewhere.key, pools, "learn", VOCAB, caps=Caps(700))
    done = transfer.import_(narrow, exported)
    assert (done.replies, done.crowded_out) == (3, 3 - len(replies(again(narrow, pools))))
    assert done.crowded_out


@posix_only
def test_only_the_owner_may_read_the_file(exported: Path) -> None:
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600
    assert [path.name for path in exported.parent.glob("*out.lacli*")] == ["out.lacli"]


def test_a_pool_without_table_or_numbers_is_exported_too(reopen: Opener, tmp_path: Path, elsewhere: Pool) -> None:
    reopen().learn(PoolUpdate(reply(1)))
    path = reopen().path
    path.with_name("numbers.json").unlink()
    transfer.export(path, tmp_path / "out.lacli")
    assert transfer.import_(elsewhere, tmp_path / "out.lacli").replies == 1


@pytest.mark.parametrize("place", ["missing/out.lacli", "."])
def test_a_place_that_cannot_be_written_is_an_error(reopen: Opener, tmp_path: Path, place: str) -> None:
    reopen().learn(PoolUpdate(reply(1)))
    with pytest.raises(LacliError, match="cannot be written"):
        transfer.export(reopen().path, tmp_path / place)


def test_a_missing_or_damaged_pool_is_not_exported(reopen: Opener, tmp_path: Path) -> None:
    with pytest.raises(LacliError):
        transfer.export(reopen().path, tmp_path / "out.lacli")
    reopen().learn(PoolUpdate(reply(1)))
    reopen().path.write_bytes(b"garbage")
    with pytest.raises(LacliError, match="no lacli pool"):
        transfer.export(reopen("read").path, tmp_path / "out.lacli")
    assert not (tmp_path / "out.lacli").exists()


class TestHostileFiles:
    def test_damage_anywhere_is_refused_and_changes_nothing(self, exported: Path, elsewhere: Pool) -> None:
        sound = exported.read_bytes()
        bad = [sound[:length] for length in range(header_size(sound) + 1, len(sound), 64)]
        for at in range(0, len(sound), 31):
            flipped = bytearray(sound)
            flipped[at] ^= 1 << at % 8
            bad.append(bytes(flipped))
        bad += [b"", b"PK\x03\x04 a zip", os.urandom(500), sound + b"more", MAGIC]
        whole = 0
        for data in bad:
            exported.write_bytes(data)
            try:
                transfer.import_(elsewhere, exported)
                whole += 1
            except LacliError:
                assert not elsewhere.path.exists()
        assert whole <= 1  # cut exactly between two records

    @pytest.mark.parametrize(
        "record",
        [
            Record(np.array([1, VOCAB], np.uint32), 1),
            Record(np.array([1, 2], np.uint32), 1, 1),
            Record(np.array([1, 2], np.uint32), 1, CREDIT),
            Record(np.array([1, 2], np.uint32), 1, 64),
            table.encode(table_rows(VOCAB), 1)[0],
        ],
    )
    def test_records_that_cannot_be(self, exported: Path, elsewhere: Pool, record: Record) -> None:
        exported.write_bytes(exported.read_bytes() + encode_record(record))
        with pytest.raises(LacliError):
            transfer.import_(elsewhere, exported)
        assert not elsewhere.path.exists()

    def test_a_table_that_inflates_without_end(self, exported: Path, elsewhere: Pool) -> None:
        bomb = encode_record(table.encode(table_rows(*range(8_000)), 1)[0])
        exported.write_bytes(exported.read_bytes() + bomb * 300)
        with pytest.raises(LacliError):
            transfer.import_(elsewhere, exported)

    def test_times_values_and_totals_out_of_this_world(self, elsewhere: Pool, tmp_path: Path, pools: Path) -> None:
        header = encode_header(Header(FINGERPRINT, VOCAB, "\x1b[31m", 0, ""))
        ids = Record(np.array(reply(1), np.uint32), (1 << 64) - 1)
        credit = Record(np.frombuffer(_digest(ids) + b"\xff\xff\xff\xff", "<u4"), (1 << 64) - 1, CREDIT)
        totals = Record(np.frombuffer(b'{"version": 1, "totals": {"a b": 1, "c": 1e99, "d": 2}} ', "<u4"), 1, TOTALS)
        path = tmp_path / "odd.lacli"
        path.write_bytes(header + b"".join(map(encode_record, (ids, credit, totals))))
        transfer.import_(elsewhere, path)
        pool = again(elsewhere, pools)
        assert replies(pool) == [reply(1)]
        assert pool.totals() == {"d": 2}
        info = project_info(pool.path.parent.parent).pools[0]
        assert 0 < info.value <= 1e6
        assert elsewhere.learn(PoolUpdate(reply(2), credits={0: 1}))


def _digest(record: Record) -> bytes:
    from lacli.pool.format import digest

    return digest(record.words)
