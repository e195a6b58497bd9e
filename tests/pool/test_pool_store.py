"""store.py: what is learned is there next time, once, within the cap, for its owner only."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacli.pool import guarded, store
from lacli.pool.format import digest
from lacli.pool.store import Caps, Pool, open_pool
from lacli.pool.update import NO_TOKEN, PoolUpdate
from lacli.project.root import PoolKey, pool_key

from .conftest import FINGERPRINT, VOCAB, Opener, entries, posix_only, table_rows


def replies(pool: Pool) -> list[list[int]]:
    return [np.asarray(segment).tolist() for segment in pool.segments()]


def reply(seed: int, length: int = 40, vocab: int = VOCAB) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(vocab) for _ in range(length)]


class TestLearning:
    def test_a_reply_is_there_when_the_pool_is_opened_again(self, reopen: Opener) -> None:
        assert reopen().learn(PoolUpdate(reply(1)))
        pool = reopen()
        assert pool.learn(PoolUpdate(reply(2)))
        again = reopen("read")
        assert replies(again) == [reply(1), reply(2)]
        assert again.size == pool.size == 80
        assert again.notices == []

    def test_ids_above_16_bits_survive(self, reopen: Opener) -> None:
        assert reopen(vocab_size=300_000).learn(PoolUpdate([65_535, 65_536, 299_999]))
        assert replies(reopen(vocab_size=300_000)) == [[65_535, 65_536, 299_999]]

    def test_opening_makes_nothing(self, reopen: Opener, pools: Path) -> None:
        for mode in ("learn", "read"):
            assert reopen(mode).size == 0
        assert not pools.parent.exists()

    def test_reading_never_writes(self, reopen: Opener, pools: Path) -> None:
        reopen().learn(PoolUpdate(reply(1)))
        before = {path: path.stat().st_mtime_ns for path in pools.rglob("*")}
        pool = reopen("read")
        assert not pool.learn(PoolUpdate(reply(2)))
        assert not pool.learns
        assert replies(pool) == [reply(1)]
        assert {path: path.stat().st_mtime_ns for path in pools.rglob("*")} == before

    def test_the_same_reply_again_is_refreshed_and_not_doubled(self, reopen: Opener) -> None:
        pool = reopen()
        pool.learn(PoolUpdate(reply(1, 500)))
        pool.learn(PoolUpdate(reply(2, 500)))
        size = pool.path.stat().st_size
        assert pool.learn(PoolUpdate(reply(1, 500)))
        assert pool.path.stat().st_size - size < 100
        again = reopen()
        assert pool.size == again.size == 1_000
        assert replies(pool) == replies(again) == [reply(2, 500), reply(1, 500)]  # the one said last comes last
        again.learn(PoolUpdate(reply(2, 500)))
        assert replies(again) == [reply(2, 500), reply(1, 500)]  # `PoolUpdate.credits` counts places as at opening

    def test_of_a_very_large_pool_the_replies_worth_most_are_drafted_from(
        self, reopen: Opener, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool = reopen()
        for number in range(10):
            assert pool.learn(PoolUpdate(reply(number)))
        reopen().learn(PoolUpdate([], credits={2: 30}))
        monkeypatch.setattr(store, "MOST_INDEXED", 130)
        again = reopen()
        assert replies(again) == [reply(2), reply(9)]  # the useful one and the newest
        assert again.size == 400
        assert again.learn(PoolUpdate(reply(20), credits={1: 50}))
        assert replies(again) == [reply(2), reply(9), reply(20)]
        assert again.learn(PoolUpdate(reply(5)))  # said again, and still not among those that places were counted in
        assert replies(again) == [reply(2), reply(9), reply(20)]
        monkeypatch.undo()
        everything = reopen()
        assert sorted(replies(everything)) == sorted(reply(number) for number in [*range(10), 20])
        assert everything._log.replies[digest(np.array(reply(9), np.uint32))].value == pytest.approx(50, rel=1e-3)

    @pytest.mark.parametrize("ids", [[], [5], [1, 2, VOCAB], [1, -1, 3], [1, 1 << 40]])
    def test_what_teaches_nothing_or_cannot_be_is_not_stored(self, reopen: Opener, ids: list[int]) -> None:
        pool = reopen()
        assert not pool.learn(PoolUpdate(ids))
        assert pool.notices == []
        assert not pool.path.exists()

    def test_a_reply_with_a_secret_is_dropped_whole(self, reopen: Opener) -> None:
        pool = reopen()
        assert not pool.learn(PoolUpdate(reply(1), 'key = "ghp_' + "a1B2" * 9 + '"'))
        assert pool.learn(PoolUpdate(reply(2), "def f(x):\n    return x + 1\n"))
        assert replies(reopen()) == [reply(2)]

    def test_the_tail_of_a_loop_is_left_out(self, reopen: Opener) -> None:
        pool = reopen()
        assert pool.learn(PoolUpdate([*reply(1), *([7, 8, 9] * 30)]))
        assert replies(reopen()) == [[*reply(1), 7, 8, 9]]

    def test_arrays_and_tuples_are_taken_too(self, reopen: Opener) -> None:
        pool = reopen()
        assert pool.learn(PoolUpdate(tuple(reply(1))))
        assert pool.learn(PoolUpdate(np.array(reply(2))))  # type: ignore[arg-type]
        assert replies(reopen()) == [reply(1), reply(2)]


class TestPlaces:
    @posix_only
    def test_only_the_owner_may_read(self, reopen: Opener, pools: Path) -> None:
        before = os.umask(0)
        try:
            reopen().learn(PoolUpdate(reply(1)))
        finally:
            os.umask(before)
        for path in (pools.parent, *pools.parent.rglob("*")):
            wanted = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == wanted, path

    @posix_only
    def test_what_was_opened_to_others_is_closed_again(self, reopen: Opener) -> None:
        pool = reopen()
        pool.learn(PoolUpdate(reply(1)))
        pool.path.chmod(0o644)
        pool.path.parent.chmod(0o755)
        reopen().learn(PoolUpdate(reply(2)))
        assert stat.S_IMODE(pool.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(pool.path.parent.stat().st_mode) == 0o700

    def test_nothing_is_written_in_the_project(self, reopen: Opener, key: PoolKey) -> None:
        (key.root / "a.py").write_text("x = 1\n")
        for number in range(3):
            reopen().learn(PoolUpdate(reply(number)))
        assert [path.name for path in key.root.iterdir()] == ["a.py"]

    def test_projects_and_tokenizers_do_not_mix(self, tmp_path: Path, pools: Path) -> None:
        keys = [pool_key(tmp_path / name, print_) for name in "ab" for print_ in (FINGERPRINT, "another one")]
        for number, each in enumerate(keys):
            open_pool(each, pools, "learn", VOCAB).learn(PoolUpdate(reply(number)))
        for number, each in enumerate(keys):
            assert replies(open_pool(each, pools, "learn", VOCAB)) == [reply(number)]

    def test_a_model_with_fewer_rows_never_sees_ids_it_lacks(self, reopen: Opener) -> None:
        """Models that share a tokenizer may pad their embeddings differently."""
        big = reopen(vocab_size=VOCAB + 100)
        big.learn(PoolUpdate(reply(1)))
        big.learn(PoolUpdate([VOCAB + 50, 1, 2]))
        small = reopen(vocab_size=VOCAB)
        assert replies(small) == [reply(1)]
        assert small.size == 40
        assert small.learn(PoolUpdate(reply(2)))
        assert small.notices == []
        assert replies(reopen(vocab_size=VOCAB + 100)) == [reply(1), [VOCAB + 50, 1, 2], reply(2)]

    def test_a_model_with_more_rows_widens_what_the_file_allows(self, reopen: Opener) -> None:
        reopen(vocab_size=100).learn(PoolUpdate([1, 2, 3], table=table_rows(5)))
        big = reopen(vocab_size=200)
        assert big.learn(PoolUpdate([1, 2, 150], table=table_rows(150)))
        assert replies(reopen(vocab_size=200)) == [[1, 2, 3], [1, 2, 150]]
        assert set(entries(reopen(vocab_size=200).table())) == {(NO_TOKEN, 5), (NO_TOKEN, 150)}
        small = reopen(vocab_size=100)
        assert small.learn(PoolUpdate([4, 5, 6]))
        assert (replies(small), small.notices) == ([[1, 2, 3], [4, 5, 6]], [])
        assert set(entries(reopen(vocab_size=100).table())) == {(NO_TOKEN, 5)}


class TestCap:
    def test_a_clock_that_was_set_back_keeps_no_reply_out(
        self, reopen: Opener, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        caps, today = Caps(40_000), store.now_ms()
        monkeypatch.setattr(store, "now_ms", lambda: today + 10 * 365 * 86_400_000)
        pool = reopen(caps=caps)
        for number in range(300):
            pool.learn(PoolUpdate(reply(number, 80)))
        monkeypatch.setattr(store, "now_ms", lambda: today)
        pool = reopen(caps=caps)
        for number in range(300, 360):
            assert pool.learn(PoolUpdate(reply(number, 80)))
        assert replies(reopen(caps=caps))[-1] == reply(359, 80)

    def test_the_file_stays_under_the_cap_and_keeps_the_newest(self, reopen: Opener) -> None:
        cap = 20_000
        pool = reopen(caps=Caps(cap))
        for number in range(200):
            assert pool.learn(PoolUpdate(reply(number)))
            assert pool.path.stat().st_size <= cap
        for seen in (pool, reopen(caps=Caps(cap))):
            kept = replies(seen)
            assert kept == [reply(number) for number in range(200 - len(kept), 200)]
            assert len(kept) > 40
            assert seen.size == 40 * len(kept)
        assert not list(pool.path.parent.glob("*.tmp"))

    def test_a_reply_used_again_outlives_newer_ones(self, reopen: Opener) -> None:
        pool = reopen(caps=Caps(10_000))
        for number in range(100):
            pool.learn(PoolUpdate(reply(number)))
            pool.learn(PoolUpdate(reply(0)))
        assert reply(0) in replies(reopen())

    @pytest.mark.parametrize("cap", [0, 1, 300])
    def test_a_cap_too_small_for_anything_is_legal(self, reopen: Opener, cap: int) -> None:
        pool = reopen(caps=Caps(cap))
        assert not pool.learn(PoolUpdate(reply(1, 500)))
        assert pool.size == 0
        assert pool.notices == []

    def test_another_process_that_compacted_is_followed(self, reopen: Opener) -> None:
        mine, other = reopen(caps=Caps(8_000)), reopen(caps=Caps(8_000))
        mine.learn(PoolUpdate(reply(1_000)))
        for number in range(100):
            other.learn(PoolUpdate(reply(number)))
        assert mine.learn(PoolUpdate(reply(2_000)))
        seen = replies(reopen())
        assert seen[-2:] == [reply(99), reply(2_000)]
        assert replies(mine) == seen

    def test_a_pool_cleared_meanwhile_is_not_written_back(self, reopen: Opener) -> None:
        pool = reopen()
        pool.learn(PoolUpdate(reply(1)))
        pool.path.unlink()
        assert pool.learn(PoolUpdate(reply(2)))
        assert replies(reopen()) == [reply(2)]


def test_the_lock_is_waited_for_only_so_long(reopen: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    monkeypatch.setattr(guarded, "LOCK_WAIT_S", 0.1)
    first = reopen()
    first.learn(PoolUpdate(reply(1)))
    pool: Any = reopen()
    with FileLock(f"{pool.path}.lock"):
        assert not pool.learn(PoolUpdate(reply(2)))
        assert not pool.learn(PoolUpdate(reply(3)))
    assert len(pool.notices) == 1
    assert "locked" in pool.notices[0]
    assert replies(pool) == [reply(1)]  # it reads on, and stays read-only
    assert not pool.learn(PoolUpdate(reply(4)))
