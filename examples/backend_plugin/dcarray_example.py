"""A whole backend for dcarray, as a plugin: one device, `example:0`.

It computes with NumPy, one operation after the other, in memory of its own.  A real
one would compile the program (`dcarray.ops.inline.inlined` makes one kernel of it) and
talk to a driver; what dcarray asks for is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dcarray.backends.base import DeviceProperties, Rates
from dcarray.backends.pool import Pool
from dcarray.layout import Layout
from dcarray.ops.program import Program

version = "1.0"
requires = ["dcarray>=0.1", "numpy>=2.1"]


def count() -> int:
    """How many devices there are."""
    return 1


def factory(index: int) -> ExampleBackend:
    """The backend of one device."""
    return ExampleBackend(index)


class Block:
    """Memory of the device; it goes back to the pool when it dies."""

    def __init__(self, pool: Pool[bytearray], nbytes: int) -> None:
        self.nbytes = nbytes
        self.pool = pool
        self.bytes, self.size = pool.rent(nbytes)

    def __del__(self) -> None:
        if hasattr(self, "size"):  # else there was no room
            self.pool.give_back(self.bytes, self.size)


class View(NamedTuple):
    """A block, seen as an array."""

    block: Block
    layout: Layout
    dtype: np.dtype[Any]

    def array(self) -> np.ndarray:
        """The elements, for the device's own eyes."""
        shape, strides = self.layout.shape, self.layout.strides
        start = self.layout.offset if self.layout.size else 0
        return np.ndarray(shape, self.dtype, self.block.bytes, start, strides)


class ExampleBackend:
    """NumPy behind the contract of `dcarray.backends.base.Backend`."""

    supported = frozenset(np.dtype(code) for code in "?bBhHiIlLfdFD")
    native: dict[str, Any] = {}  # no library: sorting and the like go to the host
    rates = Rates(launch=1e-5, bandwidth=1e10, operations=1e9)

    def __init__(self, index: int) -> None:
        self.device = f"example:{index}"
        self.pool = Pool(self.device, bytearray, lambda block: None, _clear)

    def properties(self) -> DeviceProperties:
        return DeviceProperties(
            device=self.device,
            name="NumPy, one operation at a time",
            vendor="the dcarray examples",
            driver=f"NumPy {np.__version__}",
            compute_units=1,
            dtypes=self.supported,
            pools=(self.pool.statistics(),),
        )

    def allocate(self, nbytes: int) -> Block:
        return Block(self.pool, nbytes)

    def view(self, memory: Block, layout: Layout, dtype: np.dtype[Any]) -> View:
        return View(memory, layout, dtype)

    def upload(self, source: np.ndarray, target: Block) -> None:
        np.frombuffer(target.bytes, np.uint8)[: source.size] = source

    def download(self, source: Block, target: np.ndarray) -> None:
        target[:] = np.frombuffer(source.bytes, np.uint8)[: target.size]

    def compile(self, program: Program) -> Program:
        return program

    def launch(
        self,
        program,
        shape,
        inputs,
        scalars,
        outputs,
        reduced=None,
        order=None,
        watch=0,
    ):
        """Run over ``shape``; a slot is an array, or a number for all elements."""
        slots = [*[view.array() for view in inputs], *scalars]
        with np.errstate(all="ignore"):  # the device knows no floating-point flags
            for node in program.nodes:
                given = [slots[slot] for slot in node.inputs]
                if node.op.name == "cast":
                    given.append(node.dtypes[0])
                results = node.op.numpy(*given)
                slots += results if isinstance(results, tuple) else (results,)
            # All is computed before anything is stored: an output may be an input.
            stored = [np.array(slots[slot]) for slot in program.outputs]
            if reduced is not None:
                self._reduce(program.reduction, slots, shape, reduced.array())
        for view, result in zip(outputs, stored):
            view.array()[...] = result
        return ()  # flags that were raised

    def _reduce(self, reduction, slots, shape, target) -> None:
        axes = tuple(axis for axis, n in enumerate(target.shape) if n != shape[axis])
        values = np.broadcast_to(slots[reduction.slot], shape)
        target[...] = reduction.op.numpy.reduce(
            values, axis=axes, dtype=reduction.dtype, keepdims=True
        )

    def synchronize(self) -> None:
        """A launch has ended when it returns."""


def _clear(block: bytearray, nbytes: int) -> None:
    block[:nbytes] = bytes(nbytes)
