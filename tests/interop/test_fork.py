"""A forked child computes, whatever the parent's threads were doing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dcarray as dc

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def in_child(work: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether ``work()`` is true in a forked child, before the time is out."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 2
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def compute(size: int = 300_000) -> bool:
    x = np.linspace(0, 1, size, dtype=np.float32)
    y = dc.asarray(x)
    found = dc.exp(y * 2 + 1) * 0.5 - dc.sqrt(y)
    wanted = np.exp(x * 2 + 1) * np.float32(0.5) - np.sqrt(x)
    return np.asarray(found).tobytes() == wanted.tobytes() and bool(
        found.sum() == wanted.sum()
    )


def test_after_threads_and_pool_were_used() -> None:
    assert compute()
    assert in_child(compute)
    assert compute()


def test_a_kernel_that_the_parent_never_compiled() -> None:
    assert compute()

    def work() -> bool:
        x = dc.arange(200_000.0)
        return float((dc.cos(x) - x * 3 + 1).sum()) == float(
            (np.cos(np.arange(200_000.0)) - np.arange(200_000.0) * 3 + 1).sum()
        )

    assert in_child(work)


@pytest.mark.parametrize("size", [10, 300_000])
def test_a_value_that_is_pending_at_the_fork(size: int) -> None:
    x = np.arange(size) * 0.5
    with dc.config(lazy="always"):
        pending = dc.sqrt(dc.asarray(x) + 1) * 2
    wanted = np.sqrt(x + 1) * 2

    def work() -> bool:
        return np.asarray(pending).tobytes() == wanted.tobytes()

    assert in_child(work)
    assert work()


def test_writes_of_the_child_stay_there() -> None:
    x = dc.arange(100_000.0)
    view = x[::2]

    def work() -> bool:
        x[...] = -1
        return bool((view == -1).all())

    assert in_child(work)
    assert float(x[7]) == 7.0
    assert compute()


def test_while_other_threads_compute() -> None:
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            compute(60_000)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            assert in_child(compute)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_children_of_children() -> None:
    assert in_child(lambda: compute() and in_child(compute))


def test_memory_statistics_in_a_child_add_up() -> None:
    keep = dc.zeros(100_000) + 1
    dc.evaluate(keep)

    def work() -> bool:
        statistics = dc.memory_stats()
        other = dc.zeros(100_000) + 2
        dc.evaluate(other)
        return bool(statistics) and float((keep + other).sum()) == 300_000.0

    assert in_child(work)


def double(x: Any) -> Any:
    return np.asarray(dc.asarray(x) * 2)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method: str) -> None:
    assert compute()
    context = multiprocessing.get_context(method)
    parts = [np.arange(50_000.0) + n for n in range(3)]
    with context.Pool(2) as pool:
        found = pool.map_async(double, parts).get(timeout=120)
    for one, part in zip(found, parts, strict=True):
        assert one.tobytes() == (part * 2).tobytes()


def test_device_arrays_travel_between_processes() -> None:
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        pending = dc.arange(1000.0) * 2
        found = pool.map_async(abs, [pending - 500]).get(timeout=60)[0]
    assert isinstance(found, dc.ndarray)
    assert found.tolist() == np.abs(np.arange(1000.0) * 2 - 500).tolist()
