"""OpenCL on a device that shares the host's memory: races, lifetimes, limits."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.api.conversion import placed
from dcarray.backends.buffer import Buffer
from dcarray.backends.cpu.memory import room_of
from dcarray.backends.opencl.memory import HostMemory
from dcarray.backends.registry import backend_for
from dcarray.lazy import route

from .library_checks import DEVICE

pytest.importorskip("pyopencl")
if DEVICE not in [str(device) for device in dc.devices()]:
    pytest.skip("there is no OpenCL device", allow_module_level=True)
BACKEND: Any = backend_for(DEVICE)
if BACKEND.sharing is None:
    pytest.skip("it has memory of its own", allow_module_level=True)

CPU = backend_for("cpu")
F32 = np.float32
LARGE = 1 << 20
SMALL = LARGE // 64


@dc.kernel
def slowly(x: Any, out: Any) -> None:
    """Read everything late: the last work items after a long time."""
    i = dc.kernel.global_id(0)
    number = 0.0
    for _ in range(40):
        number = number * 0.5 + 1.0
    out[i] = x[i] + number - number


def slow(x: Any, out: Any) -> None:
    slowly[x.size](x, out)


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    BACKEND.synchronize()


def held(x: Any) -> Buffer:
    found: Buffer = x._bind().value.buffer
    return found


# ------------------------------------------------------------------------------- races
def test_the_host_writes_right_after_a_slow_kernel_that_reads() -> None:
    x = dc.zeros(SMALL, F32, device=DEVICE)
    out = dc.zeros(SMALL, F32, device=DEVICE)
    for turn in range(1, 13):
        slow(x, out)
        held(x).write_on(CPU).view(F32)[:] = turn
        got = out.get()
        assert (got == turn - 1).all(), turn
        assert (x.get() == turn).all()


def test_the_host_reads_right_after_a_slow_kernel_that_writes() -> None:
    x = dc.zeros(SMALL, F32, device=DEVICE)
    for turn in range(1, 13):
        held(x).write_on(CPU).view(F32)[:] = turn
        slow(x, x)
        x += 1
        assert (x.get() == turn + 1).all(), turn


def test_memory_of_the_host_goes_back_after_the_kernels() -> None:
    """What is freed or rented again at once would be overwritten under a kernel."""
    for turn in range(1, 13):
        x = placed(np.full(SMALL, turn, F32), DEVICE)
        assert held(x).pair is not None
        out = dc.empty(SMALL, F32, device=DEVICE)
        slow(x, out)
        del x
        rest = [np.full(SMALL, -1, F32) for _ in range(4)]
        assert (out.get() == turn).all(), turn
        del rest


def test_blocks_of_the_pool_are_used_again() -> None:
    for turn in range(1, 13):
        x = dc.full(SMALL, turn, dtype=F32, device=DEVICE)
        out = dc.empty(SMALL, F32, device=DEVICE)
        slow(x, out)
        x.get()
        del x  # mapped, and a kernel may be reading it
        y = dc.full(SMALL, -1, dtype=F32, device=DEVICE)
        assert (out.get() == turn).all(), turn
        assert (y.get() == -1).all()


def test_idle_blocks_are_freed_after_the_kernels() -> None:
    for turn in range(1, 13):
        x = dc.full(SMALL, turn, dtype=F32, device=DEVICE)
        out = dc.empty(SMALL, F32, device=DEVICE)
        slow(x, out)
        del x
        BACKEND.pool.trim()
        rest = [np.full(SMALL, -1, F32) for _ in range(4)]
        assert (out.get() == turn).all(), turn
        del rest


# ------------------------------------------------------------------------ no transfers
def test_nothing_is_copied() -> None:
    host = np.arange(LARGE, dtype=F32)
    with dc.profile() as profile:
        x = dc.asarray(host, device=DEVICE)
        y = x[::-2] + 1
        got = y.get()
        back = y.to_device("cpu").to_device(DEVICE).to_device("cpu")
        there = placed(host.copy(), DEVICE)
        assert np.array_equal((there + 1).get(), host + 1)
    assert not profile.of_kind("transfer")
    assert np.array_equal(got, host[::-2] + 1)
    assert np.array_equal(back.get(), got)


def test_what_comes_from_the_device_lies_in_the_pool() -> None:
    x = dc.arange(LARGE, dtype=F32, device=DEVICE)
    made = x.to_device("cpu")
    pool: Any = CPU
    before = pool.pool.statistics()
    del made
    made = x.to_device("cpu")
    after = pool.pool.statistics()
    assert (after.hits - before.hits, after.misses) == (1, before.misses)
    made[5] = -1
    assert x.get()[5] == 5 and made[6] == 6
    turned = x.reshape(4, -1).T.to_device("cpu")
    assert turned.strides == (4, LARGE)
    with dc.config(pool_limit=1):
        assert x.to_device("cpu")[7] == 7


def test_small_arrays_are_copied() -> None:
    with dc.profile() as profile:
        x = dc.asarray(np.arange(SMALL - 1, dtype=F32), device=DEVICE) + 1
        assert x.get()[5] == 6
    assert len(profile.of_kind("transfer")) == 2


def test_a_block_is_where_the_host_sees_it() -> None:
    x = dc.arange(SMALL, dtype=F32, device=DEVICE) + 1
    dc.evaluate(x)
    seen = held(x).read_on(CPU)
    address = seen.__array_interface__["data"][0]
    assert address % 4096 == 0
    x += 1
    dc.evaluate(x)
    assert held(x).read_on(CPU).__array_interface__["data"][0] == address
    assert (x.get() == np.arange(SMALL) + 2).all()


def test_memory_of_the_host_that_is_not_aligned() -> None:
    raw = np.zeros(4 * SMALL + 12, np.uint8)
    host = raw[4 - raw.__array_interface__["data"][0] % 4 :][: 4 * SMALL + 4].view(F32)
    if host.__array_interface__["data"][0] % 16 == 0:
        host = host[1:]
    buffer = Buffer.of_host(host)
    with dc.profile() as profile:
        buffer.read_on(BACKEND)
    assert len(profile.of_kind("transfer")) == 1


def test_under_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups here and there, and the host writes in between."""
    monkeypatch.setattr(route, "auto_devices", ["cpu", DEVICE])
    places = iter([DEVICE, "cpu"] * 100)

    def choose(work: Any, labels: Any) -> list[Any]:
        return [route.predict(backend_for(next(places)), work)]

    monkeypatch.setattr(route, "choose", choose)
    want = np.arange(50_000, dtype=F32)
    x = dc.asarray(want.copy())
    with dc.config(lazy="always"), dc.profile() as profile:
        for turn in range(20):
            x = x + 1
            want = want + 1
            x[turn] = want[turn] = turn
            x += x[::-1] * 0.5
            want += want[::-1] * F32(0.5)
        got = x.get()
    assert np.allclose(got, want)
    assert not profile.of_kind("transfer")


# ------------------------------------------------------------------- limits, statistics
def test_statistics_add_up() -> None:
    gc.collect()
    before = BACKEND.pool.statistics().in_use
    x = dc.zeros(LARGE, F32, device=DEVICE) + 1
    dc.evaluate(x)
    x.get()
    assert BACKEND.pool.statistics().in_use - before == 4 * LARGE
    seen = held(x).read_on(CPU)
    del x
    gc.collect()
    assert BACKEND.pool.statistics().in_use - before == 4 * LARGE  # it is looked at
    assert (seen.view(F32) == 1).all()
    del seen
    assert BACKEND.pool.statistics().in_use == before


def test_memory_that_was_adopted_is_let_go() -> None:
    freed = []

    class Watched(np.ndarray):
        def __del__(self) -> None:
            freed.append(self.nbytes)

    host = np.zeros(1 << 16, np.uint8).view(Watched)
    buffer = Buffer.of_host(host)
    del host
    buffer.read_on(BACKEND)
    assert buffer.pair is not None
    del buffer
    BACKEND.synchronize()
    assert freed


def test_room_is_made() -> None:
    BACKEND.pool.trim()
    limit = BACKEND.pool.statistics().in_use + 14 * LARGE
    with dc.config(pool_limit=limit):
        kept = []
        for number in range(4):
            x = dc.full(LARGE, number, dtype=F32, device=DEVICE)
            kept.append(x + 1)
            dc.evaluate(kept[-1])
            assert kept[-1].get()[0] == number + 1
        assert BACKEND.pool.statistics().held <= limit
        for number, x in enumerate(kept):
            assert (x.get() == number + 1).all()


def test_blocks_are_cleared() -> None:
    with dc.config(clear_buffers=True):
        for _ in range(3):
            x = dc.full(SMALL, 7, dtype=F32, device=DEVICE)
            held(x).write_on(CPU)[:] = 7
            del x
            assert not dc.empty(SMALL, F32, device=DEVICE).get().any()


# ------------------------------------------------------------------------ threads, fork
def test_threads() -> None:
    wrong = []

    def work(number: int) -> None:
        x = dc.full(20_000, number, dtype=F32, device=DEVICE)
        for turn in range(25):
            held(x).write_on(CPU).view(F32)[turn] = -1
            y = x + turn
            got = y.get()
            if got[turn] != turn - 1 or (got[25:] != number + turn).any():
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_lets_go_of_it() -> None:
    x = dc.arange(SMALL, dtype=F32, device=DEVICE) + 1
    x.get()
    y = placed(np.arange(SMALL, dtype=F32), DEVICE)
    seen = held(x).read_on(CPU).view(F32)
    child = os.fork()
    if child == 0:
        fine = bool(seen[7] == 8)
        del x, y, seen
        gc.collect()
        os._exit(0 if fine else 1)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    assert (x + y).get()[7] == 15


# ------------------------------------------------------------------------ other devices
def test_a_device_with_memory_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of a GPU beside the processor, on this device."""
    monkeypatch.setattr(BACKEND, "sharing", None)
    BACKEND.pool.trim()
    host = np.arange(SMALL, dtype=F32)
    with dc.profile() as profile:
        x = dc.asarray(host, device=DEVICE) + 1
        assert np.array_equal(x.get(), host + 1)
        x += 1
        assert np.array_equal(x.get(), host + 2)
        assert held(x).pair is None
    shown = [event.device for event in profile.of_kind("transfer")]
    assert shown == [f"cpu -> {DEVICE}"] + [f"{DEVICE} -> cpu"] * 2
    with dc.config(clear_buffers=True):
        del x
        assert not dc.empty(SMALL, F32, device=DEVICE).get().any()
    BACKEND.pool.trim()


def test_a_gpu_takes_whole_pages() -> None:
    memory = HostMemory("gpu", BACKEND._context, BACKEND._queue, 4096, 64)
    raw = np.zeros(1 << 17, np.uint8)
    page = raw[-raw.__array_interface__["data"][0] % 4096 :][: 1 << 16]
    assert memory.adopted(page, page.size) is not None
    assert memory.adopted(page[64:], page.size - 64) is None
    odd = page[:-5]
    assert memory.adopted(odd, odd.size) is None
    block = memory.adopted(odd, page.size)
    assert block is not None and block.nbytes == odd.size
    # Large blocks of the host's pool are such memory, whatever part of them is used.
    rented = CPU.allocate((1 << 20) + 3)
    room = room_of(rented, rented.nbytes)
    assert room > rented.nbytes
    assert memory.adopted(rented, room) is not None
    assert room_of(rented[64:], rented.nbytes - 64) == rented.nbytes - 64
    del block
    memory.sweep(wait=True)


def test_a_process_that_ends_waits_for_its_kernels() -> None:
    """The host's memory goes with it."""
    script = """
import dcarray as dc
x = dc.ones(3_000_000, device="opencl:0", dtype="float32")
dc.evaluate(dc.sin(dc.exp(dc.cos(x))))
dc.synchronize()
for _ in range(4):
    y = dc.sin(dc.exp(dc.cos(x)))
    dc.evaluate(y)
print("leaving", flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    got = (done.returncode, done.stdout, done.stderr)
    assert got == (0, "leaving\n", "")
