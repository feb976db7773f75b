"""What a device can do, measured: the `Rates` by which the router predicts.

Everything runs through the contract of `Backend`, so devices of plugins are measured
like those of dcarray.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import OutOfMemoryError, UnsupportedError
from ..layout import Layout
from ..ops.elementwise import ADD, EXP, MULTIPLY, SQRT, SUBTRACT
from ..ops.program import Inner, Node, Program
from ..ops.spec import Op
from .base import Backend
from .buffer import Buffer

__all__ = ["CHAIN", "F32", "Sample", "measured_rates", "node", "seconds_of"]

F32 = np.dtype(np.float32)

ROW = 4e-3
MOST_CALLS = 16
"""Calls follow each other for so many seconds before the device is waited for, and so
many at most."""

SMALL = 16
"""Elements of a launch that does nothing else."""

SIZES = (1 << 22, 1 << 24)
"""Elements from which arrays lie in no cache, and from which no device is idle."""

LONG = 2e-2
"""Seconds from which a launch is long enough for a rate."""


def node(op: Op, *inputs: int, dtype: np.dtype[Any] = F32) -> Node:
    """An operation over contiguous operands."""
    return Node(op, inputs, (dtype,), (Inner.CONTIGUOUS,) * len(inputs))


ADDITION = Program((F32, F32), (), (node(ADD, 0, 1),), (2,))

CHAIN = Program(
    (F32, F32),
    (),
    (
        node(MULTIPLY, 0, 1),
        node(EXP, 2),
        node(ADD, 3, 0),
        node(SQRT, 1),
        node(MULTIPLY, 4, 5),
        node(SUBTRACT, 6, 3),
    ),
    (7,),
)
"""What programs do: mostly arithmetic, some functions."""


class Sample:
    """A program, ready to run again and again on arrays of its own.

    Parameters
    ----------
    backend : Backend
    program : Program
        Over float32.
    shape : tuple of int
        Of all operands, which are C-contiguous unless ``through`` says otherwise.
    through : callable, optional
        The view of each leaf, of a NumPy array of that shape.
    reduced : tuple of int, optional
        Shape of the result of the program's reduction.

    Raises
    ------
    OutOfMemoryError
        The device has no room for them.
    """

    def __init__(
        self,
        backend: Backend,
        program: Program,
        shape: tuple[int, ...],
        through: Callable[[Any], Any] | None = None,
        reduced: tuple[int, ...] | None = None,
    ) -> None:
        self._backend = backend
        self._shape = shape
        dense = Layout.dense(shape, F32.itemsize)
        layout = dense
        if through is not None:
            layout, _ = dense.apply(F32, through)
        host = np.full(math.prod(shape), 0.5, F32).view(np.uint8)
        self._inputs = []
        for _ in program.leaves:
            memory = backend.allocate(host.nbytes)
            backend.upload(host, memory)
            self._inputs.append(backend.view(memory, layout, F32))
        self._outputs = [
            backend.view(backend.allocate(host.nbytes), dense, F32)
            for _ in program.outputs
        ]
        self._reduced: Any = None
        if reduced is not None:
            small = Layout.dense(reduced, F32.itemsize)
            block = backend.allocate(max(small.size, 1) * F32.itemsize)
            self._reduced = backend.view(block, small, F32)
        self._executable = backend.compile(program)

    def run(self) -> None:
        """Launch it."""
        self._backend.launch(
            self._executable,
            self._shape,
            self._inputs,
            (),
            self._outputs,
            self._reduced,
        )


def seconds_of(
    call: Callable[[], object],
    wait: Callable[[], None],
    budget: float = 0.1,
    alone: bool = False,
) -> float:
    """Seconds of a call in a row of calls, or of one that is waited for alone.

    The least that was seen: what else the machine does makes it longer only.
    ``budget`` are the seconds that may be spent, after two calls to get ready.
    """
    call()
    wait()
    begin = time.perf_counter()
    call()
    wait()
    least = time.perf_counter() - begin
    calls = 1 if alone else max(1, min(MOST_CALLS, int(ROW / max(least, 1e-9))))
    start = time.perf_counter()
    end = start + budget
    while start < end:
        for _ in range(calls):
            call()
        wait()
        now = time.perf_counter()
        least = min(least, (now - start) / calls)
        start = now
    return least


def measured_rates(
    backend: Backend, sizes: tuple[int, int] = SIZES
) -> dict[str, float]:
    """The rates of a device, by the names that they have in `Rates`.

    Memory of the CPU is the host's: it has no transfers.

    Parameters
    ----------
    backend : Backend
    sizes : tuple of int
        Elements of the smallest and of the largest arrays to measure with.

    Returns
    -------
    dict
        Seconds, and bytes and operations a second.

    Raises
    ------
    DeviceError
        The device failed.
    UnsupportedError
        It has no float32.
    """
    if F32 not in backend.supported:
        raise UnsupportedError(f"{backend.device} has no {F32} to measure with")
    wait = backend.synchronize
    launch = seconds_of(Sample(backend, ADDITION, (SMALL,)).run, wait, alone=True)
    size, addition = _long_enough(backend, sizes)
    adding = seconds_of(addition.run, wait)
    del addition
    chain = Sample(backend, CHAIN, (size,))
    chaining = seconds_of(chain.run, wait)
    more = len(CHAIN.nodes) - len(ADDITION.nodes)
    rates = {
        "launch": launch,
        "bandwidth": 3 * F32.itemsize * size / adding,
        # Where arithmetic hides behind memory, its rate is known from below only.
        "operations": more * size / max(chaining - adding, 0.05 * adding),
    }
    if backend.device != "cpu":
        rates.update(_transfers(backend, F32.itemsize * size))
    return rates


def _long_enough(backend: Backend, sizes: tuple[int, int]) -> tuple[int, Sample]:
    """A number of elements that keeps the device busy, and an addition over it."""
    size, largest = sizes
    sample = Sample(backend, ADDITION, (size,))
    while size < largest:
        taken = seconds_of(sample.run, backend.synchronize, budget=0.05, alone=True)
        if taken >= LONG:
            break
        try:
            sample = Sample(backend, ADDITION, (4 * size,))
        except (OutOfMemoryError, MemoryError):
            break
        size *= 4
    return size, sample


def _transfers(backend: Backend, nbytes: int) -> dict[str, float]:
    """Latency and bandwidth of copies from and to the host."""

    def seconds(length: int) -> float:
        host = np.zeros(length, np.uint8)
        memory = backend.allocate(length)
        wait = backend.synchronize
        there = seconds_of(lambda: backend.upload(host, memory), wait, alone=True)
        back = seconds_of(lambda: backend.download(memory, host), wait, alone=True)
        return (there + back) / 2

    small = np.zeros(64, np.uint8)

    def moved() -> object:
        return Buffer.of_host(small).read_on(backend)

    # With all that comes before a transfer, which is most of it.
    latency = max(seconds_of(moved, backend.synchronize, alone=True), 1e-9)
    moving = max(seconds(nbytes) - seconds(64), 1e-9)
    return {"transfer_latency": latency, "transfer_bandwidth": nbytes / moving}
