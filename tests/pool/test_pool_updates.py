"""Credits, totals, calibration, and a disk without locks: what an update leaves beside the reply itself."""

from __future__ import annotations

import errno
import json
import os
import time
from typing import Any

import numpy as np
import pytest

from lacli.pool import evict, log, numbers
from lacli.pool.evict import Caps, StoredItem
from lacli.pool.format import (
    Header,
    Record,
    decode_header,
    decode_records,
    digest,
    encode_header,
    encode_record,
    header_size,
)
from lacli.pool.inventory import project_info
from lacli.pool.store import Pool
from lacli.pool.update import PoolUpdate

from .conftest import FINGERPRINT, VOCAB, Opener, entries, posix_only, table_rows
from .test_pool_store import replies, reply

DAY_MS = 86_400_000
SECRET = 'key = "ghp_' + "a1B2" * 9 + '"'


class Clock:
    """Stands for the time of day, in every module that asks for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ms = 1_800_000_000_000
        for module in ("journal", "store", "inventory", "transfer", "prune"):
            monkeypatch.setattr(f"lacli.pool.{module}.now_ms", lambda: self.ms)

    def wait(self, days: float) -> None:
        self.ms += int(days * DAY_MS)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def value(pool: Pool) -> float:
    return project_info(pool.path.parent.parent).pools[0].value


class TestCredits:
    def test_accepted_tokens_are_remembered_and_fade(self, reopen: Opener, clock: Clock) -> None:
        reopen().learn(PoolUpdate(reply(1)))
        reopen().learn(PoolUpdate(reply(2)))
        reopen().learn(PoolUpdate(reply(3), credits={0: 40, 1: 10}))
        assert value(reopen()) == pytest.approx(50)
        clock.wait(7)
        assert value(reopen()) == pytest.approx(25)
        reopen().learn(PoolUpdate(reply(4), credits={1: 5}))
        assert value(reopen()) == pytest.approx(30)

    def test_places_are_those_at_opening(self, reopen: Opener) -> None:
        pool = reopen()
        for number in range(3):
            pool.learn(PoolUpdate(reply(number)))
        pool = reopen()
        pool.learn(PoolUpdate(reply(0)))  # said again, so that it is the last in the file now
        pool.learn(PoolUpdate(reply(9), credits={0: 7}))
        credited = {tuple(kept.token_ids.tolist()) for kept in reopen()._log.replies.values() if kept.value}
        assert credited == {tuple(reply(0))}

    @pytest.mark.parametrize("credits_", [{5: 10}, {-1: 10}, {0: 0}, {0: -10}])
    def test_credits_for_nothing_are_ignored(self, reopen: Opener, credits_: dict[int, int]) -> None:
        reopen().learn(PoolUpdate(reply(1)))
        pool = reopen()
        size = pool.path.stat().st_size
        pool.learn(PoolUpdate([], credits=credits_))
        assert pool.path.stat().st_size == size
        assert value(pool) == 0

    def test_what_a_log_holds_is_the_same_counted_on_or_anew(self) -> None:
        grown, now = log.Log(), 1_000_000_000
        for number in range(30):
            ids = np.array(reply(number % 20, 20 + number % 20), np.uint32)
            credit = log.credit_record({digest(ids): number % 3}, now + number)
            grown.add([grown.record_of(ids, now + number), *([credit] if credit is not None else [])], limit=VOCAB - 2)
        other = log.Log()
        other.add([Record(np.array(reply(99), np.uint32), now - 5), Record(np.array(reply(3, 23), np.uint32), now)])
        for change in (lambda: None, lambda: grown.join(other, VOCAB, None, now), lambda: grown.shrink(1_500, now)):
            change()
            anew = log.Log()
            anew.add(grown.records(now + 100))
            assert grown.held(1, now + 100) == pytest.approx(anew.held(1, now + 100), rel=1e-2)
            assert list(grown.replies) == list(anew.replies)

    def test_half_a_key_is_dropped_where_the_prompt_holds_one(self, reopen: Opener) -> None:
        half = "it begins with s6OKaHpPCYOX then"
        assert not reopen().learn(PoolUpdate(reply(1), half, SECRET))
        assert reopen().learn(PoolUpdate(reply(2), half, "what does it begin with?"))

    def test_a_reply_with_a_secret_still_credits(self, reopen: Opener) -> None:
        reopen().learn(PoolUpdate(reply(1)))
        assert not reopen().learn(PoolUpdate(reply(2), SECRET, credits={0: 12}))
        assert value(reopen()) == pytest.approx(12, abs=0.1)
        assert replies(reopen()) == [reply(1)]

    def test_what_is_credited_outlives_what_is_only_newer(self, reopen: Opener, clock: Clock) -> None:
        caps = Caps(20_000)
        reopen(caps=caps).learn(PoolUpdate(reply(0)))
        for number in range(1, 200):
            clock.wait(0.1)
            pool = reopen(caps=caps)
            at = replies(pool).index(reply(0))
            pool.learn(PoolUpdate(reply(number), credits={at: 20} if number % 20 == 1 else {}))
        found = replies(reopen())
        assert reply(0) in found
        assert reply(1) not in found
        assert reply(199) in found

    def test_what_was_credited_long_ago_does_not_stay_for_ever(self, reopen: Opener, clock: Clock) -> None:
        caps = Caps(20_000)
        reopen(caps=caps).learn(PoolUpdate(reply(0)))
        pool = reopen(caps=caps)
        pool.learn(PoolUpdate(reply(1), credits={0: 1_000}))
        clock.wait(120)
        for number in range(2, 150):
            clock.wait(0.01)
            pool.learn(PoolUpdate(reply(number)))
        assert reply(0) not in replies(reopen())

    def test_a_file_of_version_1_is_read_and_made_anew(self, reopen: Opener) -> None:
        """An older lacli would set a file with credits in it aside; it leaves a newer version alone."""
        pool = reopen()
        pool.learn(PoolUpdate(reply(5)))
        old = encode_header(Header(FINGERPRINT, VOCAB, "m", 5, "n", version=1))
        pool.path.write_bytes(old + encode_record(Record(np.array(reply(1), np.uint32), 9)))
        pool = reopen()
        assert replies(pool) == [reply(1)]
        assert pool.learn(PoolUpdate(reply(2), credits={0: 3}))
        data = pool.path.read_bytes()
        header, _ = decode_header(data)
        assert header is not None
        assert header.version == 2
        assert decode_records(data, header_size(data))[1] is None
        assert replies(reopen()) == [reply(1), reply(2)]
        assert value(reopen()) == pytest.approx(3, abs=0.1)

    def test_credits_survive_compaction(self, reopen: Opener) -> None:
        for number in range(5):
            reopen().learn(PoolUpdate(reply(number), credits={0: 10} if number else {}))
        before = value(reopen())
        assert reopen().compact() > 0
        assert value(reopen()) == pytest.approx(before, abs=0.5)
        assert reopen().compact() == 0

    def test_damage_anywhere_never_adds_credit_or_a_wrong_reply(self, reopen: Opener) -> None:
        for number in range(6):
            reopen().learn(PoolUpdate(reply(number % 4), credits={0: 10, 1: 5} if number > 1 else {}))
        path = reopen().path
        sound, whole, stored = path.read_bytes(), value(reopen()), replies(reopen())
        bad = [sound[:length] for length in range(0, len(sound), 64)]
        for at in range(0, len(sound), 5):
            flipped = bytearray(sound)
            flipped[at] ^= 1 << at % 8
            bad.append(bytes(flipped))
        for data in bad:
            path.write_bytes(data)
            pool = reopen()
            assert all(each in stored for each in replies(pool))
            assert sum(kept.value for kept in pool._log.replies.values()) <= whole + 0.5
            assert len(pool.notices) <= 1
            if not pool.learns:
                assert "newer" in pool.notices[0]  # the flip was in the version
                continue
            assert pool.learn(PoolUpdate(reply(9), credits={0: 1}))
            assert len(pool.notices) <= 1
            again = reopen()
            assert reply(9) in replies(again)
            assert again.notices == []


class TestChoose:
    def test_worth_is_accepted_tokens_per_byte(self) -> None:
        old = -100 * DAY_MS
        items = [
            StoredItem(100, 50, old),
            StoredItem(1_000, 60, old),
            StoredItem(100, 0, old),
            StoredItem(100, 10, old + 1),
        ]
        assert evict.choose(items, 300, 0) == [0, 2, 3]  # the newest, then by worth, then what fits
        assert evict.choose(items, 200, 0) == [0, 3]
        assert evict.choose(items, 1_300, 0) == [0, 1, 2, 3]

    def test_the_newest_stays_though_it_is_large_and_another_is_worth_more(self) -> None:
        old = -100 * DAY_MS
        assert evict.choose([StoredItem(60, 1_000, old), StoredItem(60, 0, old + 1)], 100, 0) == [1]

    def test_a_new_one_has_a_grace_time_and_no_longer(self) -> None:
        def kept(age_days: int) -> list[int]:
            used = -age_days * DAY_MS
            newest = [StoredItem(100, 0, 0), StoredItem(100, 0, 0)]
            return evict.choose([StoredItem(100, 0, used), StoredItem(100, 1, -90 * DAY_MS), *newest], 300, 0)

        assert 0 in kept(age_days=1)
        assert 0 not in kept(age_days=4)

    @pytest.mark.parametrize("room", [0, -5, 1, 99])
    def test_no_room_keeps_nothing(self, room: int) -> None:
        assert evict.choose([StoredItem(100, 5, 1)], room, 0) == []

    def test_what_stays_fits(self) -> None:
        rng = np.random.default_rng(1)
        items = [
            StoredItem(int(size), float(rng.random() * 50), int(used)) for size, used in rng.integers(1, 500, (200, 2))
        ]
        for room in range(0, 60_000, 5_003):
            assert sum(items[place].byte_size for place in evict.choose(items, room, 10)) <= room


class TestNumbers:
    def test_totals_add_up_and_calibration_is_the_last(self, reopen: Opener) -> None:
        reopen().learn(
            PoolUpdate(reply(1), totals={"replies": 1, "accepted.project": 7}, calibration={"prompt": [1, 2.5]})
        )
        other = reopen()
        reopen().learn(PoolUpdate(reply(2), totals={"replies": 1, "steps": 4}, calibration={"window": [3.0]}))
        other.learn(PoolUpdate(reply(3), totals={"replies": 1}, calibration={"prompt": [9.0]}))
        assert reopen("read").totals() == {"replies": 3, "accepted.project": 7, "steps": 4}
        assert reopen("read").calibration() == {"prompt": [9.0], "window": [3.0]}

    def test_numbers_are_kept_of_a_reply_that_is_not(self, reopen: Opener) -> None:
        assert not reopen().learn(PoolUpdate(reply(1), SECRET, totals={"replies": 1}, calibration={"prompt": [1.0]}))
        pool = reopen()
        assert pool.totals() == {"replies": 1}
        assert pool.calibration() == {"prompt": [1.0]}
        assert not pool.path.exists()

    def test_only_numbers_under_plain_names_get_in(self, reopen: Opener) -> None:
        odd: Any = {
            "replies": 1,
            "a secret name": 2,
            "x" * 65: 1,
            "nan": float("nan"),
            "inf": float("inf"),
            "t": "text",
        }
        odd |= {"flag": True, "huge": 10**400, "none": None}
        numbers_: Any = {
            "prompt": [1.0],
            "a b": [1.0],
            "n": [float("nan")],
            "s": "12",
            "o": ["x"],
            "many": [0.0] * 9_000,
        }
        pool = reopen()
        pool.learn(PoolUpdate(reply(1), totals=odd, calibration=numbers_))
        assert pool.totals() == {"replies": 1}
        assert pool.calibration() == {"prompt": [1.0]}

    def test_the_file_stays_small(self, reopen: Opener) -> None:
        pool = reopen()
        for number in range(20):
            totals = {f"accepted.source-{number}-{each}": 1.0 for each in range(40)}
            pool.learn(PoolUpdate(reply(number), totals=totals, calibration={f"s{number}": [1.23456789] * 1_000}))
        assert pool.path.with_name(numbers.NAME).stat().st_size < 1 << 18
        assert len(pool.totals()) == 256

    @pytest.mark.parametrize(
        "bad",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            b"[" * 60_000,
            b'{"version": 1}',
            b'{"version": "x", "totals": {"a": 1}}',
            b'{"version": 1, "totals": [1], "calibration": 5, "held": "x"}',
            b'{"version": 1, "totals": {"a": 1e999}}',
            b'{"version": 1, "totals": {"a": ' + b"9" * 4_000 + b"}}",
            b"9" * 10_000,
            os.urandom(500),
        ],
    )
    def test_a_damaged_file_costs_the_numbers_only(self, reopen: Opener, bad: bytes) -> None:
        pool = reopen()
        pool.learn(PoolUpdate(reply(1), totals={"replies": 5}))
        pool.path.with_name(numbers.NAME).write_bytes(bad)
        pool = reopen()
        assert pool.totals() == {}
        assert pool.calibration() == {}
        assert pool.learn(PoolUpdate(reply(2), totals={"replies": 1}))
        assert reopen().totals() == {"replies": 1}
        assert pool.notices == []

    def test_a_folder_in_its_place_and_a_newer_version(self, reopen: Opener) -> None:
        pool = reopen()
        pool.learn(PoolUpdate(reply(1)))
        path = pool.path.with_name(numbers.NAME)
        path.unlink()
        path.mkdir()
        assert pool.learn(PoolUpdate(reply(2), totals={"replies": 1}))
        assert pool.totals() == {"replies": 1}
        newer = json.dumps({"version": 2, "totals": {"replies": [1]}}).encode()
        path.write_bytes(newer)
        assert pool.learn(PoolUpdate(reply(3), totals={"replies": 1}))
        assert path.read_bytes() == newer
        assert pool.totals() == {}


@posix_only
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP])
def test_a_disk_without_locks_is_read_only_and_says_so_once(
    reopen: Opener, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    reopen().learn(PoolUpdate(reply(1), table=table_rows(1), totals={"replies": 1}))

    def refused(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", refused)
    pool = reopen()
    before = {path: path.read_bytes() for path in pool.path.parent.iterdir()}
    started = time.monotonic()
    assert not pool.learn(PoolUpdate(reply(2), table=table_rows(2), totals={"replies": 1}))
    assert not pool.learn(PoolUpdate(reply(3)))
    assert time.monotonic() - started < 1
    assert len(pool.notices) == 1
    assert "no locks" in pool.notices[0]
    assert replies(pool) == [reply(1)]
    assert len(entries(pool.table())) == 1
    assert {path: path.read_bytes() for path in pool.path.parent.iterdir()} == before


def test_five_hundred_replies_leave_files_of_the_same_size(reopen: Opener) -> None:
    caps = Caps(64_000)
    pool = reopen(caps=caps)
    sizes = []
    for number in range(500):
        rows = table_rows(*range(20 * number % 30_000, 20 * number % 30_000 + 20))
        pool.learn(PoolUpdate(reply(number, 60), table=rows, credits={0: 1}, totals={"replies": 1}))
        sizes.append(sum(path.stat().st_size for path in pool.path.parent.iterdir()))
    assert max(sizes) <= caps.project_bytes + 4_096  # the numbers
    assert max(sizes[400:]) <= 1.1 * max(sizes[200:300])
    assert pool.totals() == {"replies": 500}
    assert pool.size == sum(map(len, replies(reopen())))
