"""How NumPy groups the elements of a reduction, and what may therefore be divided."""

from __future__ import annotations

from typing import Any

import numpy as np

from .threads import available_threads, run_slices

__all__ = [
    "has_minus_zero",
    "identity_of",
    "is_any_order",
    "is_doubtful",
    "is_pairwise",
    "reduction_ufunc",
]

DType = np.dtype[Any]

SHARED = 1 << 17
"""Elements that threads look through together."""

_UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}

_ANY_ORDER = frozenset(
    "minimum maximum fmin fmax bitwise_and bitwise_or bitwise_xor "
    "logical_and logical_or logical_xor".split()
)


def reduction_ufunc(op: Any) -> np.ufunc | None:
    """The ufunc whose ``reduce`` an op means, if there is one."""
    if isinstance(op.numpy, np.ufunc):
        return op.numpy
    return _UFUNCS.get(op.name)


def is_pairwise(ufunc: np.ufunc, dtype: DType) -> bool:
    """Whether a run follows the pairwise tree and its branches can be joined.

    float16 keeps its partial sums in float32: they cannot be had from outside.
    """
    return ufunc is np.add and dtype.char in "fdFD"


def is_any_order(ufunc: np.ufunc, dtype: DType) -> bool:
    """Whether the grouping does not matter (but see `is_doubtful`)."""
    if dtype.kind in "biu":
        return ufunc.__name__ in _ANY_ORDER or ufunc in (np.add, np.multiply)
    return ufunc.__name__ in _ANY_ORDER and dtype.kind == "f"


def is_doubtful(ufunc: np.ufunc, result: np.ndarray[Any, Any]) -> bool:
    """A minimum or maximum of zeros: its sign depends on how NumPy took the run."""
    return (
        result.dtype.kind == "f" and ufunc is not np.add and bool((result == 0).any())
    )


def has_minus_zero(x: np.ndarray[Any, Any]) -> bool:
    """Whether a float is a negative zero, the least of all numbers in its bits."""
    whole = x.view(f"i{x.itemsize}")
    axis = max(range(x.ndim), key=lambda k: x.shape[k])
    length = x.shape[axis]
    threads = available_threads() if x.size >= SHARED else 1
    count = min(length, 4 * threads) if threads > 1 else 1
    least = np.empty(count, whole.dtype)
    before = (slice(None),) * axis

    def part(number: int) -> None:
        piece = slice(length * number // count, length * (number + 1) // count)
        least[number] = whole[(*before, piece)].min()

    run_slices(part, count, threads)
    return bool(least.min() == np.iinfo(whole.dtype).min)


def identity_of(ufunc: np.ufunc, dtype: DType) -> Any:
    """What changes no value that comes after it, or None.

    NumPy begins a sum with it; a minimum begins with the first value, and combining
    that with what is given here leaves it as it is.
    """
    name = ufunc.__name__
    if ufunc is np.add and dtype.kind in "biufc":
        return np.add.reduce(np.empty(0, dtype), dtype=dtype)
    if ufunc is np.multiply and dtype.kind in "biuf":
        return 1
    if not is_any_order(ufunc, dtype):
        return None
    if name in ("logical_or", "logical_xor", "bitwise_or", "bitwise_xor"):
        return 0
    if name == "logical_and":
        return 1
    if name == "bitwise_and":
        return True if dtype.kind == "b" else ~np.zeros((), dtype)
    low = name in ("maximum", "fmax")
    if dtype.kind == "f":
        if name in ("fmin", "fmax"):
            return np.nan
        return -np.inf if low else np.inf
    if dtype.kind == "b":
        return not low
    info = np.iinfo(dtype)
    return info.min if low else info.max
