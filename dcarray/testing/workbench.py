"""Running small programs on a backend under test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..backends.base import Backend, Memory
from ..layout import Layout
from ..ops.program import Inner, Node, Program
from ..ops.spec import Op

__all__ = ["Workbench", "node", "single", "together"]

HostArray = np.ndarray[Any, Any]
DType = np.dtype[Any]


class Workbench:
    """The backend under test, and what the tests do with it."""

    _made: Backend | None = None

    def make(self) -> Backend:
        """The backend under test; called once."""
        raise TypeError(f"{type(self).__name__}: define make()")

    @property
    def backend(self) -> Backend:
        """The backend under test."""
        cls = type(self)
        if "_made" not in cls.__dict__ or cls._made is None:
            cls._made = self.make()
        return cls._made

    def run(self) -> int:
        """Run all tests; how many there were."""
        names = [name for name in dir(self) if name.startswith("test_")]
        for name in names:
            getattr(self, name)()
        return len(names)

    # ------------------------------------------------------------------------- tools
    def upload(self, array: HostArray) -> Memory:
        """A block that holds the bytes of a contiguous array."""
        memory = self.backend.allocate(array.nbytes)
        self.backend.upload(array.reshape(-1).view(np.uint8), memory)
        return memory

    def download(self, memory: Memory, array: HostArray) -> HostArray:
        """Fill a contiguous array with the bytes of a block."""
        self.backend.download(memory, array.reshape(-1).view(np.uint8))
        return array

    def operand(self, array: HostArray) -> Any:
        """A contiguous array on the device."""
        layout = Layout.dense(array.shape, array.itemsize)
        return self.backend.view(self.upload(array), layout, array.dtype)

    def execute(
        self,
        program: Program,
        shape: tuple[int, ...],
        inputs: Sequence[HostArray],
        scalars: Sequence[np.generic] = (),
        kept: tuple[int, ...] | None = None,
    ) -> list[HostArray]:
        """Run a program over contiguous arrays; its outputs, and then the reduced."""
        backend = self.backend
        dtypes = program.slot_dtypes()
        shapes = [(shape, dtypes[slot]) for slot in program.outputs]
        if program.reduction is not None:
            assert kept is not None
            shapes.append((kept, program.reduction.dtype))
        memories = []
        views = []
        for wanted, dtype in shapes:
            layout = Layout.dense(wanted, dtype.itemsize)
            memories.append(backend.allocate(layout.size * dtype.itemsize))
            views.append(backend.view(memories[-1], layout, dtype))
        reduced, order = None, None
        if program.reduction is not None:
            reduced = views.pop()
            order = Layout.dense(shape, program.reduction.dtype.itemsize).strides
        given = [self.operand(np.asarray(x, order="C")) for x in inputs]
        executable = backend.compile(program)
        backend.launch(executable, shape, given, scalars, views, reduced, order, 0)
        backend.synchronize()
        return [
            self.download(memory, np.empty(wanted, dtype))
            for memory, (wanted, dtype) in zip(memories, shapes, strict=True)
        ]

    def dtypes(self, codes: str) -> Iterator[DType]:
        """Those of the dtypes that the backend supports."""
        for code in codes:
            if np.dtype(code) in self.backend.supported:
                yield np.dtype(code)


def node(
    op: Op,
    inputs: tuple[int, ...],
    dtypes: tuple[DType, ...],
    inner: tuple[Inner, ...] = (),
) -> Node:
    """An operation over contiguous operands, unless ``inner`` says otherwise."""
    known = inner + (Inner.CONTIGUOUS,) * (len(inputs) - len(inner))
    return Node(op, inputs, dtypes, known)


def single(
    op: Op, dtypes: tuple[DType, ...], results: tuple[DType, ...] | None = None
) -> Program:
    """A program of one operation over arrays."""
    given = op.resolve(dtypes).outputs if results is None else results
    return together([(op, given)], dtypes)


def together(
    rows: Sequence[tuple[Op, tuple[DType, ...]]], dtypes: tuple[DType, ...]
) -> Program:
    """A program of operations, with the dtypes of their results, over the same
    arrays."""
    first = len(dtypes)
    nodes = [node(op, tuple(range(first)), results) for op, results in rows]
    count = sum([len(results) for _, results in rows])
    return Program(dtypes, (), tuple(nodes), tuple(range(first, first + count)))
