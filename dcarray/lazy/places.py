"""Where the results of a group go, if not into memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..backends.base import Backend, Memory
from ..backends.buffer import Buffer
from ..dtypes import DType
from ..layout import Layout, Shape, Strides, reduced_strides
from ..ops.spec import Op
from .callers import Place
from .graph import Read, Value, View

__all__ = ["Accumulator", "Ending", "Into", "Reduced", "reduced_of"]


class Into:
    """Memory that exists, for the first output of a group.

    Attributes
    ----------
    read : Read
        How it is seen.
    whole : bool
        Whether all of it is written.
    then : callable or None
        Called with the value once it has been written; the caller holds the lock.
    """

    __slots__ = ("read", "then", "whole")

    def __init__(
        self, read: Read, whole: bool, then: Callable[[Value], None] | None = None
    ) -> None:
        self.read = read
        self.whole = whole
        self.then = then

    @property
    def buffer(self) -> Buffer:
        """The memory."""
        buffer = self.read.value.buffer
        assert buffer is not None
        return buffer

    def prepare(self, backend: Backend) -> Memory:
        """The memory on a device."""
        return self.buffer.prepare_on(backend, self.whole)

    def wrote(self, backend: Backend, memory: Memory) -> None:
        """It has been written there."""
        self.buffer.wrote_on(backend, memory)
        if backend.device != "cpu":
            binding = self.read.value.binding
            bound = None if binding is None else binding()
            if bound is not None:
                bound.forget_hosts()


Ending: TypeAlias = tuple[Op, tuple[int, ...], View]
"""A reduction over axes, and how its operand lay before a conversion."""


class Reduced:
    """Where a reduction goes.

    Attributes
    ----------
    kept, dropped : View
        The result with length 1 along the reduced axes, and without them.
    order : tuple of int
        The strides that NumPy's temporary would have.
    nbytes : int
    """

    __slots__ = ("dropped", "kept", "nbytes", "order")

    def __init__(self, view: View, ending: Ending) -> None:
        layout, dtype = view
        _, axes, (seen, _) = ending
        whole = range(len(layout.shape))
        shape = tuple([1 if k in axes else layout.shape[k] for k in whole])
        # The operand's layout before a conversion orders the axes.
        strides = reduced_strides(seen, axes, dtype.itemsize)
        rest = [k for k in whole if k not in axes]
        self.kept = _dense_view(shape, strides, dtype)
        self.dropped = _dense_view(
            tuple([shape[k] for k in rest]), tuple([strides[k] for k in rest]), dtype
        )
        self.order = layout.strides
        self.nbytes = self.kept[0].size * dtype.itemsize


MOST = 1 << 12
"""Reductions that are remembered."""

_reduced: dict[tuple[Any, ...], Reduced] = {}


def reduced_of(view: View, ending: Ending) -> Reduced:
    """Where a reduction goes: the same object for operands that lie alike."""
    layout, dtype = view
    seen = ending[2][0]
    key = (layout.shape, layout.strides, dtype, dtype.num, ending[1], seen.strides)
    found = _reduced.get(key)
    if found is None:
        if len(_reduced) >= MOST:
            _reduced.clear()
        found = _reduced[key] = Reduced(view, ending)
    return found


def _dense_view(shape: Shape, strides: Strides, dtype: DType) -> View:
    plain = Layout.plain_for(shape, dtype.itemsize)
    layout = Layout(shape, strides)
    return View.of(plain if plain == layout else layout, dtype)


class Accumulator:
    """Memory for the result of a reduction, once there is some.

    ``errstate`` and ``place`` are those of the reduction, as for an `Expr`.
    """

    __slots__ = ("buffer", "dtype", "errstate", "layout", "order", "place")

    def __init__(self, reduced: Reduced, errstate: int, place: Place) -> None:
        self.layout, self.dtype = reduced.kept
        self.order = reduced.order
        self.errstate = errstate
        self.place = place
        self.buffer: Buffer | None = None
