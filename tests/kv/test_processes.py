"""Processes that are killed while they store, and several that use one store: what is there is whole and right."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lacli import paths
from lacli.kernels.library import library
from lacli.kv import blocks, store
from lacli.kv.store import Caps, KvStore
from tests.forks import ROOT
from tests.kv.test_replies import LONG
from tests.kv.writing_child import BLOCKS, SEED, SLOW_MS, LargeCache, text
from tests.slow import slow

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
_PLENTY = 10**9
_TEXTS = 60


def writing(folder: Path, cap: int = _PLENTY, texts: int = _TEXTS) -> subprocess.Popen[str]:
    """A process that stores, and has begun to."""
    command = [sys.executable, "-m", "tests.kv.writing_child", str(folder), str(cap), str(texts)]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def check(folder: Path) -> int:
    """Each block that has its name is whole and holds what belongs to that name; returns how many there are."""
    known = {
        name: (number, place) for number in range(_TEXTS) for place, name in enumerate(blocks.names(SEED, text(number)))
    }
    found = sorted(folder.glob("*" + store.SUFFIX))
    for file in found:
        number, place = known[file.name.removesuffix(store.SUFFIX)]
        expected = LargeCache(text(number)).kv_bytes(64 * place, 64)
        payload = blocks.unpacked(file.name.removesuffix(store.SUFFIX), file.read_bytes(), len(expected))
        assert payload == expected
    return len(found)


def restored(folder: Path, number: int) -> int:
    """How many blocks of a text come back; they are right."""
    cache = LargeCache(text(number))
    KvStore(folder, SEED, Caps()).restore(cache, text(number), 0)
    assert all(data == cache.kv_bytes(64 * place, 64) for place, data in enumerate(cache.data))
    return len(cache.data)


@pytest.mark.parametrize("kills", [3, slow(40)])
def test_a_kill_at_any_moment_leaves_whole_blocks_and_nothing_that_stays(tmp_path: Path, kills: int) -> None:
    folder, moments = tmp_path / "kv" / "project", random.Random(kills)
    left = 0
    for _ in range(kills):
        child = writing(folder)
        time.sleep(moments.uniform(0.0, 0.06))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        check(folder)
        left += len(list(folder.glob("*.part")))
        for half in folder.glob("*.part"):
            os.utime(half, (1e9, 1e9))
        for file in moments.sample(sorted(folder.glob("*" + store.SUFFIX)), k=min(30, check(folder))):
            file.unlink()  # so that the next one has something to do early on
    assert kills < 10 or left > 0  # or none was killed in the middle of a block
    child = writing(folder, texts=20)
    assert child.communicate()[0].strip() == ""
    assert list(folder.glob("*.part")) == []
    assert [restored(folder, number) for number in range(20)] == [BLOCKS] * 20


def test_two_that_store_the_same_and_one_that_makes_room_and_one_that_reads(tmp_path: Path) -> None:
    folder = tmp_path / "kv" / "project"
    block = blocks.HEADER_BYTES + 64 * LargeCache.position_bytes
    children = [writing(folder, cap, 40) for cap in (_PLENTY, _PLENTY, 12 * block)]
    rounds = 0
    while any(child.poll() is None for child in children):
        restored(folder, rounds % 40)
        rounds += 1
    assert [child.communicate()[0].strip() for child in children] == ["", "", ""]
    assert rounds > 3
    check(folder)
    kv = KvStore(folder, SEED, Caps())
    kv.keep(LargeCache(text(0)), text(0), SLOW_MS)
    assert kv.notices == []
    assert restored(folder, 0) == BLOCKS


@pytest.mark.slow
@pytest.mark.skipif(library() is None, reason="the store serves our own kernels only")
def test_a_program_killed_as_it_ends_loses_nothing_but_time(sandbox_with_model: Path, tmp_path: Path) -> None:
    """Ten kills of `lacli ask` between its first word and its end, when it stores what it has read."""
    (tmp_path / "list.txt").write_text(LONG)
    command = [
        sys.executable,
        "-m",
        "lacli",
        "ask",
        "-f",
        "list.txt",
        "Which is the third?",
        "-n",
        "6",
        "--threads",
        "1",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def started(number: int) -> subprocess.Popen[bytes]:
        words = [*command[:6], f"Which is number {number}?", *command[7:]]
        return subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    expected = started(0).communicate()
    assert expected[0]
    assert b"error" not in expected[1]
    kept = store.size(store.projects(paths.kv_dir()))
    assert kept.positions >= 256
    (folder,) = store.projects(paths.kv_dir())
    for number in range(10):
        store.clear(folder)
        child = started(number)
        assert child.stdout is not None
        child.stdout.read(1)
        time.sleep(number * 0.02)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        for file in folder.glob("*" + store.SUFFIX):
            name, size = file.name.removesuffix(store.SUFFIX), file.stat().st_size - blocks.HEADER_BYTES
            assert blocks.unpacked(name, file.read_bytes(), size) is not None
        if number % 3 == 0:
            assert started(0).communicate() == expected
    assert store.size(store.projects(paths.kv_dir())).positions >= kept.positions
