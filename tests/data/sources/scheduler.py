"""Runs jobs on worker threads by priority and due time, with retries that back off."""

import heapq
import itertools
import logging
import random
import threading
import time

logger = logging.getLogger(__name__)


class Job:
    """A callable with its arguments and what is known of its runs."""

    def __init__(self, function, args=(), kwargs=None, priority=0, retries=0, name=None):
        self.function = function
        self.args = args
        self.kwargs = kwargs or {}
        self.priority = priority
        self.retries = retries
        self.name = name or getattr(function, "__name__", "job")
        self.attempts = 0
        self.result = None
        self.error = None
        self.done = threading.Event()
        self.cancelled = False

    def run(self):
        self.attempts += 1
        self.result = self.function(*self.args, **self.kwargs)
        return self.result

    def cancel(self):
        if self.done.is_set():
            return False
        self.cancelled = True
        return True

    def wait(self, timeout=None):
        if not self.done.wait(timeout):
            raise TimeoutError(f"{self.name} did not finish in {timeout} s")
        if self.error is not None:
            raise self.error
        return self.result

    def __repr__(self):
        state = "cancelled" if self.cancelled else "done" if self.done.is_set() else "waiting"
        return f"<Job {self.name} {state} after {self.attempts} attempts>"


class Backoff:
    """Delays that double up to a bound, with some chance in them so that jobs do not meet again."""

    def __init__(self, first=0.1, factor=2.0, most=30.0, jitter=0.1, rng=None):
        self.first = first
        self.factor = factor
        self.most = most
        self.jitter = jitter
        self.rng = rng or random.Random()

    def delay(self, attempt):
        base = min(self.most, self.first * self.factor ** (attempt - 1))
        spread = base * self.jitter
        return base + self.rng.uniform(-spread, spread)


class Scheduler:
    def __init__(self, workers=2, backoff=None, clock=time.monotonic):
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._queue = []
        self._counter = itertools.count()
        self._lock = threading.Condition()
        self._stopping = False
        self._running = 0
        self._threads = [
            threading.Thread(target=self._work, name=f"worker-{index}", daemon=True) for index in range(workers)
        ]

    def start(self):
        for thread in self._threads:
            thread.start()
        return self

    def submit(self, function, *args, delay=0.0, priority=0, retries=0, **kwargs):
        job = Job(function, args, kwargs, priority, retries)
        self._put(job, self._clock() + delay)
        return job

    def every(self, seconds, function, *args):
        """Run the function again and again until the scheduler stops."""

        def again():
            function(*args)
            if not self._stopping:
                self.submit(again, delay=seconds)

        return self.submit(again, delay=seconds)

    def stop(self, wait=True):
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        if wait:
            for thread in self._threads:
                thread.join()

    def pending(self):
        with self._lock:
            return len(self._queue) + self._running

    def drain(self, timeout=None):
        """Wait until nothing is left to do; False if that took too long."""
        deadline = None if timeout is None else self._clock() + timeout
        with self._lock:
            while self._queue or self._running:
                left = None if deadline is None else deadline - self._clock()
                if left is not None and left <= 0:
                    return False
                self._lock.wait(left)
            return True

    def _put(self, job, due):
        with self._lock:
            if self._stopping:
                raise RuntimeError("the scheduler has stopped")
            heapq.heappush(self._queue, (due, -job.priority, next(self._counter), job))
            self._lock.notify()

    def _take(self):
        with self._lock:
            while not self._stopping:
                if not self._queue:
                    self._lock.wait()
                    continue
                due = self._queue[0][0]
                left = due - self._clock()
                if left > 0:
                    self._lock.wait(left)
                    continue
                job = heapq.heappop(self._queue)[-1]
                self._running += 1
                return job
            return None

    def _finish(self, job):
        with self._lock:
            self._running -= 1
            self._lock.notify_all()
        job.done.set()

    def _work(self):
        while True:
            job = self._take()
            if job is None:
                return
            if job.cancelled:
                self._finish(job)
                continue
            try:
                job.run()
            except Exception as error:
                if job.attempts <= job.retries and not self._stopping:
                    delay = self._backoff.delay(job.attempts)
                    logger.warning("%s failed (%s), again in %.2f s", job.name, error, delay)
                    with self._lock:
                        self._running -= 1
                    self._put(job, self._clock() + delay)
                    continue
                job.error = error
                logger.error("%s failed for good: %s", job.name, error)
            self._finish(job)
