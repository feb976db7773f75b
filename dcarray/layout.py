"""Shape and stride algebra.

A `Layout` says where the elements of an array lie in a block of memory; nothing in this
file reads or writes an element.  Strides and offsets are in bytes, as NumPy's are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "Layout",
    "address_of",
    "broadcast_shapes",
    "broadcast_strides",
    "copied_strides",
    "dense_strides",
    "inner_axis",
    "is_contiguous",
    "phantom",
    "reduced_strides",
    "result_strides",
    "view_host",
]

Shape: TypeAlias = tuple[int, ...]
Strides: TypeAlias = tuple[int, ...]
DType: TypeAlias = "np.dtype[Any]"
HostArray: TypeAlias = "np.ndarray[Any, Any]"

PHANTOM_ADDRESS = 1 << 44  # no array is there: phantoms, which are never read
_EMPTY_IS_FLAT = not any(np.empty((0, 2)).strides)  # new arrays since NumPy 2.4


class Layout:
    """Where an array's elements lie, relative to the start of its memory.

    It never changes.  ``plain`` says that it came from `Layout.plain_for`: C-contiguous
    from the start of the memory on.  There is one such object for each shape and
    itemsize.
    """

    # No dataclass: a loop over parts of arrays makes some at each step.
    __slots__ = ("offset", "plain", "shape", "strides")

    shape: Shape
    strides: Strides
    offset: int
    plain: bool

    def __init__(
        self, shape: Shape, strides: Strides, offset: int = 0, plain: bool = False
    ) -> None:
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.plain = plain

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return (
            self.offset == other.offset
            and self.strides == other.strides
            and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.strides, self.offset))

    def __repr__(self) -> str:
        return (
            f"Layout(shape={self.shape}, strides={self.strides}, "
            f"offset={self.offset}, plain={self.plain})"
        )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @classmethod
    def plain_for(cls, shape: Shape, itemsize: int) -> Layout:
        """The one C-contiguous layout of this shape."""
        found = _plain.get((shape, itemsize))
        if found is None:
            if len(_plain) > 4096:
                _plain.clear()
            found = cls(shape, dense_strides(shape, itemsize), 0, True)
            _plain[shape, itemsize] = found
        return found

    @classmethod
    def dense(cls, shape: Shape, itemsize: int, order: str = "C") -> Layout:
        """A C- or Fortran-contiguous array at the start of its memory."""
        return cls(shape, dense_strides(shape, itemsize, order))

    @classmethod
    def of(cls, array: HostArray, start: int) -> Layout:
        """The layout of ``array`` in memory that starts at address ``start``."""
        return cls(array.shape, array.strides, address_of(array) - start)

    def apply(
        self, dtype: DType, function: Callable[[HostArray], HostArray]
    ) -> tuple[Layout, DType]:
        """The layout after a view operation of NumPy's, ``lambda a: a[::2].T`` say.

        ``function`` gets an array that has this layout and no memory; it must return a
        view of it and never read it.
        """
        try:
            view = function(phantom(self, dtype))
        except Exception as error:
            # Its frames show the phantom, which whoever prints them would read.
            raise error.with_traceback(None) from None
        layout = Layout(view.shape, view.strides, address_of(view) - PHANTOM_ADDRESS)
        return layout, view.dtype

    def span(self, itemsize: int) -> tuple[int, int]:
        """First byte and end of the bytes that the elements lie in."""
        low = high = self.offset
        for length, stride in zip(self.shape, self.strides, strict=True):
            if length == 0:
                return self.offset, self.offset
            reach = (length - 1) * stride
            if reach < 0:
                low += reach
            else:
                high += reach
        return low, high + itemsize


_plain: dict[tuple[Shape, int], Layout] = {}


class _Interface:
    __slots__ = ("__array_interface__",)

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def phantom(layout: Layout, dtype: DType) -> HostArray:
    """An array with this layout and no memory.  Only view operations may touch it."""
    interface = {
        "version": 3,
        "shape": layout.shape,
        "typestr": dtype.str if dtype.kind != "V" else f"|V{dtype.itemsize}",
        "data": (PHANTOM_ADDRESS + layout.offset, False),
        "strides": layout.strides,
    }
    array = np.asarray(_Interface(interface))
    return array if array.dtype is dtype else array.view(dtype)


def address_of(array: HostArray) -> int:
    """Address of the first element."""
    return int(array.__array_interface__["data"][0])


# ------------------------------------------------------------------ strides, shapes
def dense_strides(shape: Shape, itemsize: int, order: str = "C") -> Strides:
    """Strides of a contiguous array."""
    strides = [0] * len(shape)
    if _EMPTY_IS_FLAT and 0 in shape:
        return tuple(strides)
    step = itemsize
    axes = range(len(shape)) if order == "F" else range(len(shape) - 1, -1, -1)
    for axis in axes:
        strides[axis] = step
        step *= shape[axis] if shape[axis] else 1
    return tuple(strides)


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """The common shape.

    Raises
    ------
    ValueError
        The shapes do not broadcast, in NumPy's words.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    ndim = max(len(shape) for shape in shapes)
    result = [1] * ndim
    for shape in shapes:
        for axis, length in enumerate(shape, ndim - len(shape)):
            if length != 1:
                if result[axis] not in (1, length):
                    listed = " ".join(str(s).replace(" ", "") for s in shapes)
                    raise ValueError(
                        "operands could not be broadcast together with shapes "
                        f"{listed} "
                    )
                result[axis] = length
    return tuple(result)


def broadcast_strides(layout: Layout, shape: Shape) -> Strides:
    """Strides that show ``layout`` as an array of ``shape``, 0 where repeated."""
    if layout.shape == shape:
        return layout.strides
    missing = len(shape) - len(layout.shape)
    return (0,) * missing + tuple(
        stride if length == wanted else 0
        for length, stride, wanted in zip(
            layout.shape, layout.strides, shape[missing:], strict=True
        )
    )


def iteration_order(shape: Shape, operands: Sequence[Strides]) -> list[int]:
    """Axes from the slowest to the fastest, in the order in which NumPy iterates.

    This is NumPy's rule for ``order="K"`` (``npyiter_find_best_axis_ordering``): a
    stable insertion sort by absolute strides, in which axes that do not compare keep
    C order and operands that disagree resolve to C order.
    """
    ndim = len(shape)
    axes = list(range(ndim - 1, -1, -1))  # from the fastest to the slowest
    # An axis of length 1 has no stride of its own.
    rows = [
        [
            0 if length == 1 else abs(stride)
            for length, stride in zip(shape, s, strict=True)
        ]
        for s in operands
    ]
    for position in range(1, ndim):
        axis = axes[position]
        target = position
        for other in range(position - 1, -1, -1):
            ambiguous, swap = True, False
            for row in rows:
                mine, theirs = row[axis], row[axes[other]]
                if mine and theirs:
                    if theirs <= mine:
                        swap = False
                    elif ambiguous:
                        swap = True
                    ambiguous = False
            if not ambiguous:
                if not swap:
                    break
                target = other
        if target != position:
            axes.insert(target, axes.pop(position))
    axes.reverse()
    return axes


def result_strides(
    shape: Shape,
    operands: Sequence[tuple[Shape, Strides, int, bool]],
    itemsize: int,
    short_way: bool = True,
) -> Strides:
    """Strides that NumPy gives to a new result with ``order="K"``.

    Parameters
    ----------
    shape : tuple of int
        The broadcast shape.
    operands : sequence of (shape, strides, itemsize, converted)
        Of each operand before broadcasting, and whether the loop wants another dtype.
    itemsize : int
        Of the result.
    short_way : bool
        Whether NumPy may skip its iterator: a ufunc with one result.
    """
    if len(shape) < 2 or 0 in shape:
        return dense_strides(shape, itemsize)
    if short_way:
        order = _shared_order(shape, operands)
        if order is not None:
            return dense_strides(shape, itemsize, order)
    rows = [broadcast_strides(Layout(own, s), shape) for own, s, _, _ in operands]
    strides = [0] * len(shape)
    step = itemsize
    for axis in reversed(iteration_order(shape, rows)):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def _shared_order(
    shape: Shape, operands: Sequence[tuple[Shape, Strides, int, bool]]
) -> str | None:
    """The order of operands that are all contiguous in the same ways.

    NumPy passes it on also to axes of length 1, which have no order of their own.
    """
    found: tuple[bool, bool] | None = None
    for own, strides, itemsize, converted in operands:
        if not own:
            continue
        if own != shape or converted:
            return None
        flags = (
            is_contiguous(own, strides, itemsize),
            is_contiguous(own, strides, itemsize, "F"),
        )
        if flags == (False, False) or (found is not None and flags != found):
            return None
        found = flags
    if found is None:
        return None
    return "F" if found == (False, True) else "C"


def copied_strides(layout: Layout, old_itemsize: int, itemsize: int) -> Strides:
    """Strides that NumPy gives to a copy with ``order="K"``: `copy`, `astype`."""
    shape, strides = layout.shape, layout.strides
    if len(shape) < 2 or is_contiguous(shape, strides, old_itemsize):
        return dense_strides(shape, itemsize)
    if is_contiguous(shape, strides, old_itemsize, "F"):
        return dense_strides(shape, itemsize, "F")
    result = [0] * len(shape)
    step = itemsize
    for axis in sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))[::-1]:
        result[axis] = step
        step *= shape[axis]
    return tuple(result)


def reduced_strides(layout: Layout, axes: Sequence[int], itemsize: int) -> Strides:
    """Strides of a reduction's result with length 1 along ``axes``.

    The kept axes keep the order of the operand; a reduced one has the stride that it
    would have if nothing came after it.
    """
    kept = [1 if k in axes else n for k, n in enumerate(layout.shape)]
    strides = [0] * len(kept)
    step = itemsize
    for axis in reversed(iteration_order(layout.shape, [layout.strides])):
        strides[axis] = step
        step *= kept[axis]
    return tuple(strides)


def is_contiguous(
    shape: Shape, strides: Strides, itemsize: int, order: str = "C"
) -> bool:
    """Whether elements follow each other without gaps.

    Axes of length 1 do not count.
    """
    if 0 in shape:
        return True
    step = itemsize
    for axis in range(len(shape)) if order == "F" else range(len(shape) - 1, -1, -1):
        length = shape[axis]
        if length != 1:
            if strides[axis] != step:
                return False
            step *= length
    return True


def inner_axis(shape: Shape, operands: Sequence[Strides]) -> int | None:
    """The axis along which NumPy's inner loop steps; None if there is no such axis."""
    for axis in reversed(iteration_order(shape, operands)):
        if shape[axis] != 1:
            return axis
    return None


def view_host(root: HostArray, layout: Layout, dtype: DType) -> HostArray:
    """The array that lies as ``layout`` says in the memory of ``root``, which it keeps
    alive.  Offsets count from the lowest address of ``root``."""
    if root.flags.c_contiguous and layout.size:
        return np.ndarray(
            layout.shape,
            dtype,
            buffer=root,
            offset=layout.offset,
            strides=layout.strides,
        )
    low, _ = Layout(root.shape, root.strides).span(root.itemsize)
    return np.asarray(
        _Window(root, address_of(root) + low + layout.offset, layout, dtype)
    )


class _Window:
    """Shows part of an array's memory, and keeps the array alive."""

    def __init__(
        self, root: HostArray, start: int, layout: Layout, dtype: DType
    ) -> None:
        self.root = root
        self.__array_interface__ = {
            "version": 3,
            "shape": layout.shape,
            "typestr": dtype.str,
            "data": (start, not root.flags.writeable),
            "strides": layout.strides,
        }
