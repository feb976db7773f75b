"""A few threads that share the slices of one launch."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

from ...config import current
from .cores import Elsewhere

__all__ = ["SLICE", "available_threads", "cut", "run_slices"]

SLICE = 1 << 21
"""Elements × operations of a slice in long launches, 1 to 50 ms: a thread that waits
for Ctrl-C gets its turn in between."""


def available_threads() -> int:
    """Threads that a launch may use: the setting, or the cores this process may use."""
    wanted = current().threads
    if wanted:
        return wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cut(count: int, elements: int, operations: int, threads: int) -> list[range]:
    """Split ``count`` blocks into slices: one where threads do not pay, else so many
    that the threads end together and Ctrl-C is seen."""
    work = elements * max(1, operations)
    if work < current().thread_work:
        return [range(count)]
    least = 4 * threads if threads > 1 else 1
    wanted = min(count, max(least, work // SLICE))
    edges = [count * k // wanted for k in range(wanted + 1)]
    return [range(a, b) for a, b in itertools.pairwise(edges)]


class _Job:
    """Slices ``0 .. count - 1`` of one launch, taken by whoever is free."""

    __slots__ = ("active", "closed", "count", "error", "idle", "lock", "taken", "task")

    def __init__(self, task: Callable[[int], None], count: int) -> None:
        self.task = task
        self.count = count
        self.taken = 0
        self.active = 0
        self.closed = False
        self.error: BaseException | None = None
        self.lock = threading.Lock()
        self.idle = threading.Lock()  # held while a helper is at work after the close
        self.idle.acquire()

    def work(self) -> None:
        """Run slices until none is left."""
        task, lock = self.task, self.lock
        while True:
            with lock:
                number = self.taken
                if number >= self.count:
                    return
                self.taken = number + 1
            task(number)

    def help(self) -> None:
        """What a helper thread does with a job."""
        if not self._enter():
            return
        try:
            self.work()
        except BaseException as error:
            self.stop(error)
        self._leave()

    def _enter(self) -> bool:
        with self.lock:
            if not self.closed:
                self.active += 1
            return not self.closed

    def _leave(self) -> None:
        with self.lock:
            self.active -= 1
            if self.closed and self.active == 0:
                self.idle.release()

    def stop(self, error: BaseException) -> None:
        """Let nobody begin another slice; the launching thread raises ``error``."""
        with self.lock:
            self.taken = self.count
            if self.error is None:
                self.error = error

    def close(self) -> None:
        """Wait for the helpers that began."""
        with self.lock:
            self.closed = True
            waiting = self.active > 0
        while waiting:
            try:
                self.idle.acquire()
                waiting = False
            except BaseException as error:  # Ctrl-C: memory is still being written to
                self.stop(error)


class _Team:
    """The helper threads of a process; they start when they are first needed."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._elsewhere = Elsewhere()

    def call(self, job: _Job, helpers: int) -> None:
        """Offer ``job`` to so many helpers."""
        if len(self._threads) < helpers:
            with self._lock:
                while len(self._threads) < helpers:
                    name = f"dcarray-cpu-{len(self._threads) + 1}"
                    thread = threading.Thread(
                        target=self._serve, name=name, daemon=True
                    )
                    try:
                        thread.start()
                    except RuntimeError:  # no more threads: fewer will do
                        helpers = len(self._threads)
                        break
                    self._threads.append(thread)
        self._elsewhere.keep(self._threads)
        for _ in range(helpers):
            self._jobs.put(job)

    def _serve(self) -> None:
        jobs = self._jobs
        while True:
            jobs.get().help()


_team = _Team()


def run_slices(task: Callable[[int], None], count: int, threads: int) -> None:
    """Call ``task(i)`` for every slice, on several threads; the caller is one of them.

    An exception in any slice, Ctrl-C included, keeps the others from starting and is
    raised here once nobody works any more.
    """
    if threads <= 1 or count <= 1:
        for number in range(count):
            task(number)
        return
    job = _Job(task, count)
    _team.call(job, min(threads, count) - 1)
    try:
        job.work()
    except BaseException as error:
        job.stop(error)
    job.close()
    if job.error is not None:
        raise job.error


def _after_fork() -> None:
    global _team
    _team = _Team()  # the parent's threads are not here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
