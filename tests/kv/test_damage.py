"""A store that is damaged, or whose disk is in trouble: the text is the one without it, and nobody waits for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lacli import paths
from lacli.events import Event, Notice
from lacli.kernels.library import library
from lacli.kv import blocks
from lacli.kv.store import Caps, KvStore, shrink_all
from tests.assistants import Make, ask, checked, loaded, make
from tests.kv.damage import DAMAGES, Store
from tests.kv.test_replies import LONG
from tests.kv.test_store import SEED, SLOW_MS, FakeCache, ids, kept, opened

__all__ = ["loaded", "make"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and sockets in a file's place")
_WAIT_S = 60


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    """A test that hangs fails."""

    def fail(*arguments: object) -> None:
        raise AssertionError(f"this took {_WAIT_S} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(_WAIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_restored_is_right_and_what_is_not_is_stored_again(tmp_path: Path, name: str) -> None:
    prompt = ids(300)
    opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
    with pytest.MonkeyPatch.context() as patch:
        DAMAGES[name](Store(tmp_path / "kv" / "project", patch))
        for _ in range(2):
            cache, kv = FakeCache(), opened(tmp_path)
            held = kv.restore(cache, prompt, 0)
            assert cache.data == FakeCache(prompt).data[: held * 16]
            kv.keep(FakeCache(prompt), prompt, SLOW_MS)
            assert len(kv.notices) <= 1
    if name.startswith("store is") and name != "store is gone":
        return  # what stands in a folder's place is not ours to delete
    kv = opened(tmp_path)
    kv.restore(FakeCache(), prompt, 0)
    kv.keep(FakeCache(prompt), prompt, SLOW_MS)
    again = FakeCache()
    if name == "left as a folder":
        assert opened(tmp_path).restore(again, prompt, 0) == 64
    else:
        assert opened(tmp_path).restore(again, prompt, 0) == 256
        assert again.data == FakeCache(prompt).data[: 256 * 16]


@pytest.mark.model
@pytest.mark.skipif(library() is None, reason="the store serves our own kernels only")
@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.default_cases(2)
def test_the_text_is_the_same_and_one_line_says_so_at_most(make: Make, name: str) -> None:
    asked = ask(LONG + "\nWhich is the third?", max_tokens=8)
    expected = _answered(make(keep_prompts=True), asked)[0]
    (folder,) = paths.kv_dir().iterdir()
    with pytest.MonkeyPatch.context() as patch:
        DAMAGES[name](Store(folder, patch))
        for _ in range(2):
            found, said = _answered(make(keep_prompts=True), asked)
            assert found == expected
            assert len(said) <= 1, said
    assert _answered(make(keep_prompts=True), asked)[0] == expected


def _answered(assistant: Any, asked: Any) -> tuple[tuple[int, ...], list[str]]:
    """The ids of a reply and what was said of the store."""
    events: list[Event] = list(assistant.reply(asked))
    said = [event.text for event in events if isinstance(event, Notice) and "what was read is not kept" in event.text]
    return checked(events).token_ids, said


@pytest.mark.parametrize("caps", [Caps(1, 1), Caps(1, 10**9), Caps(10**9, 1)], ids=str)
def test_a_cap_of_nothing_keeps_nothing_and_fails_nowhere(tmp_path: Path, caps: Caps) -> None:
    prompt = ids(300)
    kv = opened(tmp_path, caps=caps)
    kv.keep(FakeCache(prompt), prompt, SLOW_MS)
    assert kv.notices == []
    assert kept(tmp_path) == []
    assert kv.restore(FakeCache(), prompt, 0) == 0


@pytest.mark.parametrize("prunes", [False, True], ids=["when something is stored", "when pruned"])
def test_what_a_killed_process_left_goes_once_it_is_old(tmp_path: Path, prunes: bool) -> None:
    prompt = ids(300)
    opened(tmp_path).keep(FakeCache(prompt), prompt, SLOW_MS)
    (tmp_path / "kv" / "other").mkdir()
    old, future, new = (
        tmp_path / "kv" / folder / f".{number}-{'a' * 40}.kv.part"
        for number, folder in enumerate(["project", "other", "project"], start=1)
    )
    for path, when in ((old, 1e9), (future, 9e9), (new, None)):
        path.write_bytes(b"half")
        if when is not None:
            os.utime(path, (when, when))
    if prunes:
        assert shrink_all(tmp_path / "kv", Caps()) == 2 * len(b"half")
    else:
        more = ids(300, 3)
        opened(tmp_path).keep(FakeCache(more), more, SLOW_MS)
    assert [path.exists() for path in (old, future, new)] == [False, False, True]  # the new one may still be written


def test_a_store_of_other_arithmetic_in_the_same_folder_is_left_alone(tmp_path: Path) -> None:
    prompt = ids(300)
    seeds = [SEED, SEED + b" of another version", SEED + b", int8"]
    for number, seed in enumerate(seeds):
        other = [(token + number) % 1000 for token in prompt]
        assert opened(tmp_path, seed).keep(FakeCache(other), prompt, SLOW_MS) == 4  # the same ids give other bytes
    for number, seed in enumerate(seeds):
        cache = FakeCache()
        assert opened(tmp_path, seed).restore(cache, prompt, 0) == 256
        other = [(token + number) % 1000 for token in prompt]
        assert cache.data == FakeCache(other).data[: 256 * 16]


def test_a_part_that_there_is_no_memory_for_leaves_a_whole_state(make: Make) -> None:
    assistant = make(keep_prompts=True)
    asked = ask(LONG + "\nWhich is the third?", max_tokens=8)
    expected = _answered(assistant, asked)[0]
    fresh = make(keep_prompts=True)
    assert fresh.loaded is not None
    runner = fresh.loaded.cached.runner
    put, count = runner.put_kv_bytes, 0  # type: ignore[attr-defined]

    def scarce(first: int, size: int, data: memoryview) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise MemoryError
        put(first, size, data)

    runner.put_kv_bytes = scarce  # type: ignore[attr-defined]
    with pytest.raises(MemoryError):
        list(fresh.reply(asked))
    assert fresh.loaded.cached.length == runner.length == 128
    assert _answered(fresh, asked)[0] == expected


def test_names_tell_blocks_apart_that_begin_alike(tmp_path: Path) -> None:
    one, other = ids(128), [*ids(64), *ids(64, 1)]
    assert blocks.names(SEED, one)[1] != blocks.names(SEED, other)[1]
    kv = KvStore(tmp_path / "kv" / "project", SEED, Caps())
    kv.keep(FakeCache(one), one, SLOW_MS)
    assert kv.restore(FakeCache(), [*other, 5], 0) == 64
