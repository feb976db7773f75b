"""Which whole functions and methods take the short way, see `small`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .small import ANY, UNCACHED, Whole, arrays_are, short

__all__ = ["FUNCTIONS", "METHODS", "SEVERAL", "arrays_are", "function", "method"]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SEVERAL, PASSES = 1 << 20, 1 << 19
"""Elements of the host that one thread reduces before several are at work; the same for
a variance, for which NumPy writes two arrays."""

INTEGERS = 256
"""Elements of two matrices below which BLAS has nothing to win."""

_array: Any = np.ndarray

_PRODUCT: Any = {"operands": 2, "places": 2, "most": ANY, "integers": INTEGERS}
_MADE: Any = {"operands": 0, "places": 4, "makes": True}
_VIEW: Any = {"makes": True, "most": ANY}
_AXIS: Any = {"options": "axis"}

FUNCTIONS: dict[Callable[..., Any], Whole] = {
    # Products.
    np.dot: Whole(np.dot, **{**_PRODUCT, "most": UNCACHED}),
    np.vdot: Whole(np.vdot, **_PRODUCT),
    np.inner: Whole(np.inner, **_PRODUCT),
    np.outer: Whole(np.outer, operands=2, places=2, most=ANY, spreads=True),
    np.kron: Whole(np.kron, operands=2, places=2, most=ANY),
    np.tensordot: Whole(
        np.tensordot, operands=2, options="axes", most=ANY, integers=INTEGERS
    ),
    np.cross: Whole(np.cross, operands=2, places=2, **_AXIS),
    np.einsum: Whole(np.einsum, operands=16, places=16, most=ANY, integers=INTEGERS),
    np.trace: Whole(np.trace, options="offset axis1 axis2 dtype"),
    np.convolve: Whole(np.convolve, operands=2, options="mode"),
    np.correlate: Whole(np.correlate, operands=2, options="mode"),
    # Reductions without rows of their own.
    np.var: Whole(np.var, _array.var, options="axis dtype ddof keepdims", most=PASSES),
    np.std: Whole(np.std, _array.std, options="axis dtype ddof keepdims", most=PASSES),
    np.argmax: Whole(np.argmax, _array.argmax, places=2, options="axis keepdims"),
    np.argmin: Whole(np.argmin, _array.argmin, places=2, options="axis keepdims"),
    np.ptp: Whole(np.ptp, places=2, options="axis keepdims"),
    np.median: Whole(np.median, places=2, options="axis keepdims"),
    np.percentile: Whole(np.percentile, options="axis method keepdims"),
    np.quantile: Whole(np.quantile, options="axis method keepdims"),
    np.average: Whole(np.average, places=2, options="axis keepdims"),
    np.count_nonzero: Whole(np.count_nonzero, places=2, options="axis keepdims"),
    np.cumsum: Whole(np.cumsum, _array.cumsum, options="axis dtype"),
    np.cumprod: Whole(np.cumprod, _array.cumprod, options="axis dtype"),
    np.diff: Whole(np.diff, options="n axis"),
    np.trapezoid: Whole(np.trapezoid, operands=2, places=4, options="dx axis"),
    # Choices and limits.
    np.where: Whole(np.where, operands=3),
    np.clip: Whole(np.clip, _array.clip, operands=3, options="min max"),
    np.round: Whole(np.round, _array.round, places=2, options="decimals"),
    np.isclose: Whole(np.isclose, operands=2, places=5, options="rtol atol equal_nan"),
    # New arrays.
    np.zeros: Whole(np.zeros, options="shape dtype order", **_MADE),
    np.empty: Whole(np.empty, options="shape dtype order", **_MADE),
    np.ones: Whole(np.ones, options="shape dtype order", **_MADE),
    np.full: Whole(np.full, options="shape fill_value dtype order", **_MADE),
    np.arange: Whole(np.arange, options="start stop step dtype", **_MADE),
    np.linspace: Whole(np.linspace, options="num endpoint dtype", **_MADE),
    np.eye: Whole(np.eye, options="N M k dtype order", **_MADE),
    np.identity: Whole(np.identity, options="n dtype", **_MADE),
    np.tri: Whole(np.tri, options="N M k dtype", **_MADE),
    np.zeros_like: Whole(np.zeros_like, options="dtype order shape", **_VIEW),
    np.empty_like: Whole(np.empty_like, options="dtype order shape", **_VIEW),
    np.ones_like: Whole(np.ones_like, options="dtype order shape", **_VIEW),
    np.full_like: Whole(np.full_like, options="dtype order shape", **_VIEW),
    np.array: Whole(np.array, places=2, options="dtype order ndmin", makes=True),
    np.asarray: Whole(np.asarray, options="dtype order", makes=True),
    np.asanyarray: Whole(np.asanyarray, options="dtype order", makes=True),
    np.ascontiguousarray: Whole(
        np.ascontiguousarray, places=2, options="dtype", makes=True
    ),
    np.copy: Whole(np.copy, places=2, options="order", makes=True),
    np.diag: Whole(np.diag, places=2, options="k", makes=True),
    np.tril: Whole(np.tril, places=2, options="k", makes=True),
    np.triu: Whole(np.triu, places=2, options="k", makes=True),
    # Views.
    np.reshape: Whole(np.reshape, _array.reshape, options="order", **_VIEW),
    np.ravel: Whole(np.ravel, _array.ravel, places=2, options="order", **_VIEW),
    np.transpose: Whole(np.transpose, _array.transpose, places=2, **_VIEW),
    np.permute_dims: Whole(np.permute_dims, _array.transpose, places=2, **_VIEW),
    np.matrix_transpose: Whole(np.matrix_transpose, **_VIEW),
    np.squeeze: Whole(np.squeeze, _array.squeeze, places=2, **_AXIS, **_VIEW),
    np.expand_dims: Whole(np.expand_dims, places=2, **_AXIS, **_VIEW),
    np.swapaxes: Whole(np.swapaxes, _array.swapaxes, **_VIEW),
    np.moveaxis: Whole(np.moveaxis, **_VIEW),
    np.rollaxis: Whole(np.rollaxis, **_VIEW),
    np.diagonal: Whole(
        *(np.diagonal, _array.diagonal), options="offset axis1 axis2", **_VIEW
    ),
    np.broadcast_to: Whole(np.broadcast_to, places=2, **_VIEW),
    np.flip: Whole(np.flip, places=2, **_AXIS, **_VIEW),
    np.flipud: Whole(np.flipud, **_VIEW),
    np.fliplr: Whole(np.fliplr, **_VIEW),
    np.rot90: Whole(np.rot90, **_VIEW),
    np.atleast_1d: Whole(np.atleast_1d, places=1, **_VIEW),
    np.atleast_2d: Whole(np.atleast_2d, places=1, **_VIEW),
    np.split: Whole(np.split, **_AXIS, **_VIEW),
    np.array_split: Whole(np.array_split, **_AXIS, **_VIEW),
    # Arrays joined, repeated and moved.
    np.concatenate: Whole(np.concatenate, places=2, most=ANY, **_AXIS),
    np.stack: Whole(np.stack, places=2, most=ANY, **_AXIS),
    np.vstack: Whole(np.vstack, places=1),
    np.hstack: Whole(np.hstack, places=1),
    np.dstack: Whole(np.dstack, places=1),
    np.column_stack: Whole(np.column_stack, places=1),
    np.append: Whole(np.append, operands=2, **_AXIS),
    np.tile: Whole(np.tile, places=2),
    np.repeat: Whole(np.repeat, _array.repeat, operands=2, **_AXIS),
    np.roll: Whole(np.roll, **_AXIS),
    np.pad: Whole(np.pad, options="mode constant_values"),
    # Searching and sorting.
    np.nonzero: Whole(np.nonzero, _array.nonzero),
    np.flatnonzero: Whole(np.flatnonzero),
    np.argwhere: Whole(np.argwhere),
    np.searchsorted: Whole(np.searchsorted, _array.searchsorted, 2, options="side"),
    np.sort: Whole(np.sort, options="axis kind stable"),
    np.take: Whole(np.take, _array.take, operands=2, options="axis mode"),
    np.take_along_axis: Whole(np.take_along_axis, operands=2, **_AXIS),
    np.histogram: Whole(np.histogram, operands=2, options="bins range density"),
    np.bincount: Whole(np.bincount, operands=2, options="minlength"),
    np.digitize: Whole(np.digitize, operands=2, options="right"),
    np.interp: Whole(np.interp, operands=3, options="left right period"),
    # Linear algebra.
    np.linalg.norm: Whole(np.linalg.norm, places=4, options="ord axis keepdims"),
    np.linalg.solve: Whole(np.linalg.solve, operands=2),
    np.linalg.inv: Whole(np.linalg.inv),
    np.linalg.det: Whole(np.linalg.det),
    np.linalg.cholesky: Whole(np.linalg.cholesky, places=1),
    np.linalg.eigvalsh: Whole(np.linalg.eigvalsh, places=1),
    np.linalg.matrix_power: Whole(np.linalg.matrix_power),
}
"""By NumPy's public function.  What is not here writes to an argument, gives other
types than NumPy's function, or has an order that depends on the settings."""

_REDUCED: Any = {"places": 5, "options": "axis dtype keepdims", "most": SEVERAL}
_TOLD: Any = {"places": 2, "options": "axis keepdims", "most": SEVERAL}
_FOLDED: Any = {"places": 4, "options": "axis keepdims", "most": SEVERAL}

METHODS: dict[str, Whole] = {
    "sum": Whole(_array.sum, **_REDUCED),
    "prod": Whole(_array.prod, **_REDUCED),
    "mean": Whole(_array.mean, **_REDUCED),
    "min": Whole(_array.min, **_FOLDED),
    "max": Whole(_array.max, **_FOLDED),
    "any": Whole(_array.any, **_TOLD),
    "all": Whole(_array.all, **_TOLD),
    "var": FUNCTIONS[np.var],
    "std": FUNCTIONS[np.std],
    "argmax": FUNCTIONS[np.argmax],
    "argmin": FUNCTIONS[np.argmin],
    "cumsum": FUNCTIONS[np.cumsum],
    "cumprod": FUNCTIONS[np.cumprod],
    "trace": FUNCTIONS[np.trace],
    "dot": Whole(np.dot, operands=2, places=2, integers=INTEGERS),
    "clip": FUNCTIONS[np.clip],
    "round": FUNCTIONS[np.round],
    "astype": Whole(_array.astype, places=2, options="dtype order copy", makes=True),
    "copy": Whole(_array.copy, places=2, options="order", makes=True),
    "reshape": Whole(_array.reshape, places=32, options="order", **_VIEW),
    "ravel": FUNCTIONS[np.ravel],
    "flatten": Whole(_array.flatten, places=2, options="order", makes=True),
    "transpose": Whole(_array.transpose, places=32, **_VIEW),
    "mT": Whole(_array.mT.__get__, **_VIEW),
    "real": Whole(_array.real.__get__, **_VIEW),
    "swapaxes": FUNCTIONS[np.swapaxes],
    "squeeze": FUNCTIONS[np.squeeze],
    "diagonal": FUNCTIONS[np.diagonal],
    "repeat": FUNCTIONS[np.repeat],
    "take": FUNCTIONS[np.take],
    "nonzero": FUNCTIONS[np.nonzero],
    "searchsorted": FUNCTIONS[np.searchsorted],
}
"""By the method's name."""


def function(public: Callable[..., Any]) -> Callable[[Decorated], Decorated]:
    """Have the function that serves one of NumPy's take the short way, if the table has
    it."""
    rule = FUNCTIONS.get(public)

    def decorate(ours: Decorated) -> Decorated:
        return ours if rule is None else short(rule, ours)  # type: ignore[return-value]

    return decorate


def method(ours: Decorated) -> Decorated:
    """Have a method take the short way."""
    return short(METHODS[ours.__name__], ours)  # type: ignore[return-value]
