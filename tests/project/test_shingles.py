"""shingles.py: the file beside the pool tells which files a context quotes, and nothing else to anybody."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from lacli.project import shingles
from lacli.project.shingles import FileEntry, ShingleIndex, decode, encode, load, save, shingles_of

PRINT = "0123456789abcdef" * 4


def ids(seed: int, count: int = 2_000) -> np.ndarray:
    draw = random.Random(seed)
    return np.array([draw.randrange(49_152) for _ in range(count)], dtype=np.uint32)


def filled(files: int = 20) -> ShingleIndex:
    index = ShingleIndex()
    for number in range(files):
        own = shingles_of(ids(number), index.salt)
        index.entries[number + 7] = FileEntry(number << 59 | number, 10 * number, -(1 << 60), len(ids(number)), own)
    index.seal()
    return index


class TestCandidates:
    def test_the_file_a_context_quotes_comes_first(self) -> None:
        index = filled()
        context = np.concatenate([ids(99)[:500], ids(5)[700:800]])
        (key, shared), *others = index.candidates(context)
        assert key == 5 + 7
        assert shared > 10
        assert all(more < 1.5 for _, more in others)

    def test_a_context_that_quotes_nothing_has_none(self) -> None:
        assert filled().candidates(ids(99)) == []
        assert ShingleIndex().candidates(ids(1)) == []
        assert filled().candidates(ids(1)[:3]) == []

    def test_what_every_file_holds_says_nothing(self) -> None:
        index = ShingleIndex()
        licence = ids(50, 200)
        for number in range(40):
            index.entries[number] = FileEntry(
                1, 1, 1, 1, shingles_of(np.concatenate([licence, ids(number)]), index.salt)
            )
        index.seal()
        assert index.candidates(licence) == []
        assert index.candidates(ids(3)[:200])[0][0] == 3


class TestOnDisk:
    def test_a_round_trip_keeps_everything(self, tmp_path: Path) -> None:
        index = filled()
        index.entries[1 << 63] = FileEntry(3, 4, 5, 0, np.empty(0, np.uint32), "secret", True)
        save(index, tmp_path / "deep" / "files.lacli", PRINT)
        found = load(tmp_path / "deep" / "files.lacli", PRINT)
        assert found is not None
        assert found.salt == index.salt
        assert found.entries.keys() == index.entries.keys()
        for key, entry in index.entries.items():
            other = found.entries[key]
            assert np.array_equal(entry.shingles, other.shingles)
            assert (entry.content, entry.size, entry.mtime_ns, entry.tokens, entry.left_out, entry.built) == (
                (other.content, other.size, other.mtime_ns, other.tokens, other.left_out, other.built)
            )
        found.seal()
        assert found.candidates(ids(5)[:100])[0][0] == 5 + 7

    def test_only_the_owner_can_read_it(self, tmp_path: Path) -> None:
        path = tmp_path / "deep" / "files.lacli"
        save(filled(), path, PRINT)
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0
        assert [each.name for each in path.parent.iterdir()] == ["files.lacli"]

    def test_what_a_killed_process_left_is_swept_away(self, tmp_path: Path) -> None:
        old, young = tmp_path / "files.lacli.1.tmp", tmp_path / "files.lacli.2.tmp"
        for left in (old, young):
            left.write_bytes(b"half")
        os.utime(old, (1, 1))
        save(filled(), tmp_path / "files.lacli", PRINT)
        assert sorted(each.name for each in tmp_path.iterdir()) == ["files.lacli", young.name]

    def test_no_damage_is_believed(self) -> None:
        data = encode(filled(5), PRINT)
        assert decode(data, PRINT) is not None
        draw = random.Random(1)
        for _ in range(300):
            broken = bytearray(data)
            broken[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            assert decode(bytes(broken), PRINT) is None
        for cut in range(0, len(data), 61):
            assert decode(data[:cut], PRINT) is None
        assert decode(data + b"\0", PRINT) is None
        assert decode(data, "another tokenizer") is None

    @pytest.mark.parametrize("what", ["nothing", "garbage", "folder"])
    def test_an_index_that_cannot_be_used_is_none(self, tmp_path: Path, what: str) -> None:
        path = tmp_path / "files.lacli"
        if what == "garbage":
            path.write_bytes(b"LACLIFIX" * 100)
        elif what == "folder":
            path.mkdir()
        assert load(path, PRINT) is None

    def test_two_indexes_of_one_text_cannot_be_compared(self) -> None:
        one, two = ShingleIndex(), ShingleIndex()
        assert not set(shingles_of(ids(1), one.salt)) & set(shingles_of(ids(1), two.salt))

    def test_a_text_cannot_be_followed_from_run_to_run(self) -> None:
        """Whoever knows three tokens and the salt finds the fourth only where its run was kept, once in four."""
        index, text = ShingleIndex(), ids(1, 400)
        kept = set(shingles_of(text, index.salt).tolist())
        found = [bool(kept & set(shingles_of(text[at : at + 4], index.salt).tolist())) for at in range(len(text) - 3)]
        assert 0.15 < sum(found) / len(found) < 0.35
        runs = "".join("x" if each else " " for each in found).split()
        assert max(map(len, runs)) < 10

    def test_a_million_tokens_are_small_and_soon_ready(self, tmp_path: Path) -> None:
        index = ShingleIndex()
        for number in range(500):
            own = shingles_of(np.random.default_rng(number).integers(0, 49_152, 2_000), index.salt)
            index.entries[number] = FileEntry(1, 1, 1, 2_000, own)
        assert save(index, tmp_path / "files.lacli", PRINT) < 1.1 * shingles._RECORD.itemsize * 500 + 1_100_000
        found = load(tmp_path / "files.lacli", PRINT)
        assert found is not None
        assert sum(len(entry.shingles) for entry in found.entries.values()) > 240_000
