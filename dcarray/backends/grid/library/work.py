"""What the functions of the library share: arrays, maps, reductions, launches."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import UnsupportedError
from ....kernel.nodes import Kernel
from ....layout import Layout, broadcast_shapes
from ....ops.elementwise import CAST
from ....ops.program import Inner, Node, Program, Reduction
from ....ops.spec import Op
from ....profile import Event, emit
from ..views import GridView

if TYPE_CHECKING:
    from ..backend import GridBackend

__all__ = [
    *("Result", "Rows", "Work", "in_dtype", "normalized_axis"),
    *("reduced_axes", "rows_of"),
]

DType = np.dtype[Any]
HostArray = np.ndarray[Any, Any]
Result = tuple[Any, Layout, DType]

WAVES = 8
"""Groups for each unit of the device, so that it is never idle."""

FEW = 64
"""Bytes that go to the device or come back without being called a transfer: numbers on
which it depends what is launched next."""

INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
INTP = np.dtype(np.intp)
BOOL = np.dtype(np.bool_)


class Work:
    """One device, as the functions of the library see it.

    Parameters
    ----------
    backend : GridBackend
    """

    def __init__(self, backend: GridBackend) -> None:
        self.backend = backend

    @property
    def items(self) -> int:
        """Work items of a group."""
        return self.backend.limits.items

    # ------------------------------------------------------------------------- arrays
    def new(self, shape: Sequence[int], dtype: DType) -> GridView:
        """A C-contiguous array with any content.

        Raises
        ------
        UnsupportedError
            The device has no such dtype.
        """
        self.check(dtype)
        layout = Layout.dense(tuple(shape), dtype.itemsize)
        return GridView(
            self.backend.allocate(layout.size * dtype.itemsize), layout, dtype
        )

    def check(self, dtype: DType) -> None:
        """Refuse a dtype that the device does not have."""
        if dtype not in self.backend.supported:
            raise UnsupportedError(f"{self.backend.device} has no arrays of {dtype}")

    def put(self, x: Any, dtype: DType | None = None) -> GridView:
        """An operand on the device: what is there already, or an object of the host."""
        if isinstance(x, GridView):
            return x if dtype is None else self.cast(x, dtype)
        host = np.asarray(x, dtype, order="C")
        target = self.new(host.shape, host.dtype)
        if host.size:
            started = time.perf_counter()
            self.backend.upload(host.reshape(-1).view(np.uint8), target.memory)
            self._moved("cpu", self.backend.device, host.nbytes, started)
        return target

    def full(self, size: int, value: int, dtype: DType) -> GridView:
        """An axis of one number."""
        target = self.new((size,), dtype)
        number = Program((), (dtype,), (), (0,))
        executable = self.backend.compile(number)
        scalars = [dtype.type(value)]
        self.backend.launch(executable, target.shape, [], scalars, [target])
        return target

    def read(self, x: GridView) -> HostArray:
        """The elements, on the host."""
        x = self.dense(x)
        size = x.dtype.itemsize
        low, high = x.layout.span(size)
        if low > FEW:  # a copy brings what lies before
            x = self.copy(x)
            low, high = x.layout.span(size)
        raw = np.empty(high, np.uint8)
        if x.size:
            started = time.perf_counter()
            self.backend.download(x.memory, raw)
            self._moved(self.backend.device, "cpu", high - low, started)
        found = raw[low:high].view(x.dtype)
        return found.reshape(x.shape)

    def _moved(self, source: str, target: str, nbytes: int, started: float) -> None:
        """Show a transfer, unless it was of a few numbers."""
        if nbytes > FEW:
            event = Event(
                "transfer",
                "copy",
                f"{source} -> {target}",
                nbytes=nbytes,
                seconds=time.perf_counter() - started,
                start=started,
            )
            emit(event)

    def dense(self, x: GridView) -> GridView:
        """The same elements, C-contiguous; a copy where they are not."""
        wanted = Layout.dense(x.shape, x.dtype.itemsize)
        if x.size <= 1 or x.layout.strides == wanted.strides:
            return GridView(
                x.memory, Layout(x.shape, wanted.strides, x.layout.offset), x.dtype
            )
        return self.copy(x)

    def copy(self, x: GridView) -> GridView:
        """A C-contiguous copy."""
        return self.map(CAST, x, dtype=x.dtype)

    def cast(self, x: GridView, dtype: DType) -> GridView:
        """The elements with another dtype."""
        return x if x.dtype == dtype else self.map(CAST, x, dtype=dtype)

    def reshaped(self, x: GridView, shape: Sequence[int]) -> GridView:
        """The same elements in another shape; a copy where no view shows them."""
        return self.dense(x).through(lambda a: a.reshape(shape))

    # ------------------------------------------------------------------------ programs
    def map(
        self,
        op: Op,
        *operands: Any,
        dtype: DType | None = None,
        out: GridView | None = None,
    ) -> GridView:
        """An elementwise operation over arrays and numbers, broadcast.

        Parameters
        ----------
        op : Op
        operands : GridView or number
        dtype : dtype, optional
            Of the result, where it is not what the operation gives.
        out : GridView, optional
            Where the result goes.
        """
        program, arrays, scalars, result = _program(op, operands, dtype)
        target = out
        if target is None:
            shape = broadcast_shapes([x.shape for x in arrays])
            target = self.new(shape, result)
        shape = target.shape
        given = [x.through(lambda a: np.broadcast_to(a, shape)) for x in arrays]
        executable = self.backend.compile(program)
        self.backend.launch(executable, shape, given, scalars, [target])
        return target

    def reduce(
        self,
        op: Op,
        axes: Sequence[int],
        *operands: Any,
        before: Op = CAST,
        within: DType | None = None,
        dtype: DType | None = None,
        result: DType | None = None,
    ) -> GridView:
        """A reduction of an elementwise operation; its axes stay, with length 1.

        Parameters
        ----------
        op : Op
            The reduction.
        axes : sequence of int
        operands : GridView or number
        before : Op
            What is reduced, of the operands.
        within : dtype, optional
            To which the operands are converted before.
        dtype : dtype, optional
            What it is reduced in.
        result : dtype, optional
            Of the result, where that is another one.
        """
        program, arrays, scalars, found = _program(before, operands, dtype, within)
        shape = broadcast_shapes([x.shape for x in arrays])
        given = [x.through(lambda a: np.broadcast_to(a, shape)) for x in arrays]
        last = Reduction(op, program.outputs[0], found)
        ended = Program(program.leaves, program.scalars, program.nodes, (), last)
        kept = [1 if axis in axes else length for axis, length in enumerate(shape)]
        target = self.new(kept, result or found)
        executable = self.backend.compile(ended)
        self.backend.launch(executable, shape, given, scalars, [], target)
        return target

    # ------------------------------------------------------------------------ launches
    def run(self, kernel: Kernel, count: int, *arguments: Any) -> None:
        """Run a kernel whose work items take ``count`` elements in turn.

        Views among the arguments stand for their memory.
        """
        groups = min(-(-count // self.items), self.backend.limits.units * WAVES * 8)
        self.run_groups(kernel, (max(1, groups), 1), *arguments)

    def run_groups(
        self,
        kernel: Kernel,
        groups: tuple[int, int],
        *arguments: Any,
        items: int | None = None,
    ) -> None:
        """Run a kernel over groups of ``items`` along two axes."""
        given = [x.memory if isinstance(x, GridView) else x for x in arguments]
        items = items or self.items
        grid = (groups[0] * items, min(groups[1], 1 << 15))
        self.backend.run(kernel, grid, (items, 1), given)


def _program(
    op: Op,
    operands: Sequence[Any],
    dtype: DType | None,
    within: DType | None = None,
) -> tuple[Program, list[GridView], list[Any], DType]:
    """One operation with the conversions that it takes, as a program."""
    arrays = [x for x in operands if isinstance(x, GridView)]
    scalars = []
    types: list[Any] = []
    for x in operands:
        if isinstance(x, GridView):
            types.append(x.dtype)
        else:
            types.append(x.dtype if isinstance(x, np.generic) else type(x))
    if op is CAST:
        inputs, result = tuple(types), dtype or types[0]
    else:
        if within is not None:
            types = [within] * len(types)
        signature = op.resolve(tuple(types))
        inputs, (result, *_) = signature.inputs, signature.outputs
    slots = []
    leaves = [x.dtype for x in arrays]
    numbers = [
        wanted
        for x, wanted in zip(operands, inputs, strict=True)
        if not isinstance(x, GridView)
    ]
    made: list[Node] = []
    array, number = 0, len(leaves)
    first = len(leaves) + len(numbers)
    for x, wanted in zip(operands, inputs, strict=True):
        if not isinstance(x, GridView):
            scalars.append(wanted.type(x))
            slots.append(number)
            number += 1
        elif x.dtype == wanted:
            slots.append(array)
            array += 1
        else:
            made.append(Node(CAST, (array,), (wanted,), (Inner.CONTIGUOUS,)))
            slots.append(first + len(made) - 1)
            array += 1
    slot = slots[0]
    if op is not CAST:
        inner = (Inner.CONTIGUOUS,) * len(slots)
        made.append(Node(op, tuple(slots), (result,), inner))
        slot = first + len(made) - 1
    if dtype is not None and dtype != result:
        made.append(Node(CAST, (slot,), (dtype,), (Inner.CONTIGUOUS,)))
        slot, result = first + len(made) - 1, dtype
    elif op is CAST and leaves and result != leaves[0]:
        made.append(Node(CAST, (slot,), (result,), (Inner.CONTIGUOUS,)))
        slot = first + len(made) - 1
    program = Program(tuple(leaves), tuple(numbers), tuple(made), (slot,))
    return program, arrays, scalars, result


class Rows:
    """An array as rows along one axis: ``outer`` by ``inner`` of them, ``length`` long.

    Attributes
    ----------
    view : GridView
        With the three axes outer, along the row, inner.
    outer, length, inner : int
    """

    __slots__ = ("inner", "length", "outer", "view")

    def __init__(self, view: GridView) -> None:
        self.view = view
        self.outer, self.length, self.inner = view.shape

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.outer * self.inner

    def numbers(self) -> tuple[int, ...]:
        """Offset and strides in elements: outer, along the row, inner."""
        offset, strides = self.view.elements()
        return (offset, *strides)


def rows_of(work: Work, x: GridView, axis: int) -> Rows:
    """The rows of an array along an axis, copied only where no view shows them."""
    shape = x.shape
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    wanted = (outer, shape[axis], inner)
    if 0 in shape:
        return Rows(work.new(wanted, x.dtype))
    try:
        return Rows(x.through(lambda a: a.reshape(wanted, copy=False)))
    except ValueError:
        return Rows(work.reshaped(x, wanted))


def normalized_axis(axis: Any, ndim: int) -> int:
    """An axis that counts from the front.

    Raises
    ------
    AxisError
        There is no such axis.
    """
    return int(np.lib.array_utils.normalize_axis_index(axis, ndim))


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes that count from the front; an array without axes has one to reduce.

    Raises
    ------
    AxisError
        There is no such axis.
    """
    if not ndim and axis in (0, -1):
        return ()
    return tuple(np.lib.array_utils.normalize_axis_tuple(axis, ndim))


def in_dtype(
    work: Work, *operands: Any, dtype: Any = None, **others: Any
) -> list[GridView]:
    """Operands in the dtype in which a ufunc is to compute, if one is named.

    Raises
    ------
    UnsupportedError
        There are other options, or NumPy would refuse to cast.
    """
    if others:
        raise UnsupportedError(f"options {', '.join(others)}")
    views = [work.put(x) for x in operands]
    if dtype is None:
        return views
    wanted = np.dtype(dtype)
    if not all(np.can_cast(x.dtype, wanted, "same_kind") for x in views):
        raise UnsupportedError(f"{wanted} of {views[0].dtype} and {views[-1].dtype}")
    return [work.cast(x, wanted) for x in views]
