"""`numpy.matmul` and its kin where that is not best left to BLAS: for dtypes that it
does not know, for a few rows (`thin`) and for stacks of small matrices (`stacks`)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import stacks, thin
from .exact import multiplied

__all__ = ["dot", "einsum", "inner", "matmul", "tensordot"]

HostArray = np.ndarray[Any, Any]
DType = np.dtype[Any]

LEAST = {1: 1 << 15, 2: 1 << 15, 4: 1 << 18, 8: 1 << 18}
"""Products of elements from which the way through BLAS is the shorter one, by the bytes
of the dtype."""

THIN = 4
"""Rows or columns of a matrix below which NumPy's loop waits for memory anyway."""

CHARS = frozenset("bBhHiIlLqQe")
"""Dtypes that NumPy multiplies element by element: but for booleans, where it stops
at the first pair that is true."""


def _dtype_of(x: Any, y: Any, brain: bool = True) -> DType | None:
    """The dtype of a product of two arrays, if it is one that is made here; bfloat16
    among them, which the ufuncs take for float32."""
    if type(x) is not np.ndarray or type(y) is not np.ndarray:
        return None
    if x.dtype.char not in CHARS or y.dtype.char not in CHARS:
        same = brain and x.dtype == y.dtype and x.dtype.name == "bfloat16"
        return x.dtype if same else None
    dtype = np.result_type(x.dtype, y.dtype)
    return dtype.newbyteorder("=") if dtype.char in CHARS else None


def _pays(rows: int, length: int, columns: int, dtype: DType) -> bool:
    least = LEAST[dtype.itemsize]
    return min(rows, length, columns) >= THIN and rows * length * columns >= least


def _product(
    function: Callable[..., Any], x: HostArray, y: HostArray, dtype: DType
) -> HostArray:
    """Two matrices; floating-point warnings are those of ``function``."""
    if dtype.kind in "biu":
        return multiplied(x, y, dtype)[0]
    with np.errstate(all="ignore"):
        found, odd = multiplied(x, y, dtype)
    if odd:
        _warn(function, x, y, found)
    return found


def _warn(
    function: Callable[..., Any], x: HostArray, y: HostArray, found: HostArray
) -> None:
    """Have ``function`` say what happened to numbers that are infinite or NaN."""
    endless: Any = np.isinf(x).any(1, keepdims=True) | np.isinf(y).any(0)
    missing: Any = np.isnan(x).any(1, keepdims=True) | np.isnan(y).any(0)
    large = np.full((1, 1), 2.0**15, np.float16)
    if (np.isinf(found) & ~endless).any():
        function(large, large)
    if (np.isnan(found) & ~missing).any():
        function(np.full((1, 1), math.inf, np.float16), 0 * large)


# -------------------------------------------------------------------------- functions
@functools.wraps(np.matmul)
def matmul(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """`numpy.matmul`."""
    if not options:
        dtype = _dtype_of(x, y, brain=False)
        if dtype is not None and x.ndim > 1 and y.ndim > 1:
            rows, length = x.shape[-2:]
            if length == y.shape[-2] and _pays(rows, length, y.shape[-1], dtype):
                found = _stacked(x, y, dtype)
                if found is not None:
                    return _stored(np.matmul, found, (x, y), out)
        elif out is None and type(x) is type(y) is np.ndarray:
            if x.ndim == y.ndim == 2:
                found = thin.product(x, y)
            elif x.ndim > 1 and y.ndim > 1:
                found = stacks.product(x, y)
            else:
                found = None
            if found is not None:
                return found
    if out is not None:
        options["out"] = out
    return np.matmul(x, y, **options)


def _stacked(x: HostArray, y: HostArray, dtype: DType) -> HostArray | None:
    """Products of stacks of matrices."""
    if x.ndim == y.ndim == 2:
        return _product(np.matmul, x, y, dtype)
    try:
        stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        return None  # NumPy says it in its words
    if y.ndim == 2 and x.flags.c_contiguous:
        flat = _product(np.matmul, x.reshape(-1, x.shape[-1]), y, dtype)
        return flat.reshape(*x.shape[:-1], y.shape[-1])
    x = np.broadcast_to(x, stack + x.shape[-2:])
    y = np.broadcast_to(y, stack + y.shape[-2:])
    found = np.empty((*stack, x.shape[-2], y.shape[-1]), dtype)
    for place in np.ndindex(stack):
        found[place] = _product(np.matmul, x[place], y[place], dtype)
    return found


def _stored(
    function: Callable[..., Any], found: HostArray, given: Any, out: Any
) -> Any:
    """A result in ``out``, if there is one that takes it as it is."""
    if out is None:
        return found
    (target,) = out if type(out) is tuple and len(out) == 1 else (out,)
    if (
        type(target) is np.ndarray
        and target.shape == found.shape
        and target.dtype == found.dtype
        and target.flags.writeable
        and (function is np.matmul or target.flags.c_contiguous)
    ):
        target[...] = found
        return target
    return function(*given, out=out)


@functools.wraps(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """`numpy.dot`."""
    found = _matrices(np.dot, a, b, -2)
    if found is None and out is None and type(a) is type(b) is np.ndarray:
        found = thin.product(a, b) if a.ndim == b.ndim == 2 else None
    if found is not None:
        return _stored(np.dot, found, (a, b), out)
    return np.dot(a, b) if out is None else np.dot(a, b, out)


@functools.wraps(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """`numpy.inner`."""
    found = _matrices(np.inner, a, b, -1)
    return np.inner(a, b) if found is None else found


def _matrices(function: Callable[..., Any], a: Any, b: Any, axis: int) -> Any:
    """Sums over the last axis of one array and an ``axis`` of the other, which has two
    axes at least; or None."""
    dtype = _dtype_of(a, b)
    if dtype is None or a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[axis]:
        return None
    return _contracted(function, a, b, [a.ndim - 1], [b.ndim + axis], dtype)


def _contracted(
    function: Callable[..., Any],
    a: HostArray,
    b: HostArray,
    of_a: list[int],
    of_b: list[int],
    dtype: DType,
) -> HostArray | None:
    """Sums of products along axes of both arrays; what is left of their axes, in turn.
    None where that does not pay."""
    length = math.prod([a.shape[axis] for axis in of_a])
    if not length or not _pays(a.size // length, length, b.size // length, dtype):
        return None
    kept_of_a = [axis for axis in range(a.ndim) if axis not in of_a]
    kept_of_b = [axis for axis in range(b.ndim) if axis not in of_b]
    first = a.transpose(kept_of_a + of_a)
    second = b.transpose(of_b + kept_of_b)
    found = _product(
        function, first.reshape(-1, length), second.reshape(length, -1), dtype
    )
    return found.reshape(first.shape[: len(kept_of_a)] + second.shape[len(of_b) :])


@functools.wraps(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """`numpy.tensordot`."""
    dtype = _dtype_of(a, b)
    if dtype is not None:
        pair = _axes(a, b, axes)
        if pair is not None:
            found = _contracted(np.dot, a, b, *pair, dtype)
            if found is not None:
                return found
    return np.tensordot(a, b, axes)


def _axes(a: HostArray, b: HostArray, axes: Any) -> tuple[list[int], list[int]] | None:
    """The axes of both arrays that are summed over; None where they are not plain."""
    if type(axes) is int:
        if not 0 <= axes <= min(a.ndim, b.ndim):
            return None
        of_a, of_b = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        try:
            of_a, of_b = ([x] if type(x) is int else list(x) for x in axes)
            of_a = [range(a.ndim)[axis] for axis in of_a]
            of_b = [range(b.ndim)[axis] for axis in of_b]
        except (IndexError, TypeError, ValueError):
            return None
    if len(set(of_a)) != len(of_a) or len(set(of_b)) != len(of_b):
        return None
    if [a.shape[axis] for axis in of_a] != [b.shape[axis] for axis in of_b]:
        return None
    return of_a, of_b


def einsum(
    *operands: Any,
    subscripts: str,
    out: Any = None,
    optimize: Any = False,
    **options: Any,
) -> Any:
    """`numpy.einsum` with the subscripts as a keyword."""
    if len(operands) == 2 and out is None and optimize is False and not options:
        dtype = _dtype_of(*operands)
        if dtype is not None and dtype.kind in "iu":
            found = _spelled(subscripts.replace(" ", ""), *operands, dtype)
            if found is not None:
                return found
    if out is not None:
        options["out"] = out
    return np.einsum(subscripts, *operands, optimize=optimize, **options)


def _spelled(text: str, a: HostArray, b: HostArray, dtype: DType) -> HostArray | None:
    """The product of two arrays if ``text`` says one like ``ij,jk->ik``: what is left
    of the first one's axes, then of the second one's."""
    terms, arrow, result = text.partition("->")
    first, comma, second = terms.partition(",")
    letters = first + second
    if not (arrow and comma and letters.isalpha() and a.flags.c_contiguous):
        return None
    summed = [x for x in first if x in second]
    if len(set(first)) != a.ndim or len(set(second)) != b.ndim:
        return None
    if len(letters) != a.ndim + b.ndim or not b.flags.c_contiguous:
        return None
    kept = [x for x in letters if x not in summed]
    if result != "".join(kept):
        return None
    of_a, of_b = [first.index(x) for x in summed], [second.index(x) for x in summed]
    if [a.shape[axis] for axis in of_a] != [b.shape[axis] for axis in of_b]:
        return None
    return _contracted(np.einsum, a, b, of_a, of_b, dtype)
