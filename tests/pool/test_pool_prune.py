"""space.py, prune.py, inventory.py: the room of all pools, and what `lacli pool list` knows without reading them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lacli.pool import inventory, space
from lacli.pool.evict import Caps
from lacli.pool.prune import prune, vanished
from lacli.pool.store import Pool, open_pool
from lacli.pool.update import PoolUpdate
from lacli.project.root import PoolKey, pool_key
from lacli.storage.lock import locked

from .conftest import FINGERPRINT, VOCAB, Opener, table_rows
from .test_pool_store import replies, reply


def filled(tmp_path: Path, pools: Path, name: str, count: int = 20, fingerprint: str = FINGERPRINT) -> Pool:
    """A project with a pool of so many replies, some 200 bytes each."""
    (tmp_path / name).mkdir(exist_ok=True)
    pool = open_pool(pool_key(tmp_path / name, fingerprint), pools, "learn", VOCAB, "m")
    for number in range(count):
        pool.learn(PoolUpdate(reply(number), table=table_rows(number), totals={"replies": 1}))
    return pool


def aged(pool: Pool, days: float) -> None:
    then = time.time() - 86_400 * days
    for path in pool.path.parent.iterdir():
        os.utime(path, (then, then))


def aged_index(tmp_path: Path, pools: Path, name: str) -> Pool:
    """A pool of a while ago with two worktrees' indexes of project files."""
    pool = filled(tmp_path, pools, name, 1)
    for beside in ("files.lacli", "0123abcd.files.lacli", "files.lacli.77.tmp"):
        (pool.path.parent / beside).write_bytes(bytes(5_000))
    aged(pool, 10)
    return pool


class TestTotalCap:
    def test_the_pools_unused_for_longest_go_and_never_the_one_in_use(self, tmp_path: Path, pools: Path) -> None:
        for age, name in enumerate(("new", "older", "oldest")):
            aged(filled(tmp_path, pools, name), 10 + age)
        key = pool_key(tmp_path / "oldest", FINGERPRINT)
        pool = open_pool(key, pools, "learn", VOCAB, caps=Caps(total_bytes=15_000))
        assert pool.learn(PoolUpdate(reply(99)))
        left = {folder.parent.name.split("-")[0] for folder in space.pool_folders(pools)}
        assert left == {"oldest", "new"}
        assert len(pool.notices) == 1
        assert len(replies(open_pool(key, pools, "read", VOCAB))) == 21

    def test_a_pool_that_helped_outlives_one_used_later(self, tmp_path: Path, pools: Path) -> None:
        useful = filled(tmp_path, pools, "useful")
        open_pool(useful.key, pools, "learn", VOCAB).learn(PoolUpdate(reply(1), credits={0: 500}))
        aged(useful, 12)
        for name in ("a", "b"):
            aged(filled(tmp_path, pools, name), 10)
        filled(tmp_path, pools, "own", 1)
        pool = open_pool(pool_key(tmp_path / "own", FINGERPRINT), pools, "learn", VOCAB, caps=Caps(total_bytes=17_000))
        pool.learn(PoolUpdate(reply(5)))
        left = {folder.parent.name.split("-")[0] for folder in space.pool_folders(pools)}
        assert {"useful", "own"} <= left
        assert len(left) == 3

    def test_the_pools_of_a_project_s_other_tokenizers_share_its_cap(self, tmp_path: Path, pools: Path) -> None:
        aged(filled(tmp_path, pools, "site", fingerprint="b" * 64), 30)
        filled(tmp_path, pools, "other")
        pool = open_pool(pool_key(tmp_path / "site", FINGERPRINT), pools, "learn", VOCAB, caps=Caps(4_000))
        pool.learn(PoolUpdate(reply(1)))
        left = sorted(folder.parent.name.split("-")[0] for folder in space.pool_folders(pools))
        assert left == ["other", "site"]
        assert len(pool.notices) == 1

    def test_a_pool_that_is_being_written_stays(self, tmp_path: Path, pools: Path) -> None:
        busy = filled(tmp_path, pools, "busy")
        aged(busy, 30)
        (tmp_path / "own").mkdir()
        pool = open_pool(pool_key(tmp_path / "own", FINGERPRINT), pools, "learn", VOCAB, caps=Caps(total_bytes=500))
        with locked(busy.path, 1):
            pool.learn(PoolUpdate(reply(1)))
        assert busy.path.exists()
        assert pool.notices == []

    def test_the_index_of_files_goes_with_its_pool(self, tmp_path: Path, pools: Path) -> None:
        folder = filled(tmp_path, pools, "a").path.parent
        (folder / "wt-files.lacli").write_bytes(bytes(100))
        (folder / "notes.txt").write_text("the user's")
        space.delete(folder, 1)
        assert sorted(path.name for path in folder.iterdir()) == ["notes.txt", "pool.lacli.lock"]

    def test_who_reads_a_pool_that_goes_reads_on(self, tmp_path: Path, pools: Path) -> None:
        reader = filled(tmp_path, pools, "reader")
        space.delete(reader.path.parent, 1)
        assert len(replies(reader)) == 20
        assert reader.learn(PoolUpdate(reply(77)))
        assert replies(open_pool(reader.key, pools, "read", VOCAB)) == [reply(77)]

    def test_an_index_of_files_goes_with_its_pool_and_counts_without_one(self, tmp_path: Path, pools: Path) -> None:
        pool = aged_index(tmp_path, pools, "old")
        space.delete(pool.path.parent, 1)
        assert [path.name for path in pool.path.parent.iterdir()] == ["pool.lacli.lock"]
        alone = aged_index(tmp_path, pools, "alone").path.parent
        for name in ("pool.lacli", "table.lacli", "numbers.json"):
            (alone / name).unlink()
        assert list(space.pool_folders(pools)) == [alone]
        own = filled(tmp_path, pools, "own", 1).path.parent
        assert space.make_room(pools, own, 64_000_000, 10_000, round(1000 * time.time())) == 1
        assert list(space.pool_folders(pools)) == [own]
        assert list(pools.rglob("*files.lacli*")) == []


class TestPrune:
    def test_pools_are_brought_under_a_smaller_cap(self, tmp_path: Path, pools: Path) -> None:
        for name in ("a", "b"):
            filled(tmp_path, pools, name, 60)
        pruned = prune(pools, Caps(project_bytes=8_000))
        assert pruned.compacted == 2
        assert pruned.freed_bytes > 8_000
        assert pruned.notices == ()
        for folder in space.pool_folders(pools):
            assert (folder / "pool.lacli").stat().st_size <= 6_000
        again = open_pool(pool_key(tmp_path / "a", FINGERPRINT), pools, "read", VOCAB)
        assert replies(again)[-1] == reply(59)
        assert again.totals() == {"replies": 60}
        assert again.table() is not None

    def test_a_pool_under_its_cap_loses_nothing(self, tmp_path: Path, pools: Path) -> None:
        pool = filled(tmp_path, pools, "a")
        before = replies(pool)
        assert prune(pools, Caps()).deleted == 0
        again = open_pool(pool.key, pools, "read", VOCAB)
        assert replies(again) == before
        assert len(again.table().keys) == 20  # type: ignore[union-attr]

    def test_a_pool_with_nothing_to_drop_is_left_alone(self, tmp_path: Path, pools: Path) -> None:
        pool = filled(tmp_path, pools, "a")
        prune(pools, Caps())  # the table's twenty blocks become one
        before = {path.name: (path.stat().st_ino, path.read_bytes()) for path in pool.path.parent.iterdir()}
        assert prune(pools, Caps()).compacted == 0
        full = Caps(project_bytes=round(pool.path.stat().st_size / 0.75) + 100)  # all but full, and the table is small
        pruned = prune(pools, full)
        assert (pruned.compacted, pruned.freed_bytes) == (0, 0)
        assert {path.name: (path.stat().st_ino, path.read_bytes()) for path in pool.path.parent.iterdir()} == before

    def test_a_pool_that_is_compacted_stays_as_old_as_it_is(self, tmp_path: Path, pools: Path) -> None:
        aged(filled(tmp_path, pools, "older", 60), 3)
        aged(filled(tmp_path, pools, "old", 60), 2)
        before = inventory.all_projects(pools)
        time.sleep(0.01)
        assert prune(pools, Caps(project_bytes=8_000)).compacted == 2
        after = inventory.all_projects(pools)
        assert [each.root for each in after] == [tmp_path / "old", tmp_path / "older"]
        for was, now in zip(before, after, strict=True):
            assert now.pools[0].created_s == was.pools[0].created_s
            assert now.pools[0].updated_s == pytest.approx(was.pools[0].updated_s, abs=0.001)
            assert 0 < now.pools[0].segments < was.pools[0].segments
            names = ("pool.lacli", "table.lacli", "numbers.json")
            newest = max(was.pools[0].path.with_name(name).stat().st_mtime for name in names)
            assert newest < time.time() - 86_400

    def test_what_was_set_aside_or_left_by_a_killed_process_goes(self, tmp_path: Path, pools: Path) -> None:
        pool = filled(tmp_path, pools, "a")
        for name in ("pool.lacli.1.bad", "table.lacli.2.bad", "pool.lacli.tmp", "numbers.json.tmp"):
            (pool.path.parent / name).write_bytes(bytes(1_000))
        (pool.path.parent / "notes.txt").write_text("the user's")
        assert prune(pools, Caps()).freed_bytes >= 3_000
        assert sorted(path.name for path in pool.path.parent.iterdir()) == [
            "notes.txt",
            "numbers.json",
            "pool.lacli",
            "pool.lacli.lock",
            "table.lacli",
        ]

    def test_pools_of_vanished_projects_go_only_when_asked(self, tmp_path: Path, pools: Path) -> None:
        filled(tmp_path, pools, "gone")
        filled(tmp_path, pools, "here")
        (tmp_path / "gone").rmdir()
        assert prune(pools, Caps()).vanished == ()
        assert len(list(space.pool_folders(pools))) == 2
        assert prune(pools, Caps(), [tmp_path / "here", *vanished(pools)]).vanished == (tmp_path / "gone",)
        assert [folder.parent.name.split("-")[0] for folder in space.pool_folders(pools)] == ["here"]
        assert len(list(pools.iterdir())) == 1

    @pytest.mark.slow
    def test_a_busy_and_a_newer_pool_are_passed_over(self, tmp_path: Path, pools: Path) -> None:
        newer, busy = filled(tmp_path, pools, "newer"), filled(tmp_path, pools, "busy")
        data = newer.path.read_bytes()
        newer.path.write_bytes(data[:8] + (9).to_bytes(4, "little") + data[12:])
        with locked(busy.path, 1):
            pruned = prune(pools, Caps())
        assert pruned.compacted == 0
        assert len(pruned.notices) == 1
        assert newer.path.read_bytes()[12:] == data[12:]

    def test_the_total_cap_holds_for_all(self, tmp_path: Path, pools: Path) -> None:
        for age, name in enumerate("abc"):
            aged(filled(tmp_path, pools, name), 10 + age)
        assert prune(pools, Caps(total_bytes=6_500)).deleted == 2
        assert len(list(space.pool_folders(pools))) == 1

    def test_without_pools_there_is_nothing_to_do(self, pools: Path) -> None:
        assert prune(pools, Caps(), vanished(pools)).freed_bytes == 0
        assert not pools.exists()


class TestInventory:
    def test_a_pool_is_described(self, reopen: Opener, key: PoolKey, pools: Path) -> None:
        reopen(model="smol").learn(PoolUpdate(reply(1), table=table_rows(1, 2), totals={"replies": 1}))
        pool = reopen()
        pool.learn(
            PoolUpdate(reply(2), table=table_rows(2), credits={0: 12}, totals={"replies": 1, "accepted.project": 12})
        )
        for info in (inventory.all_projects(pools)[0].pools[0], inventory.project_info(pools / key.project).pools[0]):
            assert (info.tokenizer, info.vocab_size, info.model) == (FINGERPRINT, VOCAB, "smol")
            assert (info.tokens, info.segments, info.hits) == (80, 2, 1)
            assert info.byte_size == pool.path.stat().st_size
            assert info.value == pytest.approx(12, abs=0.1)
            assert info.totals == {"replies": 2, "accepted.project": 12}
            assert info.table_bytes == pool.path.with_name("table.lacli").stat().st_size
            assert time.time() - 60 < info.oldest_s <= info.newest_s <= time.time() + 1
            assert info.damage == info.table_damage == ""
        assert info.table_entries == 2

    def test_listing_reads_no_log_whose_numbers_fit(
        self, reopen: Opener, pools: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool = reopen()
        pool.learn(PoolUpdate(reply(1)))
        with monkeypatch.context() as patched:
            patched.setattr(inventory, "decode_file", lambda *_: pytest.fail("the log was read"))
            assert inventory.all_projects(pools)[0].pools[0].tokens == 40
        pool.path.with_name("numbers.json").write_text("{")  # lost: the log is read after all
        assert inventory.all_projects(pools)[0].pools[0].tokens == 40

    def test_a_damaged_table_is_named(self, reopen: Opener, key: PoolKey, pools: Path) -> None:
        pool = reopen()
        pool.learn(PoolUpdate(reply(1), table=table_rows(1)))
        path = pool.path.with_name("table.lacli")
        path.write_bytes(path.read_bytes()[:-8] + b"12345678" + bytes(range(100)))
        info = inventory.project_info(pools / key.project).pools[0]
        assert info.damage == ""
        assert "damaged" in info.table_damage

    def test_clearing_takes_table_and_numbers_too(self, reopen: Opener, key: PoolKey, pools: Path) -> None:
        pool = reopen()
        pool.learn(PoolUpdate(reply(1), table=table_rows(1), totals={"replies": 1}))
        inventory.clear(pools / key.project)
        assert [path.name for path in pool.path.parent.iterdir()] == ["pool.lacli.lock"]
        assert reopen().table() is None
        assert pool.learn(PoolUpdate(reply(2), table=table_rows(2), totals={"replies": 1}))
        assert reopen().totals() == {"replies": 1}
        assert [key[1] for key in reopen().table().keys.tolist()] == [2]  # type: ignore[union-attr]
