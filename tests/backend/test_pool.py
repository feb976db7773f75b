"""The memory pool."""

from __future__ import annotations

import gc
import os
import threading
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends import pool as pools
from dcarray.backends.cpu.memory import host_pool, rent
from dcarray.backends.pool import Pool, size_class
from dcarray.backends.statistics import memory_stats
from dcarray.config import config, current, set_process_default
from dcarray.errors import OutOfMemoryError

MiB = 1 << 20


class System:
    """Counts what a pool takes from it and gives back."""

    def __init__(self, capacity: int = 1 << 62) -> None:
        self.capacity = capacity
        self.held = 0
        self.sizes: dict[int, int] = {}
        self.allocated = 0
        self.freed = 0

    def allocate(self, nbytes: int) -> bytearray:
        if self.held + nbytes > self.capacity:
            raise MemoryError(f"{nbytes} more than there is")
        self.held += nbytes
        self.allocated += 1
        block = bytearray(min(nbytes, 16))
        self.sizes[id(block)] = nbytes
        return block

    def free(self, block: bytearray) -> None:
        self.held -= self.sizes.pop(id(block))
        self.freed += 1

    def clear(self, block: bytearray, nbytes: int) -> None:
        block[:] = bytes(len(block))


def pool_of(system: System) -> Pool:
    return Pool("here", system.allocate, system.free, system.clear)


def adds_up(pool: Pool, rents: int | None = None) -> Any:
    found = pool.statistics()
    assert found.held == found.in_use + found.idle
    assert found.high_water >= found.held
    if rents is not None:
        assert found.hits + found.misses == rents
    return found


# ------------------------------------------------------------------------ size classes
@pytest.mark.parametrize(
    "nbytes", [0, 1, 511, 512, 513, 4096, 4097, 5000, 65537, 10**6, 10**9 + 1]
)
def test_size_classes(nbytes: int) -> None:
    size = size_class(nbytes)
    assert size >= nbytes
    assert size % 512 == 0 or nbytes > 4096
    assert size <= max(nbytes + 512, nbytes * 9 // 8)
    assert size_class(size) == size


def test_size_classes_are_few() -> None:
    assert len({size_class(n) for n in range(1, 100_000, 7)}) < 60


# ----------------------------------------------------------------------- rent, return
def test_blocks_are_used_again() -> None:
    system = System()
    pool = pool_of(system)
    block, size = pool.rent(1000)
    pool.give_back(block, size)
    again, _ = pool.rent(900)
    assert again is block
    found = adds_up(pool, rents=2)
    assert (found.hits, found.misses, found.evictions) == (1, 1, 0)
    assert found.in_use == size and found.idle == 0


def test_the_last_one_is_used_first() -> None:
    pool = pool_of(System())
    first, size = pool.rent(1000)
    second, _ = pool.rent(1000)
    pool.give_back(first, size)
    pool.give_back(second, size)
    assert pool.rent(1000)[0] is second


def test_other_sizes_are_other_blocks() -> None:
    pool = pool_of(System())
    block, size = pool.rent(1000)
    pool.give_back(block, size)
    assert pool.rent(100_000)[0] is not block
    assert adds_up(pool, rents=2).misses == 2


def test_clear_buffers() -> None:
    pool = pool_of(System())
    block, size = pool.rent(1000)
    block[:] = b"x" * len(block)
    pool.give_back(block, size)
    assert pool.rent(1000)[0][0] == ord("x")
    pool.give_back(block, size)
    with config(clear_buffers=True):
        assert pool.rent(1000)[0] == bytes(16)


def test_clear_buffers_of_arrays() -> None:
    x = dc.DeviceArray._of_host(np.full(100_000, 7.0))
    first = (x + 1)._array()
    del first
    with config(clear_buffers=True):
        pool = host_pool()
        secret = rent(pool, 1000)
        secret[:] = 42
        del secret
        assert not rent(pool, 1000).any()


# ------------------------------------------------------------------------------ limits
def test_limit_of_a_pool() -> None:
    pool = pool_of(System())
    with config(pool_limit=MiB):
        block, size = pool.rent(MiB // 2)
        with pytest.raises(OutOfMemoryError, match=r"limit is 1048576.*here.*held"):
            pool.rent(MiB)
        # Idle blocks make room for others.
        pool.give_back(block, size)
        pool.rent(MiB)
    assert adds_up(pool).held == MiB
    assert isinstance(OutOfMemoryError("full"), MemoryError)


def test_limit_of_the_process() -> None:
    gc.collect()
    system = System()
    one, other = pool_of(system), pool_of(system)
    block, size = one.rent(MiB)
    for pool in list(pools._pools):
        pool.trim()
    held = sum(pool.statistics().held for pool in list(pools._pools))
    with config(pool_process_limit=held + MiB // 2):
        with pytest.raises(OutOfMemoryError, match="limit of the process"):
            other.rent(MiB)
        # Another pool's idle block makes room.
        one.give_back(block, size)
        other.rent(MiB)
    assert adds_up(one).held == 0


def test_system_that_is_full() -> None:
    system = System(capacity=3 * MiB)
    pool = pool_of(system)
    block, size = pool.rent(2 * MiB)
    with pytest.raises(OutOfMemoryError, match="more than there is"):
        pool.rent(2 * MiB)
    pool.give_back(block, size)
    assert pool.rent(3 * MiB)
    assert adds_up(pool).evictions == 1


def test_large_blocks_go_back_at_once() -> None:
    system = System()
    pool = pool_of(system)
    with config(pool_largest_block=100 * MiB):
        block, size = pool.rent(128 * MiB)
        pool.give_back(block, size)
        assert system.freed == 1
        assert adds_up(pool).held == 0


def test_idle_limit() -> None:
    system = System()
    pool = pool_of(system)
    with config(pool_idle_limit=10 * MiB):
        rented = [pool.rent(MiB) for _ in range(40)]
        for block, size in rented:
            pool.give_back(block, size)
        found = adds_up(pool)
    assert found.idle == found.held == 10 * MiB
    assert found.evictions == system.freed == 30


# -------------------------------------------------------------------------------- trim
def test_trim() -> None:
    pool = pool_of(System())
    block, size = pool.rent(MiB)
    pool.rent(MiB)
    pool.give_back(block, size)
    assert pool.trim() == size
    assert pool.trim() == 0
    assert adds_up(pool).in_use == size


def test_only_what_was_idle_is_trimmed() -> None:
    pool = pool_of(System())
    rented = [pool.rent(MiB) for _ in range(3)]
    for block, size in rented:
        pool.give_back(block, size)
    pool.trim_unused()
    used, _ = pool.rent(MiB)
    pool.give_back(used, size)
    assert pool.trim_unused() == 2 * size
    assert pool.rent(MiB)[0] is used


def test_trimmed_after_idle_time() -> None:
    before = current().pool_trim_interval
    set_process_default(pool_trim_interval=0.05)
    try:
        pool = pool_of(System())
        block, size = pool.rent(MiB)
        pool.give_back(block, size)
        deadline = time.monotonic() + 10
        while adds_up(pool).held and time.monotonic() < deadline:
            time.sleep(0.02)
        assert adds_up(pool).evictions == 1
    finally:
        set_process_default(pool_trim_interval=before)


def test_pools_do_not_outlive_their_owner() -> None:
    pool = pool_of(System())
    pool.rent(1000)
    thread = pool._trimmer
    assert thread is not None and thread.daemon


# ------------------------------------------------------------------------------ arrays
def test_blocks_go_back_when_the_last_view_dies() -> None:
    pool = host_pool()
    block = rent(pool, 80_000)
    view = np.ndarray((100, 100), np.float64, block)[3:, ::2]
    del block
    assert adds_up(pool).in_use
    deeper = view[1:].T[::-1]
    del view
    assert adds_up(pool).in_use
    del deeper
    assert adds_up(pool).in_use == 0


def test_exported_memory_is_not_used_again() -> None:
    a = dc.DeviceArray._of_host(np.arange(100_000, dtype=np.float32))
    x = a + 1
    exported = np.asarray(x)
    want = np.arange(100_000, dtype=np.float32) + 1
    del x
    for factor in range(2, 6):
        (a * factor)._array()
    assert (exported == want).all()


def test_tracemalloc_sees_blocks() -> None:
    tracemalloc.start()
    try:
        pool = host_pool()
        before, _ = tracemalloc.get_traced_memory()
        block = rent(pool, 10 * MiB)
        during, _ = tracemalloc.get_traced_memory()
        assert during - before >= 10 * MiB
        del block
        pool.trim()
        after, _ = tracemalloc.get_traced_memory()
        assert after - before < MiB
    finally:
        tracemalloc.stop()


def test_many_rents_stay_flat() -> None:
    pool = host_pool()
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 200_000, 1000).tolist()
    for nbytes in sizes:
        rent(pool, nbytes)
    held = adds_up(pool).held
    for _ in range(20):
        for nbytes in sizes:
            rent(pool, nbytes)
    found = adds_up(pool, rents=21_000)
    assert found.held == held
    assert found.hits >= 20_000


@pytest.mark.long
def test_a_million_rents_stay_flat() -> None:
    pool = host_pool()
    for turn in range(1_000_000):
        rent(pool, 1 + turn * 997 % 100_000)
    found = adds_up(pool, rents=1_000_000)
    assert found.held < 10 * MiB
    assert found.hits / 1_000_000 > 0.999


def test_fast_enough() -> None:
    """A coarse bound: the benchmark has the fine one."""
    pool = pool_of(System())

    def turns(number: int) -> float:
        started = time.process_time()
        for _ in range(number):
            pool.give_back(*pool.rent(100_000))
        return (time.process_time() - started) / number

    assert min(turns(5000) for _ in range(10)) < 5e-6


# ----------------------------------------------------------------------------- threads
def test_statistics_add_up_under_threads() -> None:
    pool = host_pool()
    rents = 2000
    wrong: list[BaseException] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        held = []
        try:
            for nbytes in rng.integers(1, 50_000, rents).tolist():
                block = rent(pool, nbytes)
                block[:] = seed
                held.append(block)
                if len(held) > 5:
                    assert (held.pop(0) == seed).all()
                if nbytes % 100 == 0:
                    pool.trim()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    found = adds_up(pool, rents=6 * rents)
    assert found.in_use == 0
    pool.trim()
    found = adds_up(pool)
    assert found.held == 0
    assert found.evictions == found.misses


def test_finaliser_inside_the_lock() -> None:
    """A block may die while the pool's lock is held by the same thread."""
    pool = pool_of(System())
    block, size = pool.rent(100 * MiB)
    with pool._lock:
        pool.give_back(block, size)
    assert pool.rent(100 * MiB)[0] is block


# -------------------------------------------------------------------------------- fork
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_while_the_lock_is_held() -> None:
    pool = host_pool()
    kept = rent(pool, 1000)
    kept[:] = 5
    with pool._lock:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                other = rent(pool, 1000)
                other[:] = 6
                fine = (kept == 5).all() and adds_up(pool).in_use == 2 * 1024
                code = 0 if fine else 2
            finally:
                os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_memory_stats() -> None:
    x = dc.DeviceArray._of_host(np.ones(100_000)).to_device("test:0")
    y = x + 1
    dc.evaluate(y)
    found = memory_stats()
    assert set(found) >= {"cpu", "test:0"}
    assert found["test:0"]["in_use"] >= 2 * 800_000
    for one in found.values():
        assert one["held"] == one["in_use"] + one["idle"]
        assert min(one.values()) >= 0


def test_what_came_back_last_is_kept_longest() -> None:
    system = System()
    pool = pool_of(system)
    with config(pool_idle_limit=96 * MiB):
        small, size = pool.rent(64 * MiB)
        other, other_size = pool.rent(80 * MiB)
        pool.give_back(other, other_size)
        pool.give_back(small, size)  # too much for both
        hits = pool.statistics().hits
        pool.rent(64 * MiB)
        assert pool.statistics().hits == hits + 1


def test_blocks_that_come_and_go_need_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only more that came back than was taken can be too much."""
    pool = pool_of(System())
    rented = [pool.rent(16 * MiB) for _ in range(20)]
    looks = []
    look = pool._keep_limits

    def counted(settings: Any) -> None:
        looks.append(None)
        look(settings)

    monkeypatch.setattr(pool, "_keep_limits", counted)
    for _ in range(100):
        pool.give_back(*rented.pop())
        rented.append(pool.rent(16 * MiB))
    assert not looks
    with config(pool_idle_limit=48 * MiB):
        for _ in range(10):
            pool.give_back(*rented.pop())
        pool.rent(16 * MiB)
        assert looks and pool.statistics().idle <= 48 * MiB
