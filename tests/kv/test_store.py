"""The store of KV blocks: what comes back is what was put in, bit for bit, and what goes wrong costs time only."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

import numpy as np
import pytest

from lacli.kv import blocks, store
from lacli.kv.blocks import POSITIONS
from lacli.kv.store import Caps, KvStore

SLOW_MS = 50.0
SEED = b"a model"


class FakeCache:
    """Sixteen bytes a position, told apart by position and token."""

    position_bytes = 16

    def __init__(self, token_ids: list[int] | None = None) -> None:
        self.data = b"".join(
            np.array([place, token, place * token, 7], dtype="<u4").tobytes()
            for place, token in enumerate(token_ids or [])
        )

    def kv_bytes(self, first: int, count: int) -> bytes:
        return self.data[first * 16 : (first + count) * 16]

    def put_kv_bytes(self, first: int, count: int, data: memoryview) -> None:
        assert len(self.data) == first * 16
        assert len(data) == count * 16
        self.data += bytes(data)


def opened(folder: Path, seed: bytes = SEED, caps: Caps | None = None) -> KvStore:
    return KvStore(folder / "kv" / "project", seed, caps or Caps())


def ids(count: int, start: int = 0) -> list[int]:
    return [(7 * each + start) % 1000 for each in range(count)]


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "kv" / "project").glob("*" + store.SUFFIX))


class TestNames:
    def test_only_whole_blocks_have_one(self) -> None:
        assert [len(blocks.names(SEED, ids(count))) for count in (0, 63, 64, 127, 128)] == [0, 0, 1, 1, 2]

    def test_a_name_says_all_that_stands_before(self) -> None:
        one, other = blocks.names(SEED, ids(192)), blocks.names(SEED, [*ids(64), 5, *ids(127, 3)])
        assert one[0] == other[0]
        assert one[1] != other[1]
        assert one[2] != other[2]

    def test_it_says_what_computes(self) -> None:
        assert blocks.names(SEED, ids(64)) != blocks.names(b"another model", ids(64))


class TestKeepAndRestore:
    def test_what_comes_back_is_what_was_put_in(self, tmp_path: Path) -> None:
        prompt = ids(300)
        whole = FakeCache(prompt)
        assert opened(tmp_path).keep(whole, prompt, SLOW_MS) == 4
        again = FakeCache()
        assert opened(tmp_path).restore(again, prompt, 0) == 256
        assert again.data == whole.data[: 256 * 16]

    def test_it_goes_on_behind_what_the_cache_holds(self, tmp_path: Path) -> None:
        prompt = ids(300)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        again = FakeCache(prompt[:128])
        assert opened(tmp_path).restore(again, prompt, 128) == 256
        assert again.data == FakeCache(prompt).data[: 256 * 16]

    def test_the_last_token_is_always_left_to_be_computed(self, tmp_path: Path) -> None:
        prompt = ids(128)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        assert opened(tmp_path).restore(FakeCache(), prompt, 0) == 64

    def test_another_text_takes_what_is_common(self, tmp_path: Path) -> None:
        prompt = ids(300)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        assert opened(tmp_path).restore(FakeCache(), [*prompt[:100], 1, 2, *prompt[102:]], 0) == 64

    def test_another_model_takes_nothing(self, tmp_path: Path) -> None:
        prompt = ids(300)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        assert opened(tmp_path, b"another model").restore(FakeCache(), prompt, 0) == 0

    def test_what_is_there_is_not_written_again(self, tmp_path: Path) -> None:
        prompt = ids(300)
        assert opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS) == 4
        assert opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS) == 0

    def test_what_is_computed_as_fast_as_read_is_not_kept(self, tmp_path: Path) -> None:
        prompt = ids(300)
        assert opened(tmp_path).keep(FakeCache(prompt), prompt, 0.001) == 0
        assert kept(tmp_path) == []

    @pytest.mark.skipif(os.name != "posix", reason="permissions")
    def test_nobody_else_can_read_it(self, tmp_path: Path) -> None:
        prompt = ids(64 + 1)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        (file,) = kept(tmp_path)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


class TestDamage:
    @pytest.mark.parametrize("at", [0, 5, 9, 20, 30, 200, 1000, -1])
    def test_a_changed_byte_is_found_and_the_block_computed_again(self, tmp_path: Path, at: int) -> None:
        prompt = ids(300)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        second = tmp_path / "kv" / "project" / (blocks.names(SEED, prompt)[1] + store.SUFFIX)
        data = bytearray(second.read_bytes())
        data[at] ^= 0x10
        second.write_bytes(data)
        cache = FakeCache()
        assert opened(tmp_path).restore(cache, prompt, 0) == 64
        assert cache.data == FakeCache(prompt).data[: 64 * 16]
        assert not second.exists()
        assert opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS) == 1

    @pytest.mark.parametrize("size", [0, 1, 23, 24, 25, 500])
    def test_so_is_one_that_was_cut_short(self, tmp_path: Path, size: int) -> None:
        prompt = ids(100)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        (file,) = kept(tmp_path)
        os.truncate(file, size)
        assert opened(tmp_path).restore(FakeCache(), prompt, 0) == 0

    def test_one_that_is_too_long_is_not_read(self, tmp_path: Path) -> None:
        prompt = ids(100)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        (file,) = kept(tmp_path)
        with file.open("ab") as handle:
            handle.write(b"more")
        assert opened(tmp_path).restore(FakeCache(), prompt, 0) == 0

    @pytest.mark.parametrize("what", ["folder", "link", "fifo", "empty"])
    def test_what_lies_in_a_files_place_gives_way(self, tmp_path: Path, what: str) -> None:
        prompt = ids(200)
        path = tmp_path / "kv" / "project" / (blocks.names(SEED, prompt)[0] + store.SUFFIX)
        path.parent.mkdir(parents=True)
        if what == "folder":
            (path / "within").mkdir(parents=True)
        elif what == "link":
            path.symlink_to(path)
        elif what == "fifo":
            os.mkfifo(path)
        else:
            path.touch()
        assert opened(tmp_path).restore(FakeCache(), prompt, 0) == 0
        assert opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS) == 3
        assert opened(tmp_path).restore(FakeCache(), prompt, 0) == 192

    def test_a_block_under_another_s_name_is_none(self, tmp_path: Path) -> None:
        prompt = ids(200)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        folder = tmp_path / "kv" / "project"
        first, second, _ = (folder / (name + store.SUFFIX) for name in blocks.names(SEED, prompt))
        first.write_bytes(second.read_bytes())
        assert opened(tmp_path).restore(FakeCache(), prompt, 0) == 0

    def test_a_full_disk_is_said_once_and_leaves_nothing_half(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(descriptor: int, data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        prompt = ids(300)
        kv = opened(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            assert kv.keep(FakeCache(prompt), prompt, SLOW_MS) == 0
        assert kv.notices == ["what was read is not kept in this session: No space left on device"]
        assert kv.keep(FakeCache(prompt), prompt, SLOW_MS) == 0
        assert list((tmp_path / "kv" / "project").iterdir()) == []


class TestRoom:
    def test_what_saves_least_goes_until_the_project_is_under_its_cap(self, tmp_path: Path) -> None:
        block = blocks.HEADER_BYTES + POSITIONS * 16
        first, second = ids(200), ids(200, 3)
        opened(tmp_path).keep(FakeCache(first), first, SLOW_MS)
        for file in kept(tmp_path):
            os.utime(file, (1, 1))
        kv = opened(tmp_path, caps=Caps(4 * block, 100 * block))
        kv.keep(FakeCache(second), second, SLOW_MS)
        assert len(kept(tmp_path)) == 4
        assert kv.restore(FakeCache(), second, 0) == 192
        assert kv.restore(FakeCache(), first, 0) == 64  # of the old ones the first block, which all others need

    def test_what_was_of_use_longest_ago_goes_first_whatever_it_took_then(self, tmp_path: Path) -> None:
        block = blocks.HEADER_BYTES + POSITIONS * 16
        first, second, third = ids(200), ids(200, 3), ids(200, 5)
        opened(tmp_path).keep(FakeCache(first), first, 3 * SLOW_MS)  # beside other programs
        opened(tmp_path).keep(FakeCache(second), second, SLOW_MS)
        for prompt, ago in ((first, 7200), (second, 3600)):
            for name in blocks.names(SEED, prompt):
                when = time.time() - ago
                os.utime(tmp_path / "kv" / "project" / (name + store.SUFFIX), (when, when))
        kv = opened(tmp_path, caps=Caps(6 * block, 100 * block))
        kv.keep(FakeCache(third), third, SLOW_MS)
        assert [kv.restore(FakeCache(), prompt, 0) for prompt in (first, second, third)] == [0, 192, 192]

    def test_what_takes_longer_for_its_size_lasts_longer(self, tmp_path: Path) -> None:
        small, large = tmp_path / "kv" / "project" / "a.kv", tmp_path / "kv" / "project" / "b.kv"
        small.parent.mkdir(parents=True)
        small.write_bytes(blocks.packed("a", bytes(1000), 0, 5.0))
        large.write_bytes(blocks.packed("b", bytes(2000), 0, 100.0))
        for path, ago in ((small, 600), (large, 2400)):
            os.utime(path, (time.time() - ago,) * 2)
        store.shrink([small.parent], 2500)
        assert [small.exists(), large.exists()] == [False, True]

    def test_what_a_process_has_in_memory_all_day_is_of_use_all_day(self, tmp_path: Path) -> None:
        prompt = ids(300)
        kv = opened(tmp_path)
        kv.keep(FakeCache(prompt[:200]), prompt[:200], SLOW_MS)
        for file in kept(tmp_path):
            os.utime(file, (1, 1))
        kv.keep(FakeCache(prompt), prompt, SLOW_MS)
        times = [
            (tmp_path / "kv" / "project" / (name + store.SUFFIX)).stat().st_mtime_ns
            for name in blocks.names(SEED, prompt)
        ]
        assert times == sorted(times, reverse=True)  # the first one, without which the others are nothing, last
        assert times[-1] > 1e18

    def test_all_projects_together_have_a_cap(self, tmp_path: Path) -> None:
        block = blocks.HEADER_BYTES + POSITIONS * 16
        prompt = ids(200)
        other = KvStore(tmp_path / "kv" / "other", SEED, Caps())
        other.keep(FakeCache(prompt), prompt, SLOW_MS)
        for file in (tmp_path / "kv" / "other").glob("*" + store.SUFFIX):
            os.utime(file, (1, 1))
        opened(tmp_path, caps=Caps(100 * block, 4 * block)).keep(FakeCache(prompt), prompt, SLOW_MS)
        assert store.size(store.projects(tmp_path / "kv")).count == 4
        assert store.size([tmp_path / "kv" / "project"]).count == 3

    def test_a_clock_that_was_wrong_makes_nothing_last_for_ever(self, tmp_path: Path) -> None:
        prompt = ids(100)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        (file,) = kept(tmp_path)
        os.utime(file, (4e9, 4e9))
        other = ids(100, 3)
        opened(tmp_path, caps=Caps(file.stat().st_size, 10**9)).keep(FakeCache(other), other, SLOW_MS)
        assert not file.exists()
        assert len(kept(tmp_path)) == 1

    def test_clearing_leaves_nothing_and_shrinking_waits_for_nobody(self, tmp_path: Path) -> None:
        prompt = ids(300)
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        folder = tmp_path / "kv" / "project"
        (folder / ("a" * 40 + store.SUFFIX)).mkdir()
        os.mkfifo(folder / ("b" * 40 + store.SUFFIX))
        assert store.shrink([folder], 10**6) == 0
        assert store.shrink([folder], 3 * (blocks.HEADER_BYTES + POSITIONS * 16)) > 0
        opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
        (folder / ("a" * 40 + store.SUFFIX)).mkdir(exist_ok=True)
        assert store.clear(tmp_path / "kv" / "project").count >= 4
        assert not (tmp_path / "kv" / "project").exists()
