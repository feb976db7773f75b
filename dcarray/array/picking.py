"""The methods of `numpy.ndarray` that pick, place, order and combine elements."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from ..ops import elementwise as ops, indexing as picks
from ..ops.contraction import DOT
from ..ops.reduction import ARGMAX, ARGMIN, CUMULATIVE_PROD, CUMULATIVE_SUM
from ..ops.spec import Op
from . import calls, indexing, library, reductions, whole
from .fallback import call_numpy, on_host
from .methods import Methods, plain
from .movement import often

__all__ = ["Picking"]

LONG = 1 << 18
"""Elements from which it pays to sort into other memory, on all cores."""


class Picking(Methods):
    """More of NumPy's methods."""

    __slots__ = ()

    def _call(self, function: Any, *arguments: Any, **keywords: Any) -> Any:
        """A NumPy function on the host; counted where that moves data."""
        if self._device.kind in ("auto", "cpu"):
            return on_host(type(self), function, *arguments, **keywords)
        return call_numpy(type(self), function, *arguments, **keywords)

    # ------------------------------------------------------------------ arithmetic
    @whole.method
    def clip(
        self, min: Any = None, max: Any = None, out: Any = None, **keywords: Any
    ) -> Any:
        """The elements limited to an interval, as `numpy.clip`."""
        cls = type(self)
        if self.dtype.kind in "iu":
            min, max = _within(self.dtype, min, max)
        if min is None and max is None:
            return calls.elementwise(cls, ops.POSITIVE, (self,), out, **keywords)
        if min is None:
            return calls.elementwise(cls, ops.MINIMUM, (self, max), out, **keywords)
        if max is None:
            return calls.elementwise(cls, ops.MAXIMUM, (self, min), out, **keywords)
        return calls.elementwise(cls, ops.CLIP, (self, min, max), out, **keywords)

    def conj(self) -> Any:
        """The complex conjugates, as `numpy.conjugate`."""
        return self.conjugate()

    def conjugate(self) -> Any:
        """The complex conjugates; real arrays are returned as they are."""
        if self.dtype.kind not in "cO":
            return self
        return calls.elementwise(type(self), ops.CONJUGATE, (self,))

    @whole.method
    def round(self, decimals: SupportsIndex = 0, out: Any = None) -> Any:
        """The elements rounded to ``decimals`` places, as `numpy.round`."""
        places = int(decimals)
        if places == 0 and self.dtype.kind == "f" and out is None:
            return calls.elementwise(type(self), ops.RINT, (self,))
        if self._on_host():
            return on_host(type(self), np.round, self, decimals, out=out)
        if out is not None:  # NumPy says whether it takes such numbers
            np.round(np.empty(0, self.dtype), places, out=np.empty(0, out.dtype))
        return self._stored(self._rounded(places), out)

    def _rounded(self, places: int) -> Any:
        """As NumPy rounds: through a product and a quotient."""
        cls = type(self)
        if self.dtype.kind == "b":
            np.round(np.empty(0, np.bool), places)  # says what is wrong, if anything is
            return calls.cast(cls, self, np.dtype(np.float16))
        if self.dtype.kind in "iu" and places >= 0:
            return self.copy("K")
        if self.dtype.kind == "c":
            part = np.empty(0, self.dtype).real.dtype
            result = cls._empty(self.shape, self.dtype, self._device)
            for offset in (0, part.itemsize):
                rounded = self.getfield(part, offset)._rounded(places)
                indexing.set_item(result.getfield(part, offset), ..., rounded)
            return result
        factor = 10.0 ** abs(places)
        first, second = (ops.MULTIPLY, ops.DIVIDE)
        if places < 0:
            first, second = second, first
        scaled = calls.elementwise(cls, first, (self, factor)) if places else self
        whole = calls.elementwise(cls, ops.RINT, (scaled,))
        result = calls.elementwise(cls, second, (whole, factor)) if places else whole
        return result if result.dtype == self.dtype else result.astype(self.dtype)

    def _on_host(self) -> bool:
        return self._device.kind in ("auto", "cpu")

    def _stored(self, result: Any, out: Any) -> Any:
        """A result, or the array ``out`` that holds it now."""
        if out is None:
            return result
        out[...] = result
        return out

    @whole.method
    def dot(self, b: Any, out: Any = None) -> Any:
        """The product with another array, as `numpy.dot`."""
        if out is not None:
            return self._call(library.oracle(DOT), self, b, out=out)
        return calls.library(type(self), DOT, (self, b))

    @whole.method
    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The running products along ``axis``, as `numpy.cumprod`."""
        if out is not None:
            return self._call(np.cumprod, self, axis, dtype, out=out)
        return self._scan(CUMULATIVE_PROD, axis, dtype)

    @whole.method
    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The running sums along ``axis``, as `numpy.cumsum`."""
        if out is not None:
            return self._call(np.cumsum, self, axis, dtype, out=out)
        return self._scan(CUMULATIVE_SUM, axis, dtype)

    def _scan(self, op: Op, axis: Any, dtype: Any) -> Any:
        x = self
        if axis is None:
            x, axis = self.ravel(), 0
        if not x.ndim:
            x = x.reshape(1)
        if dtype is not None and self._device.is_named:
            calls.warn_of_parts(x.dtype, np.dtype(dtype))
        return calls.library(type(self), op, (x,), axis=plain(axis), dtype=dtype)

    @whole.method
    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """The sums along diagonals, as `numpy.trace`."""
        diagonal = self.diagonal(offset, axis1, axis2)
        return diagonal.sum(axis=-1, dtype=dtype, out=out)

    # --------------------------------------------------------------------- picking
    @whole.method
    def argmax(
        self, axis: Any = None, out: Any = None, *, keepdims: Any = False
    ) -> Any:
        """Positions of the first largest elements along ``axis``."""
        if out is not None:
            return reductions.through_numpy(
                self, np.argmax, axis, out, {"keepdims": keepdims}
            )
        return calls.library(
            type(self), ARGMAX, (self,), axis=plain(axis), keepdims=keepdims
        )

    @whole.method
    def argmin(
        self, axis: Any = None, out: Any = None, *, keepdims: Any = False
    ) -> Any:
        """Positions of the first smallest elements along ``axis``."""
        if out is not None:
            return reductions.through_numpy(
                self, np.argmin, axis, out, {"keepdims": keepdims}
            )
        return calls.library(
            type(self), ARGMIN, (self,), axis=plain(axis), keepdims=keepdims
        )

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Elements picked from ``choices`` by number, as `numpy.choose`."""
        if self._on_host():
            return on_host(type(self), np.choose, self, choices, out=out, mode=mode)
        result = calls.library(type(self), picks.CHOOSE, (self, *choices), mode=mode)
        return self._stored(result, out)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """The slices along ``axis`` where ``condition`` holds, as `numpy.compress`."""
        if self._on_host():
            return on_host(type(self), np.compress, condition, self, axis, out=out)
        condition = calls.as_operand(condition)
        result = calls.library(
            type(self), picks.COMPRESS, (condition, self), axis=plain(axis)
        )
        return self._stored(result, out)

    def fill(self, value: Any) -> None:
        """Assign one value to all elements."""
        if self._device.kind in ("auto", "cpu"):
            self._writable_array().fill(plain(value))
        else:
            filled = np.asarray(plain(value)).astype(self.dtype)
            indexing.set_item(self, ..., filled)

    @whole.method
    def nonzero(self) -> Any:
        """The indices of elements that are not zero, one array for each axis."""
        result = calls.library(type(self), picks.NONZERO, (self,))
        return result if isinstance(result, tuple) else (result,)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Assign to elements by their flat positions, as `numpy.put`."""
        if self._on_host():
            on_host(type(self), np.put, self, indices, values, mode=mode)
            return
        changed = calls.library(
            type(self), picks.PUT_FLAT, (self, indices, values), mode=mode
        )
        indexing.set_item(self, ..., changed)

    @whole.method
    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Each element repeated, as `numpy.repeat`."""
        found = often(self, repeats, axis)
        if found is not None:
            return found
        return calls.library(
            type(self), picks.REPEAT, (self, repeats), axis=plain(axis)
        )

    @whole.method
    def take(
        self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise"
    ) -> Any:
        """Elements at given positions along ``axis``, as `numpy.take`."""
        if out is not None:
            return self._call(np.take, self, indices, axis, out=out, mode=mode)
        return calls.library(
            type(self), picks.TAKE, (self, indices), axis=plain(axis), mode=mode
        )

    # -------------------------------------------------------------------- ordering
    def argpartition(
        self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
    ) -> Any:
        """The positions that partition the array, as `numpy.argpartition`."""
        if order is not None or self._on_host():
            return self._call(np.argpartition, self, kth, axis, kind, order)
        return calls.library(
            type(self),
            picks.ARGPARTITION,
            (self,),
            kth=plain(kth),
            axis=axis,
            kind=kind,
        )

    def argsort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        """The positions that sort the array along ``axis``, as `numpy.argsort`."""
        if order is not None or self.dtype.kind not in "biufc":
            return self._call(np.argsort, self, axis, kind, order, stable=stable)
        return calls.library(
            type(self),
            picks.ARGSORT,
            (self,),
            axis=plain(axis),
            kind=kind,
            stable=stable,
        )

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """Partition the array in place, as `numpy.ndarray.partition`."""
        if self._device.kind in ("auto", "cpu"):
            host: Any = self._writable_array()
            host.partition(plain(kth), axis, kind, order)
        else:
            changed = calls.library(
                type(self),
                picks.PARTITION,
                (self,),
                kth=plain(kth),
                axis=axis,
                kind=kind,
            )
            indexing.set_item(self, ..., changed)

    @whole.method
    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> Any:
        """Where to insert ``v`` to keep the order, as `numpy.searchsorted`."""
        if sorter is not None:
            return self._call(np.searchsorted, self, v, side, sorter)
        return calls.library(type(self), picks.SEARCHSORTED, (self, v), side=side)

    def sort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> None:
        """Sort the array in place along ``axis``, as `numpy.ndarray.sort`."""
        if self._device.kind in ("auto", "cpu"):
            host: Any = self._writable_array()
            if host.size < LONG or order is not None or host.dtype.kind not in "iuf":
                host.sort(axis=axis, kind=kind, order=order, stable=stable)
            else:
                function = library.oracle(picks.SORT)
                host[...] = function(host, plain(axis), kind, stable=stable)
        else:
            ordered = calls.library(
                type(self), picks.SORT, (self,), axis=axis, kind=kind, stable=stable
            )
            indexing.set_item(self, ..., ordered)


def _within(dtype: np.dtype[Any], low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds without Python ints that no element of an integer dtype can cross."""
    limits = np.iinfo(dtype)
    if type(low) is int and low <= limits.min:
        low = None
    if type(high) is int and high >= limits.max:
        high = None
    return low, high
