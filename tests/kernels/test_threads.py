"""Pools of threads: several at once, many one after another, and a forked child, each gives the right numbers and ends.

What only a wait for ever would show runs in a process of its own, with a limit that is far off.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from lacli.kernels.library import library, why_not

LIMIT = 60
"""Seconds; each program takes a few hundred milliseconds."""

PREPARED = """
import os, sys, threading, time
import numpy as np
from lacli.kernels import library as opened
from lacli.kernels.structs import Matrix

random = np.random.default_rng(0)
matrix = Matrix("f32", random.standard_normal((200, 96), dtype=np.float32), 200, 96)
x = random.standard_normal((5, 96), dtype=np.float32)

def pool(threads):
    made = opened.Library(opened._PATH)
    made.set_threads(threads)
    return made

expected = pool(1).matmul(matrix, x).tobytes()
"""


def run(program: str) -> str:
    if library() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why_not())
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PREPARED + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pools_used_at_once_do_not_meet() -> None:
    out = run("""
        wrong = []
        def work(threads):
            mine = pool(threads)
            for _ in range(300):
                if mine.matmul(matrix, x).tobytes() != expected:
                    wrong.append(threads)
            mine.close()
        workers = [threading.Thread(target=work, args=(threads,)) for threads in (2, 3, 4)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        print(wrong)
    """)
    assert out.strip() == "[]"


def test_callers_of_one_pool_take_turns() -> None:
    out = run("""
        wrong, shared = [], pool(3)
        def work():
            for _ in range(200):
                if shared.matmul(matrix, x).tobytes() != expected:
                    wrong.append(1)
        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        print(wrong)
    """)
    assert out.strip() == "[]"


def test_pools_come_and_go_without_leaving_threads() -> None:
    out = run("""
        def count():
            tasks = "/proc/self/task"
            return len(os.listdir(tasks)) if os.path.exists(tasks) else 1
        before = count()  # numpy's own threads among them
        mine, wrong, most = pool(1), 0, 0
        for turn in range(300):
            mine.set_threads(1 + turn % 5)
            wrong += mine.matmul(matrix, x).tobytes() != expected
            most = max(most, count())
        mine.close()
        deadline = time.monotonic() + 10  # Linux lists a thread a little longer than it takes to join it
        while count() > before and time.monotonic() < deadline:
            time.sleep(0.01)
        print(wrong, count() - before, most > before or not os.path.exists("/proc/self/task"))
    """)
    assert out.split() == ["0", "0", "True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    out = run("""
        mine = pool(3)
        mine.matmul(matrix, x)
        child = os.fork()
        right = mine.matmul(matrix, x).tobytes() == expected
        if child == 0:
            mine.set_threads(2)  # frees the child's own pool
            right = right and mine.matmul(matrix, x).tobytes() == expected
            mine.close()
            os._exit(0 if right else 1)
        print(right, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert out.split() == ["True", "0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_amid_a_call_of_another_thread_works() -> None:
    """The lock of the one pool is held by a thread that the child does not have."""
    out = run("""
        mine, stop, codes = pool(2), [], []
        def work():
            while not stop:
                mine.matmul(matrix, x)
        worker = threading.Thread(target=work)
        worker.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if mine.matmul(matrix, x).tobytes() == expected else 1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        stop.append(1)
        worker.join()
        print(codes == [0] * 20)
    """)
    assert out.strip() == "True"
