"""Several processes at one pool, and processes that are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lacli.pool.store import Caps
from lacli.pool.update import PoolUpdate
from lacli.project.root import PoolKey

from .conftest import FINGERPRINT, VOCAB, Opener, entries, posix_only, table_rows
from .test_pool_store import replies, reply

_APPENDER = """
import random, sys
from pathlib import Path
import numpy as np
from lacli.project.root import pool_key
from lacli.pool.update import PoolUpdate, TableRows
from lacli.pool.store import Caps, open_pool
project, pools, fingerprint, vocab, first, count, cap = sys.argv[1:]
key = pool_key(Path(project), fingerprint)
pool = open_pool(key, Path(pools), "learn", int(vocab), caps=Caps(int(cap)))
for number in range(int(first), int(first) + int(count)):
    rng = random.Random(number)
    rows = TableRows(
        np.array([[number, token] for token in range(5)], np.uint32),
        np.full((5, 8), number % 1_000, np.uint32),
        np.zeros((5, 8), np.uint8),
    )
    ids = [rng.randrange(int(vocab)) for _ in range(40)]
    update = PoolUpdate(ids, table=rows, totals={"replies": 1}, calibration={"prompt": [float(number)]})
    assert pool.learn(update), pool.notices
    print(number, flush=True)
"""


def _appender(key: PoolKey, pools: Path, first: int, count: int, cap: int = 1 << 20) -> subprocess.Popen[str]:
    arguments = [str(key.root), str(pools), FINGERPRINT, str(VOCAB), str(first), str(count), str(cap)]
    return subprocess.Popen([sys.executable, "-c", _APPENDER, *arguments], stdout=subprocess.PIPE, text=True)


def test_what_two_processes_append_survives(key: PoolKey, pools: Path, reopen: Opener) -> None:
    both = [_appender(key, pools, first, 50) for first in (0, 1_000)]
    for each in both:
        each.communicate(timeout=60)
        assert each.returncode == 0
    pool = reopen("read")
    found = replies(pool)
    assert pool.notices == []
    for first in (0, 1_000):  # each in its own order, interleaved as it came
        mine = [reply(number) for number in range(first, first + 50)]
        assert [each for each in found if each in mine] == mine
    assert len(found) == 100
    assert pool.totals() == {"replies": 100}
    numbers = [*range(50), *range(1_000, 1_050)]
    table = entries(pool.table())
    assert set(table) == {(number, token) for number in numbers for token in range(5)}
    assert all(followers == [number % 1_000] * 8 for (number, _), (followers, _) in table.items())
    assert pool.calibration() in ({"prompt": [49.0]}, {"prompt": [1_049.0]})


def test_two_processes_that_compact_all_the_time_leave_a_sound_pool(key: PoolKey, pools: Path, reopen: Opener) -> None:
    cap = 3_000
    both = [_appender(key, pools, first, 40, cap) for first in (0, 1_000)]
    for each in both:
        each.communicate(timeout=60)
        assert each.returncode == 0
    pool = reopen("read")
    known = [reply(number) for first in (0, 1_000) for number in range(first, first + 40)]
    assert replies(pool)
    assert all(each in known for each in replies(pool))
    assert pool.totals() == {"replies": 80}
    pool.table()
    assert pool.notices == []
    assert pool.path.stat().st_size <= cap


@posix_only
@pytest.mark.parametrize("cap", [1 << 20, 3_000])
@pytest.mark.default_cases(1)
def test_kill_9_in_the_middle_of_appends_loses_at_most_the_last(
    key: PoolKey, pools: Path, reopen: Opener, cap: int
) -> None:
    first = 0
    for round_ in range(4):
        process = _appender(key, pools, first, 10_000, cap)
        assert process.stdout is not None
        said = [int(process.stdout.readline())]
        deadline = time.monotonic() + 0.05 + 0.03 * round_
        while time.monotonic() < deadline:
            said.append(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=20)
        said += [int(line) for line in rest.split()]
        pool = reopen(caps=Caps(cap))
        found = replies(pool)
        table = entries(pool.table())
        last = [(said[-1], token) for token in range(5)]
        assert cap < 100_000 or set(last) <= set(table)
        assert pool.totals()["replies"] >= len(said)
        # The dead process's lock holds nobody up.
        assert pool.learn(PoolUpdate(reply(1_000_000 + round_), table=table_rows(round_), totals={"replies": 1}))
        assert len(pool.notices) <= 1  # of a torn record
        written = [reply(number) for number in said]
        missing = [each for each in written if each not in found]
        if cap > 100_000:
            assert missing == []
        else:
            assert written[-1] in found
        first = said[-1] + 2
    pool = reopen("read")
    assert pool.table() is not None
    assert pool.notices == []
